package check

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// This file determines which worker touches which bytes of a value, for any number of workers and all sizes at once.
//
// A node that is divided along an axis has units of granule indices; each unit belongs to one worker. In memory the
// units of a plain value repeat with a period. Take %a : f32[tokens,64], 256 bytes a row:
//
//	part=split(1, 64, 16)          units are 16 columns: 4 units in each row
//	period 64*4 = 256 bytes, width 16*4 = 64 bytes
//	byte   0 … 63   64 … 127   128 … 191   192 … 255   256 … 319 (the next row)
//	unit   0        1          2           3           0
//
//	part=split(0, tokens, 1)       units are rows: tokens units
//	period tokens*256 bytes, width 256 bytes
//
// Period and width are polynomials of symbols, so that one comparison covers all sizes. Two accesses that begin at the
// same address with the same period and width are divided alike, and need no barrier between them.
//
// The bytes of a part of a value may belong to no such units. %s = slice %a {axis=1, start=8, len=32}, divided in units
// of 16 columns, has unit borders at columns 8, 24 and 40 of %a. Then every worker counts as touching all bytes.

// by is how an access is divided among the workers.
type by uint8

const (
	byAll   by = iota // every worker may touch all bytes
	byFirst           // worker 0 alone
	byUnit            // each worker touches the units that it owns
	byNone            // no worker touches a byte
)

// owner describes which worker touches which bytes of a value. With byUnit, byte b of the value that owns the bytes
// belongs to unit (b mod period) / width. Worker p of n touches only units [U*p/n, U*(p+1)/n) with U =
// ceil(period/width), as tile.Range divides them.
//
// All targets with workers share one worker pool.
type owner struct {
	by by

	// dynamic is set for a dynamic share: units go to the worker that asks first. Between two barriers only one run of
	// nodes has one (see dynamicShares), and each unit goes to the same worker in all nodes of the run. So two owners
	// with a dynamic share and the same units are the same, too.
	dynamic bool

	period, width ir.Dim // bytes
}

// same claims: for values that begin at the same address, no worker touches by a what another one touches by b. Each
// byte belongs to the same unit of as many units, whatever the sizes are, and any number of workers gives equal units
// to the same worker.
func (a owner) same(b owner) bool {
	if a.by == byFirst && b.by == byFirst {
		return true
	}
	return a.by == byUnit && a.equal(b)
}

// equal reports whether two owners are described alike.
func (a owner) equal(b owner) bool {
	return a.by == b.by && a.dynamic == b.dynamic && a.period.Equal(b.period) && a.width.Equal(b.width)
}

// owners are the owners of a node's operands and results.
type owners struct{ reads, writes []owner }

// ownersOf returns the owners of what a node touches.
func (c *checker) ownersOf(n *ir.Node) *owners {
	o := c.owners[n]
	if o == nil {
		o = newOwners(n)
		c.owners[n] = o
	}
	return o
}

// newOwners determines the owners of what a node touches.
func newOwners(n *ir.Node) *owners {
	all := make([]owner, len(n.Args)+len(n.Results)) // by all
	o := &owners{all[:len(n.Args)], all[len(n.Args):]}
	switch n.Part.Mode {
	case ir.PartOne, ir.PartNone:
		for i := range o.reads {
			o.reads[i].by = byFirst
		}
		for i := range o.writes {
			o.writes[i].by = byFirst
		}
	case ir.PartSplit:
		ax := axisOf(n)
		for i, a := range n.Args {
			if a != nil {
				o.reads[i] = readOwner(n, ax, i)
			}
		}
		if len(n.Results) > 0 {
			r := n.Result()
			o.writes[0] = unitsOf(r.Type, viewOffset(r), n.Part.Axis, n.Part.Granule)
			o.writes[0].dynamic = n.Part.Dynamic
		}
	}
	return o
}

// readOwner returns the owner of operand i of a node that is divided as ax describes; ax is nil if the op describes no
// such division. With a read of Num indices of the operand for Den of the result, units keep their number and their
// borders if the granule is a whole number of indices of the operand, and the operand's axis is as long as the divided
// one demands.
func readOwner(n *ir.Node, ax *ir.Axis, i int) owner {
	if ax == nil || i >= len(ax.Reads) {
		return owner{}
	}
	r, p, t := ax.Reads[i], n.Part, n.Args[i].Type
	switch {
	case r.Kind == ir.ReadNone:
		return owner{by: byNone}
	case r.Kind == ir.ReadAll || r.Kind == ir.ReadParts:
		return owner{}
	case r.Den < 1 || p.Granule*r.Num%r.Den != 0 || !times(p.N, r.Num).Equal(times(t.Shape[r.Axis], r.Den)):
		return owner{}
	}
	o := unitsOf(t, viewOffset(n.Args[i]), r.Axis, p.Granule*r.Num/r.Den)
	o.dynamic = p.Dynamic
	return o
}

// unitsOf returns the owner of a value of type t if units are a number of indices of an axis. The value begins offset
// elements after the beginning of the value that owns the bytes.
func unitsOf(t ir.Type, offset ir.Dim, axis int, granule int64) owner {
	if t.Layout != dtype.Plain {
		return panelsOf(t, offset, axis, granule)
	}
	step := strideOf(t, axis)
	period := t.Shape[axis].Mul(step)
	if !repeats(t, offset, axis, period, step) {
		return owner{}
	}
	return inBytes(t.DType, owner{by: byUnit, period: period, width: step.Mul(ir.Const(granule))})
}

// repeats claims: for a value of a plain type, an element at position x, counted from the beginning of the value that
// owns the bytes, has index (x mod period) / step of the axis.
//
// The position is offset + i*step + the sum of the other indices times their strides. What is a multiple of the period
// does not count. The rest, offset included, has to stay below one step. So, for f32[3,4,64] with strides 256, 64 and
// 1:
//
//	axis 1: period 256, step 64: axis 0 jumps over whole periods, axis 2 stays below 64
//	axis 2: period 64, step 1: axes 0 and 1 jump over whole periods
func repeats(t ir.Type, offset ir.Dim, axis int, period, step ir.Dim) bool {
	inner := rest(offset, period)
	for i := range t.Shape {
		if i == axis || t.Shape[i].Is(1) {
			continue
		}
		if s := strideOf(t, i); !multiple(s, period) {
			inner = inner.Add(t.Shape[i].Sub(ir.Const(1)).Mul(s))
		}
	}
	lo, _ := step.Sub(inner).Bounds()
	return lo >= 1
}

// Provable reports whether the proof knows for all sizes to which index of an axis each element of v belongs. Where it
// does not, only a barrier separates workers that divide the axis.
func Provable(v *ir.Value, axis int) bool {
	t := v.Type
	if t.Layout != dtype.Plain {
		return true // whole panels: only the granule matters
	}
	step := strideOf(t, axis)
	return repeats(t, viewOffset(v), axis, t.Shape[axis].Mul(step), step)
}

// inBytes turns numbers of elements into bytes. Units that cut blocks of a quantized type have no owner.
func inBytes(d dtype.DType, o owner) owner {
	elems, bytes := int64(d.BlockElems()), ir.Const(int64(d.BlockBytes()))
	if !o.period.DivisibleBy(elems) || !o.width.DivisibleBy(elems) {
		return owner{}
	}
	o.period = o.period.FloorDiv(ir.Const(elems)).Mul(bytes)
	o.width = o.width.FloorDiv(ir.Const(elems)).Mul(bytes)
	return o
}

// panelsOf is unitsOf for a packed value. The panels of a matrix, each of as many rows as the layout puts together,
// are stored one after the other, and so are the matrices of a list, each with whole panels.
func panelsOf(t ir.Type, offset ir.Dim, axis int, granule int64) owner {
	if axis < t.Rank()-2 && offset.Is(0) {
		one := t.WithShape(t.Shape[axis+1:]...).Bytes()
		return owner{by: byUnit, period: t.Shape[axis].Mul(one), width: one.Mul(ir.Const(granule))}
	}
	rows := t.Layout.Rows()
	if axis != 0 || granule%rows != 0 || !offset.Is(0) {
		return owner{}
	}
	panel := t
	panel.Shape = []ir.Dim{ir.Const(rows), t.Shape[1]}
	return owner{by: byUnit, period: t.Bytes(), width: panel.Bytes().Mul(ir.Const(granule / rows))}
}

// rest returns offset mod period, or a dimension that is known to be congruent to it.
func rest(offset, period ir.Dim) ir.Dim {
	if offset.Is(0) || multiple(offset, period) {
		return ir.Dim{}
	}
	p, isConst := period.IsConst()
	_, scale, c, linear := offset.Linear()
	if !isConst || p < 1 || !linear || scale%p != 0 {
		return offset
	}
	return ir.Const((c%p + p) % p)
}

// multiple reports whether d is a multiple of m for all sizes, as far as arithmetic shows.
func multiple(d, m ir.Dim) bool {
	if c, ok := m.IsConst(); ok {
		return c > 0 && d.DivisibleBy(c)
	}
	most := m.Upper()
	return most > 0 && times(m, d.Upper()/most).Equal(d)
}

// times returns d times n.
func times(d ir.Dim, n int64) ir.Dim { return d.Mul(ir.Const(n)) }

// viewOffset returns how many elements after its root a value begins.
func viewOffset(v *ir.Value) ir.Dim {
	var sum ir.Dim
	for s := v.Source(); s != nil; v, s = s, s.Source() {
		if a, ok := v.Def.Attr.(*ir.SliceAttr); ok {
			sum = sum.Add(a.Start.Mul(strideOf(s.Type, a.Axis)))
		}
	}
	return sum
}

// strideOf returns how many elements are between two neighbours along an axis.
func strideOf(t ir.Type, axis int) ir.Dim {
	if t.Strides != nil {
		return t.Strides[axis]
	}
	s := ir.Const(1)
	for _, d := range t.Shape[axis+1:] {
		s = s.Mul(d)
	}
	return s
}

package check

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// This file says which worker touches which bytes of a value, for any number of workers
// and any sizes.

// by is how an access is shared among the workers.
type by uint8

const (
	byAll   by = iota // every worker may touch all of it
	byFirst           // worker 0 alone
	byUnit            // each worker touches the units that it owns
	byNone            // nobody touches it
)

// owner says who touches which bytes of a value. For byUnit, byte b, counted from the
// value's first, belongs to unit (b mod period) / width, and worker p of n touches only
// units [U*p/n, U*(p+1)/n) with U = ceil(period/width), as tile.Range deals them out.
//
// All targets with workers share the same ones. Where groups of workers get barriers of
// their own, an owner will have to name its group.
type owner struct {
	by by

	// tail says that units go to whoever comes first. Within a region only one run of nodes
	// has a tail (tails), and gives each unit to one worker: then these are the same units'.
	tail bool

	period, width ir.Dim // bytes
}

// same claims: no worker touches, by a, what another one touches by b, when the values
// begin at the same address. Both give every byte to the same unit of as many, whatever
// the sizes are: then every number of workers gives it to the same one.
func (a owner) same(b owner) bool {
	if a.by == byFirst && b.by == byFirst {
		return true
	}
	return a.by == byUnit && b.by == byUnit && a.tail == b.tail && a.period.Equal(b.period) && a.width.Equal(b.width)
}

// owners are those of a node's operands and results. One that is not divided has the same for all.
type owners struct {
	each    []owner // those of operands, then those of results
	args    int
	divided bool
}

// read returns who reads operand i.
func (o *owners) read(i int) *owner {
	if !o.divided {
		i = 0
	}
	return &o.each[i]
}

// write returns who writes result i.
func (o *owners) write(i int) *owner { return o.read(o.args + i) }

// Owners of nodes that are not divided.
var (
	ownedByFirst = owners{each: []owner{{by: byFirst}}}
	ownedByAll   = owners{each: []owner{{by: byAll}}}
)

// ownerTable holds the owners of what nodes touch that are divided, by function.
type ownerTable map[*ir.Func]*ownerList

// ownerList is the owners of a function's nodes.
type ownerList struct {
	of    []*owners // by node id
	lists []owners  // from which those of nodes are cut, one after the other
	each  []owner   // likewise
}

// of returns the owners of what a node touches.
func (t ownerTable) of(n *ir.Node) *owners {
	switch n.Part.Mode {
	case ir.PartOne, ir.PartNone:
		return &ownedByFirst
	case ir.PartEach:
		return &ownedByAll
	}
	l := t[n.Func]
	if l.of[n.ID] == nil { // of a target that there is not
		ax, k := new(kinds).chosen(n)
		l.add(n, ax, k)
	}
	return l.of[n.ID]
}

// add adds the owners of a node of a kind that is divided along ax; a node like it may have
// shown already who they are.
func (l *ownerList) add(n *ir.Node, ax *ir.Axis, k *kind) {
	if k != nil && k.owned != nil && sameOwners(k.owned, n) {
		l.of[n.ID] = k.own
		return
	}
	l.of[n.ID] = l.make(n, ax)
	if k != nil {
		k.owned, k.own = n, l.of[n.ID]
	}
}

// sameOwners reports whether two nodes of a kind have the same owners, as they are divided alike,
// and what they touch begins with its bytes and belongs to somebody in both or in none.
func sameOwners(a, b *ir.Node) bool {
	if !a.Part.Equal(b.Part) {
		return false
	}
	for i, v := range a.Args {
		w := b.Args[i]
		if v != nil && v != w && (v.Source() != nil || w.Source() != nil || v.IsWeight() != w.IsWeight()) {
			return false
		}
	}
	return len(a.Results) == 0 || a.Result().Source() == nil && b.Result().Source() == nil
}

// make returns the owners of a node that is divided along ax. Weights are nobody's, as nothing
// writes them.
func (l *ownerList) make(n *ir.Node, ax *ir.Axis) *owners {
	const many = 1024
	size := len(n.Args) + len(n.Results)
	if len(l.lists) == 0 {
		l.lists = make([]owners, many)
	}
	if len(l.each) < size {
		l.each = make([]owner, max(size, many))
	}
	o := &l.lists[0]
	*o = owners{l.each[:size:size], len(n.Args), true}
	l.lists, l.each = l.lists[1:], l.each[size:]
	for i, a := range n.Args {
		o.each[i] = owner{by: byNone}
		if a != nil && !a.IsWeight() {
			o.each[i] = readOwner(n, ax, i)
		}
	}
	if len(n.Results) > 0 {
		r := n.Result()
		o.each[o.args] = unitsOf(r.Type, viewOffset(r), n.Part.Axis, n.Part.Granule)
		o.each[o.args].tail = n.Part.Tail
	}
	return o
}

// readOwner returns who reads operand i of a node that is divided as ax says.
func readOwner(n *ir.Node, ax *ir.Axis, i int) owner {
	if ax == nil || i >= len(ax.Reads) || ax.Reads[i].Kind == ir.ReadAll || ax.Reads[i].Kind == ir.ReadParts {
		return owner{}
	}
	r, p := ax.Reads[i], n.Part
	if r.Kind == ir.ReadNone {
		return owner{by: byNone}
	}
	// Units keep their borders and their number if the granule is whole on the operand's
	// axis and all of that is dealt out.
	t := n.Args[i].Type
	if r.Den < 1 || p.Granule*r.Num%r.Den != 0 || !scaled(p.N, r.Num).Equal(scaled(t.Shape[r.Axis], r.Den)) {
		return owner{}
	}
	o := unitsOf(t, viewOffset(n.Args[i]), r.Axis, p.Granule*r.Num/r.Den)
	o.tail = p.Tail
	return o
}

// unitsOf returns the owner of a value of type t, which begins offset elements behind the
// bytes that it belongs to, if units are so many indices of an axis.
//
// With stride s and extent e of the axis, element i lies in the unit (i mod s*e)/s/granule
// if every other axis either jumps over whole multiples of s*e or stays within one s.
func unitsOf(t ir.Type, offset ir.Dim, axis int, granule int64) owner {
	if t.Layout != dtype.Plain {
		return panelsOf(t, offset, axis, granule)
	}
	step := strideOf(t, axis)
	period := mul(t.Shape[axis], step)
	if !repeats(t, offset, axis, period, step) {
		return owner{}
	}
	return inBytes(t.DType, owner{by: byUnit, period: period, width: mul(step, ir.Const(granule))})
}

// repeats claims: every axis of a plain type but the one given either jumps over whole periods
// of that one or stays within one step of it, for a value that begins at an offset.
func repeats(t ir.Type, offset ir.Dim, axis int, period, step ir.Dim) bool {
	inner := rest(offset, period)
	for i := range t.Shape {
		if i == axis || t.Shape[i].Is(1) {
			continue
		}
		s := strideOf(t, i)
		if multiple(s, period) {
			continue
		}
		inner = inner.Add(mul(t.Shape[i].Sub(ir.Const(1)), s))
	}
	lo, _ := step.Sub(inner).Bounds()
	return lo >= 1
}

// Provable reports whether the proof knows for all sizes to which index of an axis each element
// of v belongs. Where it does not, only a barrier separates workers that divide the axis.
func Provable(v *ir.Value, axis int) bool {
	t := v.Type
	if t.Layout != dtype.Plain {
		return true // whole panels: only the granule matters
	}
	step := strideOf(t, axis)
	return repeats(t, viewOffset(v), axis, mul(t.Shape[axis], step), step)
}

// inBytes turns numbers of elements into bytes; units that cut blocks have no owner.
func inBytes(d dtype.DType, o owner) owner {
	elems, bytes := int64(d.BlockElems()), ir.Const(int64(d.BlockBytes()))
	if !o.period.DivisibleBy(elems) || !o.width.DivisibleBy(elems) {
		return owner{}
	}
	o.period = mul(o.period.FloorDiv(ir.Const(elems)), bytes)
	o.width = mul(o.width.FloorDiv(ir.Const(elems)), bytes)
	return o
}

// panelsOf is unitsOf for a packed value. Panels of a matrix's rows follow each other, and so do the matrices of a list,
// each with whole panels.
func panelsOf(t ir.Type, offset ir.Dim, axis int, granule int64) owner {
	if axis < t.Rank()-2 && offset.Is(0) {
		one := t.WithShape(t.Shape[axis+1:]...).Bytes()
		return owner{by: byUnit, period: mul(t.Shape[axis], one), width: mul(one, ir.Const(granule))}
	}
	if axis != 0 || granule%dtype.PanelRows != 0 || !offset.Is(0) {
		return owner{}
	}
	panel := t
	panel.Shape = []ir.Dim{ir.Const(dtype.PanelRows), t.Shape[1]}
	return owner{by: byUnit, period: t.Bytes(), width: mul(panel.Bytes(), ir.Const(granule/dtype.PanelRows))}
}

// rest returns offset mod period, or what is known to be congruent to it.
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
	return most > 0 && scaled(m, d.Upper()/most).Equal(d)
}

// scaled returns d times n.
func scaled(d ir.Dim, n int64) ir.Dim {
	if n == 1 {
		return d
	}
	return mul(d, ir.Const(n))
}

// mul is Dim.Mul, quicker for the constants that most extents are.
func mul(a, b ir.Dim) ir.Dim {
	x, okA := a.IsConst()
	y, okB := b.IsConst()
	switch {
	case okA && okB:
		return ir.Const(x * y)
	case okA && x == 1:
		return b
	case okB && y == 1:
		return a
	}
	return a.Mul(b)
}

// viewOffset returns how many elements behind its root a value begins.
func viewOffset(v *ir.Value) ir.Dim {
	var sum ir.Dim
	for s := v.Source(); s != nil; v, s = s, s.Source() {
		if a, ok := v.Def.Attr.(*ir.SliceAttr); ok {
			sum = sum.Add(mul(a.Start, strideOf(s.Type, a.Axis)))
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
		s = mul(s, d)
	}
	return s
}

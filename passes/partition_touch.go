package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// This file says which bytes a unit of a node's work touches, so that two accesses can be
// compared: see docs/plan.md, "Who owns what".

// source returns the value whose bytes v names: that of a view or alias, and for an
// invariant parameter of a repeat's body what the repeat passes for it. Nil where v has
// bytes of its own, or, as a carried parameter or a table's, stands for itself.
func source(v *ir.Value) *ir.Value {
	if s := v.Source(); s != nil {
		return s
	}
	if kind, i := paramKind(v); kind == paramInvariant {
		return v.Func.Owner.Args[i]
	}
	return nil
}

// origin returns the value that v's bytes belong to, in whichever function it stands.
func origin(v *ir.Value) *ir.Value {
	for s := source(v); s != nil; s = source(v) {
		v = s
	}
	return v
}

// paramRole is what a parameter stands for.
type paramRole uint8

const (
	paramNone      paramRole = iota // not a parameter
	paramEntry                      // of an entry point
	paramCarried                    // of a repeat's body
	paramInvariant                  // of a repeat's body
	paramTable                      // of a repeat's body
)

// paramKind returns the role of v and the first operand of the repeat that it stands for.
func paramKind(v *ir.Value) (paramRole, int) {
	switch {
	case v.Def != nil:
		return paramNone, 0
	case v.Func.Owner == nil || v.Func.Owner.Op != ir.OpRepeat:
		return paramEntry, 0
	}
	a := v.Func.Owner.Attr.(*ir.RepeatAttr)
	switch i := v.Index; {
	case i < a.Carried:
		return paramCarried, i
	case i < a.Carried+a.Invariant:
		return paramInvariant, i
	default:
		fixed := a.Carried + a.Invariant
		return paramTable, fixed + (i-fixed)*int(a.Count)
	}
}

// isLeaf reports whether v's bytes are those of a leaf op, directly or through a table.
func isLeaf(v *ir.Value, ops ...ir.Op) bool {
	v = origin(v)
	if kind, i := paramKind(v); kind == paramTable {
		return isLeaf(v.Func.Owner.Args[i], ops...)
	}
	for _, op := range ops {
		if v.Def != nil && v.Def.Op == op {
			return true
		}
	}
	return false
}

// span says which elements of a value a unit covers: element e, counted in row order,
// belongs to unit (e mod period) / (granule*num/den*stride).
type span struct {
	period, stride ir.Dim
	num, den       int64
	block          int64 // elements that lie in one block of bytes; widths are multiples
}

func (s *span) equal(o *span) bool {
	return s.num == o.num && s.den == o.den && s.block == o.block && s.stride.Equal(o.stride) && s.period.Equal(o.period)
}

// width returns the width of a unit of the granule; ok is false where units do not begin
// and end at whole indices.
func (s span) width(granule int64) (w ir.Dim, ok bool) {
	if granule*s.num%s.den != 0 {
		return ir.Dim{}, false
	}
	w = s.stride.Mul(ir.Const(granule * s.num / s.den))
	return w, w.DivisibleBy(s.block)
}

// multiple returns of what the granule has to be a multiple for width to be known.
func (s span) multiple() int64 {
	m := s.den / gcd(s.num, s.den)
	if s.block > 1 && s.stride.Is(1) {
		perBlock := rat{s.block * s.den, s.num}.reduced().num
		m = lcm(m, perBlock)
	}
	return m
}

// trace returns what indices of an axis of v cover in v's origin; ok is false where the
// views between them do not keep the indices together, or where pass check cannot prove that
// they do: with extents that are symbols it knows periods only by constant multiples.
func trace(v *ir.Value, axis int) (s span, ok bool) {
	if !check.Provable(v, axis) {
		return s, false
	}
	inner := innerElems(v.Type, axis)
	s = span{period: v.Type.Shape[axis].Mul(inner), stride: inner, num: 1, den: 1}
	for next := source(v); next != nil; next = source(v) {
		if s, ok = s.behind(v); !ok {
			return s, false
		}
		v = next
	}
	s.block = int64(v.Type.DType.BlockElems())
	return s, true
}

// innerElems returns how many elements lie behind one index of the axis.
func innerElems(t ir.Type, axis int) ir.Dim {
	n := ir.Const(1)
	for _, d := range t.Shape[axis+1:] {
		n = n.Mul(d)
	}
	return n
}

// behind turns a span of v into one of the value that v names.
func (s span) behind(v *ir.Value) (span, bool) {
	if v.Def == nil {
		return s, true
	}
	axis := func(i int) int { return i }
	switch v.Def.Op {
	case ir.OpPermute:
		axis = func(i int) int { return v.Def.Attr.(*ir.PermuteAttr).Perm[i] }
	case ir.OpSlice:
	default: // reshapes and aliases keep the order of elements
		return s, true
	}
	i, fine, ok := s.axisOf(v.Type)
	if !ok {
		return s, false
	}
	from := v.Def.Args[0].Type
	j := axis(i)
	if !from.Shape[j].Equal(v.Type.Shape[i]) {
		return s, false // the axis itself is cut
	}
	s.stride = innerElems(from, j)
	s.period = from.Shape[j].Mul(s.stride)
	s.num, s.den = s.num*fine.num, s.den*fine.den
	return s, true
}

// axisOf returns the axis of t whose indices s counts, and how many of them one step of
// stride is: less than one where s counts elements within an index.
func (s span) axisOf(t ir.Type) (axis int, steps rat, ok bool) {
	for i := range t.Shape {
		inner := innerElems(t, i)
		if t.Shape[i].Is(1) || !t.Shape[i].Mul(inner).Equal(s.period) {
			continue
		}
		steps, ok = dimRatio(s.stride, inner)
		return i, steps, ok
	}
	return 0, rat{}, false
}

// party is who accesses bytes.
type party uint8

const (
	everyone party = iota // any worker, any of the bytes
	worker0
	owners // each unit's owner, what the unit covers
)

// access is what a node does to the bytes of one value.
type access struct {
	node    *ir.Node
	value   *ir.Value // the origin
	write   bool
	arg     int // the operand that is read; -1 for a result
	by      party
	span    *span // by owners
	granule int64 // by owners; 0 where it is not known yet
}

// touches makes lists of accesses.
type touches struct {
	skip func(origin *ir.Value) bool // what every worker has for itself, and isFixed
	axes func(n *ir.Node) []ir.Axis  // what nodeAxes returns, from a table; nil where there is none
}

// append appends to list what n reads and writes when it is shared as mode says, with ax for
// ir.PartSplit. Weights and constants are left out, as nothing writes them. Results of
// ir.PartEach are private and left out too, as private operands are.
func (t *touches) append(list []access, n *ir.Node, mode ir.PartMode, ax *ir.Axis) []access {
	for i, v := range n.Args {
		if v == nil || isUnread(ax, i) {
			continue
		}
		if o := origin(v); !t.skip(o) {
			list = append(list, access{node: n, value: o, arg: i})
			t.read(&list[len(list)-1], mode, ax)
		}
	}
	if mode == ir.PartEach {
		return list
	}
	for i, v := range n.Results {
		if o := origin(v); !t.skip(o) {
			list = append(list, access{node: n, value: o, arg: -1, write: true})
			t.write(&list[len(list)-1], i, mode, ax)
		}
	}
	return list
}

// isUnread reports whether a node that is divided along ax, if that is not nil, does not read an operand.
func isUnread(ax *ir.Axis, arg int) bool {
	return ax != nil && arg < len(ax.Reads) && ax.Reads[arg].Kind == ir.ReadNone
}

// isFixed reports whether nothing writes an origin.
func isFixed(o *ir.Value) bool { return isLeaf(o, ir.OpWeight, ir.OpConstant) }

// read says by whom an operand is read.
func (t *touches) read(a *access, mode ir.PartMode, ax *ir.Axis) {
	n, arg := a.node, a.arg
	switch {
	case mode == ir.PartOne || mode == ir.PartNone:
		a.by = worker0
	case ax != nil && arg < len(ax.Reads) && ax.Reads[arg].Kind == ir.ReadRange:
		r := ax.Reads[arg]
		s, ok := trace(n.Args[arg], r.Axis)
		whole := n.Result().Type.Shape[ax.Axis].Mul(ir.Const(r.Num)).Equal(n.Args[arg].Type.Shape[r.Axis].Mul(ir.Const(r.Den)))
		if ok && whole {
			s.num, s.den = s.num*r.Num, s.den*r.Den
			a.by, a.span = owners, &s
		}
	}
}

// write says by whom a result is written.
func (t *touches) write(a *access, result int, mode ir.PartMode, ax *ir.Axis) {
	n := a.node
	switch {
	case mode == ir.PartOne || mode == ir.PartNone:
		a.by = worker0
	case result == 0 && ax != nil:
		if s, ok := trace(n.Result(), ax.Axis); ok {
			a.by, a.span = owners, &s
		}
	}
}

// sameOwner reports whether, for every thread count and size, no worker touches what
// another one touches with the other access, provided that the granules are known. Of
// nodes with tails there is one run between two barriers, so their units are the same
// workers'.
func sameOwner(a, b access) bool {
	if a.by == worker0 && b.by == worker0 {
		return true
	}
	if a.by != owners || b.by != owners || a.node.Part.Tail != b.node.Part.Tail || !a.span.period.Equal(b.span.period) {
		return false
	}
	wa, aOK := a.span.width(a.granule)
	wb, bOK := b.span.width(b.granule)
	return aOK && bOK && wa.Equal(wb)
}

// appendFinal appends the accesses of a node that has been partitioned.
func (t *touches) appendFinal(list []access, n *ir.Node) []access {
	first := len(list)
	list = t.append(list, n, n.Part.Mode, t.chosenAxis(n))
	for i := first; i < len(list); i++ {
		list[i].granule = n.Part.Granule
	}
	return list
}

func (t *touches) chosenAxis(n *ir.Node) *ir.Axis {
	if n.Part.Mode != ir.PartSplit {
		return nil
	}
	if t.axes == nil {
		return chosenAxis(n)
	}
	return chosenOf(n, t.axes(n))
}

// chosenAxis returns the entry of the op's axes that the node's partition follows.
func chosenAxis(n *ir.Node) *ir.Axis {
	if n.Part.Mode != ir.PartSplit {
		return nil
	}
	return chosenOf(n, nodeAxes(n))
}

// chosenOf returns the axis along which the node is divided.
func chosenOf(n *ir.Node, axes []ir.Axis) *ir.Axis {
	for i := range axes {
		if axes[i].Axis == n.Part.Axis {
			return &axes[i]
		}
	}
	return nil
}

// nodeAxes returns the axes along which the node can be divided, those of extent 1 left
// out.
func nodeAxes(n *ir.Node) []ir.Axis {
	info := n.Op.Info()
	if info.Axes == nil || len(n.Results) == 0 {
		return nil
	}
	shape := n.Result().Type.Shape
	return slices.DeleteFunc(info.Axes(n), func(ax ir.Axis) bool { return shape[ax.Axis].Is(1) })
}

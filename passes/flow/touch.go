package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// This file says which bytes a unit of a node's work touches, so that two accesses can be
// compared: see docs/explanation/plan.md, "Who owns what".

// Source returns the value whose bytes v names: that of a view or alias, and for an
// invariant parameter of a repeat's body what the repeat passes for it. Nil where v has
// bytes of its own, or, as a carried parameter or a table's, stands for itself.
func Source(v *ir.Value) *ir.Value {
	if s := v.Source(); s != nil {
		return s
	}
	if kind, i := ParamKind(v); kind == ParamInvariant {
		return v.Func.Owner.Args[i]
	}
	return nil
}

// Origin returns the value that v's bytes belong to, in whichever function it stands.
func Origin(v *ir.Value) *ir.Value {
	for s := Source(v); s != nil; s = Source(v) {
		v = s
	}
	return v
}

// paramRole is what a parameter stands for.
type paramRole uint8

const (
	paramNone      paramRole = iota // not a parameter
	ParamEntry                      // of an entry point
	ParamCarried                    // of a repeat's body
	ParamInvariant                  // of a repeat's body
	ParamTable                      // of a repeat's body
)

// ParamKind returns the role of v and the first operand of the repeat that it stands for.
func ParamKind(v *ir.Value) (paramRole, int) {
	switch {
	case v.Def != nil:
		return paramNone, 0
	case v.Func.Owner == nil || v.Func.Owner.Op != ir.OpRepeat:
		return ParamEntry, 0
	}
	a := v.Func.Owner.Attr.(*ir.RepeatAttr)
	switch i := v.Index; {
	case i < a.Carried:
		return ParamCarried, i
	case i < a.Carried+a.Invariant:
		return ParamInvariant, i
	default:
		fixed := a.Carried + a.Invariant
		return ParamTable, fixed + (i-fixed)*int(a.Count)
	}
}

// IsLeaf reports whether v's bytes are those of a leaf op, directly or through a table.
func IsLeaf(v *ir.Value, ops ...ir.Op) bool {
	v = Origin(v)
	if kind, i := ParamKind(v); kind == ParamTable {
		return IsLeaf(v.Func.Owner.Args[i], ops...)
	}
	for _, op := range ops {
		if v.Def != nil && v.Def.Op == op {
			return true
		}
	}
	return false
}

// Span says which elements of a value a unit covers: element e, counted in row order,
// belongs to unit (e mod period) / (granule*num/den*stride).
type Span struct {
	Period, Stride ir.Dim
	Num, Den       int64
	block          int64 // elements that lie in one block of bytes; widths are multiples
}

func (s *Span) Equal(o *Span) bool {
	return s.Num == o.Num && s.Den == o.Den && s.block == o.block && s.Stride.Equal(o.Stride) && s.Period.Equal(o.Period)
}

// width returns the width of a unit of the granule; ok is false where units do not begin
// and end at whole indices.
func (s Span) width(granule int64) (w ir.Dim, ok bool) {
	if granule*s.Num%s.Den != 0 {
		return ir.Dim{}, false
	}
	w = s.Stride.Mul(ir.Const(granule * s.Num / s.Den))
	return w, w.DivisibleBy(s.block)
}

// Multiple returns of what the granule has to be a multiple for width to be known.
func (s Span) Multiple() int64 {
	m := s.Den / gcd(s.Num, s.Den)
	if s.block > 1 && s.Stride.Is(1) {
		perBlock := Rational{s.block * s.Den, s.Num}.reduced().Num
		m = Lcm(m, perBlock)
	}
	return m
}

// trace returns what indices of an axis of v cover in v's origin; ok is false where the
// views between them do not keep the indices together, or where pass check cannot prove that
// they do: with extents that are symbols it knows periods only by constant multiples.
func trace(v *ir.Value, axis int) (s Span, ok bool) {
	if !check.Provable(v, axis) {
		return s, false
	}
	inner := innerElems(v.Type, axis)
	s = Span{Period: v.Type.Shape[axis].Mul(inner), Stride: inner, Num: 1, Den: 1}
	for next := Source(v); next != nil; next = Source(v) {
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
func (s Span) behind(v *ir.Value) (Span, bool) {
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
	s.Stride = innerElems(from, j)
	s.Period = from.Shape[j].Mul(s.Stride)
	s.Num, s.Den = s.Num*fine.Num, s.Den*fine.Den
	return s, true
}

// axisOf returns the axis of t whose indices s counts, and how many of them one step of
// stride is: less than one where s counts elements within an index.
func (s Span) axisOf(t ir.Type) (axis int, steps Rational, ok bool) {
	for i := range t.Shape {
		inner := innerElems(t, i)
		if t.Shape[i].Is(1) || !t.Shape[i].Mul(inner).Equal(s.Period) {
			continue
		}
		steps, ok = DimRatio(s.Stride, inner)
		return i, steps, ok
	}
	return 0, Rational{}, false
}

// Party is who accesses bytes.
type Party uint8

const (
	Everyone Party = iota // any worker, any of the bytes
	Worker0
	Owners // each unit's owner, what the unit covers
)

// Access is what a node does to the bytes of one value.
type Access struct {
	Node    *ir.Node
	Value   *ir.Value // the origin
	Write   bool
	Arg     int // the operand that is read; -1 for a result
	By      Party
	Span    *Span // by owners
	Granule int64 // by owners; 0 where it is not known yet
}

// Touches makes lists of accesses.
type Touches struct {
	Skip func(origin *ir.Value) bool // what every worker has for itself, and IsFixed
	Axes func(n *ir.Node) []ir.Axis  // what NodeAxes returns, from a table; nil where there is none
}

// Append appends to list what n reads and writes when it is shared as mode says, with ax for
// ir.PartSplit. Weights and constants are left out, as nothing writes them. Results of
// ir.PartEach are private and left out too, as private operands are.
func (t *Touches) Append(list []Access, n *ir.Node, mode ir.PartMode, ax *ir.Axis) []Access {
	for i, v := range n.Args {
		if v == nil || IsUnread(ax, i) {
			continue
		}
		if o := Origin(v); !t.Skip(o) {
			list = append(list, Access{Node: n, Value: o, Arg: i})
			t.Read(&list[len(list)-1], mode, ax)
		}
	}
	if mode == ir.PartEach {
		return list
	}
	for i, v := range n.Results {
		if o := Origin(v); !t.Skip(o) {
			list = append(list, Access{Node: n, Value: o, Arg: -1, Write: true})
			t.Write(&list[len(list)-1], i, mode, ax)
		}
	}
	return list
}

// IsUnread reports whether a node that is divided along ax, if that is not nil, does not read an operand.
func IsUnread(ax *ir.Axis, arg int) bool {
	return ax != nil && arg < len(ax.Reads) && ax.Reads[arg].Kind == ir.ReadNone
}

// IsFixed reports whether nothing writes an origin.
func IsFixed(o *ir.Value) bool { return IsLeaf(o, ir.OpWeight, ir.OpConstant) }

// Read says by whom an operand is read.
func (t *Touches) Read(a *Access, mode ir.PartMode, ax *ir.Axis) {
	n, arg := a.Node, a.Arg
	switch {
	case mode == ir.PartOne || mode == ir.PartNone:
		a.By = Worker0
	case ax != nil && arg < len(ax.Reads) && ax.Reads[arg].Kind == ir.ReadRange:
		r := ax.Reads[arg]
		s, ok := trace(n.Args[arg], r.Axis)
		whole := n.Result().Type.Shape[ax.Axis].Mul(ir.Const(r.Num)).Equal(n.Args[arg].Type.Shape[r.Axis].Mul(ir.Const(r.Den)))
		if ok && whole {
			s.Num, s.Den = s.Num*r.Num, s.Den*r.Den
			a.By, a.Span = Owners, &s
		}
	}
}

// Write says by whom a result is written.
func (t *Touches) Write(a *Access, result int, mode ir.PartMode, ax *ir.Axis) {
	n := a.Node
	switch {
	case mode == ir.PartOne || mode == ir.PartNone:
		a.By = Worker0
	case result == 0 && ax != nil:
		if s, ok := trace(n.Result(), ax.Axis); ok {
			a.By, a.Span = Owners, &s
		}
	}
}

// SameOwner reports whether, for every thread count and size, no worker touches what
// another one touches with the other access, provided that the granules are known. Of
// nodes with tails there is one run between two barriers, so their units are the same
// workers'.
func SameOwner(a, b Access) bool {
	if a.By == Worker0 && b.By == Worker0 {
		return true
	}
	if a.By != Owners || b.By != Owners || a.Node.Part.Tail != b.Node.Part.Tail || !a.Span.Period.Equal(b.Span.Period) {
		return false
	}
	wa, aOK := a.Span.width(a.Granule)
	wb, bOK := b.Span.width(b.Granule)
	return aOK && bOK && wa.Equal(wb)
}

// AppendFinal appends the accesses of a node that has been partitioned.
func (t *Touches) AppendFinal(list []Access, n *ir.Node) []Access {
	first := len(list)
	list = t.Append(list, n, n.Part.Mode, t.ChosenAxis(n))
	for i := first; i < len(list); i++ {
		list[i].Granule = n.Part.Granule
	}
	return list
}

func (t *Touches) ChosenAxis(n *ir.Node) *ir.Axis {
	if n.Part.Mode != ir.PartSplit {
		return nil
	}
	if t.Axes == nil {
		return ChosenAxis(n)
	}
	return chosenOf(n, t.Axes(n))
}

// ChosenAxis returns the entry of the op's axes that the node's partition follows.
func ChosenAxis(n *ir.Node) *ir.Axis {
	if n.Part.Mode != ir.PartSplit {
		return nil
	}
	return chosenOf(n, NodeAxes(n))
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

// NodeAxes returns the axes along which the node can be divided, those of extent 1 left
// out.
func NodeAxes(n *ir.Node) []ir.Axis {
	info := n.Op.Info()
	if info.Axes == nil || len(n.Results) == 0 {
		return nil
	}
	shape := n.Result().Type.Shape
	return slices.DeleteFunc(info.Axes(n), func(ax ir.Axis) bool { return shape[ax.Axis].Is(1) })
}

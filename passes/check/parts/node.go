package parts

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// part returns what a node computes that applies the op of a node x before.
func (c *checker) part(n, x *ir.Node, args []piece) (piece, error) {
	if len(args) != len(x.Args) {
		return piece{}, fmt.Errorf("it has %d operands, and %v had %d", len(args), x, len(x.Args))
	}
	all := true
	for i, a := range x.Args {
		if a != nil && args[i].of != nil {
			args[i] = lifted(args[i], same(a))
		}
		if (a == nil) != (args[i].of == nil) || a != nil && args[i].of != same(a) {
			return piece{}, fmt.Errorf("operand %d is %v, and %v reads %v", i, args[i], x, a)
		}
		all = all && (a == nil || args[i].isWhole())
	}
	if all {
		if !ir.EqualAttr(n.Op, n.Attr, x.Attr) {
			return piece{}, fmt.Errorf("it has other attributes than %v", x)
		}
		return whole(x.Result()), nil
	}
	if p, ok := sliced(n, x, args); ok {
		return p, nil
	}
	if x.Op == ir.OpAttention && args[0].axis == 1 {
		return heads(n, x, args)
	}
	for _, w := range ir.Ways(x) {
		if p, ok := way(n, x, w, args); ok {
			return p, nil
		}
	}
	return piece{}, fmt.Errorf("it computes no part of %v from %v", x, args)
}

// gathered returns what a concatenation of some operands of a concatenation x is, or of what others have made of x:
// ranges of x.
func gathered(n, x *ir.Node, args []piece) (piece, bool) {
	a, ok := n.Attr.(*ir.ConcatAttr)
	if !ok || !ir.EqualAttr(n.Op, n.Attr, x.Attr) {
		return piece{}, false
	}
	p, after := piece{of: x.Result(), axis: a.Axis}, 0 // the operands of x that are there already
	for _, q := range args {
		if !q.isComplete() || q.axis >= 0 && q.axis != a.Axis {
			return p, false
		}
		if q.of == x.Result() && q.axis >= 0 {
			p.runs = p.runs.join(q.runs)
			continue
		}
		i := slices.IndexFunc(x.Args[after:], func(v *ir.Value) bool { return same(v) == q.of })
		if i < 0 {
			return p, false
		}
		after += i + 1
		at := int64(0)
		for _, v := range x.Args[:after-1] {
			size, _ := v.Type.Shape[a.Axis].IsConst()
			at += size
		}
		has, err := along(q, a.Axis)
		if err != nil {
			return p, false
		}
		for _, r := range has {
			p.runs = p.runs.add(at+r.begin, at+r.end)
		}
	}
	return p, !slices.ContainsFunc(x.Args, func(v *ir.Value) bool { return !isConst(v.Type.Shape[a.Axis]) })
}

func isConst(d ir.Dim) bool {
	_, ok := d.IsConst()
	return ok
}

// sliced returns what a slice of an axis of which its operand has ranges is.
func sliced(n, x *ir.Node, args []piece) (piece, bool) {
	a, ok := n.Attr.(*ir.SliceAttr)
	b, ok2 := x.Attr.(*ir.SliceAttr)
	if !ok || !ok2 || a.Axis != b.Axis || args[0].axis != a.Axis || !args[0].isComplete() {
		return piece{}, false
	}
	start, ok1 := a.Start.IsConst()
	size, ok2 := a.Len.IsConst()
	first, ok3 := b.Start.IsConst()
	count, ok4 := b.Len.IsConst()
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return piece{}, false
	}
	from, ok := args[0].runs.sub(start, size)
	if !ok {
		return piece{}, false
	}
	p := piece{of: x.Result(), axis: a.Axis}
	for _, r := range from { // in elements of the operand
		if r.begin < first || r.end > first+count {
			return piece{}, false
		}
		p.runs = p.runs.add(r.begin-first, r.end-first)
	}
	return p, true
}

// way returns what a node computes if it follows a way of x.
func way(n, x *ir.Node, w ir.Way, args []piece) (piece, bool) {
	p := piece{of: x.Result(), axis: -1}
	var base runs
	extent := int64(0) // of the axis that base has ranges of
	for i, s := range w.Args {
		switch {
		case x.Args[i] == nil:
		case s.Shared: // only an element of the result can tell which one it reads
			return p, false
		case s.Kind == ir.ShardSplit:
			r, ok := args[i].runs.scale(s.Den, s.Num)
			if args[i].axis != s.Axis || !args[i].isComplete() || !ok || base != nil && !slices.Equal(base, r) {
				return p, false
			}
			base = r
			extent, _ = x.Args[i].Type.Shape[s.Axis].IsConst()
		case s.Kind == ir.ShardPartial:
			sums, ok := both(p.sums, args[i].summands())
			if args[i].axis >= 0 || !ok {
				return p, false
			}
			p.sums, p.lacking = sums, append(p.lacking, args[i].lacking...)
		default:
			if !args[i].isWhole() {
				return p, false
			}
		}
	}
	switch {
	case w.Result.Kind == ir.ShardSplit:
		p.axis, p.runs = w.Result.Axis, base
	case base != nil: // with operands that are added
		p.sums, _ = both(p.sums, []summand{{x.Result(), base, extent}})
	}
	return p, (w.Attr != nil && w.Result.Kind == ir.ShardSplit) || ir.EqualAttr(n.Op, n.Attr, x.Attr)
}

// moved returns what a node is that only moves or adds pieces: a collective, written out. By its name it makes x, if
// that is not nil.
func (c *checker) moved(n *ir.Node, x *ir.Value, args []piece) (piece, error) {
	switch a := n.Attr.(type) {
	case *ir.SliceAttr:
		return cut(a, args[0])
	case *ir.ConcatAttr:
		return joined(a, args)
	}
	if n.Op == ir.OpAdd {
		p, q := args[0], args[1]
		if x != nil {
			p, q = lifted(p, same(x)), lifted(q, same(x))
		}
		return c.added(p, q)
	}
	return piece{}, fmt.Errorf("there is no such node before")
}

// cut returns a range of a piece.
func cut(a *ir.SliceAttr, p piece) (piece, error) {
	start, ok1 := a.Start.IsConst()
	size, ok2 := a.Len.IsConst()
	have := p.runs
	if p.axis < 0 {
		n, _ := p.of.Type.Shape[a.Axis].IsConst()
		have = runs{{0, n}}
	}
	r, ok := have.sub(start, size)
	if !ok1 || !ok2 || !ok || p.axis >= 0 && p.axis != a.Axis {
		return piece{}, fmt.Errorf("it takes what %v has not", p)
	}
	p.axis, p.runs = a.Axis, r
	return p, nil
}

// joined returns pieces one after another. Pieces of a sum that are added up may have been added in different orders.
func joined(a *ir.ConcatAttr, args []piece) (piece, error) {
	p := args[0]
	p.runs, p.how, p.sums = nil, nil, settled(p.sums)
	for _, q := range args {
		if q.of != p.of || q.axis != a.Axis || !equalSums(settled(q.sums), p.sums) || len(q.lacking)+len(p.lacking) > 0 {
			return piece{}, fmt.Errorf("it joins %v, which are not parts of one value", args)
		}
		p.runs = p.runs.join(q.runs)
	}
	return p, nil
}

// settled returns sums without the order in which they were added up, if all are complete.
func settled(sums []summand) []summand {
	if !complete(sums) {
		return sums
	}
	list := slices.Clone(sums)
	for i := range list {
		list[i].runs = runs{{0, list[i].total}}
	}
	return list
}

// added returns the sum of two summands. All devices have to add up a sum in one order.
func (c *checker) added(p, q piece) (piece, error) {
	if !p.sameRange(q) || p.sums == nil || q.sums == nil {
		return piece{}, fmt.Errorf("it adds %v and %v, which are not summands of one value", p, q)
	}
	sums, err := together(p.sums, q.sums)
	if err != nil {
		return piece{}, fmt.Errorf("it adds %v and %v: %w", p, q, err)
	}
	p.sums, p.lacking, p.how = sums, common(p.lacking, q.lacking), &additions{a: p.how, b: q.how}
	if p.isComplete() {
		err, p.how = c.ordered(p), nil
	}
	return p, err
}

package parts

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// heads returns what a node computes that is attention of some heads of queries. Each has to read the head of keys and
// values that it read before, at the place where the node looks for it.
func heads(n, x *ir.Node, args []piece) (piece, error) {
	q := args[0]
	for i, a := range args {
		headed := i < 3 || i == 6 && a.of != nil
		if a.of != nil && !a.isComplete() || !headed && !a.isWhole() {
			return piece{}, fmt.Errorf("operand %d is %v, and all of it is needed", i, a)
		}
	}
	count, shared := q.runs.len(), int64(1)
	all, _ := x.Args[0].Type.Shape[1].IsConst()
	if kv, _ := x.Args[1].Type.Shape[1].IsConst(); kv > 0 {
		shared = all / kv
	}
	for i := 1; i < 3; i++ {
		kv, err := along(args[i], 1)
		if err != nil || kv.len() == 0 || count%kv.len() != 0 {
			return piece{}, fmt.Errorf("operand %d is %v, and %d heads read it", i, args[i], count)
		}
		for h := range count {
			if has, want := kv.at(h/(count/kv.len())), q.runs.at(h)/shared; has != want {
				return piece{}, fmt.Errorf("head %d reads head %d of %v, and %v reads head %d", q.runs.at(h), has, args[i].of, x, want)
			}
		}
	}
	if len(args) > 6 && args[6].of != nil {
		if sinks, err := along(args[6], 0); err != nil || !slices.Equal(sinks, q.runs) {
			return piece{}, fmt.Errorf("operand 6 is %v, and the heads are %v", args[6], q.runs)
		}
	}
	if err := sameScores(n, x, q.runs); err != nil {
		return piece{}, err
	}
	return piece{of: x.Result(), axis: 1, runs: q.runs}, nil
}

// sameScores reports attributes with which the heads of n have other scores than those heads of x.
func sameScores(n, x *ir.Node, heads runs) error {
	is, was := ir.ScoringOf(n), ir.ScoringOf(x)
	if is.Alibi != 0 {
		for h := range heads.len() {
			if is.Heads != was.Heads || is.Head+h != was.Head+heads.at(h) {
				return fmt.Errorf("head %d has the bias of head %d of %d", heads.at(h), is.Head+h-was.Head, is.Heads)
			}
		}
	}
	a, b := *n.Attr.(*ir.AttentionAttr), *x.Attr.(*ir.AttentionAttr)
	a.Head, a.Heads = b.Head, b.Heads // compared above
	if !ir.EqualAttr(n.Op, &a, &b) {
		return fmt.Errorf("it has other attributes than %v", x)
	}
	return nil
}

// along returns the ranges that a piece has of an axis.
func along(p piece, axis int) (runs, error) {
	if p.axis == axis {
		return p.runs, nil
	}
	if p.axis >= 0 {
		return nil, fmt.Errorf("%v is divided on another axis", p)
	}
	n, _ := p.of.Type.Shape[axis].IsConst()
	return runs{{0, n}}, nil
}

// learn notes what a state has if n is the first node that writes to it: what is written, along the axis of the state
// on which that is a part.
func (c *checker) learn(n, x *ir.Node, args []piece) {
	to := n.Op.Info().AliasArg
	if !n.Is(ir.WritesState) || n.Args[to].Root().Def == nil || n.Args[to].Root().Def.Op != ir.OpState {
		return
	}
	name := n.Args[to].Root().Def.Attr.(*ir.StateAttr).Name
	v := original(c.leaves, name)
	if _, known := c.kept[name]; known || v == nil {
		return
	}
	for _, w := range ir.Ways(x) {
		for i, s := range w.Args {
			if i == to || s.Kind != ir.ShardSplit || w.Args[to].Kind != ir.ShardSplit || args[i].axis != s.Axis {
				continue
			}
			base, ok := args[i].runs.scale(s.Den, s.Num)
			has, ok2 := base.scale(w.Args[to].Num, w.Args[to].Den)
			if ok && ok2 {
				c.kept[name] = piece{of: v, axis: w.Args[to].Axis, runs: has}
				args[to].axis, args[to].runs = w.Args[to].Axis, has
				return
			}
		}
	}
}

package simplify

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// This file cuts attention of few queries along the context, so that more workers than
// there are key heads have something to do: attention becomes attention_segments, whose
// units are key heads times segments of so many positions (target.Descriptor.Segment), and attention_combine,
// which adds the sums of a head's segments up in order. Both ways have the same bits.
// How many segments there are is a symbol, that of the positions looked at.
//
// docs/explanation/kernels.md has the reasons and the alternatives.

// fewTokens is how many tokens few queries are of at most: prompts have enough of them to be
// shared in other ways, and their sums would take much memory.
const fewTokens = 8

// segmentsPay is how many barriers' time all workers have to gain at the full context: the
// segments cost one or two barriers, and contexts are hardly ever full.
const segmentsPay = 4

// cutContexts cuts attentions where that pays.
func cutContexts(c *pass.Context, m *ir.Module) {
	if !c.Enabled(pass.RuleFuseLateSegments) {
		return
	}
	cut := &contextCutter{c: c, reach: make(map[int64]*ir.Symbol)}
	for _, f := range m.Funcs { // a repeat's body does not say whose positions it has
		cut.inFunc(f)
	}
}

// contextCutter cuts the attentions of one module.
type contextCutter struct {
	c     *pass.Context
	reach map[int64]*ir.Symbol // the positions looked at, by how many a state has
}

func (cut *contextCutter) inFunc(f *ir.Func) {
	long := cut.attentions(f)
	if len(long) == 0 {
		return
	}
	e := rewrite.NewEdit(cut.c, f)
	for _, n := range f.Nodes {
		e.Update(n)
		if len(long) > 0 && long[0] == n {
			cut.node(e, n)
			long = long[1:]
		}
		e.Keep(n)
	}
	e.Done()
}

// attentions returns those of f that are to be cut, in order.
func (cut *contextCutter) attentions(f *ir.Func) (list []*ir.Node) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpAttention && cut.may(n) && cut.pays(n) && cut.c.Allow(pass.RuleFuseLateSegments, n) {
			list = append(list, n)
		}
	}
	return list
}

// node emits the segments before n, which becomes their combination.
func (cut *contextCutter) node(e *rewrite.Edit, n *ir.Node) {
	kvHeads, positions, _ := cacheOf(n)
	attr := segmentsOf(cut.c.Target(n), n, ir.Sym(cut.symbol(n.Func.Module, positions)))
	segments := e.Add(n, ir.OpAttentionSegments, attr, n.Result().Name+".segments", n.Args...)
	segments.CausedAs(n) // they have its attributes
	before := n.Op.String()
	n.Op, n.Attr, n.Args = ir.OpAttentionCombine, &ir.AttentionCombineAttr{KVHeads: kvHeads}, []*ir.Value{segments.Result()}
	units := fmt.Sprintf("%d key heads in up to %d segments", kvHeads, attr.Segments.Upper())
	cut.c.CauseChange(segments, pass.RuleFuseLateSegments, before, segments.Op.String(), units)
	cut.c.CauseChange(n, pass.RuleFuseLateSegments, before, n.Op.String(), segments.String())
	cut.c.Count(string(pass.RuleFuseLateSegments), 1)
}

// symbol returns the symbol of the positions looked at in states of so many.
func (cut *contextCutter) symbol(m *ir.Module, positions int64) *ir.Symbol {
	if cut.reach[positions] == nil {
		name := "kv"
		for m.Symbol(name) != nil {
			name += "_"
		}
		s := &ir.Symbol{Name: name, Min: 1, Max: positions}
		m.Symbols = append(m.Symbols, s)
		cut.reach[positions] = s
	}
	return cut.reach[positions]
}

// segmentsOf returns the attributes of an attention's segments over so many positions.
func segmentsOf(d *target.Descriptor, n *ir.Node, positions ir.Dim) *ir.AttentionSegmentsAttr {
	each := int64(d.Segment)
	a := n.Attr.(*ir.AttentionAttr)
	return &ir.AttentionSegmentsAttr{Scale: a.Scale, Len: each, Segments: positions.CeilDiv(each), BF16: a.BF16}
}

// cacheOf returns the key heads of an attention and the positions of its states, if both are
// constant.
func cacheOf(n *ir.Node) (kvHeads, positions int64, ok bool) {
	k := n.Args[1].Type.Shape
	kvHeads, ok1 := k[1].IsConst()
	positions, ok2 := k[2].IsConst()
	return kvHeads, positions, ok1 && ok2
}

// may reports whether an attention of few queries can be cut, on a backend that runs the
// pieces.
func (cut *contextCutter) may(n *ir.Node) bool {
	d := cut.c.Target(n)
	_, positions, ok := cacheOf(n)
	tokens, fixed := n.Args[0].Type.Shape[0].IsConst()
	if d == nil || !d.Workers || d.Segment == 0 || !ok || positions <= int64(d.Segment) || !fixed || tokens > fewTokens || !isEntryParam(n.Args[4]) {
		return false
	}
	trial := &ir.Node{Op: ir.OpAttentionSegments, Attr: segmentsOf(d, n, ir.Const(positions)), Args: n.Args, Results: n.Results, Func: n.Func}
	return d.Reads(trial)
}

// pays reports whether cutting an attention is predicted to pay at the full context, with as
// many workers as there may be. A barrier's time is small beside what attention reads, so
// that this is about models whose step is short.
func (cut *contextCutter) pays(n *ir.Node) bool {
	d, workers := *cut.c.Target(n), pass.MostWorkers(cut.c, cut.c.Target(n))
	d.Rates.Bandwidth = 0 // as in stepRates
	var ax *ir.Axis
	if axes := flow.NodeAxes(n); len(axes) > 0 {
		ax = &axes[0]
	}
	kvHeads, positions, _ := cacheOf(n)
	w, segments := flow.WorkOf(&d, n, ax), segmentsOf(&d, n, ir.Const(positions)).Segments.Upper()
	gain := w.Seconds(kvHeads, workers) - w.Seconds(kvHeads*segments, workers)
	return gain > segmentsPay*flow.BarrierSeconds(d.Rates, workers)
}

// isEntryParam reports whether v has the elements of an entry point's parameter, in whatever
// shape: its largest is known before the step.
func isEntryParam(v *ir.Value) bool {
	for v.Def != nil && v.Def.Op == ir.OpReshape {
		v = v.Def.Args[0]
	}
	return v.Def == nil && v.Func.Owner == nil
}

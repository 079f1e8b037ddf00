package simplify

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Attention of few queries is cut along the context, so that more workers than there are key heads share it, or more
// workgroups of a GPU. The attention becomes two nodes. The units of attention_segments are key heads times segments of
// target.Descriptor.Segment positions; attention_combine adds the sums of a head's segments up, in order. On the CPU
// the result has the same bits as without the cut. docs/explanation/kernels.md has the reasons and the alternatives.
//
// Example: one token, 4 key heads, a state of 4096 positions, segments of 512, 16 workers.
//
//	%a = attention %q, %k, %v, %slot, %pos, %len     4 units: 12 workers wait
//
//	%a.segments = attention_segments %q, ... {len=512, segments=ceil(kv/512)}
//	                                                 up to 4*8 = 32 units, 2 for each worker
//	%a = attention_combine %a.segments {kv_heads=4}
//
// The number of segments is symbolic. The symbol kv, from 1 to 4096, is the number of positions that a step looks at;
// the runtime sets it before the step. Attentions over states of the same size share it.

// fewTokens is the largest number of tokens of an attention that is cut. Prompts have more: their tokens can be shared,
// and the sums of their segments would take much memory.
const fewTokens = 8

// segmentsPay is the gain of a cut that is worth it, in barriers of all workers, at the full context. The cut costs one
// or two barriers, and few contexts are full.
const segmentsPay = 4

// fewSegments is the number of segments from which on a GPU gains more than the second kernel costs. The kernel takes
// some 4 µs; a workgroup needs about as long for each segment of 256 positions.
const fewSegments = 4

// cutContexts cuts the attentions for which that pays.
func cutContexts(c *pass.Context, m *ir.Module) {
	if !c.Enabled(pass.RuleFuseLateSegments) {
		return
	}
	cut := &contextCutter{c: c, reach: make(map[int64]*ir.Symbol)}
	for _, f := range m.Funcs { // not in bodies: their parameters do not tell which positions they get
		cut.inFunc(f)
	}
}

// contextCutter cuts the attentions of one module.
type contextCutter struct {
	c     *pass.Context
	reach map[int64]*ir.Symbol // the positions that a step looks at, by the positions of the states
}

// inFunc replaces the attentions of f that are worth it.
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

// attentions returns the attentions of f to cut, in order.
func (cut *contextCutter) attentions(f *ir.Func) (list []*ir.Node) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpAttention && cut.canCut(n) && cut.pays(n) && cut.c.Allow(pass.RuleFuseLateSegments, n) {
			list = append(list, n)
		}
	}
	return list
}

// node adds the segments of n before it, and turns n into their combination.
func (cut *contextCutter) node(e *rewrite.Edit, n *ir.Node) {
	kvHeads, positions, _ := cacheOf(n)
	attr := segmentsOf(cut.c.Target(n), n, ir.Sym(cut.symbol(n.Func.Module, positions)))
	segments := e.Add(n, ir.OpAttentionSegments, attr, n.Result().Name()+".segments", n.Args[:6]...)
	segments.CausedAs(n) // its attributes are those of n
	before := n.Op.String()
	n.Op, n.Attr, n.Args = ir.OpAttentionCombine, &ir.AttentionCombineAttr{KVHeads: kvHeads}, append([]*ir.Value{segments.Result()}, n.Args[6:]...) // the sinks
	units := fmt.Sprintf("%d key heads in up to %d segments", kvHeads, attr.Segments.Upper())
	cut.c.CauseChange(segments, pass.RuleFuseLateSegments, before, segments.Op.String(), units)
	cut.c.CauseChange(n, pass.RuleFuseLateSegments, before, n.Op.String(), segments.String())
	cut.c.Count(string(pass.RuleFuseLateSegments), 1)
}

// symbol returns the symbol for the positions that a step looks at in states with that many positions.
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

// segmentsOf returns the attributes of the segments of an attention over that many positions.
func segmentsOf(d *target.Descriptor, n *ir.Node, positions ir.Dim) *ir.AttentionSegmentsAttr {
	each := int64(d.Segment)
	a := n.Attr.(*ir.AttentionAttr)
	return &ir.AttentionSegmentsAttr{Scale: a.Scale, Cap: a.Cap, Window: a.Window, Alibi: a.Alibi, Ring: a.Ring, Len: each, Segments: positions.CeilDiv(each),
		BF16: a.BF16, Head: a.Head, Heads: a.Heads}
}

// cacheOf returns the numbers of key heads in an attention's state of keys and of positions of its sequences; ok is
// false unless both are constant.
func cacheOf(n *ir.Node) (kvHeads, positions int64, ok bool) {
	k := n.Args[1].Type.Shape
	kvHeads, ok1 := k[1].IsConst()
	positions, ok2 := ir.PositionsOf(n, 1).IsConst()
	return kvHeads, positions, ok1 && ok2
}

// canCut reports whether an attention has few queries and more than one segment, its backend runs the segments, and the
// runtime knows the positions before the step.
func (cut *contextCutter) canCut(n *ir.Node) bool {
	d := cut.c.Target(n)
	if d == nil || d.Segment == 0 {
		return false
	}
	_, positions, ok := cacheOf(n)
	tokens, fixed := n.Args[0].Type.Shape[0].IsConst()
	if !ok || ir.ScoringOf(n).Around > 0 || positions <= int64(d.Segment) || !fixed || tokens > fewTokens || !isEntryParam(n.Args[4]) {
		return false
	}
	trial := &ir.Node{Op: ir.OpAttentionSegments, Attr: segmentsOf(d, n, ir.Const(positions)), Args: n.Args[:6], Results: n.Results, Func: n.Func}
	return d.Reads(trial)
}

// pays reports whether the predicted gain of cutting an attention is worth it at the full context, with the largest
// number of workers. The barriers matter only for models with short steps: elsewhere attention reads much longer. A
// backend that divides its nodes itself has a number of workgroups that is not known; there the number of segments
// decides.
func (cut *contextCutter) pays(n *ir.Node) bool {
	d, workers := *cut.c.Target(n), pass.MostWorkers(cut.c, cut.c.Target(n))
	if !d.Workers && !d.IsGroup() {
		_, positions, _ := cacheOf(n)
		return positions >= fewSegments*int64(d.Segment)
	}
	d.Rates.Bandwidth = 0 // as in passes/partition: processors with more cores have more of it
	var ax *ir.Axis
	if axes := flow.NodeAxes(n); len(axes) > 0 {
		ax = &axes[0]
	}
	kvHeads, positions, _ := cacheOf(n)
	w, segments := flow.WorkOf(&d, n, ax), segmentsOf(&d, n, ir.Const(positions)).Segments.Upper()
	gain := w.Seconds(kvHeads, workers) - w.Seconds(kvHeads*segments, workers)
	return gain > segmentsPay*flow.BarrierSeconds(d.Rates, workers)
}

// isEntryParam reports whether v is a parameter of an entry point, or a reshape of one. The runtime knows its largest
// element before the step.
func isEntryParam(v *ir.Value) bool {
	for v.Def != nil && v.Def.Op == ir.OpReshape {
		v = v.Def.Args[0]
	}
	return v.Def == nil && v.Func.Owner == nil
}

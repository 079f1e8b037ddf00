package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// languageModel emits how sessions drive a module that generates tokens; nil for other
// modules.
func (g *generator) languageModel() jen.Code {
	lm := g.m.LM
	if lm == nil {
		return nil
	}
	w := workOf(g.m.Func(lm.Prefill.Func))
	d := jen.Dict{
		jen.Id("Prefill"):            g.languageEntry(&lm.Prefill),
		jen.Id("Decode"):             g.languageEntry(&lm.Decode),
		jen.Id("Vocab"):              jen.Lit(int(g.m.Vocab())),
		jen.Id("Context"):            jen.Lit(int(g.m.Context())),
		jen.Id("Batch"):              jen.Lit(int(g.m.Batch())),
		jen.Id("PrefillOpsPerToken"): jen.Lit(w.opsPerToken),
		jen.Id("PrefillOpsPerStep"):  jen.Lit(w.opsPerStep),
		jen.Id("DecodeBytes"):        jen.Lit(workOf(g.m.Func(lm.Decode.Func)).weightBytes),
		jen.Id("Peak"):               jen.Lit(w.peak),
	}
	if lm.Pooling != ir.NoEmbeddings {
		d[jen.Id("Hidden")], d[jen.Id("Pooling")] = jen.Lit(lm.Hidden), jen.Lit(lm.Pooling.String())
	}
	if lm.HasJoint() {
		d[jen.Id("Joint")] = jen.Op("&").Add(g.languageEntry(&lm.Joint))
	}
	if top := &lm.Top; lm.HasTop() {
		d[jen.Id("Top")] = jen.Op("&").Qual(g.runtimePath(), "TopEntry").Values(jen.Dict{
			jen.Id("Entry"): g.languageEntry(&top.LanguageEntry), jen.Id("IDs"): jen.Lit(top.IDs), jen.Id("Largest"): jen.Lit(top.Largest),
		})
	}
	if n := g.m.Sequences(); n > 1 {
		d[jen.Id("Sequences")] = jen.Lit(int(n))
	}
	if rows, window := g.m.Ring(); rows > 0 {
		d[jen.Id("Ring")] = jen.Op("&").Qual(g.runtimePath(), "Ring").Values(jen.Dict{jen.Id("Rows"): jen.Lit(int(rows)), jen.Id("Window"): jen.Lit(int(window))})
	}
	return jen.Op("&").Qual(g.runtimePath(), "LanguageModel").Values(d)
}

// encoder emits how sessions drive a module that makes embeddings of texts; nil for other modules.
func (g *generator) encoder() jen.Code {
	e := g.m.Encoder
	if e == nil {
		return nil
	}
	d := jen.Dict{
		jen.Id("Func"): jen.Lit(g.funcIndex(e.Func)), jen.Id("Tokens"): jen.Lit(e.Tokens), jen.Id("Pos"): jen.Lit(e.Pos), jen.Id("Last"): jen.Lit(e.Last),
		jen.Id("Slot"): jen.Lit(e.Slot), jen.Id("Lengths"): jen.Lit(e.Lengths), jen.Id("Hidden"): jen.Lit(e.Hidden), jen.Id("Pooling"): jen.Lit(e.Pooling.String()),
	}
	if e.Pooling == ir.PoolRank {
		d[jen.Id("First")], d[jen.Id("Scores")] = jen.Lit(e.First), jen.Lit(e.Scores)
	}
	return jen.Op("&").Qual(g.runtimePath(), "Encoder").Values(d)
}

// languageEntry emits the indexes of an entry point and of its inputs and outputs.
func (g *generator) languageEntry(e *ir.LanguageEntry) *jen.Statement {
	return jen.Qual(g.runtimePath(), "Entry").Values(jen.Dict{
		jen.Id("Func"): jen.Lit(g.funcIndex(e.Func)), jen.Id("Tokens"): jen.Lit(e.Tokens), jen.Id("Pos"): jen.Lit(e.Pos),
		jen.Id("Slot"): jen.Lit(e.Slot), jen.Id("Lengths"): jen.Lit(e.Lengths), jen.Id("Logits"): jen.Lit(e.Logits),
	})
}

func (g *generator) funcIndex(name string) int {
	for i, f := range g.m.Funcs {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// work is what the matrix products of one call cost at least.
type work struct {
	opsPerToken, opsPerStep float64 // a multiply and an add count as two
	weightBytes             float64 // read
	peak                    string  // the arithmetic to compare with: "int8", "bf16" or "f32"
}

// workOf adds up the matrix products of f, those in repeats as often as they run. The
// operations are taken at one and at two tokens, which separates what grows with the
// tokens from what does not.
func workOf(f *ir.Func) work {
	w := work{peak: "f32"}
	one, two := 0.0, 0.0
	eachProduct(f, 1, func(n *ir.Node, times int64) {
		ops := n.Op.Info().Cost(n).FLOPs
		one += float64(times * ops.Eval(func(*ir.Symbol) int64 { return 1 }))
		two += float64(times * ops.Eval(func(*ir.Symbol) int64 { return 2 }))
		for _, a := range n.Args[1:] {
			if a != nil && a.Type.Layout != dtype.Plain {
				w.weightBytes += float64(times * a.Type.MaxBytes())
			}
		}
		switch {
		case n.Args[0].Type.DType.IsActivation():
			w.peak = "int8"
		case n.Args[0].Type.DType == dtype.BF16 && w.peak == "f32":
			w.peak = "bf16"
		}
	})
	w.opsPerToken, w.opsPerStep = two-one, one-(two-one)
	return w
}

func eachProduct(f *ir.Func, times int64, visit func(n *ir.Node, times int64)) {
	for _, n := range f.Nodes {
		switch n.Op {
		case ir.OpRepeat:
			eachProduct(n.Body, times*n.Attr.(*ir.RepeatAttr).Count, visit)
		case ir.OpMatMul, ir.OpMatMulSwiGLU:
			visit(n, times)
		}
	}
}

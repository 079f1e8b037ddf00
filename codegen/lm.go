package codegen

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// languageModel emits how sessions drive a module that generates tokens; nil for other
// modules. A frontend marks such a module with the metadata lm.vocab, lm.context and
// lm.batch; its functions are prefill and decode.
func (g *generator) languageModel() jen.Code {
	prefill, decode := g.funcIndex("prefill"), g.funcIndex("decode")
	vocab := g.m.GetMeta("lm.vocab")
	if prefill < 0 || decode < 0 || vocab == "" {
		return nil
	}
	tokens := -1
	if s := g.m.Symbol("tokens"); s != nil {
		tokens = g.symbolIndex(s)
	}
	w := workOf(g.m.Funcs[prefill])
	d := jen.Dict{
		jen.Id("Prefill"): jen.Lit(prefill), jen.Id("Decode"): jen.Lit(decode),
		jen.Id("Tokens"): jen.Lit("tokens"), jen.Id("Pos"): jen.Lit("pos"), jen.Id("Slot"): jen.Lit("slot"),
		jen.Id("Lengths"): jen.Lit("lengths"), jen.Id("Logits"): jen.Lit("logits"),
		jen.Id("TokensSym"): jen.Lit(tokens), jen.Id("SeqsSym"): jen.Lit(-1), jen.Id("KVSym"): jen.Lit(-1),
		jen.Id("Vocab"):              jen.Lit(atoi(vocab)),
		jen.Id("Context"):            jen.Lit(atoi(g.m.GetMeta("lm.context"))),
		jen.Id("Batch"):              jen.Lit(atoi(g.m.GetMeta("lm.batch"))),
		jen.Id("PrefillOpsPerToken"): jen.Lit(w.opsPerToken),
		jen.Id("PrefillOpsPerStep"):  jen.Lit(w.opsPerStep),
		jen.Id("DecodeBytes"):        jen.Lit(workOf(g.m.Funcs[decode]).weightBytes),
		jen.Id("Peak"):               jen.Lit(w.peak),
	}
	return jen.Op("&").Qual(g.runtimePath(), "LanguageModel").Values(d)
}

func (g *generator) funcIndex(name string) int {
	for i, f := range g.m.Funcs {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// atoi reads a number that a frontend wrote; what is no number counts as 0, which the
// runtime refuses.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
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
		case n.Args[0].Type.DType == dtype.Q8A:
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

package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
)

// Arguments of the kernels for mixtures of experts.

func topKArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, k := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.dim(n.Args[0].Type.Inner()), k, b.r0, b.r1}
}

func takeArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, k := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.dim(n.Args[0].Type.Inner()), k, b.r0, b.r1}
}

// expertsMatMulArgs cuts the result [T,C,N] after the tokens, as the kernel counts tokens.
func expertsMatMulArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	x, w, shape := n.Args[0].Type, n.Args[1].Type, n.Result().Type.Shape
	t0, t1, c0, c1 := jen.Code(jen.Lit(0)), e.dim(shape[0]), jen.Code(jen.Lit(0)), e.dim(shape[2])
	if n.Part.Mode == ir.PartSplit {
		lo, hi := e.owned(n.Part.N, n.Part.Granule)
		if n.Part.Axis == 0 {
			t0, t1 = jen.Id(lo), jen.Id(hi)
		} else {
			c0, c1 = jen.Id(lo), jen.Id(hi)
		}
	}
	experts := e.shape(n, "Experts", e.extent("Experts", w.Shape[0]), e.extent("Choices", shape[1]), e.extent("Rows", x.Shape[1]),
		e.extent("In", w.Shape[2]), e.extent("Out", shape[2]))
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.ptr(n.Args[2]), experts, t0, t1, c0, c1}
}

func expertsSumArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, _ := e.matrix(n)
	shape := e.shape(n, "Sum", e.extent("Choices", n.Args[0].Type.Shape[1]), e.extent("Len", n.Result().Type.Inner()))
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), shape, b.r0, b.r1, b.c0, b.c1}
}

func copyExpertsArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	w := n.Args[0].Type
	e0, e1 := jen.Code(jen.Lit(0)), e.dim(w.Shape[0])
	if n.Part.Mode == ir.PartSplit {
		lo, hi := e.owned(n.Part.N, n.Part.Granule)
		e0, e1 = jen.Id(lo), jen.Id(hi)
	}
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.dim(ir.ExpertBytes(w)), e.dim(n.Args[1].Type.Elems()), e0, e1}
}

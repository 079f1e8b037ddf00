package codegen

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
)

// kernelsFile is the file with the kernels of GPUs: SPIR-V modules, one after the other.
const kernelsFile = "kernels.spv"

// maxGroups is the largest number of workgroups of a dispatch. Any number computes the same; more than a GPU runs at once
// gain nothing.
const maxGroups = 256

// signature describes what a kernel computes: two nodes with equal signatures have equal kernels. It has the op, its
// attributes, and the types of the operands and of the result without their spaces.
func signature(n *ir.Node) string {
	var b strings.Builder
	b.WriteString(n.Op.String())
	positional, braces := ir.AttrText(n)
	if positional+braces != "" {
		b.WriteString(strings.TrimRight(" "+strings.TrimSpace(positional+" "+braces), " "))
	}
	for _, v := range n.Args {
		if v == nil {
			b.WriteString(" _")
			continue
		}
		t := v.Type
		t.Space = ""
		b.WriteString(" " + t.String())
	}
	t := n.Result().Type
	t.Space = ""
	return b.String() + " -> " + t.String()
}

// checkKernel reports a node for which package gpu has no kernel.
func checkKernel(f *ir.Func, n *ir.Node) error {
	_, err := gpu.Lower(n)
	if errors.Is(err, gpu.ErrNoKernel) {
		return fmt.Errorf("@%s: %v: %s: %w: leave the op out with ops=-%v", f.Name, n, n.Backend, err, n.Op)
	}
	return err
}

// kernelOf returns the kernel of a node, which is compiled and declared when the first node needs it.
func (g *generator) kernelOf(n *ir.Node) (name string, groups int64) {
	list, err := gpu.Lower(n)
	if err != nil || len(list) != 1 {
		panic(fmt.Sprintf("codegen: internal error: %v: %d kernels, %v", n, len(list), err))
	}
	groups = max(min(list[0].Units.Upper(), maxGroups), 1)
	key := signature(n)
	if name, ok := g.kernels[key]; ok {
		return name, groups
	}
	words, err := spirv.Emit(list[0].Kernel)
	if err != nil {
		panic(fmt.Sprintf("codegen: internal error: %v: %v", n, err))
	}
	name = g.top.pick("kernel" + inCapitals(n.Op.String()))
	g.kernels[key] = name
	begin := len(g.kernelCode)
	g.kernelCode = append(g.kernelCode, spirv.Bytes(words)...)
	g.program.Var().Id(name).Op("=").Qual(g.gpuPath(), "Kernel").Values(jen.Dict{
		jen.Id("Name"):    jen.Lit(key),
		jen.Id("Code"):    jen.Id("kernels").Index(jen.Lit(begin).Op(":").Lit(len(g.kernelCode))),
		jen.Id("Threads"): jen.Lit(list[0].Kernel.Threads),
		jen.Id("Args"):    jen.Lit(len(list[0].Kernel.Args)),
	})
	return name, groups
}

// inCapitals returns an op's name as part of a Go name: RmsNorm for rms_norm.
func inCapitals(op string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(op, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// dispatch returns the call that runs the kernel of a node.
func (e *funcEmitter) dispatch(n *ir.Node) jen.Code {
	name, groups := e.g.kernelOf(n)
	args := []jen.Code{jen.Op("&").Id(name), jen.Lit(int(groups))}
	for _, v := range gpu.Operands(n) {
		args = append(args, e.address(v))
	}
	for _, s := range gpu.Symbols(n) {
		args = append(args, jen.Uint64().Parens(e.dim(ir.Sym(s))))
	}
	return nodeComment(jen.Id("e").Dot("Dispatch").Call(args...), n)
}

// address returns the expression for the address of v in the memory of the GPU.
func (e *funcEmitter) address(v *ir.Value) jen.Code {
	a := e.addrOf(v)
	base := jen.Id(e.base(a))
	if a.chunks != nil {
		base = jen.Id("e").Dot("Mem").Index(e.memoryOf(a))
	}
	return base.Op("+").Uint64().Parens(e.offset(a))
}

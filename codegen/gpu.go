package codegen

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/passes/target"
)

// gpuKind is how programs drive the GPUs of a kind of target.
type gpuKind struct {
	loader string // variable that opens them
	about  string // its comment
	pkg    string // package with its type Loader, below runtime
	purego bool   // which calls a driver through purego

	file     string // file with the kernels, one after the other
	embed    string // variable that holds it
	holds    string // what it holds, for a comment
	assemble func(*kir.Kernel) ([]byte, error)
	later    []func(*kir.Kernel) ([]byte, error) // for each of gpu.Later
	slabs    func(*kir.Kernel) ([]byte, error)   // for gpu.Slabs
}

// gpuKinds are the kinds of targets that compute with kernels of package kernels/gpu.
var gpuKinds = map[string]*gpuKind{
	"cuda": {
		loader: "nvidia", about: "nvidia opens all backends that CUDA drives.", pkg: "cuda", purego: true,
		file: "kernels.ptx", embed: "kernelsPTX", holds: "modules of PTX",
		assemble: assemblePTX(ptx.SM70), later: []func(*kir.Kernel) ([]byte, error){assemblePTX(ptx.SM80)},
		slabs: assemblePTX(ptx.SM90a),
	},
	"gpusim": {
		loader: "simulatedGPUs", about: "simulatedGPUs opens all simulated GPUs.", pkg: "gpusim",
		file: "kernels.kir", embed: "kernelText", holds: "text of package kir", assemble: assembleText,
	},
	"vulkan": {
		loader: "gpus", about: "gpus opens all backends that Vulkan drives.", pkg: "vulkan", purego: true,
		file: "kernels.spv", embed: "kernels", holds: "modules of SPIR-V", assemble: assembleSPIRV,
	},
}

func assembleText(k *kir.Kernel) ([]byte, error) { return []byte(k.String()), nil }

func assembleSPIRV(k *kir.Kernel) ([]byte, error) {
	words, err := spirv.Emit(k)
	return spirv.Bytes(words), err
}

// assemblePTX returns the printer for a target. Drivers compile what it prints for all later ones, too.
func assemblePTX(t ptx.Target) func(*kir.Kernel) ([]byte, error) {
	return func(k *kir.Kernel) ([]byte, error) {
		text, err := ptx.Emit(k, t)
		return []byte(text), err
	}
}

// path returns the import path of the kind's package.
func (k *gpuKind) path() string { return ModulePath + "/runtime/" + k.pkg }

// kernelFile is a file of kernels while it is made.
type kernelFile struct {
	vars map[kernelKey]string // variables of the kernels
	code []byte
}

// eachKernelFile calls visit for each file of kernels that the program has.
func (g *generator) eachKernelFile(visit func(k *gpuKind, f *kernelFile)) {
	for _, kind := range slices.Sorted(maps.Keys(g.kernels)) {
		visit(gpuKinds[kind], g.kernels[kind])
	}
}

// kernelFileRows returns the files of kernels with their hashes.
func (g *generator) kernelFileRows() (rows []jen.Code) {
	g.eachKernelFile(func(k *gpuKind, f *kernelFile) {
		sum := sha256.Sum256(f.code)
		rows = append(rows, jen.Values(jen.Dict{
			jen.Id("Name"): jen.Lit(k.file), jen.Id("Text"): jen.Id(k.embed), jen.Id("SHA256"): jen.Lit(hex.EncodeToString(sum[:])),
		}))
	})
	return rows
}

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
func checkKernel(f *ir.Func, n *ir.Node, kind string) error {
	on, _ := gpu.Of(kind)
	_, err := gpu.Lower(n, on)
	if errors.Is(err, gpu.ErrNoKernel) {
		return fmt.Errorf("@%s: %v: %s: %w: leave the op out with ops=-%v", f.Name, n, n.Backend, err, n.Op)
	}
	return err
}

// kernelOf returns the kernel of a node for a target. It is compiled and declared when the first node needs it.
func (g *generator) kernelOf(n *ir.Node, on *target.Descriptor) (name string, groups int64) {
	kind, list := on.Kind, lowered(n, on)
	for _, d := range list {
		groups = max(groups, min(d.Units.Upper(), gpu.MaxGroups), 1)
	}
	key := kernelKey{kind, signature(n), on.MMA}
	file := g.kernels[kind]
	if file == nil {
		file = &kernelFile{vars: make(map[kernelKey]string)}
		g.kernels[kind] = file
	}
	if name, ok := file.vars[key]; ok {
		return name, groups
	}
	begin := len(file.code)
	file.code = append(file.code, assembled(list, gpuKinds[kind])...)
	name = g.top.pick("kernel" + inCapitals(n.Op.String()))
	file.vars[key] = name
	g.program.Var().Id(name).Op("=").Qual(g.gpuPath(), "Kernel").Values(jen.Dict{
		jen.Id("Name"):    jen.Lit(key.computes),
		jen.Id("Code"):    jen.Qual(g.gpuPath(), "Part").Call(jen.Id(gpuKinds[kind].embed), jen.Lit(begin), jen.Lit(len(file.code))),
		jen.Id("Threads"): jen.Lit(list[0].Kernel.Threads),
		jen.Id("Args"):    jen.Lit(len(list[0].Kernel.Args)),
	})
	return name, groups
}

// lowered returns the kernel of a node for all devices of a target's kind, those for later ones, and that for devices
// that multiply slabs if the target asks for it.
func lowered(n *ir.Node, on *target.Descriptor) (all []gpu.Dispatch) {
	any, _ := gpu.Of(on.Kind)
	machines := append([]gpu.Machine{any}, gpu.Later(on.Kind)...)
	if m, ok := gpu.Slabs(on.Kind); ok && on.MMA == target.MMAWgmma {
		machines = append(machines, m)
	}
	for _, m := range machines {
		list, err := gpu.Lower(n, m)
		if err != nil || len(list) != 1 {
			panic(fmt.Sprintf("codegen: internal error: %v: %d kernels, %v", n, len(list), err))
		}
		all = append(all, list[0])
	}
	return all
}

// assembled returns the modules of a kernel: one that all devices run, and those for later devices that differ from the
// one before.
func assembled(list []gpu.Dispatch, kind *gpuKind) (code []byte) {
	before := ""
	for i, d := range list {
		text := d.Kernel.String()
		if text == before {
			continue
		}
		before = text
		assemble := kind.assemble
		if i > len(kind.later) {
			assemble = kind.slabs
		} else if i > 0 {
			assemble = kind.later[i-1]
		}
		module, err := assemble(d.Kernel)
		if err != nil {
			panic(fmt.Sprintf("codegen: internal error: %s: %v", d.Kernel.Name, err))
		}
		code = append(code, module...)
	}
	return code
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
	name, groups := e.g.kernelOf(n, e.on.Descriptor)
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

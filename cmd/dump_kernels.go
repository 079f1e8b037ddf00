package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/passes/target"
)

// kernelForm is a form in which dump --kernels shows a kernel.
type kernelForm struct {
	name  string // of --kernel-form
	files []kernelFile
}

// kernelFile is a file of the folder of -o.
type kernelFile struct {
	extension string
	hidden    bool // not text: for the folder only
	print     func(name string, k *kir.Kernel) ([]byte, error)
}

// dumpedPTX is the architecture of the PTX that dumps show, except of kernels with slabs.
const dumpedPTX = ptx.SM80

func kernelForms() []kernelForm {
	return []kernelForm{
		{"kir", []kernelFile{{extension: "kir", print: func(_ string, k *kir.Kernel) ([]byte, error) { return []byte(k.String()), nil }}}},
		{"spirv", []kernelFile{{extension: "spv", hidden: true, print: spirvBytes}, {extension: "spvasm", print: spirvText}}},
		{"ptx", []kernelFile{{extension: "ptx", print: ptxText}}},
	}
}

func kernelFormNames() []string {
	var names []string
	for _, f := range kernelForms() {
		names = append(names, f.name)
	}
	return names
}

func spirvBytes(_ string, k *kir.Kernel) ([]byte, error) {
	words, err := spirv.Emit(k)
	return spirv.Bytes(words), err
}

func spirvText(_ string, k *kir.Kernel) ([]byte, error) {
	words, err := spirv.Emit(k)
	if err != nil {
		return nil, err
	}
	text, err := spirv.Disassemble(words)
	return fmt.Appendf(nil, "; SPIR-V 1.5, %d bytes\n%s", 4*len(words), text), err
}

// ptxText names the entry after the variable: nodes of one op may have several kernels.
func ptxText(name string, k *kir.Kernel) ([]byte, error) {
	named := *k
	named.Name = name
	architecture := dumpedPTX
	if k.Needs&kir.CapSlab != 0 {
		architecture = ptx.SM90a
	}
	text, err := ptx.Emit(&named, architecture)
	return []byte(text), err
}

// checkKernels refuses flags that contradict --kernels.
func (f *dumpFlags) checkKernels() error {
	if !f.kernels {
		if f.kernelForms != nil {
			return usagef("--kernel-form chooses what --kernels prints: add --kernels, or leave it out")
		}
		return nil
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{{"all", f.all}, {"after", f.after != ""}, {"before", f.before != ""}, {"show", f.show != ""}, {"format", f.format != "text"}} {
		if other.given {
			return usagef("--kernels prints the kernels of the whole plan: leave out --%s", other.flag)
		}
	}
	if f.kernelForms != nil && len(f.kernelForms) == 0 {
		return usagef("--kernel-form \"\": choose from %s", strings.Join(kernelFormNames(), ", "))
	}
	for _, name := range f.kernelForms {
		if !slices.Contains(kernelFormNames(), name) {
			return usagef("--kernel-form %s: choose from %s", value(name), strings.Join(kernelFormNames(), ", "))
		}
	}
	return nil
}

// dumpKernels compiles the module and prints the kernels of its GPUs.
func (f *dumpFlags) dumpKernels(ctx context.Context, w io.Writer, md *driver.Model, co driver.CompileOptions) error {
	if _, err := driver.Compile(ctx, md, co); err != nil {
		return fmt.Errorf("%s: %w", md.Path, err)
	}
	if f.function != "" && md.Module.Func(f.function) == nil {
		return usagef("there is no function %q: the module has %s", f.function, funcNames(md.Module))
	}
	list, err := codegen.Kernels(md.Module, co.Targets)
	if err != nil {
		return fmt.Errorf("%s: %w", md.Path, err)
	}
	if f.function != "" {
		list = kernelsOf(list, f.function)
	}
	if len(list) == 0 {
		return fmt.Errorf("%s: no node runs on a GPU that computes with kernels: %s", md.Path, f.noKernels(co.Targets))
	}
	if f.out != "" {
		return f.writeKernels(list)
	}
	return f.printKernels(w, list)
}

// noKernels returns what to do where a plan has no kernels.
func (f *dumpFlags) noKernels(l *target.List) string {
	isGPU := func(d *target.Descriptor) bool { _, known := gpu.Of(d.Kind); return known }
	switch has := slices.ContainsFunc(l.All(), isGPU); {
	case !has && f.head != nil:
		return "its head names none: start from the model file, as with --targets vulkan,cpu"
	case !has:
		return "name one, as with --targets vulkan,cpu"
	case f.head != nil:
		return "its head has the rules: start from the model file, with --rules ggml-2026, --pin or --deny cpu"
	case f.rules != "cost" || len(f.pins) > 0 || len(f.deny) > 0:
		return "--rules, --pin and --deny leave all of them to others: ggmlc explain with the name of a node says why"
	}
	return "the rules leave all of them to others: --rules ggml-2026, --pin or --deny cpu put them there"
}

// kernelsOf returns the kernels that a function uses, with its nodes only.
func kernelsOf(list []*codegen.Kernel, function string) (own []*codegen.Kernel) {
	for _, k := range list {
		of := *k
		of.Nodes = slices.DeleteFunc(slices.Clone(k.Nodes), func(n *ir.Node) bool {
			return !strings.HasPrefix(codegen.Origin(n), "@"+function+" ")
		})
		if len(of.Nodes) > 0 {
			own = append(own, &of)
		}
	}
	return own
}

// origins returns the names of the nodes of a kernel.
func origins(k *codegen.Kernel) []string {
	var names []string
	for _, n := range k.Nodes {
		names = append(names, codegen.Origin(n))
	}
	return names
}

// chosenForms returns the forms of --kernel-form; all of them by default.
func (f *dumpFlags) chosenForms() []kernelForm {
	return slices.DeleteFunc(kernelForms(), func(form kernelForm) bool {
		return f.kernelForms != nil && !slices.Contains(f.kernelForms, form.name)
	})
}

// printKernels prints each kernel with its nodes.
func (f *dumpFlags) printKernels(w io.Writer, list []*codegen.Kernel) error {
	var b bytes.Buffer
	for i, k := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s: %s\n# on %s, workgroups: at most %d\n", k.Name, k.Computes, k.Kind, k.Groups)
		for _, o := range origins(k) {
			fmt.Fprintf(&b, "# for %s\n", o)
		}
		for i, d := range k.Dispatches {
			f.printForms(&b, kernelName(k, i), d.Kernel)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// kernelName returns the name of the kernel of dispatch i of k.
func kernelName(k *codegen.Kernel, i int) string {
	if i == 0 {
		return k.Name
	}
	return fmt.Sprintf("%s_%d", k.Name, i+1)
}

// printForms prints a kernel in all forms. A form that it does not have has a comment instead.
func (f *dumpFlags) printForms(b *bytes.Buffer, name string, k *kir.Kernel) {
	for _, form := range f.chosenForms() {
		for _, file := range form.files {
			if file.hidden {
				continue
			}
			text, err := file.print(name, k)
			if err != nil {
				text = fmt.Appendf(nil, "# no %s: %v\n", form.name, err)
			}
			fmt.Fprintf(b, "\n%s\n", bytes.TrimRight(text, "\n"))
		}
	}
}

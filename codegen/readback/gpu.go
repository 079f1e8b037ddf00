package readback

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Commands of GPUs. A kernel is a variable:
//
//	var kernelAdd = gpu.Kernel{Name: "add f32[n,64] f32[n,64] -> f32[n,64]", Code: gpu.Part(kernels, 0x1a0, 0x9c4), …}
//
// Its name describes what it computes: the op with its attributes and the types of its operands and its result. Package
// kernels/gpu makes equal code for equal names, which its tests compare with the meaning of the op. What is compared
// here is the name with the node, the addresses and sizes in the call with the plan, and the code with the bounds of
// the file.

// gpuKind is a kind of targets whose commands dispatch kernels.
type gpuKind struct {
	loader, loaderType string             // the variable that opens devices
	file, variable     string             // the kernels
	threads            func([]byte) int64 // of a workgroup of a kernel in the file; 0 if the bytes are none
}

var gpuKinds = map[string]gpuKind{
	"cuda":   {loader: "nvidia", loaderType: "cuda.Loader", file: "kernels.ptx", variable: "kernelsPTX", threads: threadsOfPTX},
	"gpusim": {loader: "simulatedGPUs", loaderType: "gpusim.Loader", file: "kernels.kir", variable: "kernelText", threads: threadsOfText},
	"vulkan": {loader: "gpus", loaderType: "vulkan.Loader", file: "kernels.spv", variable: "kernels", threads: threadsOfSPIRV},
}

// isGPU reports whether commands of targets of a kind dispatch kernels.
func isGPU(kind string) bool { return gpuKinds[kind].file != "" }

// dispatch compares a dispatch with the node that is due.
func (w *walker) dispatch(a *arguments, queue int) error {
	e := a.e
	if e.kind != kernelEvent || e.what != dispatchCall {
		return fmt.Errorf("%s, where a dispatch is due", e)
	}
	a.part = ir.Partition{}
	a.on = &w.c.devices[w.c.queues[queue].device]
	w.command(a, queue)
	if len(e.args) < 2 || e.args[0].kind != name || !e.args[0].addr {
		a.differ("it dispatches %v, not a kernel", e.args)
		return a.result()
	}
	a.compiled(e.args[0].text, len(e.args)-2)
	if e.node.kind != text || e.node.text != nameOf(a.n) {
		a.differ("the command names it %v, not %q", e.node, nameOf(a.n))
	}
	if groups, ok := e.args[1].n.IsConst(); e.args[1].kind != number || !ok || groups < 1 || groups > maxGroups {
		a.differ("%v workgroups are not 1 to %d", e.args[1], maxGroups)
	}
	switch concurrent := a.n.Submit != nil && a.n.Submit.Concurrent; {
	case e.after == besideDispatch && !concurrent:
		a.differ("no barrier is between it and the dispatch before it")
	case e.after == afterBarrier && concurrent:
		a.differ("a barrier is between it and the dispatch before it, beside which it runs")
	}
	operands, symbols := dispatched(a.n)
	if got, want := len(e.args)-2, len(operands)+len(symbols); got != want {
		a.differ("%d arguments, not %d", got, want)
		return a.result()
	}
	for i, v := range operands {
		a.address(fmt.Sprintf("argument %d", i), e.args[2+i], v)
	}
	for i, s := range symbols {
		if got := e.args[2+len(operands)+i]; got.kind != number || !got.n.Equal(ir.Sym(s)) {
			a.differ("the size %s is %v", s.Name, got)
		}
	}
	return a.result()
}

// dispatches reports whether a node of the module is computed by a kernel of a GPU of that kind.
func (c *checker) dispatches(kind string) bool {
	for _, f := range c.m.AllFuncs() {
		for _, n := range f.Nodes {
			if t := c.targets.Get(n.Backend); t != nil && t.Kind == kind && does(n) && !copies(n) && n.Body == nil {
				return true
			}
		}
	}
	return false
}

// maxGroups is the largest number of workgroups that every device takes in one dimension.
const maxGroups = 65535

// The methods of the environment of a command.
const (
	dispatchCall = "Dispatch"
	barrierCall  = "Barrier"
)

// dispatchOrder is what a dispatch comes after.
type dispatchOrder uint8

const (
	afterCommand   dispatchOrder = iota // all earlier commands of its queue
	afterBarrier                        // these, and the dispatches before the barrier
	besideDispatch                      // what the dispatch before it comes after
)

// dispatched returns what the kernel of a node gets: the addresses of the operands that are there and of a result with
// bytes of its own, and the symbols in their shapes and strides as these name them.
func dispatched(n *ir.Node) (operands []*ir.Value, symbols []*ir.Symbol) {
	operands = slices.DeleteFunc(slices.Clone(n.Args), func(v *ir.Value) bool { return v == nil })
	if n.Op.Info().Traits&(ir.Alias|ir.View) == 0 {
		operands = append(operands, n.Results[0])
	}
	for _, v := range operands {
		for _, d := range append(slices.Clone(v.Type.Shape), v.Type.Strides...) {
			d.Symbols(func(s *ir.Symbol) {
				if !slices.Contains(symbols, s) {
					symbols = append(symbols, s)
				}
			})
		}
	}
	return operands, symbols
}

// address demands the address of a value.
func (a *arguments) address(what string, got value, v *ir.Value) {
	want, err := a.c.pointerTo(a.fr.of(v), a.on)
	if err != nil {
		a.differ("%s, %v: %v", what, v, err)
		return
	}
	if got.kind != pointer || got.base != want.base || !got.n.Equal(want.n) {
		a.differ("%s is %v, and %v is at %v", what, got, v, want)
	}
}

// compiled demands that a variable is the kernel of the node, with that many arguments.
func (a *arguments) compiled(id string, args int) {
	x := &runner{c: a.c, p: a.p}
	k := x.variable(id)
	if k.text != "gpu.Kernel" || len(k.fields) != 4 {
		a.differ("%s is %v, not a kernel", id, k)
		return
	}
	if got, want := k.fields["Name"], computes(a.n); got.kind != text || got.text != want {
		a.differ("the kernel computes %v, not %q", got, want)
	}
	if got, ok := k.fields["Args"].n.IsConst(); !ok || got != int64(args) {
		a.differ("the kernel takes %v arguments, and gets %d", k.fields["Args"], args)
	}
	kind, part := gpuKinds[a.on.Kind], k.fields["Code"]
	var threads int64
	if part.kind == code && part.text == kind.variable {
		threads = kind.threads(a.c.part(kind.file, part))
	}
	if threads == 0 {
		a.differ("the kernel's code is %v, not a module of %s", part, kind.file)
	}
	if got, ok := k.fields["Threads"].n.IsConst(); threads != 0 && (!ok || got != threads) {
		a.differ("the kernel has %v threads, and its code is for %d", k.fields["Threads"], threads)
	}
}

// part returns the bytes of a file that v names, or nil if there are none.
func (c *checker) part(file string, v value) []byte {
	i := slices.IndexFunc(c.files, func(f File) bool { return f.Name == file })
	from, _ := v.n.IsConst()
	if i < 0 || from < 0 || from > v.to || v.to > int64(len(c.files[i].Data)) {
		return nil
	}
	return c.files[i].Data[from:v.to]
}

// threadsOfText returns the size of workgroups of the text of one kernel, or 0 if data is no such text: a head that
// states the size and ends with an opening brace, then lines whose braces match, and the last of which closes the first
// brace.
func threadsOfText(data []byte) (threads int64) {
	text, ended := strings.CutSuffix(string(data), "\n")
	depth, last := 0, 0
	for i, line := range strings.Split(text, "\n") {
		if i == 0 != strings.HasPrefix(line, "kernel ") || i > 0 && depth == 0 {
			return 0
		}
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "}") {
			depth--
		}
		if last = depth; strings.HasSuffix(line, "{") {
			depth++
		}
	}
	if !ended || depth != 0 || last != 0 {
		return 0
	}
	var name string
	fmt.Sscanf(text, "kernel %s threads=%d", &name, &threads) // 0 if that is not there
	return threads
}

// threadsOfSPIRV returns the size of workgroups of a module of SPIR-V, or 0 if data is no module: its words begin with
// the magic number, its instructions end where it ends, and one of them, OpExecutionMode LocalSize, has the size
// (SPIR-V specification, 2.3, 3.6 and 3.42.6).
func threadsOfSPIRV(data []byte) (threads int64) {
	const magic, executionMode, localSize = 0x07230203, 16, 17
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(data[4*i:]) }
	n := len(data) / 4
	if len(data)%4 != 0 || n < 5 || word(0) != magic {
		return 0
	}
	at := 5
	for at < n {
		words := int(word(at) >> 16)
		if words == 0 || at+words > n {
			return 0
		}
		if word(at)&0xffff == executionMode && words == 6 && word(at+2) == localSize && word(at+4) == 1 && word(at+5) == 1 {
			threads = int64(word(at + 3))
		}
		at += words
	}
	return threads
}

// computes returns the name of the kernel that computes a node.
func computes(n *ir.Node) string {
	parts := []string{n.Op.String()}
	positional, braces := ir.AttrText(n)
	for _, text := range []string{positional, braces} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	for _, v := range n.Args {
		if v == nil {
			parts = append(parts, "_")
		} else {
			parts = append(parts, nowhere(v.Type))
		}
	}
	return strings.Join(append(parts, "->", nowhere(n.Results[0].Type)), " ")
}

// nowhere returns the text of a type without its space.
func nowhere(t ir.Type) string {
	t.Space = ""
	return t.String()
}

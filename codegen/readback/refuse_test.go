package readback_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
)

// refusals are texts that are put in the place of others of an emitted package, with a part of
// the difference that is reported.
type refusals []struct{ name, old, text, want string }

// TestForeignCodeIsRefused puts code that the emitter does not write into the files of two packages: a repeat on
// the processor, and a machine with two devices.
func TestForeignCodeIsRefused(t *testing.T) {
	repeat, devices := goldenNamed(t, "repeat tiny"), goldenNamed(t, "devices ")
	for _, tc := range []struct {
		s    *subject
		list refusals
	}{{repeat, syntaxRefusals}, {repeat, stepRefusals}, {repeat, faceRefusals}, {devices, deviceRefusals}, {textSubject(t, indexOfText(t, "tails")), tailRefusals},
		{onGPU(t), gpuRefusals}, {textSubject(t, indexOfText(t, "chained")), chainRefusals}, {textSubject(t, indexOfText(t, "selections")), selectionRefusals}, {textSubject(t, indexOfText(t, "iterations")), betweenRefusals}} {
		for _, r := range tc.list {
			t.Run(r.name, func(t *testing.T) { tc.s.refuses(t, r.old, r.text, r.want) })
		}
	}
}

// selectionRefusals are bounds of inputs that let rows be selected which do not exist.
var selectionRefusals = refusals{
	{"no bound", "Below: []runtime.Dim{{Const: 2}},", "", "Below has 0 elements, not 1"},
	{"one bound of three", "Below: []runtime.Dim{{Const: 10}, {Const: 16}, {", "Below: []runtime.Dim{{Const: 10}, {", "Below has 2 elements, not 3"},
	{"a larger bound", "Below: []runtime.Dim{{Const: 10}", "Below: []runtime.Dim{{Const: 11}", "Below[0].Const is 11, not 10"},
}

// betweenRefusals have another address in iterations between the first ones and the last, in the last one, in all.
var betweenRefusals = refusals{
	{"iterations between", "unsafe.Add(x, s0), unsafe.Add(io, x0Copy), 64", "unsafe.Add(x, l/3*(39-l)*64), unsafe.Add(io, x0Copy), 64", "dst is"},
	{"the last iteration", "unsafe.Add(x, s0), unsafe.Add(io, x0Copy), 64", "unsafe.Add(x, l/39*64), unsafe.Add(io, x0Copy), 64", "dst is"},
	{"each iteration", "unsafe.Add(x, s0), unsafe.Add(io, x0Copy), 64", "unsafe.Add(x, l*64), unsafe.Add(io, x0Copy), 64", "dst is"},
}

func goldenNamed(t *testing.T, name string) *subject {
	t.Helper()
	for _, s := range goldens(t) {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no golden %s", name)
	return nil
}

func indexOfText(t *testing.T, name string) int {
	t.Helper()
	for i, tc := range texts {
		if tc.name == name {
			return i
		}
	}
	t.Fatalf("no text %s", name)
	return 0
}

// refuses demands a difference that has a text where one text is put in the place of another.
func (s *subject) refuses(t *testing.T, old, text, want string) {
	t.Helper()
	files := make([]readback.File, len(s.files))
	found := false
	for i, f := range s.files {
		files[i] = f
		if strings.HasSuffix(f.Name, ".go") && strings.Contains(string(f.Data), old) && !found {
			found = true
			files[i].Data = []byte(strings.Replace(string(f.Data), old, text, 1))
		}
	}
	if !found {
		t.Fatalf("no file has %q", old)
	}
	if err := s.check(files); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nnot %q", err, want)
	}
}

var syntaxRefusals = refusals{
	{"no Go", "func layers(", "funk layers(", "expected declaration"},
	{"another package", "package tiny", "package other", "package other, not tiny"},
	{"a comment with an end", "// layers runs", "/* layers */ // runs", "is no comment of the emitter's"},
	{"a directive", "// layers runs", "//go:linkname layers main.main\n// layers runs", "is no comment of the emitter's"},
	{"an export", "// layers runs", "//export layers\n// layers runs", "is no comment of the emitter's"},
	{"an old build tag", "// layers runs", "//+build ignore\n// layers runs", "is no comment of the emitter's"},
	{"a line directive", "// layers runs", "//line x.go:1\n// layers runs", "is no comment of the emitter's"},
	{"no body", "// layers runs", "func f()\n// layers runs", "f has no body"},
	{"type parameters", "// layers runs", "func f[T any]() {}\n// layers runs", "has type parameters"},
	{"init", "// layers runs", "func init() {}\n// layers runs", "runs by itself"},
	{"twice", "// layers runs", "func layers() {}\n// layers runs", "function layers is declared twice"},
	{"a builtin", "// layers runs", "func min(a, b int) int { return a }\n// layers runs", "a declaration of min, which is a name of the language"},
	{"a type of the language", "// layers runs", "type int int8\n// layers runs", "a declaration of int, which is a name of the language"},
	{"truth", "// layers runs", "var true = false\n// layers runs", "a declaration of true, which is a name of the language"},
	{"a type twice", "// layers runs", "type t struct{}\ntype t int\n// layers runs", "type t is declared twice"},
	{"an import", `"unsafe"`, `"os"`, `import of "os", which emitted code does not need`},
	{"an import under another name", `"unsafe"`, `cpu "unsafe"`, "or under another name"},
	{"an import into the file", `"unsafe"`, `. "unsafe"`, "or under another name"},
	{"two variables", "// layers runs", "var x, y = 1, 2\n// layers runs", "a declaration of 2 variables"},
	{"a variable twice", "// layers runs", "var x = 1\nvar x = 2\n// layers runs", "x is declared twice"},
	{"a variable without a value", "// layers runs", "var x string\n// layers runs", "x has no value"},
	{"a variable with a type", "// layers runs", "var x int8 = 1\n// layers runs", "or a type"},
	{"a constant", "// layers runs", "const x = 1\n// layers runs", "a constant that is not of the handshake"},
	{"no handshake", "const _ = runtime.EnforceVersion(5 - runtime.MinVersion)", "", "the constants are"},
	{"a weaker handshake", "EnforceVersion(5 - runtime.MinVersion)", "EnforceVersion(5 - 0*runtime.MinVersion)", "the constants are"},
	{"another file", "//go:embed plan.txt", "//go:embed plan.json", "planText does not hold the file plan.txt"},
	{"no file", "//go:embed plan.txt\n", "", "planText does not hold the file plan.txt"},
	{"a value, no file", "//go:embed plan.txt\nvar planText string", `var planText = "x"`, "planText does not hold the file plan.txt"},
	{"a function that nothing runs", "// layers runs", "func f() {}\n// layers runs", "nothing runs f"},
	{"a variable that nothing uses", "// layers runs", "var x = 1\n// layers runs", "nothing uses the variable x"},
}

var stepRefusals = refusals{
	{"another function", "layersBody(w, a, l)", "other(w, a, l)", "there is no function other"},
	{"itself", "cpu.RMSNorm", "layersBody(w, a, l)\ncpu.RMSNorm", "or it calls itself"},
	{"other arguments", "layersBody(w, a, l)", "layersBody(w, a)", "is called with other arguments"},
	{"more arguments", "layersBody(w, a, l)", "layersBody(w, a, l, l)", "is called with other arguments"},
	{"arguments of other types", "layersBody(w, a, l)", "layersBody(a, w, l)", "is called with other arguments"},
	{"later", "layersBody(w, a, l)", "defer layersBody(w, a, l)", "emitted code has no such statement"},
	{"beside", "layersBody(w, a, l)", "go layersBody(w, a, l)", "emitted code has no such statement"},
	{"an assignment", "layersBody(w, a, l)", "l = 0\nlayersBody(w, a, l)", "emitted code has no such assignment"},
	{"an operation and an assignment", "layersBody(w, a, l)", "l += 1\nlayersBody(w, a, l)", "emitted code has no such assignment"},
	{"one more", "layersBody(w, a, l)", "l++\nlayersBody(w, a, l)", "emitted code has no such statement"},
	{"a variable that hides", "layersBody(w, a, l)", "l := 0\nlayersBody(w, a, l)", "emitted code has no such assignment"},
	{"a package that is hidden", "cpu.RMSNorm", "cpu := a\ncpu.RMSNorm", "emitted code has no such call of args.RMSNorm"},
	{"a condition", "layersBody(w, a, l)", "if l == 3 {\nlayersBody(w, a, l)\n}", "emitted code has no such condition"},
	{"a condition with another case", "layersBody(w, a, l)", "if w.Part == 0 {\nlayersBody(w, a, l)\n} else {\n}", "emitted code has no such condition"},
	{"a condition with a variable", "layersBody(w, a, l)", "if x := 0; w.Part == x {\nlayersBody(w, a, l)\n}", "emitted code has no such condition"},
	{"no iterations", "for l := range 12", "for l := range 0", "a loop of 0 iterations, the plan has [12]"},
	{"fewer iterations", "for l := range 12", "for l := range 11", "a loop of 11 iterations, the plan has [12]"},
	{"other iterations", "for l := range 12", "for l := 1; l < 13; l++", "emitted code has no such loop"},
	{"no index", "for l := range 12", "for range 12", "emitted code has no such loop"},
	{"a loop around", "layersBody(w, a, l)", "for range 1 {\nlayersBody(w, a, l)\n}", "emitted code has no such loop"},
	{"no stop", "if w.Stop() {\n\t\t\treturn\n\t\t}", "", "the workers ask 0 times whether to stop, not 1"},
	{"a stop that does not leave", "if w.Stop() {\n\t\t\treturn\n\t\t}", "if w.Stop() {\n}", "emitted code has no such condition"},
	{"a stop before the barrier", "w.Barrier()\n\t\tif w.Stop() {\n\t\t\treturn\n\t\t}", "if w.Stop() {\n\t\t\treturn\n\t\t}\nw.Barrier()", "there is no barrier before it"},
	{"a return", "layersBody(w, a, l)", "layersBody(w, a, l)\nreturn", "emitted code has no such statement"},
	{"another divider", "w.Part, w.Parts)", "w.Parts, w.Part)", "emitted code has no such range"},
	{"a granule that is no constant", ", w.Part, w.Parts)", "*w.Parts, w.Part, w.Parts)", "emitted code has no such range"},
	{"a field", "a.IO", "a.Other", "emitted code has no such field"},
	{"an element that there is not", "l*0x100000", "a.Dims[7]", "has no element 7"},
	{"a negative element", "l*0x100000", "a.Dims[-1]", "emitted code has no such index"},
	{"a literal", "l*0x100000", "'x'", "is none that emitted code has"},
	{"too large a number", "l*0x100000", "0x10000000000000000", "is none that emitted code has"},
	{"an operation", "l*0x100000", "l<<20", "emitted code has no such operation"},
	{"a sum that does not fit", "l*0x100000", "(0x7fffffffffffffff+1)", "emitted code has no such overflow"},
	{"a division of what may be negative", "l*0x100000", "(0-w.Part)/2", "Go divides -w.Part by 2 with another result"},
	{"a division by what may be zero", "l*0x100000", "8/w.Part", "Go divides 8 by w.Part with another result"},
	{"a function", "l*0x100000", "len(planText)", "emitted code has no such call of len"},
	{"a conversion", "l*0x100000", "int(l)", "emitted code has no such call of int"},
	{"a function literal", "l*0x100000", "func() int { return 0 }()", "emitted code has no such call"},
	{"what is not declared", "l*0x100000", "other", "other is not declared"},
	{"a print", "layersBody(w, a, l)", "println(l)\nlayersBody(w, a, l)", "there is no function println"},
	{"a call without a comment", " // %n0", "", "the comment of the call of %n0 is \"\", not \"// %n0\""},
	{"a comment of another node", " // %n0", " // %x0", "the comment of the call of %n0 is \"// %x0\""},
	{"a comment that belongs to no call", "w.Barrier()", "w.Barrier() // %n0", "belongs to no call"},
	{"a constant of another value", "xCopy = 0x800", "xCopy = 0x801", "and %"},
	{"a constant with a type", "xCopy = 0x800", "xCopy int = 0x800", "emitted code has no such constant"},
	{"a constant that is an expression", "xCopy = 0x800", "xCopy = n0 + 0x800", "emitted code has no such constant"},
	{"a constant without a value", "xCopy = 0x800", "xCopy", "emitted code has no such constant"},
	{"a constant that nothing uses", "xCopy = 0x800", "xCopy = 0x800\nother = 3", "nothing uses the constant other"},
	{"a variable that is declared", "cpu.RMSNorm", "var other = 3\ncpu.RMSNorm", "emitted code has no such declaration"},
	{"a shape of another type", "matMul = cpu.MatMulShape{In: 512, Out: 512}", "matMul = cpu.SumShape{Choices: 512, Len: 512}", "the shape is cpu.SumShape{…}, not a cpu.MatMulShape"},
	{"a shape without a field", "{In: 512, Out: 512}", "{In: 512}", "Out is 0, not 512"},
	{"a shape with a foreign field", "{In: 512, Out: 512}", "{In: 512, Out: 512, Len: 1}", "the shape has a field Len"},
	{"a shape with another extent", "{In: 512, Out: 512}", "{In: 512, Out: 528}", "Out is 528, not 512"},
	{"a stop that leaves an iteration", "cpu.RMSNorm", "w.Barrier()\nif w.Stop() {\nreturn\n}\ncpu.RMSNorm", "what is left where the step is to stop is not the step"},
}

var faceRefusals = refusals{
	{"a method", "// Close waits", "func (s *Session) Other() {}\n// Close waits", "Session.Other is not what the package exports"},
	{"a method on a value", "// Close waits", "func (s Session) Other() {}\n// Close waits", "is not what the package exports"},
	{"a type", "// Close waits", "type Other struct{}\n// Close waits", "Other is not what the package exports"},
	{"an alias in place of a type", "type Model struct", "type Model = struct", "Model is not what the package exports"},
	{"a field less", "Verify bool", "", "Options is not what the package exports"},
	{"an option that is lost", "Verify: o.Verify, ", "", "Options.runtime is not what the package exports"},
	{"another constant", "// Close waits", "const Other = 1\n// Close waits", "Other is not what the package exports"},
	{"a constant of another file", "// layers runs", "const Other = 1\n// layers runs", "a constant that is not of the handshake"},
	{"another error", "ErrBusy      = runtime.ErrBusy", "ErrBusy = runtime.ErrClosed", "ErrBusy is not what the package exports"},
	{"an error less", "ErrFault     = runtime.ErrFault", "", "does not export ErrFault"},
	{"another function of the face", "// Close waits", "func Other() {}\n// Close waits", "nothing runs Other"},
	{"another input", "in.X", "in.Y", "Session.Layers is not what the package exports"},
	{"another function", "s.s.Call(ctx, 0,", "s.s.Call(ctx, 1,", "no method runs @layers"},
	{"a method less", "func (m *Model) Threads() int { return m.m.Threads() }", "", "does not export Model.Threads"},
	{"an input that is lost", "err = s.s.Call", "in = LayersInputs{}\nerr = s.s.Call", "Session.Layers is not what the package exports"},
	{"an error that is lost", "return out, err", "return out, nil", "Session.Layers is not what the package exports"},
	{"another element", "X []float32", "X []int32", "LayersInputs is not what the package exports"},
	{"another name", "LayersInputs struct {\n\tX ", "LayersInputs struct {\n\tZ ", "the field Z is for"},
	{"options that are lost", "runtime.Open(&program, o.runtime())", "runtime.Open(&program, runtime.Options{})", "Open is not what the package exports"},
}

var deviceRefusals = refusals{
	{"another loader", "var simulated fake.Loader", "var simulated = fake.Loader{}", "simulated is not the loader as it is"},
	{"a queue that is no number", "q.Run(0, ", "q.Run(rows, ", "emitted code has no such submission"},
	{"a command that is copied", "&fSplit0", "fSplit0", "emitted code has no such submission"},
	{"no kernel", "fake.Kernel(fSplit0Kernels)", "nil", "emitted code has no such command"},
	{"another queue", "q.Record(0, 1)", "q.Record(1, 1)", "where Record(0, 1) is due"},
	{"a wait for nothing", "q.Await(1)", "q.Await(1)\nq.Await(1)", "Await(1), which is not due"},
	{"a wait for no reason", "q.Await(1)", "q.Await(1)\nq.Finish(0)", "Finish(0) for no reason"},
	{"no wait", "q.Await(1)", "", "no wait: [Await(1)]"},
	{"a wait by all", "if w.Part == 0 {\n\t\tq := a.Queues\n\t\tq.Copy(1,", "{\n\t\tq := a.Queues\n\t\tq.Copy(1,", "emitted code has no such statement"},
	{"two marks", "w.Mark(0)", "w.Mark(0)\nw.Mark(0)", "a mark, and then a mark"},
	{"no mark at the end", "w.Mark(runtime.MarkEnd)", "", "no mark of end before"},
	{"a name that nothing marks", "NewProfile(", "NewProfile(\"barrier\", ", "a mark of"},
	{"a method", "// f runs", "type T int\nfunc (t *T) M() {}\n// f runs", "the method T.M, and a program has none"},
}

var gpuRefusals = refusals{
	{"another loader", "var simulatedGPUs gpusim.Loader", "var simulatedGPUs = gpusim.Loader{}", "simulatedGPUs is not the loader as it is"},
	{"a loader of another kind", "var simulatedGPUs gpusim.Loader", "var simulatedGPUs vulkan.Loader", "simulatedGPUs is not the loader as it is"},
	{"another kernel", "Dispatch(&kernelScale,", "Dispatch(&kernelAdd,", "the kernel computes"},
	{"a kernel with another name", "{scale=-1e-30", "{scale=-2e-30", "the kernel computes"},
	{"a kernel without its end", "gpu.Part(kernelText, 0, ", "gpu.Part(kernelText, 1, ", "not a module of kernels.kir"},
	{"kernels with another hash", `SHA256: "`, `SHA256: "0`, "program.Devices.Kernels[0].SHA256 is "},
	{"kernels under another name", `"kernels.kir",`, `"kernels.spv",`, "program.Devices.Kernels[0].Name is "},
	{"a kernel with more arguments", "Args:    3", "Args:    4", "the kernel takes 4 arguments, and gets 3"},
	{"no workgroups", "Dispatch(&kernelScale, ", "Dispatch(&kernelScale, 0*", "0 workgroups are not 1 to"},
	{"another size", ", uint64(n), uint64(k))", ", uint64(n+1), uint64(k))", "the size n is"},
	{"no size", ", uint64(n), uint64(k))", ", uint64(n))", "3 arguments, not 4"},
	{"the name of another node", `"%s", `, `"%t", `, `the command names it "%t", not "%s"`},
	{"no name of a node", `"%s", `, ``, `the command names it "%d", not "%s"`},
	{"two names in another order", `"%s", "%d"`, `"%d", "%s"`, `the command names it "%d", not "%s"`},
	{"a name at the end", `"%e"}`, `"%e", "%e"}`, "emitted code has no such command that names more nodes than it computes"},
	{"no names", `Nodes: []string{"%s", "%d", "%m", "%t", "%b", "%c", "%e"}, `, "", "emitted code has no such command"},
}

// chainRefusals are kernels of other steps, and other operands of them.
var chainRefusals = refusals{
	{"another op", "gelu(y1)", "silu(y1)", "the kernel computes"},
	{"another operand", "sub(y0, x1)", "sub(y0, x0)", "the kernel computes"},
	{"another order", "mul(y2, y0)", "mul(y0, y2)", "the kernel computes"},
	{"another number", "bias=0.1", "bias=0.2", "the kernel computes"},
	{"a step less", ", gelu(y1), mul(y2, y0)", ", mul(y1, y0)", "the kernel computes"},
	{"operands in another order", "mem0+uint64(xVulkan), mem0+uint64(0x1e00), ", "mem0+uint64(0x1e00), mem0+uint64(xVulkan), ", "argument 0 is"},
}

var tailRefusals = refusals{
	{"a barrier in a tail", "u.Next(); {", "u.Next(); {\nw.Barrier()", "a barrier inside of a loop over shares"},
	{"a loop that takes and computes nothing", "for u := w.Share", "for u := w.Share(64, 16); u.Next(); {\n}\nfor u := w.Share", "a loop over shares that computes nothing"},
	{"another condition", "u.Next(); {", "u.Lo < 3; {", "emitted code has no such loop"},
	{"a granule that is no constant", "for u := w.Share(4096, 16)", "for u := w.Share(4096, w.Parts)", "emitted code has no such loop"},
	{"what comes after each piece", "u.Next(); {", "u.Next(); w.Barrier() {", "emitted code has no such loop"},
}

// TestMissingAndExtraFilesAreRefused refuses packages that lack a file, or have others.
func TestMissingAndExtraFilesAreRefused(t *testing.T) {
	s := goldenNamed(t, "mlp tiny")
	for name, files := range map[string][]readback.File{
		"one less":           s.files[1:],
		"one more":           append(s.files[:len(s.files):len(s.files)], readback.File{Name: "more.s"}),
		"one twice":          append(s.files[:len(s.files):len(s.files)], s.files[0]),
		"a vocabulary":       append(s.files[:len(s.files):len(s.files)], readback.File{Name: "tokenizer.bin"}),
		"another name":       append([]readback.File{{Name: "program_test.go", Data: s.files[0].Data}}, s.files[1:]...),
		"weights of its own": append(s.files[:len(s.files):len(s.files)], readback.File{Name: "weights.bin"}),
	} {
		if err := s.check(files); err == nil || !strings.Contains(err.Error(), "the package consists of the files") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConstantsWithoutLiteralsAreReadBack reads numbers back that Go has no literal for.
func TestConstantsWithoutLiteralsAreReadBack(t *testing.T) {
	for _, number := range []string{"inf", "-inf", "nan", "-0", "1e-45", "3.4028235e38", "16777217"} {
		m, err := ir.Parse("x.ggir", []byte("func @f(%x: f32[4]) -> (y: f32[4]) {\n  %y = scale %x {scale="+number+", bias=0.1}\n  return %y\n}\n"))
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		if _, err := emit(t.Context(), number, m, nil, setting{}); err != nil {
			t.Errorf("%s: %v", number, err)
		}
	}
}

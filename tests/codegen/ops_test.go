package codegen_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// opCase is a sample case of an op that the CPU runs, as a function of the one program.
type opCase struct {
	op   ir.Op
	name string // of the case
	fn   string // of the function
	call *irtest.Call
}

// TestOpsComputeWhatEvalDoes runs the sample cases of all ops through one emitted program, a function for each
// case, called by name with arrays in files, and compares with ir/eval.
func TestOpsComputeWhatEvalDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build and a process for each case take seconds")
	}
	testOps(t, passes.RunOptions{})
}

// TestOpsOnDevice is TestOpsComputeWhatEvalDoes with all work on a simulated device.
func TestOpsOnDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build and a process for each case take seconds")
	}
	targets, err := target.Select("fake,cpu")
	if err != nil {
		t.Fatal(err)
	}
	testOps(t, passes.RunOptions{Targets: targets, Options: pass.Options{Pins: []pass.Pin{pinOf(t, ".*=fake")}}})
}

func testOps(t *testing.T, o passes.RunOptions) {
	cases, m := opModule(t, o)
	if o.Targets != nil {
		onlyCopies(t, m, o.Targets.Last().Name)
	}
	dir := t.TempDir()
	exe := buildWith(t, dir, m, weightsOf(cases), o.Targets)
	covered := make(map[ir.Op]bool)
	for _, c := range cases {
		covered[c.op] = true
		t.Run(c.fn, func(t *testing.T) {
			got := callFunction(t, exe, dir, c)
			c.call.Env.States = nil // those of a new session are zero, too
			want := expected(t, c)
			if err := irtest.Compare(got, want[0], c.op.Info().Tol); err != nil {
				t.Errorf("%v, case %q: %v", c.op, c.name, err)
			}
		})
	}
	for op := range ir.Ops {
		if codegen.HasCPUEmitter(op) && !covered[op] && uncallable[op] == "" {
			t.Errorf("%v: no case runs through an emitted program", op)
		}
	}
}

// onlyCopies checks that a backend has nothing to do but to copy.
func onlyCopies(t *testing.T, m *ir.Module, backend string) {
	t.Helper()
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Backend == backend && n.Op != ir.OpCopy && n.Body == nil && !n.Is(ir.Leaf) && !n.Is(ir.View) {
				t.Errorf("@%s: %v is not on the device", f.Name, n)
			}
		}
	}
}

// expected is what eval computes for the case after all passes, which may round activations. That
// passes change nothing else is the subject of tests/diff_test.go.
func expected(t *testing.T, c opCase) []eval.Tensor {
	t.Helper()
	m := c.call.Module.Clone()
	if err := compile(m); err != nil {
		t.Fatal(err)
	}
	env := *c.call.Env
	var err error
	if env.Weights, err = irtest.Weights(m, c.call.Env.Weights); err != nil {
		t.Fatal(err)
	}
	want, err := eval.Run(t.Context(), m, c.call.Func, &env)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// uncallable are ops whose result no caller can take, with the reason.
var uncallable = map[ir.Op]string{
	ir.OpStateWrite:      "its result is a version of a state; the cases of attention read what it writes, here and in tests/accuracy",
	ir.OpQuantize:        "activations in the kernels' format are not for callers; matmul cases with quantized weights make them",
	ir.OpRMSNormQuantize: "as quantize",
	ir.OpCopyExperts:     "callers would find undefined bytes; TestExpertsComputeWhatEvalDoes has one that an experts_matmul reads",
	ir.OpPack:            "tiles are not for callers; matmul cases whose second operand is no weight make them",
}

// opModule returns the cases that can be compiled and called, and the module that holds
// them all.
func opModule(t *testing.T, o passes.RunOptions) ([]opCase, *ir.Module) {
	t.Helper()
	var cases []opCase
	var all joined
	for op := range ir.Ops {
		if uncallable[op] != "" || op.Info().Cases == nil {
			continue
		}
		i := 0
		for c := range op.Info().Cases {
			fn := fmt.Sprintf("%v%d", op, i)
			i++
			call, err := irtest.Case(op, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !callable(call.Module) || compile(call.Module.Clone()) != nil {
				continue
			}
			rename(t, call, fn)
			all.add(call.Module)
			cases = append(cases, opCase{op, c.Name, fn, call})
		}
	}
	m, err := ir.Parse("ops.ggir", []byte(all.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := compileWith(m, o); err != nil {
		t.Fatal(err)
	}
	return cases, m
}

// callable reports whether the arrays that go in and out are of dtypes and in the layout that callers have.
func callable(m *ir.Module) bool {
	f := m.Funcs[0]
	for _, v := range slices.Concat(f.Params, f.Results) {
		switch v.Type.DType {
		case dtype.F32, dtype.F16, dtype.I32:
		default:
			return false
		}
		if v.Type.Layout != dtype.Plain {
			return false
		}
	}
	for _, d := range f.Params {
		for _, e := range d.Type.Shape {
			if _, _, _, ok := e.Linear(); !ok {
				return false
			}
		}
	}
	return len(m.States) == 0
}

// rename prefixes every declaration of the module with the function's name, so that the
// modules of several cases can be joined. It works on a copy that shares nothing with the
// table of cases: the module parsed from its own text.
func rename(t *testing.T, c *irtest.Call, fn string) {
	t.Helper()
	m, err := ir.Parse(fn, []byte(c.Module.String()))
	if err != nil {
		t.Fatal(err)
	}
	m.Sources = append(m.Sources, &ir.Source{Name: "m", Path: "none"})
	prefix := fn + "_"
	c.Module, c.Func, m.Funcs[0].Name = m, fn, fn
	weights := make(map[string]eval.Tensor)
	for _, w := range m.Weights {
		weights[prefix+w.Name] = c.Env.Weights[w.Name]
		w.Name = prefix + w.Name
		w.Expr = ir.Tensor("m", w.Name)
		if w.Type.Layout != dtype.Plain {
			w.Expr = ir.Pack(w.Expr, w.Type.Layout.String())
		}
	}
	for _, n := range m.Funcs[0].Nodes {
		if attr, ok := n.Attr.(*ir.WeightAttr); ok {
			attr.Name = prefix + attr.Name
		}
	}
	c.Env.Weights = weights
}

// joined collects the declarations and functions of several modules.
type joined struct {
	symbols        []string // lines; those of one name are one symbol
	weights, funcs strings.Builder
}

func (j *joined) add(m *ir.Module) {
	text := m.String()
	i := strings.Index(text, "\nfunc ") + 1
	for line := range strings.Lines(text[:i]) {
		switch {
		case strings.HasPrefix(line, "weight "):
			j.weights.WriteString(line)
		case strings.HasPrefix(line, "symbol ") && !slices.Contains(j.symbols, line):
			j.symbols = append(j.symbols, line)
		}
	}
	j.funcs.WriteString(text[i:])
}

func (j *joined) String() string {
	return "ggir 1\nmodule \"ops\"\nafter import\nprops imported\nsource m \"none\" 0\n" +
		strings.Join(j.symbols, "") + j.weights.String() + j.funcs.String()
}

// tensors are the weights of all cases, as codegen.Sources.
type tensors map[string]tensor

type tensor struct {
	typ  ir.Type
	data eval.Tensor
}

func weightsOf(cases []opCase) tensors {
	all := make(tensors)
	for _, c := range cases {
		for _, w := range c.call.Module.Weights {
			all[w.Name] = tensor{w.Type, c.call.Env.Weights[w.Name]}
		}
	}
	return all
}

func (ts tensors) Tensor(_, name string) (codegen.Rows, error) {
	t, ok := ts[name]
	if !ok {
		return nil, fmt.Errorf("no tensor %q", name)
	}
	return t, nil
}

func (t tensor) DType() dtype.DType { return t.typ.DType }

func (t tensor) Shape() (rows, cols int64) {
	n, _ := t.typ.Rows().IsConst()
	k, _ := t.typ.Inner().IsConst()
	return n, k
}

func (t tensor) ReadRows(_ context.Context, dst []byte, first, n int64) error {
	_, k := t.Shape()
	flat := t.data.Dense().Flat()[first*k : (first+n)*k]
	values := make([]float32, len(flat))
	for i, x := range flat {
		values[i] = float32(x)
	}
	return dtype.Encode(t.typ.DType, dst, values)
}

// build makes an executable of a module that was compiled for the CPU.
func build(t *testing.T, dir string, m *ir.Module, src codegen.Sources) string {
	t.Helper()
	return buildWith(t, dir, m, src, nil)
}

// buildWith is build for other targets.
func buildWith(t *testing.T, dir string, m *ir.Module, src codegen.Sources, targets *target.List) string {
	t.Helper()
	blob, err := os.Create(filepath.Join(dir, "weights"))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := codegen.PackWeights(t.Context(), m, src, blob, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := blob.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := codegen.Emit(m, codegen.Options{Package: "main", Compiler: "ggmlc test", Name: m.Name, PlanID: "test", WeightsHash: hash, Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "program.exe") // the ending that Windows wants
	err = codegen.Build(t.Context(), p, codegen.BuildOptions{
		Out: exe, WeightsFile: blob.Name(), WeightsSize: codegen.WeightsBytes(m), WeightsHash: hash, PlanID: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// callFunction calls a case's function with its inputs in files and returns its result.
func callFunction(t *testing.T, exe, dir string, c opCase, flags ...string) eval.Tensor {
	t.Helper()
	args := []string{"call", c.fn}
	for name, in := range c.call.Env.Inputs {
		path := filepath.Join(dir, c.fn+"."+name+".npy")
		p := slices.IndexFunc(c.call.Module.Funcs[0].Params, func(v *ir.Value) bool { return v.Name() == name })
		writeArray(t, path, c.call.Module.Funcs[0].Params[p].Type.DType, in)
		args = append(args, name+"="+path)
	}
	out := filepath.Join(dir, c.fn+".out")
	if text, err := exec.Command(exe, slices.Concat(args, flags, []string{"-o", out})...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return readArray(t, filepath.Join(out, "y.npy"))
}

func writeArray(t *testing.T, path string, dt dtype.DType, x eval.Tensor) {
	t.Helper()
	flat := x.Dense().Flat()
	var data []byte
	for _, v := range flat {
		switch dt {
		case dtype.I32:
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
		case dtype.F16:
			data = binary.LittleEndian.AppendUint16(data, dtype.F32ToF16(float32(v)))
		default:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: dt, Shape: x.Shape, Data: data}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readArray(t *testing.T, path string) eval.Tensor {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := runtime.ReadNPY(f, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	x, err := eval.Decode(a.Type, a.Data, a.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

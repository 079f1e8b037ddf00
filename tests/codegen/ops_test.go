package codegen_test

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/casetest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
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
	exe := buildWith(t, t.TempDir(), m, casetest.Weights(calls(cases)), o.Targets)
	covered := make(map[ir.Op]bool)
	for _, c := range cases {
		covered[c.op] = true
		t.Run(c.fn, func(t *testing.T) {
			got := callCase(t, exe, c)
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
	ir.OpObserve:         "has no result; TestDevicesHandOutTheSame of tests/e2e/devices compares what it hands out",
	ir.OpCopyExperts:     "callers would find undefined bytes; TestExpertsComputeWhatEvalDoes has one that an experts_matmul reads",
	ir.OpPack:            "tiles are not for callers; matmul cases whose second operand is no weight make them",
}

// opModule returns the cases that can be compiled and called, and the module that holds
// them all.
func opModule(t *testing.T, o passes.RunOptions) ([]opCase, *ir.Module) {
	t.Helper()
	var cases []opCase
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
			if !casetest.Callable(call.Module) || compile(call.Module.Clone()) != nil {
				continue
			}
			if err := casetest.Rename(call, fn); err != nil {
				t.Fatal(err)
			}
			cases = append(cases, opCase{op, c.Name, fn, call})
		}
	}
	m, err := casetest.Join(calls(cases))
	if err != nil {
		t.Fatal(err)
	}
	if err := compileWith(m, o); err != nil {
		t.Fatal(err)
	}
	return cases, m
}

func calls(cases []opCase) []*irtest.Call {
	calls := make([]*irtest.Call, len(cases))
	for i, c := range cases {
		calls[i] = c.call
	}
	return calls
}

// build makes an executable of a module that was compiled for the CPU.
func build(t *testing.T, dir string, m *ir.Module, src codegen.Sources) *casetest.Program {
	t.Helper()
	return buildWith(t, dir, m, src, nil)
}

// buildWith is build for other targets.
func buildWith(t *testing.T, dir string, m *ir.Module, src codegen.Sources, targets *target.List) *casetest.Program {
	t.Helper()
	p, err := casetest.Build(t.Context(), dir, m, src, targets)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// callCase calls the function of a case and returns its result.
func callCase(t *testing.T, p *casetest.Program, c opCase, flags ...string) eval.Tensor {
	t.Helper()
	y, err := p.Call(t.Context(), c.call, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

package codegen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/casetest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestExpertsComputeWhatEvalDoes runs mixtures of experts in an emitted program and compares with ir/eval.
func TestExpertsComputeWhatEvalDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	m := parsed(t)
	rng := rand.New(rand.NewPCG(5, 5))
	env := eval.Env{Weights: make(map[string]eval.Tensor)}
	src := make(casetest.Tensors)
	for _, w := range m.Weights {
		env.Weights[w.Name] = random(t, rng, w.Type, 6)
		src[w.Name] = casetest.Tensor{Type: w.Type, Data: env.Weights[w.Name]}
	}
	if err := compile(m); err != nil {
		t.Fatal(err)
	}
	exe := build(t, t.TempDir(), m, src)
	for _, name := range []string{"moe", "copied"} {
		call := &irtest.Call{Module: onlyFunc(t, name), Func: name, Env: &eval.Env{Weights: env.Weights, Inputs: make(map[string]eval.Tensor)}}
		for _, p := range call.Module.Funcs[0].Params {
			call.Env.Inputs[p.Name()] = random(t, rng, p.Type, 6)
		}
		c := opCase{ir.OpExpertsMatMul, name, name, call}
		got, want := callCase(t, exe, c), expected(t, c)
		if err := irtest.Compare(got, want[0], ir.OpQuantize.Info().Tol); err != nil {
			t.Errorf("@%s: %v", name, err)
		}
	}
}

// TestExpertsFarAway has the matrices in the host's memory and the product on a device: only
// those matrices that are chosen are copied.
func TestExpertsFarAway(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	m, err := ir.Parse("far.ggir", []byte(irtest.FarExperts))
	if err != nil {
		t.Fatal(err)
	}
	imported := m.Clone()
	targets, err := target.Select("fake:linkdelay=1e-12,cpu") // many small copies are as good as one
	if err != nil {
		t.Fatal(err)
	}
	o := passes.RunOptions{Targets: targets, Options: pass.Options{Pipeline: 2, Pins: []pass.Pin{pinOf(t, "y=fake")}}}
	if err := compileWith(m, o); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(m.Funcs[0].Nodes, func(n *ir.Node) bool { return n.Op == ir.OpCopyExperts && n.Queue() == "fake" }) {
		t.Fatalf("nothing copies experts:\n%v", m)
	}
	rng := rand.New(rand.NewPCG(6, 6))
	env := eval.Env{Weights: map[string]eval.Tensor{"f16": random(t, rng, m.Weights[0].Type, 6)}, Inputs: make(map[string]eval.Tensor)}
	for _, p := range imported.Funcs[0].Params {
		env.Inputs[p.Name()] = random(t, rng, p.Type, 6)
	}
	exe := buildWith(t, t.TempDir(), m, casetest.Tensors{"f16": casetest.Tensor{Type: imported.Weights[0].Type, Data: env.Weights["f16"]}}, targets)
	c := opCase{ir.OpExpertsMatMul, "far", "far", &irtest.Call{Module: imported, Func: "far", Env: &env}}
	if err := irtest.Compare(callCase(t, exe, c), expected(t, c)[0], ir.OpExpertsMatMul.Info().Tol); err != nil {
		t.Error(err)
	}
}

func pinOf(t *testing.T, text string) pass.Pin {
	t.Helper()
	pin, err := pass.ParsePin(text)
	if err != nil {
		t.Fatal(err)
	}
	return pin
}

func parsed(t *testing.T) *ir.Module {
	t.Helper()
	m, err := ir.Parse("experts.ggir", []byte(irtest.Experts))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// onlyFunc returns the module without its other functions.
func onlyFunc(t *testing.T, name string) *ir.Module {
	t.Helper()
	m := parsed(t)
	m.Funcs = []*ir.Func{m.Func(name)}
	return m
}

// random fills a type with numbers, indices below bound where it holds integers; symbols
// are 7.
func random(t *testing.T, rng *rand.Rand, typ ir.Type, bound int) eval.Tensor {
	t.Helper()
	shape := make([]int, typ.Rank())
	for i, d := range typ.Shape {
		shape[i] = int(d.Eval(func(*ir.Symbol) int64 { return 7 }))
	}
	x := eval.New(shape...)
	for i := range x.Data {
		x.Data[i] = rng.NormFloat64()
		if typ.DType.IsInt() {
			x.Data[i] = float64(rng.IntN(bound))
		}
	}
	rounded, err := eval.Round(typ.DType, x)
	if err != nil {
		t.Fatal(err)
	}
	return rounded
}

package codegen_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/casetest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// constants has constants and weights: as they are, folded, in a body that repeat calls, and in
// two functions.
func constants(rng *rand.Rand) string {
	data := func(n int) string {
		var b strings.Builder
		for range n {
			var x [4]byte
			binary.LittleEndian.PutUint32(x[:], math.Float32bits(float32(rng.NormFloat64())))
			fmt.Fprintf(&b, "%x", x)
		}
		return b.String()
	}
	return `module "constants"
after import
props imported
source m "none" 0
symbol n 1 5
weight "w" : f32[48] = m["w"]
weight "v" : f32[16] = m["v"]
func @f(%x: f32[n,48]) -> (y: f32[n,48]) {
  %k = constant "` + data(48) + `" : f32[48]
  %w = weight "w"
  %e = exp %k
  %a = mul %x, %e
  %b = add %a, %w
  %c = repeat %b {count=3, carried=1, invariant=0}
  body @block(%x: f32[n,48]) -> f32[n,48] {
    %k = constant "` + data(48) + `" : f32[48]
    %m = mul %x, %k
    %y = tanh %m
    return %y
  }
  %d = sub %c, %k
  return %d
}
func @g(%x: f32[n,16]) -> (y: f32[n,16]) {
  %k = constant "` + data(16) + `" : f32[16]
  %v = weight "v"
  %a = mul %x, %v
  %b = add %a, %k
  return %b
}
`
}

// TestConstantsKeepTheirValues runs functions with constants on the processor and on devices, and compares
// with ir/eval.
func TestConstantsKeepTheirValues(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	rng := rand.New(rand.NewPCG(8, 8))
	imported, err := ir.Parse("constants.ggir", []byte(constants(rng)))
	if err != nil {
		t.Fatal(err)
	}
	env := eval.Env{Weights: make(map[string]eval.Tensor)}
	src := make(casetest.Tensors)
	for _, w := range imported.Weights {
		env.Weights[w.Name] = random(t, rng, w.Type, 4)
		src[w.Name] = casetest.Tensor{Type: w.Type, Data: env.Weights[w.Name]}
	}
	for _, machine := range []struct{ targets, pin string }{
		{"cpu", ".*=cpu"}, {"fake,cpu", ".*=fake"}, {"fake,cpu", "a=fake"}, {"fake:0,fake:1:queues=2,cpu", "c|m|y=fake:1"},
	} {
		t.Run(machine.targets+" "+machine.pin, func(t *testing.T) {
			targets, err := target.Select(machine.targets)
			if err != nil {
				t.Fatal(err)
			}
			m := imported.Clone()
			if err := compileWith(m, passes.RunOptions{Targets: targets, Options: pass.Options{Pins: []pass.Pin{pinOf(t, machine.pin)}}}); err != nil {
				t.Fatal(err)
			}
			if got := countOps(m, ir.OpConstant); slices.Max(got) == 0 {
				t.Fatalf("no constant is left:\n%v", m)
			}
			exe := buildWith(t, t.TempDir(), m, src, targets)
			for _, name := range []string{"f", "g"} {
				inner := imported.Func(name).Params[0].Type.Inner()
				x := random(t, rng, ir.Type{DType: dtype.F32, Shape: []ir.Dim{ir.Const(5), inner}}, 4)
				call := &irtest.Call{Module: &ir.Module{Funcs: []*ir.Func{imported.Func(name)}}, Func: name, Env: &eval.Env{Weights: env.Weights, Inputs: map[string]eval.Tensor{"x": x}}}
				want, err := eval.Run(t.Context(), imported, name, call.Env)
				if err != nil {
					t.Fatal(err)
				}
				c := opCase{ir.OpConstant, name, name, call}
				if err := irtest.Compare(callCase(t, exe, c), want[0], ir.OpTanh.Info().Tol); err != nil {
					t.Errorf("@%s: %v", name, err)
				}
			}
		})
	}
}

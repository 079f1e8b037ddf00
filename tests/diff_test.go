// Package tests holds tests of several packages together.
package tests

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// packing is a backend that runs every op and has the formats of products of the CPU.
const packing = "ops=*,matmul(q8a|q8a_k," + blocks + ",f32),matmul(q8a_k|q8a," + superblocks + ",f32)," +
	"matmul(bf16,bf16.r16,f32),matmul(q8a|q8a_k,bf16.r16,f32),matmul(f32|q8a|q8a_k,f32|f16.r16,f32)," +
	"matmul_swiglu(q8a," + blocks + "," + blocks + "),matmul_swiglu(q8a_k|q8a," + superblocks + "," + superblocks + "),matmul_swiglu(bf16,bf16.r16,bf16.r16)," +
	"matmul_swiglu(q8a,bf16.r16,bf16.r16),matmul_swiglu(f32|q8a,f32|f16.r16,f32|f16.r16)," +
	"exp(f32),silu(f32),rms_norm(f32,f32),quantize(f32) workers=true threads=4"

// blocks and superblocks are the quantized formats that a target packs. It quantizes activations to the first format
// that it reads with them.
const (
	blocks      = "q8_0|q4_0|q4_1|q5_0|q5_1|iq4_nl|mxfp4.r16"
	superblocks = "q2_k|q3_k|q4_k|q5_k|q6_k|iq4_xs.r16"
)

// targetLists are the machines for which modules are compiled: one backend that runs everything, one that packs, and
// several in different spaces.
var targetLists = map[string]string{
	"one":  "target cpu space=host workers=true threads=4 ops=*",
	"pack": "target cpu space=host " + packing,
	"many": "target gpu space=dev merge=true ops=matmul,add,mul,rms_norm,exp maxinputs=3\n" +
		"target npu space=npu,host ops=silu,swiglu,rope,softmax,scale\n" +
		"target cpu space=host " + packing,
	"rated": "target gpu space=dev ops=*,-rope,-softmax flops=1e9 bandwidth=1e9 launch=1e-8 link=1e9 linkdelay=1e-8 queues=2 events=true memory=3KiB\n" +
		"target npu space=npu,host ops=silu,swiglu,rope,add,mul,matmul flops=2e9 bandwidth=2e9 launch=1e-8 link=1e9 linkdelay=1e-8 queues=1\n" +
		"target cpu space=host flops=1e8 bandwidth=1e8 link=1e9 " + packing,
}

// Sums have the same terms, possibly in another order. Each product rounds quantized activations to 1/127 of the
// largest of 32 or 256.
var (
	sameNumbers = ir.Tolerance{NMSE: 1e-18, Why: "float64 sums in another order"}
	folded      = ir.Tolerance{NMSE: 1e-12, Why: "constants that are computed ahead are rounded to float32"}
	rounded     = ir.Tolerance{NMSE: 0.2, Why: "activations are rounded to 8 bits before each product with quantized weights (to bf16 with weights of bf16), and random programs cancel what is left"}
)

func TestPassesPreserveMeaning(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 6
	}
	for name, text := range targetLists {
		targets, err := target.Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			tight := uint64(0) // programs that assign does not fit into the memory of a target, which are about 1 in 100
			for seed := range seeds {
				var budget *pass.BudgetError
				if err := preserves(seed, targets, pass.Options{}); errors.As(err, &budget) {
					tight++
				} else if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			if tight > seeds/6 {
				t.Errorf("%d of %d programs do not fit", tight, seeds)
			}
		})
	}
}

// TestPassesDoNotDependOnOrder shuffles nodes before each pass.
func TestPassesDoNotDependOnOrder(t *testing.T) {
	targets, err := target.Parse("many", targetLists["many"])
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(8) {
		o := pass.Options{Seed: seed, Debug: []pass.Setting{{Pass: "all", Flag: "check", Value: "all"}}}
		if err := preserves(seed, targets, o); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// preserves compiles a random program and compares its results after every pass with its results before all passes.
func preserves(seed uint64, targets *target.List, o pass.Options) error {
	p, err := irtest.Random(seed, 12)
	if err != nil {
		return err
	}
	ctx := context.Background()
	want, err := p.Run(ctx, p.Module)
	if err != nil {
		return fmt.Errorf("the program itself: %w", err)
	}
	check := func(s passes.Step, m *ir.Module) error {
		got, err := p.Run(ctx, m)
		if err != nil {
			return fmt.Errorf("after %s: %w\n%v", s.Pass, err, m)
		}
		if err := p.SameResults(got, want, toleranceOf(s.Pass)); err != nil {
			return fmt.Errorf("after %s: %w\n%v", s.Pass, err, m)
		}
		want = got
		return roundTrips(p, m, got)
	}
	_, err = passes.Run(ctx, p.Module, passes.RunOptions{Targets: targets, Options: o, After: check})
	return err
}

func toleranceOf(pass string) ir.Tolerance {
	switch pass {
	case "fold":
		return folded
	case "pack":
		return rounded
	}
	return sameNumbers
}

// roundTrips checks that the module is printed and parsed to an equal module.
func roundTrips(_ *irtest.Program, m *ir.Module, _ [][]eval.Tensor) error {
	again, err := ir.Parse("dump", []byte(m.String()))
	if err != nil {
		return err
	}
	if equal, diff := ir.Equal(m, again); !equal {
		return fmt.Errorf("after %s, the text form loses something: %s", m.Last, diff)
	}
	return nil
}

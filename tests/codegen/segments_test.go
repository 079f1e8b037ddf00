package codegen_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
)

// TestSegmentsGiveTheSameBits runs attention over a long context in an emitted program. The bits are the
// same with and without segments, for all numbers of workers, and for a token in a prompt; they
// are near those of eval. Sizes follow from the positions that the caller gives.
func TestSegmentsGiveTheSameBits(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	m := parsedLong(t)
	if err := compileWith(m, passes.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := countOps(m, ir.OpAttentionSegments); !slices.Equal(got, []int{1, 1, 0}) {
		t.Fatalf("%v attentions are cut in the functions, not 1, 1 and 0", got)
	}
	exe := build(t, t.TempDir(), m, nil)
	t.Setenv("GOMAXPROCS", "16")
	rng := rand.New(rand.NewPCG(7, 7))
	inputs := func(fn string, pos ...float64) opCase {
		env := &eval.Env{Inputs: make(map[string]eval.Tensor), Sizes: map[string]int64{"kv": int64(slices.Max(pos)) + 1}}
		c := &irtest.Call{Module: parsedLong(t), Func: fn, Env: env}
		f := c.Module.Func(fn)
		c.Module.Funcs = []*ir.Func{f}
		for _, p := range f.Params[1:3] {
			env.Inputs[p.Name()] = random(t, rng, p.Type, 0)
		}
		env.Inputs["q"] = random(t, rng, ir.Type{DType: dtype.F32, Shape: ir.Dims(int64(len(pos)), 4, 64)}, 0)
		env.Inputs["slot"], env.Inputs["pos"] = eval.New(len(pos)), eval.Of(pos, len(pos))
		env.Inputs["n"] = eval.Of([]float64{2100}, 1)
		return opCase{ir.OpAttention, fn, fn, c}
	}
	for _, c := range []opCase{inputs("one", 0), inputs("one", 511), inputs("one", 512), inputs("one", 2099), inputs("three", 1600, 3, 1023)} {
		one := callCase(t, exe, c, "--threads", "1")
		pos := c.call.Env.Inputs["pos"].Flat()
		if err := irtest.Compare(one, expected(t, c)[0], c.op.Info().Tol); err != nil {
			t.Errorf("positions %v: %v", pos, err)
		}
		for _, threads := range []int{2, 3, 8, 16} {
			if got := callCase(t, exe, c, "--threads", strconv.Itoa(threads)); !slices.Equal(got.Data, one.Data) {
				t.Errorf("positions %v: %d threads give other bits than one", pos, threads)
			}
		}
		prompt := c
		prompt.fn = "prompt"
		if got := callCase(t, exe, prompt, "--threads", "2"); !slices.Equal(got.Data, one.Data) {
			t.Errorf("positions %v: tokens have other bits in a prompt", pos)
		}
	}
}

func parsedLong(t *testing.T) *ir.Module {
	t.Helper()
	m, err := ir.Parse("long.ggir", []byte(irtest.LongAttention))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// countOps returns how many nodes of op the functions have, each.
func countOps(m *ir.Module, op ir.Op) []int {
	counts := make([]int, len(m.Funcs))
	for i, f := range m.Funcs {
		for _, n := range f.Nodes {
			if n.Op == op {
				counts[i]++
			}
		}
	}
	return counts
}

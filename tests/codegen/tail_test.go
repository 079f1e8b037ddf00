package codegen_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/casetest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestDynamicSharesGiveTheSameBits runs nodes with dynamic shares. The bits are the same whichever
// worker computes a unit.
func TestDynamicSharesGiveTheSameBits(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	t.Run("equal partitions", func(t *testing.T) { runTails(t, irtest.Tails, 3) })
	t.Run("the same units", func(t *testing.T) { runTails(t, irtest.HeadTails, 2) })
	t.Run("after the rest of the epoch", func(t *testing.T) { runTails(t, irtest.MovedTails, 2) })
}

// runTails runs the function of a text, of which want nodes have a dynamic share.
func runTails(t *testing.T, text string, want int) {
	m := parsedTails(t, text)
	call := &irtest.Call{Module: parsedTails(t, text), Func: "tails", Env: &eval.Env{Weights: make(map[string]eval.Tensor), Inputs: make(map[string]eval.Tensor)}}
	rng, src := rand.New(rand.NewPCG(7, 7)), make(casetest.Tensors)
	for _, w := range m.Weights {
		call.Env.Weights[w.Name] = random(t, rng, w.Type, 0)
		src[w.Name] = casetest.Tensor{Type: w.Type, Data: call.Env.Weights[w.Name]}
	}
	for _, p := range m.Funcs[0].Params {
		call.Env.Inputs[p.Name()] = random(t, rng, p.Type, 0)
	}
	if err := compile(m); err != nil {
		t.Fatal(err)
	}
	if count := countTails(m.Funcs[0]); count != want {
		t.Fatalf("%d nodes have a tail, not %d", count, want)
	}
	t.Setenv("GOMAXPROCS", "7")
	exe := build(t, t.TempDir(), m, src)
	c := opCase{ir.OpMatMul, "tails", "tails", call}
	one := callCase(t, exe, c, "--threads", "1")
	if err := irtest.Compare(one, expected(t, c)[0], ir.OpMatMul.Info().Tol); err != nil {
		t.Error(err)
	}
	for _, threads := range []int{2, 3, 7} {
		if got := callCase(t, exe, c, "--threads", strconv.Itoa(threads)); !slices.Equal(got.Data, one.Data) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}

func parsedTails(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("tails.ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func countTails(f *ir.Func) int {
	count := 0
	for _, n := range f.Nodes {
		if n.Part.Dynamic {
			count++
		}
	}
	return count
}

package codegen_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// tails is products that are long enough to have a tail, two of them in epochs that follow
// each other, the first one's with a node that is computed unit by unit with it.
const tails = `source m "none" 0
weight "up" : f32.r16[4096,1024] = pack(m["up"], r16)
weight "down" : f32.r16[1024,4096] = pack(m["down"], r16)
func @tails(%x: f32[1,1024]) -> (y: f32[1,1024]) {
  %up = weight "up"
  %down = weight "down"
  %u = matmul %x, %up
  %h = silu %u
  %y = matmul %h, %down
  return %y
}
`

// headTails is a product by columns and what rotates its heads: of 64 columns and of one.
const headTails = `source m "none" 0
weight "up" : f32.r16[4096,1024] = pack(m["up"], r16)
func @tails(%x: f32[1,1024], %r: f32[1,32,2]) -> (y: f32[1,64,64]) {
  %up = weight "up"
  %u = matmul %x, %up
  %h = reshape %u {shape=[1,64,64]}
  %y = rope %h, %r
  return %y
}
`

// movedTails is a product that comes behind another one of its epoch, as it has a tail: then that one's weight
// comes right behind the tail of the epoch before.
const movedTails = `source m "none" 0
weight "up" : f32.r16[4096,1024] = pack(m["up"], r16)
weight "down" : f32.r16[1024,4096] = pack(m["down"], r16)
weight "few" : f32.r16[64,4096] = pack(m["few"], r16)
func @tails(%x: f32[1,1024]) -> (y: f32[1,1024], z: f32[1,64]) {
  %up = weight "up"
  %u = matmul %x, %up
  %down = weight "down"
  %y = matmul %u, %down
  %few = weight "few"
  %z = matmul %u, %few
  return %y, %z
}
`

// TestTails runs nodes with tails: whoever computes a unit, the bits are the same.
func TestTails(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	t.Run("equal partitions", func(t *testing.T) { runTails(t, tails, 3) })
	t.Run("the same units", func(t *testing.T) { runTails(t, headTails, 2) })
	t.Run("behind the rest of the epoch", func(t *testing.T) { runTails(t, movedTails, 2) })
}

// runTails runs the function of a text, of which so many nodes have a tail.
func runTails(t *testing.T, text string, want int) {
	m := parsedTails(t, text)
	call := &irtest.Call{Module: parsedTails(t, text), Func: "tails", Env: &eval.Env{Weights: make(map[string]eval.Tensor), Inputs: make(map[string]eval.Tensor)}}
	rng, src := rand.New(rand.NewPCG(7, 7)), make(tensors)
	for _, w := range m.Weights {
		call.Env.Weights[w.Name] = random(t, rng, w.Type, 0)
		src[w.Name] = tensor{w.Type, call.Env.Weights[w.Name]}
	}
	for _, p := range m.Funcs[0].Params {
		call.Env.Inputs[p.Name] = random(t, rng, p.Type, 0)
	}
	if err := compile(m); err != nil {
		t.Fatal(err)
	}
	if count := countTails(m.Funcs[0]); count != want {
		t.Fatalf("%d nodes have a tail, not %d", count, want)
	}
	t.Setenv("GOMAXPROCS", "7")
	dir := t.TempDir()
	exe := build(t, dir, m, src)
	c := opCase{ir.OpMatMul, "tails", "tails", call}
	one := callFunction(t, exe, dir, c, "--threads", "1")
	if err := irtest.Compare(one, expected(t, c)[0], ir.OpMatMul.Info().Tol); err != nil {
		t.Error(err)
	}
	for _, threads := range []int{2, 3, 7} {
		if got := callFunction(t, exe, dir, c, "--threads", strconv.Itoa(threads)); !slices.Equal(got.Data, one.Data) {
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
		if n.Part.Tail {
			count++
		}
	}
	return count
}

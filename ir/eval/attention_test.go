package eval_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/eval"
)

const segmentsText = `
symbol T 1 8
symbol kv 1 20
func @f(%q: f32[T,6,4], %k: f32[2,3,20,4], %v: f32[2,3,20,5], %slot: i32[T], %pos: i32[T], %len: i32[2]) {
  %y = attention %q, %k, %v, %slot, %pos, %len {scale=0.5}
  %s = attention_segments %q, %k, %v, %slot, %pos, %len {scale=0.5, len=8, segments=(kv+7)/8}
  %z = attention_combine %s {kv_heads=3}
  return %y, %z, %s
}
`

// TestAttentionSegmentsCombineToAttention demands that attention in two steps is attention, for tokens that see
// nothing, a part, one and several segments of a sequence, and that the sums of segments have the documented rows.
func TestAttentionSegmentsCombineToAttention(t *testing.T) {
	m := parse(t, segmentsText)
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(shape ...int) eval.Tensor {
		x := eval.New(shape...)
		for i := range x.Data {
			x.Data[i] = 3 * rng.NormFloat64()
		}
		return x
	}
	env := &eval.Env{Sizes: map[string]int64{"kv": 19}, Inputs: in{
		"q": random(5, 6, 4), "k": random(2, 3, 20, 4), "v": random(2, 3, 20, 5),
		"slot": vec(0, 0, 1, 1, 1), "pos": vec(0, 7, 8, 18, 3), "len": vec(20, 19)}}
	got, err := eval.Run(t.Context(), m, "f", env)
	if err != nil {
		t.Fatal(err)
	}
	if !near(got[1].Flat(), got[0].Flat()) {
		t.Errorf("in two steps %v, at once %v", got[1].Flat(), got[0].Flat())
	}
	sums := got[2]
	if want := []int{9, 5, 2, 7}; !slices.Equal(sums.Shape, want) {
		t.Fatalf("the shape of the sums is %v, want %v", sums.Shape, want)
	}
	row := func(segment, token int) []float64 { // of the second head that shares key head 1
		at := ((1*3+segment)*5 + token) * 2 * 7
		return sums.Flat()[at+7 : at+14]
	}
	// A token that sees one position has its value, with the score as the largest and weight 1.
	if r := row(0, 0); !near(r[:5], env.Inputs["v"].Flat()[20*5:][:5]) || r[6] != 1 {
		t.Errorf("one position: %v", r)
	}
	if r := row(1, 1); r[6] != 0 || !near(r[:5], make([]float64, 5)) {
		t.Errorf("no position: %v", r)
	}
	if a, b := row(0, 3), row(2, 3); a[6] < 1 || b[6] < 1 || b[6] > 3 {
		t.Errorf("eight and three positions weigh %v and %v", a[6], b[6])
	}
}

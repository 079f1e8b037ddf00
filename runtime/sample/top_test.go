package sample

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// topOf returns the k largest logits of each part by sorting all of them.
func topOf(l []float32, k, parts int) Top {
	t := Top{Part: int32(len(l) / parts)}
	for part := range slices.Chunk(l, int(t.Part)) {
		ids := make([]int32, len(part))
		largest := part[0]
		for i, x := range part {
			ids[i] = int32(i)
			largest = max(largest, x) // NaN if x is
		}
		slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(part[b], part[a]) })
		for _, id := range ids[:k] {
			t.IDs, t.Logits = append(t.IDs, id), append(t.Logits, part[id])
		}
		t.Largest = append(t.Largest, largest)
	}
	return t
}

// TestFewLogitsAreEnough compares what samplers choose from the largest logits with what they choose from all, over a
// sequence of draws.
func TestFewLogitsAreEnough(t *testing.T) {
	const vocab = 100
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 400 {
		parts := []int{1, 2, 5, 20}[trial%4]
		k := 1 + r.IntN(vocab/parts)
		o := Defaults()
		o.Temperature, o.TopK, o.Seed = float32(r.IntN(3))/2, 1+r.IntN(min(k, vocab-1)), uint64(trial)
		o.TopP, o.MinP, o.Typical = float32(r.IntN(3))/2, float32(r.IntN(2))/50, float32(r.IntN(3))/2
		o.XTCProbability, o.XTCThreshold, o.DynamicRange = float32(r.IntN(3))/2, 0.02, float32(r.IntN(2))/4
		if !o.Suffice(k, vocab) {
			t.Fatalf("%+v: %d are not enough", o, k)
		}
		all, err := New(o, vocab)
		if err != nil {
			t.Fatal(err)
		}
		few, _ := New(o, vocab)
		for step := range 4 {
			l := logits(vocab, uint64(trial*8+step))
			for i := range l {
				l[i] = float32(math.Round(float64(l[i])*2)) / 2 // ties
			}
			got, err := few.NextOf(topOf(l, k, parts))
			if want := next(t, all, l); err != nil || got != want {
				t.Fatalf("%+v, step %d: %d of the %d largest of %d parts, %d of all: %v", o, step, got, k, parts, want, err)
			}
		}
	}
}

func TestOptionsThatNeedAllLogits(t *testing.T) {
	for name, o := range map[string]Options{
		"all candidates":    {Temperature: 1},
		"more candidates":   {Temperature: 1, TopK: 5},
		"in order of ids":   {Temperature: 1, TopK: 100},
		"repeat penalty":    {RepeatPenalty: 1.1},
		"frequency penalty": {FrequencyPenalty: 0.1},
		"presence penalty":  {PresencePenalty: 0.1},
		"DRY":               {DRY: DRY{Multiplier: 1}},
		"bias":              {Bias: []Bias{{Token: 3, Add: 1}}},
		"mirostat":          {Temperature: 1, TopK: 2, Mirostat: 2},
		"deviation":         {Temperature: 1, TopK: 2, TopNSigma: 1},
	} {
		if filled(o).Suffice(4, 8) {
			t.Errorf("%s: 4 of 8 logits suffice", name)
		}
	}
	for name, o := range map[string]Options{"greedy": {}, "top-k 1": {TopK: 40, TopNSigma: 1}, "draws": {Temperature: 1, TopK: 4}} {
		if o := filled(o); !o.Suffice(4, 8) || o.Suffice(0, 8) {
			t.Errorf("%s: 4 of 8 logits do not suffice, or none do", name)
		}
	}
}

// TestDamagedLogitsAreAnErrorToo: what top-k does not show is in Largest.
func TestDamagedLogitsAreAnErrorToo(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, largest := range []float32{nan, inf, -inf} {
		for _, o := range []Options{{}, {Temperature: 1, TopK: 1}} {
			if _, err := must(t, o, 8).NextOf(Top{[]int32{3, 1}, []float32{1, -inf}, []float32{-inf, largest}, 4}); !errors.Is(err, ErrNumerics) {
				t.Errorf("%v: %v", largest, err)
			}
		}
	}
}

package sample

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func logits(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64()) * 3
	}
	return v
}

// filled returns o with the defaults in place of zeros.
func filled(o Options) Options {
	d := Defaults()
	o.TopP, o.Typical = cmp.Or(o.TopP, d.TopP), cmp.Or(o.Typical, d.Typical)
	o.RepeatPenalty, o.RepeatLast = cmp.Or(o.RepeatPenalty, d.RepeatPenalty), cmp.Or(o.RepeatLast, d.RepeatLast)
	o.XTCThreshold, o.DynamicExponent = cmp.Or(o.XTCThreshold, d.XTCThreshold), cmp.Or(o.DynamicExponent, d.DynamicExponent)
	o.MirostatTau, o.MirostatEta = cmp.Or(o.MirostatTau, d.MirostatTau), cmp.Or(o.MirostatEta, d.MirostatEta)
	o.DRY.Base, o.DRY.Allowed, o.DRY.Last = cmp.Or(o.DRY.Base, d.DRY.Base), cmp.Or(o.DRY.Allowed, d.DRY.Allowed), cmp.Or(o.DRY.Last, d.DRY.Last)
	return o
}

// must returns a Sampler for the options with the defaults in place of zeros.
func must(t testing.TB, o Options, vocab int) *Sampler {
	t.Helper()
	s, err := New(filled(o), vocab)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func next(t testing.TB, s *Sampler, l []float32) int32 {
	t.Helper()
	id, err := s.Next(l)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestGreedyTakesTheFirstOfEquals(t *testing.T) {
	s := must(t, Options{}, 5)
	if id := next(t, s, []float32{-1, 3, 2, 3, -5}); id != 1 {
		t.Errorf("got %d", id)
	}
}

func TestLogitsWithoutAChoiceAreAnError(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, l := range [][]float32{{1, nan}, {nan, 1}, {-inf, -inf}, {1, inf}, {}} {
		for _, o := range []Options{{}, {Temperature: 1}, {Temperature: 1, TopK: 1}} {
			if _, err := must(t, o, len(l)).Next(l); !errors.Is(err, ErrNumerics) {
				t.Errorf("%v: %v", l, err)
			}
		}
	}
}

// reference computes the candidates by sorting all of them, in float64.
func reference(l []float32, o Options) []int32 {
	ids := make([]int32, len(l))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return cmp.Compare(l[b], l[a]) })
	if o.TopK > 0 {
		ids = ids[:min(o.TopK, len(ids))]
	}
	best, total := float64(l[ids[0]]), 0.0
	for _, id := range ids {
		total += math.Exp(float64(l[id]) - best)
	}
	sum, n := 0.0, 0
	for n < len(ids) && (o.TopP == 1 || sum < float64(o.TopP)*total) {
		sum += math.Exp(float64(l[ids[n]]) - best)
		n++
	}
	ids = slices.DeleteFunc(ids[:n], func(id int32) bool {
		return math.Exp(float64(l[id])-best) < float64(o.MinP)*(1-1e-6)
	})
	slices.Sort(ids)
	return ids
}

func TestFiltersAgreeWithSorting(t *testing.T) {
	for seed := range uint64(40) {
		l := logits(200, seed)
		l[7] = l[11] // equal logits
		for _, o := range []Options{
			{TopK: 1}, {TopK: 17}, {TopK: 199}, {TopK: 200}, {TopK: 1000}, {TopP: 0.5}, {TopP: 0.99}, {TopP: 1e-9},
			{MinP: 0.05}, {TopK: 40, TopP: 0.9, MinP: 0.02}, {TopP: 0.95, MinP: 0.1}, {MinP: 1},
		} {
			o.Temperature = 0.8
			s := must(t, o, len(l))
			next(t, s, l)
			got := make([]int32, len(s.top))
			for i, c := range s.top {
				got[i] = c.id
			}
			slices.Sort(got)
			if want := reference(l, s.o); !slices.Equal(got, want) {
				t.Fatalf("%+v, seed %d: kept %v, want %v", o, seed, got, want)
			}
		}
	}
}

// TestTopPOfTies has more equal logits than fit. Those of the lowest ids are kept. They are ordered worst first, on
// which the draw depends.
func TestTopPOfTies(t *testing.T) {
	l := logits(3000, 9)
	for i := range l {
		l[i] = float32(math.Round(float64(l[i])*2)) / 2
	}
	l[5] = float32(math.Inf(-1))
	for _, p := range []float32{1e-6, 0.1, 0.5, 0.9, 0.999, 0.9999999} {
		s := must(t, Options{Temperature: 0.8, TopP: p}, len(l))
		next(t, s, l)
		if !slices.IsSortedFunc(s.top, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.logit, b.logit), cmp.Compare(b.id, a.id)) }) {
			t.Errorf("%v: not worst first", p)
		}
		got := make([]int32, len(s.top))
		for i, c := range s.top {
			got[i] = c.id
		}
		slices.Sort(got)
		if want := reference(l, s.o); !slices.Equal(got, want) {
			t.Errorf("%v: kept %d, want %d", p, len(got), len(want))
		}
	}
}

func TestDrawsFollowTheProbabilities(t *testing.T) {
	l := []float32{0, 1, 2, float32(math.Inf(-1))}
	const draws, temperature = 40000, 0.7
	s := must(t, Options{Temperature: temperature, Seed: 3}, len(l))
	var count [4]float64
	for range draws {
		count[next(t, s, l)]++
	}
	total := 0.0
	for _, x := range l {
		total += math.Exp(float64(x) / temperature)
	}
	for i, x := range l {
		p := math.Exp(float64(x)/temperature) / total
		if sd := math.Sqrt(draws * p * (1 - p)); math.Abs(count[i]-draws*p) > 4*sd {
			t.Errorf("token %d drawn %v times, want %v ± %v", i, count[i], draws*p, sd)
		}
	}
}

func TestSameSeedDrawsTheSame(t *testing.T) {
	l := logits(100, 1)
	draw := func(seed uint64) (ids []int32) {
		s := must(t, Options{Temperature: 1, TopP: 0.9, Seed: seed}, len(l))
		for range 20 {
			ids = append(ids, next(t, s, l))
		}
		return ids
	}
	if !slices.Equal(draw(1), draw(1)) {
		t.Error("the same seed gives different tokens")
	}
	if slices.Equal(draw(1), draw(2)) {
		t.Error("two seeds give the same tokens")
	}
}

func TestRepeatPenaltyLowersRecentTokens(t *testing.T) {
	l := []float32{2, 1.9, -1}
	s := must(t, Options{RepeatPenalty: 1.5, RepeatLast: 2}, len(l))
	for i, want := range []int32{0, 1, 0, 0} {
		// Third: both are recent, so the order is the old one. Fourth: 0 0 are recent… then 1 wins.
		if i == 3 {
			s.Accept(0)
			want = 1
		}
		id := next(t, s, l)
		if id != want {
			t.Fatalf("step %d: got %d, want %d", i, id, want)
		}
		s.Accept(id)
	}
	if l[0] != 2 || l[1] != 1.9 {
		t.Error("the caller's logits were changed")
	}
	s = must(t, Options{RepeatPenalty: 2}, 2)
	s.Accept(0, 0, 0)
	if id := next(t, s, []float32{-1, -1.5}); id != 1 {
		t.Errorf("a negative logit is not lowered: %d", id)
	}
}

func TestCheckReportsEachOption(t *testing.T) {
	nan := float32(math.NaN())
	err := Options{Temperature: -1, TopK: -1, TopP: 2, MinP: nan, RepeatPenalty: -1, RepeatLast: -1}.Check()
	for _, want := range []string{"temperature -1", "top-k -1", "top-p 2", "min-p NaN", "repeat penalty -1", "repeat window -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not report %q", err, want)
		}
	}
	if _, err := New(Options{Temperature: nan}, 3); err == nil {
		t.Error("a temperature of NaN is accepted")
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	l := logits(1000, 5)
	for _, o := range []Options{{}, {Temperature: 1}, {Temperature: 1, TopK: 40, TopP: 0.9, MinP: 0.05, RepeatPenalty: 1.1}, {Temperature: 1, TopP: 0.5}, {Temperature: 1, Mirostat: 1}, chains["all"], chains["dry, broken"]} {
		s := must(t, o, len(l))
		if n := testing.AllocsPerRun(50, func() { s.Accept(next(t, s, l)) }); n != 0 {
			t.Errorf("%+v: %v allocations", o, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	l := logits(32000, 5)
	for name, o := range map[string]Options{
		"greedy": {}, "top-k": {Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05}, "top-p": {Temperature: 0.8, TopP: 0.95}, "all": {Temperature: 0.8},
	} {
		b.Run(name, func(b *testing.B) {
			s := must(b, o, len(l))
			for b.Loop() {
				next(b, s, l)
			}
		})
	}
}

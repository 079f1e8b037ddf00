package mem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSolveEqualsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	harder := 0
	for i := range 1500 {
		p := randomProblem(rng, 1+rng.IntN(6), 8, 9, i%3 == 0)
		if i%4 == 0 {
			tear(rng, p)
		}
		want := lowest(p)
		s, stats, err := Solve(t.Context(), p, Options{})
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		if err := p.Validate(s, want); err != nil || s.Height != want {
			t.Fatalf("%+v: height %d, want %d: %v", p, s.Height, want, err)
		}
		if s.Height > stats.Bound && !stats.Proved {
			t.Errorf("%+v: height %d above the bound %d, yet nothing proved", p, s.Height, stats.Bound)
		}
		if stats.Greedy > want {
			harder++
		}
	}
	if harder == 0 {
		t.Error("greedy solved everything: the search was not tested")
	}
}

// lowest returns the least height of any packing: each is reached by letting the buffers
// fall one after another in some order.
func lowest(p Problem) int64 {
	offsets := make([]int64, len(p.Buffers))
	best := int64(1 << 62)
	var drop func(placed []int)
	drop = func(placed []int) {
		if len(placed) == len(p.Buffers) {
			best = min(best, p.height(offsets))
			return
		}
		for i, b := range p.Buffers {
			if slices.Contains(placed, i) {
				continue
			}
			var top int64
			for _, j := range placed {
				if b.meets(&p.Buffers[j]) {
					top = max(top, offsets[j]+p.Buffers[j].Size)
				}
			}
			offsets[i] = alignUp(top, b.align())
			drop(append(slices.Clone(placed), i))
		}
	}
	drop(nil)
	return best
}

// randomProblem returns n buffers within times and sizes.
func randomProblem(rng *rand.Rand, n int, times, sizes int64, aligned bool) Problem {
	var p Problem
	for i := range n {
		b := Buffer{ID: fmt.Sprint(i), Lower: rng.Int64N(times), Size: rng.Int64N(sizes)}
		b.Upper = b.Lower + 1 + rng.Int64N(times-b.Lower)
		if aligned {
			b.Align = 1 << rng.IntN(3)
		}
		p.Buffers = append(p.Buffers, b)
	}
	return p
}

// tear gives some buffers gaps.
func tear(rng *rand.Rand, p Problem) {
	for i := range p.Buffers {
		b := &p.Buffers[i]
		for at := b.Lower; at < b.Upper && rng.IntN(2) == 0; {
			g := Interval{at + rng.Int64N(b.Upper-at), 0}
			g.Upper = g.Lower + 1 + rng.Int64N(b.Upper-g.Lower)
			b.Gaps = append(b.Gaps, g)
			at = g.Upper
		}
	}
}

func TestMeetsIsSharingAnInstant(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		p := randomProblem(rng, 2, 8, 9, false)
		tear(rng, p)
		want := false
		for now := range int64(8) {
			want = want || livesAt(p.Buffers[0], now) && livesAt(p.Buffers[1], now)
		}
		if got := p.Buffers[0].meets(&p.Buffers[1]); got != want {
			t.Errorf("%+v: meets says %v", p.Buffers, got)
		}
	}
}

func livesAt(b Buffer, now int64) bool {
	return b.Lower <= now && now < b.Upper && !slices.ContainsFunc(b.Gaps, func(g Interval) bool { return g.Lower <= now && now < g.Upper })
}

// sliced returns a problem that has a packing without any gap: a rectangle, cut at random.
func sliced(rng *rand.Rand, times, height int64, cuts int) Problem {
	rects := []Buffer{{Upper: times, Size: height}}
	for range cuts {
		i := rng.IntN(len(rects))
		r := rects[i]
		if w := r.Upper - r.Lower; w > 1 && rng.IntN(2) == 0 {
			at := r.Lower + 1 + rng.Int64N(w-1)
			rects[i].Upper = at
			rects = append(rects, Buffer{Lower: at, Upper: r.Upper, Size: r.Size})
		} else if r.Size > 1 {
			at := 1 + rng.Int64N(r.Size-1)
			rects[i].Size = at
			rects = append(rects, Buffer{Lower: r.Lower, Upper: r.Upper, Size: r.Size - at})
		}
	}
	for i := range rects {
		rects[i].ID = fmt.Sprint(i)
	}
	return Problem{rects}
}

// TestTechniquesKeepTheResult leaves out one technique after another, in each search alone:
// a technique makes the search fast, and never decides whether there is a packing.
func TestTechniquesKeepTheResult(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range 20 {
		p := randomProblem(rng, 5, 8, 9, i%3 == 0)
		if i%4 == 0 {
			tear(rng, p)
		}
		want := lowest(p)
		for _, other := range []Techniques{0, Rise, Sequence} {
			for bit := range techniqueTable {
				without := other | 1<<bit
				if without&(Rise|Sequence) == Rise|Sequence {
					continue
				}
				s, stats, err := Solve(t.Context(), p, Options{Without: without})
				if err != nil || s.Height != want || p.Validate(s, 0) != nil {
					t.Fatalf("%+v without %b: height %d, want %d, stats %+v, error %v", p, without, s.Height, want, stats, err)
				}
			}
		}
	}
}

// TestSolveFixedEqualsBruteForce compares with all offsets of what is not fixed.
func TestSolveFixedEqualsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	searched := int64(0)
	for i := range 300 {
		p := randomProblem(rng, 5, 6, 5, i%3 == 0)
		if i%4 == 0 {
			tear(rng, p)
		}
		wide, _ := Greedy(p)
		for k := range 2 {
			p.Buffers[k].Fixed, p.Buffers[k].Offset = true, wide.Offsets[k]+p.Buffers[k].align()*rng.Int64N(2)
		}
		if p.Check() != nil {
			continue // the fixed ones overlap
		}
		want := lowestFixed(p)
		s, stats, err := Solve(t.Context(), p, Options{})
		if err != nil || s.Height != want || p.Validate(s, want) != nil || s.Height < stats.Bound {
			t.Fatalf("%+v: height %d, want %d, stats %+v, error %v, %v", p, s.Height, want, stats, err, p.Validate(s, want))
		}
		searched += stats.Steps
	}
	if searched == 0 {
		t.Error("nothing was searched for")
	}
}

// lowestFixed returns the least height by trying all offsets below 32.
func lowestFixed(p Problem) int64 {
	offsets := make([]int64, len(p.Buffers))
	best := int64(32)
	var place func(i int, height int64)
	place = func(i int, height int64) {
		if height >= best {
			return
		}
		if i == len(p.Buffers) {
			best = height
			return
		}
		b := p.Buffers[i]
		from, to := int64(0), best-b.Size
		if b.Fixed {
			from, to = b.Offset, b.Offset
		}
		for offsets[i] = from; offsets[i] <= to; offsets[i] += b.align() {
			part := Problem{p.Buffers[:i+1]}
			if len(part.overlaps(offsets[:i+1])) == 0 {
				place(i+1, max(height, offsets[i]+b.Size))
			}
		}
	}
	place(0, 0)
	return best
}

func TestTechniqueNamesAreParsed(t *testing.T) {
	names, _ := TechniqueNames()
	if 1<<len(names)-1 != allTechniques {
		t.Errorf("%d names for the techniques %b", len(names), allTechniques)
	}
	for i, name := range names {
		if got, err := ParseTechnique(name); err != nil || got != 1<<i {
			t.Errorf("%s: %b, error %v", name, got, err)
		}
	}
	if _, err := ParseTechnique("magic"); err == nil {
		t.Error("no error for a technique that there is not")
	}
}

func TestSolveFindsPackingsWithoutGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		p := sliced(rng, 60, 200, 60)
		s, stats, err := Solve(t.Context(), p, Options{Capacity: 200})
		if err != nil {
			t.Fatalf("%d buffers, greedy %d: %v after %d steps", len(p.Buffers), stats.Greedy, err, stats.Steps)
		}
		if err := p.Validate(s, 200); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSolveProvesThatNothingFits(t *testing.T) {
	// Each of three buffers can start at 0 or 4 only, and at most two live at a time: yet
	// a, which meets both others, needs one of the places and they the other.
	fits := []Buffer{{"a", 0, 4, 3, 4, nil, false, 0}, {"b", 0, 2, 3, 4, nil, false, 0}, {"c", 2, 4, 3, 4, nil, false, 0}}
	s, _, err := Solve(t.Context(), Problem{fits}, Options{Capacity: 7})
	if err != nil || s.Height != 7 {
		t.Fatalf("height %d, error %v", s.Height, err)
	}

	// A fourth one that lives at some instant of all three needs a third place.
	p := Problem{append(fits, Buffer{"d", 1, 3, 3, 4, nil, false, 0})}
	s, stats, err := Solve(t.Context(), p, Options{Capacity: 10})
	var capacity *CapacityError
	if !errors.As(err, &capacity) || !capacity.Proved || !stats.Proved || s.Height != 11 {
		t.Fatalf("height %d, proved %v, error %v", s.Height, stats.Proved, err)
	}
	if want := "capacity 10: no packing exists; the best one found needs 11"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if err := p.Validate(s, 0); err != nil {
		t.Error(err)
	}
}

func TestSolveReportsWhatIsWrong(t *testing.T) {
	tests := []struct {
		name string
		p    Problem
		opts Options
		want string
	}{
		{"bad problem", Problem{[]Buffer{{ID: "a", Lower: 2, Upper: 2}, {ID: "b", Upper: 1, Size: -1}}}, Options{},
			"buffer \"a\": its interval [2,2) is empty\nbuffer \"b\": its size is -1"},
		{"alignment", Problem{[]Buffer{{ID: "a", Upper: 1, Align: -2}}}, Options{}, `buffer "a": its alignment is -2`},
		{"huge", Problem{[]Buffer{{ID: "a", Upper: 1, Size: 1 << 62}}}, Options{},
			`buffer "a": with it the sum of all sizes exceeds 2305843009213693951`},
		{"bound", Problem{[]Buffer{{ID: "a", Upper: 1, Size: 9}}}, Options{Capacity: 8},
			"capacity 8: buffers that live at the same time need 9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Solve(t.Context(), tt.p, tt.opts)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestSolveIsDeterministicAndBounded(t *testing.T) {
	p := sliced(rand.New(rand.NewPCG(7, 8)), 200, 5000, 400)
	first, stats, _ := Solve(t.Context(), p, Options{MaxSteps: 5000})
	if stats.Steps > 5000 {
		t.Errorf("%d steps, want at most 5000", stats.Steps)
	}
	second, _, _ := Solve(t.Context(), p, Options{MaxSteps: 5000})
	if !slices.Equal(first.Offsets, second.Offsets) {
		t.Error("two runs differ")
	}
	if err := p.Validate(first, 0); err != nil {
		t.Error(err)
	}
}

func TestSolveUsesLargerBudgets(t *testing.T) {
	p := sliced(rand.New(rand.NewPCG(7, 8)), 60, 200, 90)
	last := int64(math.MaxInt64)
	for _, steps := range []int64{-1, 1 << 10, DefaultSteps, 4 * DefaultSteps} {
		s, stats, err := Solve(t.Context(), p, Options{MaxSteps: steps})
		if err != nil || s.Height > last || stats.Steps > max(steps, 0) {
			t.Errorf("%d steps: height %d after %d, %d before: %v", steps, s.Height, stats.Steps, last, err)
		}
		last = s.Height
	}
	if greedy, _ := Greedy(p); last > 200 || greedy.Height <= 200 {
		t.Errorf("height %d, want 200; greedy %d, want more", last, greedy.Height)
	}

	// No end but the packing that is as low as the bound.
	if s, stats, err := Solve(t.Context(), p, Options{MaxSteps: math.MaxInt64}); err != nil || s.Height != stats.Bound {
		t.Errorf("height %d, bound %d: %v", s.Height, stats.Bound, err)
	}
}

func TestSolveStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := sliced(rand.New(rand.NewPCG(7, 8)), 200, 5000, 400)
	s, stats, err := Solve(ctx, p, Options{MaxSteps: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Validate(s, 0); err != nil || s.Height != stats.Greedy || !stats.Cancelled {
		t.Errorf("height %d, greedy %d, cancelled %v: %v", s.Height, stats.Greedy, stats.Cancelled, err)
	}
}

func TestSolveWithoutSearchIsGreedy(t *testing.T) {
	p := sliced(rand.New(rand.NewPCG(7, 8)), 200, 5000, 400)
	s, stats, err := Solve(t.Context(), p, Options{MaxSteps: -1})
	if err != nil || s.Height != stats.Greedy || stats.Steps != 0 || stats.Proved {
		t.Errorf("height %d, stats %+v, error %v", s.Height, stats, err)
	}
}

func TestSolveOfNothingHasNoHeight(t *testing.T) {
	for _, p := range []Problem{{}, {[]Buffer{{ID: "nothing", Upper: 1}}}} {
		s, stats, err := Solve(t.Context(), p, Options{})
		if err != nil || s.Height != 0 || stats.Bound != 0 {
			t.Errorf("%v: height %d, bound %d, error %v", p, s.Height, stats.Bound, err)
		}
	}
}

func TestLubyDoublesAfterEachRepetition(t *testing.T) {
	want := []int64{1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8}
	for i, w := range want {
		if got := luby(int64(i + 1)); got != w {
			t.Errorf("luby(%d) = %d, want %d", i+1, got, w)
		}
	}
}

func BenchmarkGreedy(b *testing.B) {
	for _, n := range []int64{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := chain(n)
			for b.Loop() {
				Greedy(p)
			}
		})
	}
}

// chain is a graph of n nodes: most values live for a few steps, some for hundreds.
func chain(n int64) Problem {
	rng := rand.New(rand.NewPCG(7, 8))
	var p Problem
	for t := range n {
		length := 1 + rng.Int64N(8)
		if rng.IntN(50) == 0 {
			length *= 100
		}
		p.Buffers = append(p.Buffers, Buffer{Lower: t, Upper: t + length, Size: 64 * rng.Int64N(1000), Align: 64})
	}
	return p
}

// TestGreedyStopsAfterMuchWork: of very many buffers that live at once there is one order.
func TestGreedyStopsAfterMuchWork(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var p Problem
	for at := range int64(40_000) {
		p.Buffers = append(p.Buffers, Buffer{Lower: at, Upper: at + 1 + rng.Int64N(400), Size: 1 + rng.Int64N(100)})
	}
	s, name := Greedy(p)
	if bound, _ := Bound(p); name != greedyOrders[0].name || s.Height == bound {
		t.Errorf("order %s, height %d with the bound %d: want the first order, and that others might be better", name, s.Height, bound)
	}
	if err := p.Validate(s, 0); err != nil {
		t.Error(err)
	}
}

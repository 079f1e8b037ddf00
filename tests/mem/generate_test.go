package mem_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/mem"
)

// side is the height of generated problems, which is enough, and their time.
const side = 1024

// cutter cuts a square into rectangles: a problem that has a packing without any gap.
type cutter struct {
	rng      *rand.Rand
	rects    []mem.Buffer
	pinwheel float64 // share of cuts into five, which no cuts from side to side can give
	upright  float64 // share of the other cuts that divide time
}

func (c *cutter) cut() {
	i := c.largeOne()
	r := c.rects[i]
	length := r.Upper - r.Lower
	switch {
	case c.rng.Float64() < c.pinwheel && length >= 3 && r.Size >= 3:
		x1, x2 := c.two(length)
		y1, y2 := c.two(r.Size)
		x1, x2 = r.Lower+x1, r.Lower+x2
		c.rects[i] = mem.Buffer{Lower: r.Lower, Upper: x2, Size: y1}
		c.rects = append(c.rects,
			mem.Buffer{Lower: x2, Upper: r.Upper, Size: y2},
			mem.Buffer{Lower: x1, Upper: r.Upper, Size: r.Size - y2},
			mem.Buffer{Lower: r.Lower, Upper: x1, Size: r.Size - y1},
			mem.Buffer{Lower: x1, Upper: x2, Size: y2 - y1})
	case c.rng.Float64() < c.upright && length > 1:
		at := r.Lower + 1 + c.rng.Int64N(length-1)
		c.rects[i].Upper = at
		c.rects = append(c.rects, mem.Buffer{Lower: at, Upper: r.Upper, Size: r.Size})
	case r.Size > 1:
		at := 1 + c.rng.Int64N(r.Size-1)
		c.rects[i].Size = at
		c.rects = append(c.rects, mem.Buffer{Lower: r.Lower, Upper: r.Upper, Size: r.Size - at})
	}
}

// largeOne returns the largest of three rectangles.
func (c *cutter) largeOne() int {
	area := func(i int) int64 { return c.rects[i].Size * (c.rects[i].Upper - c.rects[i].Lower) }
	best := c.rng.IntN(len(c.rects))
	for range 2 {
		if i := c.rng.IntN(len(c.rects)); area(i) > area(best) {
			best = i
		}
	}
	return best
}

// two returns two numbers between 0 and n, in order.
func (c *cutter) two(n int64) (a, b int64) {
	a = 1 + c.rng.Int64N(n-2)
	return a, a + 1 + c.rng.Int64N(n-a-1)
}

// generate returns a problem of about n buffers. Of some seeds buffers are missing or end
// early, as in the public ones, so that there is more than one packing.
func generate(seed uint64, n int) mem.Problem {
	rng := rand.New(rand.NewPCG(seed, 99))
	c := &cutter{
		rng: rng, rects: []mem.Buffer{{Upper: side, Size: side}},
		pinwheel: 0.15 * float64(rng.IntN(3)), upright: 0.3 + 0.5*rng.Float64(),
	}
	for len(c.rects) < n {
		c.cut()
	}
	missing := []float64{0, 0.02, 0.1, 0.3}[rng.IntN(4)]
	rng.Shuffle(len(c.rects), func(i, j int) { c.rects[i], c.rects[j] = c.rects[j], c.rects[i] })
	c.rects = slices.DeleteFunc(c.rects, func(mem.Buffer) bool { return rng.Float64() < missing })
	for i := range c.rects {
		r := &c.rects[i]
		r.ID = fmt.Sprint(i)
		if length := r.Upper - r.Lower; rng.Float64() < missing && length > 1 {
			r.Upper -= rng.Int64N(length)
		}
	}
	return mem.Problem{Buffers: c.rects}
}

// TestGeneratedProblemsArePacked solves problems that have a packing of a known height, and checks what was
// found without any code of the planner.
func TestGeneratedProblemsArePacked(t *testing.T) {
	const count = 40
	unsolved, greedy := 0, 0
	for seed := range uint64(count) {
		p := generate(seed, 40+5*int(seed%16))
		opts := mem.Options{Capacity: side, MaxSteps: 20_000}
		s, stats, err := mem.Solve(t.Context(), p, opts)
		checkPacking(t, p, s)
		if stats.Bound > side || s.Height < stats.Bound {
			t.Errorf("seed %d: height %d, bound %d: no packing is below the bound", seed, s.Height, stats.Bound)
		}
		if err != nil {
			t.Logf("seed %d: %d buffers: %v", seed, len(p.Buffers), err)
			unsolved++
		}
		if stats.Greedy <= side {
			greedy++
		}
		again, _, _ := mem.Solve(t.Context(), p, opts)
		if !slices.Equal(s.Offsets, again.Offsets) {
			t.Errorf("seed %d: two runs differ", seed)
		}
	}
	t.Logf("%d problems: %d not packed within their budget, %d packed by greedy orders", count, unsolved, greedy)
	if unsolved > count/10 {
		t.Errorf("%d of %d problems are not packed", unsolved, count)
	}
}

// checkPacking paints each buffer at each instant of its life.
func checkPacking(t *testing.T, p mem.Problem, s mem.Solution) {
	t.Helper()
	type spot struct{ from, to int64 }
	var height int64
	for now := range int64(side) {
		var spots []spot
		for i, b := range p.Buffers {
			if b.Lower <= now && now < b.Upper {
				spots = append(spots, spot{s.Offsets[i], s.Offsets[i] + b.Size})
			}
		}
		slices.SortFunc(spots, func(a, b spot) int { return int(a.from - b.from) })
		var end int64
		for _, x := range spots {
			if x.from < end || x.from < 0 {
				t.Fatalf("at %d: [%d,%d) overlaps a buffer that ends at %d", now, x.from, x.to, end)
			}
			end = x.to
		}
		height = max(height, end)
	}
	if height != s.Height {
		t.Errorf("the height is %d, not %d", height, s.Height)
	}
}

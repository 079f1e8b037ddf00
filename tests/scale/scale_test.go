package scale

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"
)

// rules are the rules whose assignment is measured.
var rules = []string{"ggml-2026", "cost"}

// BenchmarkPasses runs all passes with verification, without the planner's search, on graphs of 1,000 to 100,000
// nodes over 8 backends. Its figures are medians, except first-s: the first run, for which the system has to provide
// memory. exponent is the growth from the smallest graph to this one, which for sizes in equal steps is the slope of a
// fit through all of them; step-exponent is the growth from the size before. Between 10,000 and 100,000 nodes a module
// leaves the caches.
func BenchmarkPasses(b *testing.B) {
	for _, set := range rules {
		var sizes []Figures // each ten times the one before
		for _, nodes := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", set, nodes), func(b *testing.B) {
				measure := func() Figures {
					fig, err := Measure(b.Context(), Shape{Nodes: nodes, Backends: 8, Run: 20}, pass.Options{Rules: set})
					if err != nil {
						b.Fatal(err)
					}
					return fig
				}
				first := measure()
				var runs []Figures
				for b.Loop() {
					runs = append(runs, measure())
				}
				slices.SortFunc(runs, func(x, y Figures) int { return cmp.Compare(x.Wall, y.Wall) })
				fig := runs[len(runs)/2]
				b.ReportMetric(first.Wall.Seconds(), "first-s")
				b.ReportMetric(fig.Wall.Seconds(), "s/run")
				b.ReportMetric(fig.CPU.Seconds(), "cpu-s/run")
				b.ReportMetric(float64(fig.Heap)/(1<<20), "MiB")
				b.ReportMetric(float64(fig.Splits), "splits")
				if n := len(sizes); n > 0 {
					b.ReportMetric(Exponent(sizes[0], fig, math.Pow10(n)), "exponent")
					b.ReportMetric(Exponent(sizes[n-1], fig, 10), "step-exponent")
				}
				sizes = append(sizes, fig)
			})
		}
	}
}

// maxExponent is the largest exponent that counts as near linear, with allowance for n log n and for noise.
const maxExponent = 1.3

// TestPassesGrowNearlyLinearly runs all passes on two graphs, one of which is eight times as large.
func TestPassesGrowNearlyLinearly(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const small, times = 2_500, 8
	measure := func(nodes int) (best Figures) {
		for i := range 2 { // the better of two, as other processes disturb
			fig, err := Measure(t.Context(), Shape{Nodes: nodes, Backends: 8, Run: 20}, pass.Options{Rules: "ggml-2026"})
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 || fig.CPU < best.CPU {
				best = fig
			}
		}
		return best
	}
	a, b := measure(small), measure(small*times)
	e := Exponent(a, b, times)
	t.Logf("%d nodes: %v of CPU time, %d nodes: %v: exponent %.2f", small, a.CPU, small*times, b.CPU, e)
	if e > maxExponent {
		t.Errorf("time grows with the %.2fth power of the nodes, which is above %v", e, maxExponent)
		for i, p := range b.Stats.Passes {
			t.Logf("%s: %v, then %v", p.Pass, a.Stats.Passes[i].Time, p.Time)
		}
	}
}

var all = flag.Bool("all", false, "50,000 splits and 10,000 inputs of a split, which takes longer")

// TestMemoryIsTheOnlyLimit compiles graphs that have more of one thing than ggml's scheduler supports.
func TestMemoryIsTheOnlyLimit(t *testing.T) {
	splits, inputs := 5_000, 1_000
	if *all {
		splits, inputs = 50_000, 10_000
	}
	for _, tt := range []struct {
		name, rules    string
		shape          Shape
		splits, inputs int // at least
	}{
		{"backends", "ggml-2026", Shape{Nodes: 3_000, Backends: 300, Run: 3}, 300, 0},
		{"backends", "cost", Shape{Nodes: 600, Backends: 300, Run: 3}, 1, 0},
		{"splits", "ggml-2026", Shape{Nodes: splits, Backends: 8, Run: 1}, splits, 1},
		{"inputs of a split", "cost", Shape{Nodes: 100, Backends: 3, Run: 20, Fan: inputs}, 2, inputs},
	} {
		t.Run(tt.name+"/"+tt.rules, func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes a second")
			}
			fig, err := Measure(t.Context(), tt.shape, pass.Options{Rules: tt.rules, Disable: []string{"roll"}})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d nodes, %d splits of up to %d inputs, %v", fig.Nodes, fig.Splits, fig.Inputs, fig.CPU)
			if fig.Splits < tt.splits || fig.Inputs < tt.inputs {
				t.Errorf("%d splits of up to %d inputs, want at least %d of %d", fig.Splits, fig.Inputs, tt.splits, tt.inputs)
			}
		})
	}
}

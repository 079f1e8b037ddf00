package roll

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestStartsOfLongGroupsAreAtTheirBorders finds layers that have more nodes than starts are tried. The tried starts
// carry no more than what a layer hands to the next one.
func TestStartsOfLongGroupsAreAtTheirBorders(t *testing.T) {
	const nodes, layers = 3 * manyStarts, 4
	var b strings.Builder
	b.WriteString("func @f(%x0: f32[4,32]) -> f32[4,32] {\n  %y = exp %x0\n  %x1 = sqrt %y\n")
	at := 1
	for range layers {
		for i := range nodes {
			// One value stays live through the layer, so that more bytes cross each position inside it.
			op, operands := "scale", fmt.Sprintf("%%x%d {scale=%d}", at, i+2)
			if i == nodes-1 {
				op, operands = "add", fmt.Sprintf("%%x%d, %%x%d", at, at-nodes+2)
			}
			fmt.Fprintf(&b, "  %%x%d = %s %s\n", at+1, op, operands)
			at++
		}
	}
	fmt.Fprintf(&b, "  return %%x%d\n}\n", at)
	m := irtest.Parse(t, b.String())
	r := findRepeat(m.Funcs[0])
	if r == nil {
		t.Fatal("no repetition is found")
	}
	if r.count != layers || r.period != nodes || len(r.carried) != 1 {
		t.Errorf("%d groups of %d nodes that carry %d values, want %d of %d that carry 1", r.count, r.period, len(r.carried), layers, nodes)
	}
}

// TestStartsWithMostGroupsAreTried has a run with a rest after its last whole group: the starts before which the rest
// would be lost have one group more. They are tried all, wherever the run begins, then those with the fewest bytes
// between groups.
func TestStartsWithMostGroupsAreTried(t *testing.T) {
	const period, groups, rest = 2 * manyStarts, 3, manyStarts / 2
	for _, from := range []int{0, 5, period} {
		to := from + groups*period + rest
		var b strings.Builder
		b.WriteString("func @f(%x0: f32[4,32]) -> f32[4,32] {\n")
		for i := range to {
			if i%period < manyStarts { // another value stays live up to here: more bytes cross these positions
				fmt.Fprintf(&b, "  %%x%d = add %%x%d, %%x%d\n", i+1, i, i-i%period)
			} else {
				fmt.Fprintf(&b, "  %%x%d = exp %%x%d\n", i+1, i)
			}
		}
		fmt.Fprintf(&b, "  return %%x%d\n}\n", to)
		s := newSequence(irtest.Parse(t, b.String()).Funcs[0])
		starts := s.starts(run{from: from, to: to}, period)
		if len(starts) != manyStarts || !slices.IsSorted(starts) {
			t.Fatalf("from %d: %d starts %v, want %d", from, len(starts), starts, manyStarts)
		}
		crossing := s.crossing(from+period, from+2*period)
		var most int64
		for _, start := range starts {
			if (to-start)/period < groups {
				most = max(most, crossing[start-from])
			}
		}
		for start := from; start < from+period; start++ {
			if tried := slices.Contains(starts, start); (to-start)/period == groups && !tried {
				t.Errorf("from %d: start %d has %d groups and is not tried", from, start, groups)
			} else if !tried && crossing[start-from] < most {
				t.Errorf("from %d: start %d is not tried, and %d bytes cross it; they are up to %d where it is tried", from, start, crossing[start-from], most)
			}
		}
	}
}

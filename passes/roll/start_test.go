package roll

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestStartsOfLongGroupsAreAtTheirBorders finds layers that have more nodes than starts are tried. Those that are tried
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

package passes

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestCopyTable holds numbers for pairs of values and targets.
func TestCopyTable(t *testing.T) {
	values := []*ir.Value{{ID: 0}, {ID: 1}, {ID: 2}}
	targets := []*target.Descriptor{{Name: "a"}, {Name: "b"}}
	table := copyTable[int]{heads: noneOf(len(values))}
	for i, v := range values[1:] {
		for k, on := range targets {
			*table.add(v, on) = 10*i + k
		}
	}
	*table.add(values[2], targets[0]) = 99
	for i, want := range [][]int{nil, {0, 1}, {99, 11}} {
		for k, on := range targets {
			switch held := table.at(values[i], on); {
			case want == nil && held != nil:
				t.Errorf("value %d, target %s: %d is held, want nothing", i, on.Name, *held)
			case want != nil && (held == nil || *held != want[k]):
				t.Errorf("value %d, target %s: want %d", i, on.Name, want[k])
			}
		}
	}
}

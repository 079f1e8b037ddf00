package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestPinMatchesTheNodesAndNoOtherOp compares the pins that are suggested for nodes with the nodes that they match.
func TestPinMatchesTheNodesAndNoOtherOp(t *testing.T) {
	const text = `
func @f(%x: f32[4,8]) -> (y: f32[4,8]) {
  %l0.up = silu %x
  %l1.up = silu %l0.up
  %l12.up = silu %l1.up
  %m0 = silu %l12.up
  %m1 = relu %m0
  %"a+b" = silu %m1
  %n = silu %"a+b"
  %o = silu %n
  %p = silu %o
  %y = silu %p
  return %y
}
`
	for _, tt := range []struct{ name, nodes, want, catches string }{
		{"one", "l1.up", `--pin '^l1\.up$=gpu'`, "l1.up"},
		{"layers", "l0.up l1.up l12.up", `--pin '^l[0-9]+\.up$=gpu'`, "l0.up l1.up l12.up"},
		{"a layer of another op", "m0", `--pin '^m0$=gpu'`, "m0"},
		{"two names", "l0.up l12.up a+b", `--pin '^(l[0-9]+\.up|a\+b)$=gpu'`, "l0.up l1.up l12.up a+b"},
		{"too many", "a+b n o p y", `--pin '^(a\+b|n|o|p)$=gpu', and a pin for each of the others`, "a+b n o p"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := irtest.Parse(t, text)
			var nodes []*ir.Node
			for _, n := range m.Funcs[0].Nodes {
				if slices.Contains(strings.Fields(tt.nodes), pinName(n)) {
					nodes = append(nodes, n)
				}
			}
			x := &explainer{m: m}
			got := x.pin(&target.Descriptor{Name: "gpu"}, nodes).text
			if got != tt.want {
				t.Fatalf("got %s, want %s", got, tt.want)
			}
			_, flag, _ := strings.Cut(got, "'")
			flag, _, _ = strings.Cut(flag, "'")
			pin, err := pass.ParsePin(flag)
			if err != nil {
				t.Fatal(err)
			}
			var caught []string
			for _, n := range m.Funcs[0].Nodes {
				if pin.Matches(n) {
					caught = append(caught, pinName(n))
				}
			}
			if strings.Join(caught, " ") != tt.catches {
				t.Errorf("%s catches %q, want %q", flag, caught, tt.catches)
			}
		})
	}
}

// TestPinOfABodyMatchesAllLayers suggests a pin for a node in a repeat. The node has the name of its first iteration;
// the pin is for all layers.
func TestPinOfABodyMatchesAllLayers(t *testing.T) {
	m := irtest.Parse(t, `
func @f(%x: f32[4,8]) -> (y: f32[4,8]) {
  %y = repeat %x {count=2, carried=1, invariant=0} : f32[4,8]
  body @layer(%c: f32[4,8]) -> f32[4,8] {
    %l0.up = silu %c
    return %l0.up
  }
  return %y
}
`)
	x := &explainer{m: m}
	got := x.pin(&target.Descriptor{Name: "gpu"}, m.Funcs[0].Nodes[0].Body.Nodes).text
	if want := `--pin '^l[0-9]+\.up$=gpu'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

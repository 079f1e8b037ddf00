package passes_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestExpertsOnRandomMachines runs all passes, with the proof, on a mixture of experts for random machines and pins:
// copies of experts, of the indices that they read, and copies by way of the host meet before one split.
func TestExpertsOnRandomMachines(t *testing.T) {
	for seed := range uint64(1000) {
		d := draw{rand.New(rand.NewPCG(seed, 29))}
		machine := d.machine()
		targets, err := target.Parse("machine", machine)
		if err != nil {
			t.Fatal(err)
		}
		module := d.module(targets)
		m, err := ir.Parse("experts", []byte(module))
		if err != nil {
			t.Fatal(err)
		}
		options, err := d.options(targets)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := passes.Run(t.Context(), m, passes.RunOptions{Targets: targets, Options: options}); err != nil {
			t.Fatalf("seed %d: %v\n%s%v\n%s", seed, err, machine, options.Pins, module)
		}
	}
}

// draw makes random inputs.
type draw struct{ *rand.Rand }

// machine returns two to four devices, some of which share memory, and the host.
func (d draw) machine() string {
	var b strings.Builder
	n := 2 + d.IntN(3)
	for i := range n {
		fmt.Fprintf(&b, "target gpu%d space=dev%d ops=*", i, d.IntN(n))
		if d.IntN(2) == 0 {
			b.WriteString(" staged=true")
		}
		if d.IntN(3) == 0 {
			b.WriteString(" queues=1 events=true")
		}
		b.WriteString("\n")
	}
	return b.String() + "target cpu space=host ops=* workers=true threads=4\n"
}

// module returns a mixture of experts whose weights are in random spaces, or where the passes put them.
func (d draw) module(targets *target.List) string {
	space := func() string {
		if d.IntN(3) == 0 {
			return ""
		}
		return " @" + targets.All()[d.IntN(len(targets.All()))].Home()
	}
	return fmt.Sprintf(`ggir 1
module "experts"
props imported
weight "router" : f32[8,32]%s
weight "up" : f32[8,64,32]%s
weight "down" : f32[8,32,64]%s
func @f(%%x: f32[1,32], %%c: f32[1,32]) -> f32[1,32] {
  %%router = weight "router"
  %%e = exp %%x
  %%logits = matmul %%e, %%router
  %%idx = top_k %%logits {k=2}
  %%taken = take %%logits, %%idx
  %%p = softmax %%taken
  %%g = add %%e, %%c
  %%rows = reshape %%g {shape=[1,1,32]}
  %%up = weight "up"
  %%h = experts_matmul %%rows, %%up, %%idx
  %%s = silu %%h
  %%down = weight "down"
  %%y = experts_matmul %%s, %%down, %%idx
  %%z = experts_sum %%y, %%p
  %%q = mul %%z, %%e
  %%o = add %%q, %%z
  return %%o
}
`, space(), space(), space())
}

// options returns pins of most nodes, one of two sets of rules, and one or two steps under way.
func (d draw) options(targets *target.List) (o pass.Options, err error) {
	if d.IntN(3) == 0 {
		o.Rules = "ggml-2026"
	}
	if d.IntN(4) == 0 {
		o.Pipeline = 2
	}
	for _, name := range []string{"e", "logits", "idx", "taken", "p", "g", "h", "s", "y", "z", "q"} {
		if d.IntN(4) == 0 {
			continue
		}
		p, err := pass.ParsePin("^" + name + "$=" + targets.All()[d.IntN(len(targets.All()))].Name)
		if err != nil {
			return o, err
		}
		o.Pins = append(o.Pins, p)
	}
	return o, nil
}

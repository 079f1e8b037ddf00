package passtest

import (
	"context"
	"testing"

	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// small is a transformer that compiles in a short time.
var small = Transformer{
	Layers: 3, Heads: 4, KVHeads: 2, Head: 32, FF: 256, Vocab: 512, Ctx: 128, Batch: 32, Weights: "q8_0",
}

func TestTransformersCompile(t *testing.T) {
	mixture := small
	mixture.Experts, mixture.Chosen = 4, 2
	for name, c := range map[string]Transformer{"dense": small, "mixture": mixture} {
		m, err := c.Module()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := target.Select("cpu")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: l}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package passes

import (
	"context"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// planned runs the passes from roll to plan.
func planned(t *testing.T, m *ir.Module, o pass.Options, targets string) *pass.Stats {
	t.Helper()
	list, err := target.Parse("targets", targets)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := Run(context.Background(), m, RunOptions{Targets: list, Options: o, Passes: []string{"roll", "order", "partition", "plan"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, m)
	}
	return stats
}

const cpuTarget = "target cpu like=cpu"

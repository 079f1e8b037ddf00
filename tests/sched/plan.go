package sched

import (
	"context"
	"errors"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/check"
)

// planningPasses are the passes that make decisions or assign addresses. Passes that read the formats of operands are
// left out, as those of foreign nodes are unknown.
var planningPasses = []string{"assign", "split", "copy", "elide-copy", "dce-copy", "pipeline", "roll", "order", "partition", "plan", "sync"}

// Plan runs the passes up to the plan, and returns the violations that passes/check finds.
func (g *Graph) Plan(ctx context.Context) ([]*check.Violation, error) {
	_, err := passes.Run(ctx, g.Module, passes.RunOptions{Targets: g.Targets, Options: g.Options, Passes: planningPasses})
	if err != nil {
		return nil, err
	}
	err = check.Check(ctx, g.Module, g.Targets)
	var wrong *check.Error
	if errors.As(err, &wrong) {
		return wrong.Violations, nil
	}
	return nil, err
}

// Bytes returns the bytes that the plan needs in each space, without weights and states.
func (g *Graph) Bytes() map[string]int64 {
	bytes := make(map[string]int64)
	for _, a := range g.Module.Plan.Arenas {
		if a.Class != ir.ClassWeights && a.Class != ir.ClassState {
			bytes[a.Space] += a.Bytes()
		}
	}
	return bytes
}

// TracedBytes returns the bytes of ggml's buffers in each space, as the largest of all graphs of the scheduler.
func (g *Graph) TracedBytes() map[string]int64 {
	most := make(map[string]int64)
	for _, c := range g.Cases {
		bytes := make(map[string]int64)
		for i, b := range c.Expect.Buffers {
			bytes[c.bufferSpace(i)] += b.Bytes
		}
		for space, n := range bytes {
			most[space] = max(most[space], n)
		}
	}
	return most
}

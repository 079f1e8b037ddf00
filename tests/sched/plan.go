package sched

import (
	"context"
	"errors"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/check"
)

// planningPasses are those that decide and those that give addresses. What reads the formats
// of operands is left out, as nobody knows those of foreign nodes.
var planningPasses = []string{"assign", "split", "copy", "elide-copy", "dce-copy", "pipeline", "roll", "order", "partition", "plan", "sync"}

// Plan runs the passes up to the plan, and returns what passes/check finds wrong with it.
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

// Bytes returns how many bytes the plan needs in each space, weights and states left out.
func (g *Graph) Bytes() map[string]int64 {
	bytes := make(map[string]int64)
	for _, a := range g.Module.Plan.Arenas {
		if a.Class != ir.ClassWeights && a.Class != ir.ClassState {
			bytes[a.Space] += a.Bytes()
		}
	}
	return bytes
}

// TracedBytes returns how many bytes ggml's buffers have in each space: of all graphs that
// one scheduler was given, the largest counts.
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

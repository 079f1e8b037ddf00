package scale

import (
	"testing"

	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/check"
)

// BenchmarkProof verifies and checks a module of 100,000 nodes after all passes, as a run of passes does.
func BenchmarkProof(b *testing.B) {
	s := Shape{Nodes: 100_000, Backends: 8, Run: 20}
	m, err := s.Module()
	if err != nil {
		b.Fatal(err)
	}
	targets, err := s.Targets()
	if err != nil {
		b.Fatal(err)
	}
	o := pass.Options{Rules: "cost", Debug: []pass.Setting{{Pass: "plan", Flag: "greedy", Value: "true"}}}
	if _, err := passes.Run(b.Context(), m, passes.RunOptions{Targets: targets, Options: o}); err != nil {
		b.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		b.Fatal(err)
	}
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			if err := ir.Verify(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if err := check.Check(b.Context(), m, targets); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("needless", func(b *testing.B) {
		for b.Loop() {
			check.Needless(m, targets)
		}
	})
	b.Run("figures", func(b *testing.B) {
		for b.Loop() {
			flow.Measure(m)
		}
	})
}

// Package assign holds the pass assign, which gives every node a backend: by the rules of ggml's schedulers of
// 2024 or 2026, or by cost, as a problem that package placement solves.
package assign

import (
	"cmp"
	"errors"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass gives every node a backend and every value a memory space.
//
// Before: the module has the ops that will run. After: every node except views, weights, states and constants has a
// backend that runs it. For a fused op, some target may run its pieces instead. Every value has a space.
//
// Not earlier: a backend is asked about the op that will run. Not later: formats, splits and copies follow from the
// backend.
//
// The user's pins come first. Then the rules of the selected set run in the order of their table (rules.go). Each
// rule gives backends to nodes that have none yet. A node that is left after all rules is an error, which lists why
// each target refuses it. Spaces follow from backends: parameters and results are stored in the home space of the
// last target, weights and states in that of their first reader, and other values in that of their node's backend.
//
// For example, with the targets gpu and cpu, where gpu has no kernel for b, and with rules that take the first
// target in the list that runs a node:
//
//	%w = weight "w"       space dev, the home of gpu, where %a reads it
//	%a = matmul %x, %w    gpu
//	%b = b %a             cpu: gpu does not run it
//
// That %b reads a value in a space that cpu does not address is the subject of pass copy.
//
// Cost: O(nodes * targets) for each rule; package placement documents the cost of its search.
var Pass = pass.Pass{
	Name:     "assign",
	Doc:      "choose a backend for every node",
	Run:      assign,
	Required: true,
	Needs:    ir.PropShaped,
	Gives:    ir.PropAssigned,
	Breaks:   pass.FromSplit,
	Rules:    assignRuleDocs(),
	Flags:    assignFlags{Offload: true, Copies: 1},
}

type assignFlags struct {
	Offload bool `debug:"offload,under ggml's rules: targets may take ops whose weights are in the memory of the last one"`
	Copies  int  `debug:"copies,under ggml's rules: copies of each input of the graph"`
}

func assign(c *pass.Context, m *ir.Module) error {
	set, err := RuleSetOf(c.Options)
	if err != nil {
		return err
	}
	a := newAssigner(c, m)
	a.run(set.pin)
	a.run(set.assign...)
	a.run(set.finish...)
	a.refuseRest()
	if err := errors.Join(a.errs...); err != nil {
		return err
	}
	a.place()
	return nil
}

// place gives every value the space where its bytes are stored.
func (a *assigner) place() {
	a.leafSpaces()
	home := a.c.Targets.Last().Home()
	for _, f := range a.funcs {
		for _, p := range f.Params {
			if p.Type.Space == "" {
				p.Type.Space = home
			}
		}
		for _, n := range f.Nodes {
			for _, r := range n.Results {
				if s := r.Source(); s != nil {
					r.Type.Space = s.Type.Space
				} else if !flow.IsLeafNode(n) { // foreign leaves, which the caller writes, may have no backend
					r.Type.Space = cmp.Or(rewrite.ResultSpace(a.c.Targets, n), home)
				}
			}
		}
	}
}

// leafSpaces stores weights, states and constants in the home space of their first reader, unless the module
// states where they are.
func (a *assigner) leafSpaces() {
	first := make([]*target.Descriptor, len(a.leaves.list)) // targets of the first readers
	for _, f := range a.funcs {
		for _, n := range f.Nodes {
			if t := a.c.Target(n); t != nil {
				a.leaves.noteReader(n, t, first)
			}
		}
	}
	for i := range a.leaves.list {
		a.leaves.list[i].settle(cmp.Or(first[i], a.c.Targets.Last()).Home())
	}
}

// noteReader sets the first reader of the leaves that n, a node on a target, reads, unless they have one.
func (t *leafTable) noteReader(n *ir.Node, on *target.Descriptor, first []*target.Descriptor) {
	for _, v := range n.Args {
		if v == nil {
			continue
		}
		if i, ok := t.leafOf(v.Root()); ok && first[i] == nil {
			first[i] = on
		}
	}
}

// backendOfValue returns the target that a value belongs to once nodes are assigned: that of the node that makes it.
// Views and leaves that later passes have made may have no backend. Such a view belongs to the target of what it
// views, such a leaf to the best target that addresses it.
func backendOfValue(l *target.List, v *ir.Value) *target.Descriptor {
	switch {
	case v.Def == nil:
		return l.Last()
	case v.Def.Backend != "":
		return l.Get(v.Def.Backend)
	case v.Source() != nil:
		return backendOfValue(l, v.Source())
	}
	return l.Best(v.Type.Space, nil)
}

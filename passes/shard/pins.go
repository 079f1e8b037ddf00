package shard

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Pins win over a group: a node that the user has put on a backend is computed there, once and whole.

// pinOf returns the pin of a node of the whole module; nil for none.
func pinOf(pins []pass.Pin, n *ir.Node) *pass.Pin {
	if n.Is(ir.View) || n.Is(ir.Leaf) {
		return nil
	}
	i := slices.IndexFunc(pins, func(p pass.Pin) bool { return p.Matches(n) || p.MatchesWeight(n) })
	if i < 0 {
		return nil
	}
	return &pins[i]
}

// pinnedLeaves returns for each weight and state that a pinned node reads the node and its pin.
func pinnedLeaves(m *ir.Module, pins []pass.Pin) map[string]string {
	by := make(map[string]string)
	if len(pins) == 0 {
		return by
	}
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			p := pinOf(pins, n)
			if p == nil {
				continue
			}
			for _, a := range n.Args {
				if name := nameOfLeaf(a); name != "" {
					by[name] = fmt.Sprintf("@%s %v, which --pin %v puts on one backend", f.Name, n, p)
				}
			}
		}
	}
	return by
}

// firstPinned returns the first matrix or state of the module that a pinned node reads, with the node and its pin; empty
// if there is none.
func firstPinned(m *ir.Module, pins []pass.Pin) (name, node string) {
	pinned := pinnedLeaves(m, pins)
	for _, l := range leavesOf(m) {
		if node, ok := pinned[l.name]; ok && l.typ.Rank() > 1 {
			return l.name, node
		}
	}
	return "", ""
}

// nameOfLeaf returns the name of the weight or state that v is, views, or is a version of; empty for other values.
func nameOfLeaf(v *ir.Value) string {
	if v == nil || v.Root().Def == nil {
		return ""
	}
	switch a := v.Root().Def.Attr.(type) {
	case *ir.WeightAttr:
		return a.Name
	case *ir.StateAttr:
		return a.Name
	}
	return ""
}

// keepPinned removes the divisions of what pinned nodes read. A rule of the user that splits it is an error.
func keepPinned(m *ir.Module, pins []pass.Pin, rules []pass.ShardRule) error {
	pinned := pinnedLeaves(m, pins)
	whole := make(map[string]bool) // divisions
	for _, l := range leavesOf(m) {
		node, ok := pinned[l.name]
		if !ok {
			continue
		}
		if l.divide != nil {
			whole[l.divide.Name] = true
		}
		i := slices.IndexFunc(rules, func(r pass.ShardRule) bool { return r.Match.MatchString(l.name) })
		if i >= 0 && rules[i].State.IsSplit() {
			return fmt.Errorf("--shard %v: %q is read by %s: drop one of the two", rules[i], l.name, node)
		}
	}
	for _, w := range m.Weights {
		if w.Divide != nil && whole[w.Divide.Name] {
			w.Divide = nil
		}
	}
	for _, s := range m.States {
		if s.Divide != nil && whole[s.Divide.Name] {
			s.Divide = nil
		}
	}
	return nil
}

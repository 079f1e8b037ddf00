package shard

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// dropUnread removes the copies of states that all devices have and the first device alone needs, with what computes
// them: a copy is needed if a device reads it for a result or for a state that is not one of these.
func dropUnread(m *ir.Module, devices int, given map[string]ir.Sharding) {
	copies := make(map[string]bool) // whether it is needed
	for name, s := range given {
		if s.IsSplit() || s.Kind == ir.ShardHeld || !slices.ContainsFunc(m.States, func(x *ir.State) bool { return x.Name == memberLeaf(name, s, 0) }) {
			continue
		}
		for j := 1; j < devices; j++ {
			copies[memberLeaf(name, s, j)] = false
		}
	}
	for changed := true; changed; {
		changed = false
		for _, f := range m.Funcs {
			for n := range liveNodes(f, copies) {
				if name := nameOfLeaf(n.Result()); n.Op == ir.OpState {
					if needed, isCopy := copies[name]; isCopy && !needed {
						copies[name], changed = true, true
					}
				}
			}
		}
	}
	dropped := func(name string) bool { needed, isCopy := copies[name]; return isCopy && !needed }
	m.States = slices.DeleteFunc(m.States, func(s *ir.State) bool { return dropped(s.Name) })
	for _, f := range m.Funcs {
		gone := make(map[*ir.Value]bool)
		f.Nodes = slices.DeleteFunc(f.Nodes, func(n *ir.Node) bool {
			from := func(a *ir.Value) bool { return a != nil && gone[a] }
			if n.Op == ir.OpState && dropped(nameOfLeaf(n.Result())) || slices.ContainsFunc(n.Args, from) {
				gone[n.Result()] = true
				return true
			}
			return false
		})
		names := make(map[string]bool)
		for v := range gone {
			names[v.Name()] = true
		}
		f.Parts = slices.DeleteFunc(f.Parts, func(p ir.Parts) bool { return !stillParts(p, names) })
	}
}

// stillParts removes the names of values that are gone. It reports whether another device than the first has something.
func stillParts(p ir.Parts, gone map[string]bool) bool {
	others := p.State.IsSplit()
	for j, name := range p.Names {
		if gone[name] {
			p.Names[j] = ""
		}
		others = others || j > 0 && p.Names[j] != "" && p.Names[j] != p.Names[0]
	}
	return others
}

// liveNodes returns the nodes that a result needs, or a write of a state that is no copy, or a needed one.
func liveNodes(f *ir.Func, copies map[string]bool) map[*ir.Node]bool {
	live := make(map[*ir.Node]bool)
	for _, r := range f.Results {
		live[r.Def] = true
	}
	for _, n := range slices.Backward(f.Nodes) {
		if !live[n] && n.Is(ir.WritesState) {
			needed, isCopy := copies[nameOfLeaf(n.Result())]
			live[n] = needed || !isCopy
		}
		if !live[n] {
			continue
		}
		for _, a := range n.Args {
			if a != nil && a.Def != nil {
				live[a.Def] = true
			}
		}
	}
	delete(live, nil)
	return live
}

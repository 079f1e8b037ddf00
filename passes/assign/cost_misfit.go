package assign

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// This file finds what no assignment can change: nodes that have to run where the largest allocation is too small for
// a value that they read, make or write. Usually a pin has put them there.
//
// For example, with the pin "a=gpu", and a largest allocation of 1 MiB on gpu:
//
//	%a = matmul %x, %w    pinned; runs only on gpu, and %w has 4 MiB: a misfit
//	%b = neg %a           no misfit: it may run on cpu

// misfit is a value that is too large for the memory of a target.
type misfit struct {
	value, target int32
	need          int64 // bytes of all instances
}

// unfit reports the nodes that fit on no target that may run them. Each value is reported once.
func (p *problem) unfit() []error {
	if !slices.ContainsFunc(p.backends, p.hasLargestAllocation) {
		return nil
	}
	made := p.made()
	type key struct{ owner, value int32 }
	reported := make(map[key]bool)
	var errs []error
	for i := range p.Nodes {
		m, bad := p.fitsNowhere(int32(i), made)
		if !bad {
			continue
		}
		k := key{p.Values[m.value].Owner, m.value}
		if p.isLeaf(k.owner) {
			k.value = 0 // a leaf has a value in each function
		}
		if !reported[k] {
			reported[k] = true
			errs = append(errs, p.misfitError(i, m))
		}
	}
	return errs
}

// made returns the values that each node owns.
func (p *problem) made() [][]int32 {
	made := make([][]int32, len(p.Nodes))
	for v := range p.Values {
		if o := p.Values[v].Owner; o >= 0 && !p.isLeaf(o) {
			made[o] = append(made[o], int32(v))
		}
	}
	return made
}

// isLeaf reports whether a variable is a leaf.
func (p *problem) isLeaf(x int32) bool { return int(x) >= len(p.Nodes) }

// fitsNowhere reports whether something is too large on each target that may run node i, and returns what it is on the
// last one.
func (p *problem) fitsNowhere(i int32, made [][]int32) (m misfit, bad bool) {
	for t, seconds := range p.Nodes[i].Seconds {
		if seconds == placement.Never {
			continue
		}
		if m, bad = p.misfitOn(i, int32(t), made[i]); !bad {
			return m, false
		}
	}
	return m, bad
}

// misfitOn returns what is too large where node i runs on target t.
func (p *problem) misfitOn(i, t int32, made []int32) (misfit, bool) {
	home := p.Targets[t].Home
	check := func(v int32, instances int64) (m misfit, bad bool) {
		need := instances * p.spaces[home].Room(int64(p.Values[v].Bytes))
		return misfit{v, t, need}, !fitsInto(need, p.spaces[home].MaxAlloc)
	}
	for _, v := range made {
		if m, bad := check(v, 1); bad {
			return m, true
		}
	}
	for _, v := range p.Nodes[i].Reads {
		if p.mayAddress(v, t) {
			continue
		}
		instances := p.instances(home)
		if v == p.Nodes[i].Writes {
			instances = 1 // it is not a copy
		}
		if m, bad := check(v, instances); bad {
			return m, true
		}
	}
	return misfit{}, false
}

// mayAddress reports whether a value may be stored where target t addresses it.
func (p *problem) mayAddress(v, t int32) bool {
	may, val := p.Targets[t].Addresses, &p.Values[v]
	switch {
	case val.Owner < 0:
		return may[val.Space]
	case p.isLeaf(val.Owner):
		for s, ok := range p.Leaves[int(val.Owner)-len(p.Nodes)].Spaces {
			if ok && may[s] {
				return true
			}
		}
		return false
	}
	for by, seconds := range p.Nodes[val.Owner].Seconds {
		if seconds < placement.Never && may[p.Targets[by].Home] {
			return true
		}
	}
	return false
}

// misfitError names what is too large for the target of node i.
func (p *problem) misfitError(i int, m misfit) error {
	t, n := p.backends[m.target], p.nodes[i].node
	where := "what the caller reads"
	if n != nil {
		where = fmt.Sprintf("@%s %v on %s", n.Func.Name, n, t.Name)
	}
	if o := p.Values[m.value].Owner; p.isLeaf(o) {
		where += ": " + p.leaves[int(o)-len(p.Nodes)].key.String()
	} else if int(o) != i {
		where += ": an operand"
	}
	return pass.TooLarge(where, m.need, p.spaces[p.Targets[m.target].Home].MaxAlloc)
}

// hasLargestAllocation reports whether the home space of a target has a largest allocation.
func (p *problem) hasLargestAllocation(t *target.Descriptor) bool {
	return p.spaces[p.homeOf(t)].MaxAlloc > 0
}

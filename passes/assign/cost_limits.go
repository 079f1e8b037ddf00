package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// memoryLimits are the most bytes that everything in a space may take, by space; negative is no limit.
type memoryLimits []int64

// some reports whether some space has a limit.
func (l memoryLimits) some() bool {
	return slices.ContainsFunc(l, func(n int64) bool { return n >= 0 })
}

// exceededBy reports whether some limit is below what is needed.
func (l memoryLimits) exceededBy(need []int64) bool {
	for s, limit := range l {
		if limit >= 0 && need[s] > limit {
			return true
		}
	}
	return false
}

// less returns the limits minus what is reserved.
func (l memoryLimits) less(reserved []int64) []int64 {
	rest := slices.Clone(l)
	for s := range rest {
		if rest[s] >= 0 {
			rest[s] = max(0, rest[s]-reserved[s])
		}
	}
	return rest
}

// largest returns the bytes of the largest allocation that there may be in a space; -1 is no limit.
func (m *machine) largest(l memoryLimits, s int) int64 {
	most := l[s]
	if n := m.spaces[s].MaxAlloc; n > 0 && (most < 0 || n < most) {
		most = n
	}
	return most
}

// room returns the most bytes of a value that is stored that many times, one after the other, in one allocation; -1 is
// no limit.
func (m *machine) room(l memoryLimits, s int, instances int64) int64 {
	most := m.largest(l, s)
	if most < 0 {
		return -1
	}
	align := max(m.spaces[s].Align, 1)
	return max(0, most/instances/align*align-m.spaces[s].Extra)
}

// instances returns how many instances a copy into a space has: one for each step that is under way, if a target with
// queues is at home there.
func (p *problem) instances(s int) int64 {
	steps := p.c.Options.Pipeline
	queued := func(d *target.Descriptor) bool { return p.homeOf(d) == s && d.Queues > 0 }
	if steps > 1 && slices.ContainsFunc(p.backends, queued) {
		return int64(steps)
	}
	return 1
}

// tooLarge reports the leaves that fit into no space.
func (p *problem) tooLarge(l memoryLimits) []error {
	var errs []error
	for i := range p.Leaves {
		if most, ok := p.leafFits(l, i); !ok {
			advice := "no memory takes it whole: quantize it, or allow more"
			if p.leaves[i].key.op == ir.OpState {
				advice = "no memory takes it whole: lower --ctx or --sequences, choose a smaller --kv, or allow more"
			}
			errs = append(errs, &pass.BudgetError{
				Name: p.leaves[i].key.String(), Need: p.Leaves[i].Bytes, Limit: most, Own: len(p.c.Options.MaxMemory) == 0,
				Advice: advice,
			})
		}
	}
	return errs
}

// leafFits reports whether a leaf fits into a space in which it may be stored. most is the largest allocation of a
// space that is too small for it.
func (p *problem) leafFits(l memoryLimits, leaf int) (most int64, ok bool) {
	bytes := p.Leaves[leaf].Bytes
	for s, may := range p.Leaves[leaf].Spaces {
		ok = ok || may && (l[s] < 0 || bytes <= l[s])
		if n := p.largest(l, s); n < bytes {
			most = max(most, n)
		}
	}
	return most, ok
}

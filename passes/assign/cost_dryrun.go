package assign

import (
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// dryRun is what the plan of an assignment takes. How much memory activations, inputs, outputs and copies take is
// known only from a plan, so the passes up to plan run on a copy of the module.
//
// For example, with the home space of gpu limited to 100 MiB, and 80 MiB of weights assigned to it, a plan may need
// 110 MiB there: 80 for the weights and 30 for activations. The search then reserves 30 MiB, and looks for an
// assignment with at most 70 MiB of weights.
type dryRun struct {
	need    []int64 // by space: bytes
	seconds float64 // of copies that are made twice to keep limits
}

// dryRun plans an assignment in which each value is copied once into a space.
func (s *search) dryRun(labels []int32) (dryRun, error) { return s.plan(labels, pass.CopySet{}) }

// dryRunApart plans an assignment in which values may be copied twice into a space to keep the limits: elide-copy
// decides which ones.
func (s *search) dryRunApart(labels []int32) (dryRun, error) { return s.plan(labels, nil) }

// plan runs the passes up to plan on a copy of the module with an assignment.
func (s *search) plan(labels []int32, keep pass.CopySet) (dryRun, error) {
	m := s.a.m.Clone()
	copied := newAssigner(s.c, m)
	s.apply(copied, labels)
	copied.place()
	m.Props |= s.c.Pass.Gives
	m.Last = s.c.Pass.Name
	if err := s.c.TryPlan(m, keep); err != nil {
		return dryRun{}, err
	}
	s.c.Count("dry-runs", 1)
	need := make([]int64, len(s.spaces))
	for space, bytes := range flow.SpaceBytes(m.Plan) {
		if i, ok := s.index[space]; ok {
			need[i] = bytes
		}
	}
	return dryRun{need, flow.ApartSeconds(s.c, m)}, nil
}

// littleRoom is the part of a limit, one of so many, that has to be free for the search to try another assignment
// that may use it.
const littleRoom = 64

// relent reserves less after no assignment was found for what is reserved: it goes half the way back to what was
// reserved in the last dry run. It reports whether that changes anything.
func (s *search) relent(reserved, before []int64) (again bool) {
	for i, limit := range s.limits {
		if more := reserved[i] - before[i]; limit >= 0 && more > limit/littleRoom {
			reserved[i] = before[i] + more/2
			again = true
		}
	}
	return again
}

// besideLeaves returns what the plan of an assignment needs for all but leaves, by space.
func (p *problem) besideLeaves(labels []int32, need []int64) []int64 {
	beside := make([]int64, len(need))
	for i, leaves := range p.leafBytes(labels) {
		beside[i] = max(0, need[i]-leaves)
	}
	return beside
}

// learn compares what the plan of an assignment needs, in all and beside leaves, with the limits, and returns by how
// much it exceeds them. It reserves what the plan needs beside leaves. Where that alone exceeds a limit, values of half
// the size have to do. It reports whether another assignment may be better: this one does not fit, or more was reserved
// than it needs.
func (s *search) learn(need, beside, reserved []int64) (over []int64, again bool) {
	over = make([]int64, len(need))
	for i, limit := range s.limits {
		if limit < 0 {
			continue
		}
		over[i] = max(0, need[i]-limit)
		switch {
		case over[i] > 0:
			reserved[i] = min(limit, max(beside[i], reserved[i]+over[i]))
			if beside[i] > limit {
				s.Room[i] /= 2
				s.CopyRoom[i] /= 2
			}
			again = true
		case reserved[i]-beside[i] > limit/littleRoom:
			reserved[i] = beside[i]
			again = true
		}
	}
	return over, again
}

// leafBytes returns the bytes of leaves in each space.
func (p *problem) leafBytes(labels []int32) []int64 {
	sum := make([]int64, len(p.spaces))
	for i := range p.Leaves {
		sum[labels[len(p.Nodes)+i]] += p.Leaves[i].Bytes
	}
	return sum
}

// copiesApart returns how much longer the steps of an assignment take with some values copied twice into a space; ok
// is false if its plan exceeds the limits all the same.
func (s *search) copiesApart(labels []int32) (seconds float64, ok bool) {
	d, err := s.dryRunApart(labels)
	if err != nil || s.limits.exceededBy(d.need) {
		return 0, false
	}
	return d.seconds, true
}

func sumOf(list []int64) (sum int64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/passes/placement"
)

// search looks for the best assignment of a problem whose plan keeps the limits of memory.
//
// It changes the problem: Limits, Room and CopyRoom follow from the limits and from dry runs, Stay and the spaces of
// leaves from the way that is tried. Afterwards Limits are what the plan of the solution leaves for weights and states,
// and the others are those of the last way: explain finds them there.
type search struct {
	*problem
	a      *assigner // its module is planned in dry runs
	trials []trial
	limits memoryLimits
}

// attempt is an assignment and what its plan takes.
type attempt struct {
	*placement.Result
	beside []int64 // by space: bytes of all but leaves; nil if no limits were asked for, or the dry run failed
}

// solution is an assignment with its figures.
type solution struct {
	*placement.Result
	starts []start // with which it is compared, in the order of Result.Starts
}

func newSearch(a *assigner, p *problem, limits memoryLimits, trials []trial) *search {
	s := &search{problem: p, a: a, trials: trials}
	s.setLimits(limits)
	return s
}

// setLimits makes the search begin again with limits.
func (s *search) setLimits(limits memoryLimits) {
	s.limits, s.Limits = limits, limits
	s.Room, s.CopyRoom = make([]int64, len(limits)), make([]int64, len(limits))
	for i := range limits {
		s.Room[i], s.CopyRoom[i] = s.room(limits, i, 1), s.room(limits, i, s.instances(i))
	}
}

// solve returns the best assignment whose plan keeps the limits, or one that comes near them. With limits it tries up
// to three ways:
//
//  1. Leaves may be copied in every step. Their copies take room of activations.
//  2. Leaves are not copied into spaces that have limits.
//  3. Leaves are not stored where no node that reads them can run, either. A queue copies what is stored there early,
//     and the copy takes room until it is read.
func (s *search) solve() *solution {
	starts := s.starts(s.trials)
	var labels [][]int32
	for _, start := range starts {
		labels = append(labels, start.labels)
	}
	if !s.limits.some() {
		return &solution{placement.Solve(s.c.Ctx, &s.Problem, labels, placement.Options{}), starts}
	}
	best, first := s.fit(labels)
	if !best.Fits() || s.copiesLeaves(best.Labels) {
		s.Stay = true
		best = s.betterWay(best, labels)
	}
	if !best.Fits() && s.withoutStores() {
		s.Stay = false
		best = s.betterWay(best, labels)
	}
	// Only the first way could use everything that the limits allow: its bound is that of the module.
	best.Proved = best.Proved && best.Result == first.Result
	best.Bound = first.Bound
	s.Limits = s.leafLimits(best)
	return &solution{best.Result, starts}
}

// leafLimits returns the bytes that leaves may take in each space beside the rest of a plan. They are not less than
// what the leaves of the plan take.
func (s *search) leafLimits(a attempt) []int64 {
	rest := slices.Clone(s.limits)
	if a.beside != nil {
		rest = s.limits.less(a.beside)
	}
	for i, bytes := range s.leafBytes(a.Labels) {
		if rest[i] >= 0 {
			rest[i] = max(rest[i], bytes)
		}
	}
	return rest
}

// betterWay returns what fit finds for the problem as it is now, if it is better than best, else best.
func (s *search) betterWay(best attempt, starts [][]int32) attempt {
	if r, _ := s.fit(starts); betterFit(r.Result, best.Result) {
		return r
	}
	return best
}

// withoutStores keeps leaves out of the memory of devices that run nothing which reads them. It reports whether any
// leaf could be stored in such memory.
func (s *search) withoutStores() (some bool) {
	useful := s.usefulSpaces()
	for i := range s.Leaves {
		l := &s.Leaves[i]
		left := slices.Clone(l.Spaces)
		for space := range left {
			left[space] = left[space] && useful[i][space]
		}
		if slices.Contains(left, true) && !slices.Equal(left, l.Spaces) {
			l.Spaces, some = left, true
		}
	}
	return some
}

// usefulSpaces returns, by leaf and by space, whether the space is the home of a target that may run a reader of the
// leaf, or of the last target.
func (s *search) usefulSpaces() [][]bool {
	host := s.Targets[len(s.Targets)-1].Home
	useful := make([][]bool, len(s.Leaves))
	for i := range useful {
		useful[i] = make([]bool, len(s.spaces))
		useful[i][host] = true
	}
	for i := range s.Nodes {
		for _, v := range s.Nodes[i].Reads {
			leaf := int(s.Values[v].Owner) - len(s.Nodes)
			if leaf < 0 {
				continue
			}
			for t, seconds := range s.Nodes[i].Seconds {
				if seconds < placement.Never {
					useful[leaf][s.Targets[t].Home] = true
				}
			}
		}
	}
	return useful
}

// copiesLeaves reports whether an assignment copies leaves into spaces that have limits.
func (s *search) copiesLeaves(labels []int32) bool {
	for i := range s.Nodes {
		t := &s.Targets[labels[i]]
		for _, v := range s.Nodes[i].Reads {
			o := s.Values[v].Owner
			if s.isLeaf(o) && s.limits[t.Home] >= 0 && !t.Addresses[labels[o]] {
				return true
			}
		}
	}
	return false
}

// maxDryRuns is the number of assignments that fit plans to learn what memory they take.
const maxDryRuns = 6

// fitWork is placement.Options.Work of each search in fit.
const fitWork = 200_000

// fit looks for an assignment whose plan keeps the limits. It alternates between the search for an assignment, for
// which part of each limit is reserved for other bytes than those of leaves, and a dry run, from which it learns how
// much that should have been: see dryRun. It returns the best assignment, and the first one, for which nothing was
// reserved.
func (s *search) fit(starts [][]int32) (best, first attempt) {
	reserved := make([]int64, len(s.spaces))
	before := slices.Clone(reserved) // reserved for the last dry run
	room, copyRoom := slices.Clone(s.Room), slices.Clone(s.CopyRoom)
	defer func() { s.Room, s.CopyRoom = room, copyRoom }()
	for dryRuns, solved := 0, 0; dryRuns < maxDryRuns && solved < 2*maxDryRuns; solved++ {
		s.Limits = s.limits.less(reserved)
		r := attempt{Result: placement.Solve(s.c.Ctx, &s.Problem, starts, placement.Options{Work: fitWork})}
		again := false
		if !r.Fits() {
			again = s.relent(reserved, before)
		} else {
			dryRuns++
			copy(before, reserved)
			var err error
			if again, err = s.checkMemory(&r, reserved); err != nil {
				return r, r // the same error is reported when the passes run on the module itself
			}
		}
		if first.Result == nil {
			first = r
		}
		if best.Result == nil || betterFit(r.Result, best.Result) {
			best = r
		}
		if !again {
			break
		}
	}
	return best, first
}

// checkMemory plans an assignment and notes in r by how much it exceeds the limits. It reports whether another
// assignment may be better with the new reservation.
func (s *search) checkMemory(r *attempt, reserved []int64) (again bool, err error) {
	d, err := s.dryRun(r.Labels)
	if err != nil {
		return false, err
	}
	r.beside = s.besideLeaves(r.Labels, d.need)
	r.Over, again = s.learn(d.need, r.beside, reserved)
	if r.Fits() {
		return again, nil
	}
	if seconds, ok := s.copiesApart(r.Labels); ok {
		clear(r.Over)
		r.Seconds += seconds
		r.Proved = false
	}
	return again, nil
}

// betterFit reports whether r is better than another result: it fits and takes less time than one that fits too, or
// it lacks fewer bytes. A result that cannot run at all lacks none, and is the worst.
func betterFit(r, than *placement.Result) bool {
	lacks, thanLacks := sumOf(r.Over), sumOf(than.Over)
	switch {
	case r.Fits() != than.Fits():
		return r.Fits()
	case r.Fits():
		return r.Seconds < than.Seconds
	}
	return lacks > 0 && (thanLacks == 0 || lacks < thanLacks)
}

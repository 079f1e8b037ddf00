package placement

import (
	"cmp"
	"slices"
)

// eviction is the order in which leaves leave a full space.
type eviction int

const (
	cheapestFirst eviction = iota // leaves that cost least time for their bytes
	lastFirst                     // leaves that are read last; the first layers of a model stay
	firstFirst                    // leaves that are read first; the last layers of a model stay
)

var evictions = [...]eviction{cheapestFirst, lastFirst, firstFirst}

// evict moves leaves, with the nodes that read them, out of full spaces until everything fits or nothing more can be
// moved.
//
// Example: a space with a limit of 100 bytes holds leaves a of 60 bytes, b of 40 and c of 30, which nodes 0, 1 and 2
// read. Without them, the step takes 6 s, 1 s and 3 s longer. These are 0.1, 0.025 and 0.1 s for each byte.
//
//	cheapestFirst    b leaves; a and c take 90 bytes and fit
//	lastFirst        c leaves; a and b take 100 bytes and fit
//	firstFirst       a leaves; b and c take 70 bytes and fit
func (s *state) evict(by eviction) {
	type candidate struct {
		leaf int32
		key  float64
	}
	var list []candidate
	for i := range s.g.Leaves {
		x := s.g.leafVariable(i)
		if len(s.g.allowed[x]) > 1 && s.isOver(x) {
			list = append(list, candidate{x, s.evictionKey(x, by)})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.key, b.key) })
	for _, c := range list {
		if s.isOver(c.leaf) {
			s.moveOut(c.leaf)
		}
	}
}

// evictionKey returns a number that is lowest for the leaf that leaves first.
func (s *state) evictionKey(x int32, by eviction) float64 {
	users := s.g.usersOf(x)
	switch {
	case len(users) == 0:
		return 0
	case by == lastFirst:
		return -float64(users[0])
	case by == firstFirst:
		return float64(users[0])
	}
	return s.loss(x)
}

// loss returns how many seconds it costs, for each byte, to move a leaf out of its space.
func (s *state) loss(x int32) float64 {
	from := s.labels[x]
	cost, used, mark := s.cost, s.used[from], s.mark()
	s.moveOut(x)
	loss, freed := s.cost-cost, used-s.used[from]
	s.undo(mark)
	if freed <= 0 {
		return Never
	}
	return loss / float64(freed)
}

// moveOut moves a leaf out of its space in the way that costs least: together with the nodes that read it, or alone,
// so that they read a copy in every step. It tries at most a fixed number of targets and spaces.
func (s *state) moveOut(x int32) {
	from, mark := s.labels[x], s.mark()
	gr := group{leaves: []int32{x}}
	if users := s.g.usersOf(x); len(users) > 0 && len(users) <= maxGroup {
		gr = s.g.around(users...)
	}
	var best func()
	cost, over := s.cost, s.over
	consider := func(move func()) {
		move()
		if left := s.labels[x] != from; left && (best == nil || s.better(cost, over)) {
			best, cost, over = move, s.cost, s.over
		}
		s.undo(mark)
	}
	for i := range s.g.Targets {
		t := int32(i)
		if s.g.home(t) != from && (i < 4*fewTargets || i == len(s.g.Targets)-1) {
			consider(func() { s.moveGroup(gr, t) })
		}
	}
	for i, space := range s.g.allowed[x] {
		if space != from && i < 4*fewTargets {
			consider(func() { s.set(x, space) })
		}
	}
	if best != nil {
		best()
	}
}

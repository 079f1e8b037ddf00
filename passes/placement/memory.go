package placement

import (
	"cmp"
	"context"
	"slices"
)

// priceRounds is how many prices of memory are tried, at most, between one that frees all of
// it and none.
const priceRounds = 12

// priced returns assignments of the tree with rising prices for the bytes of full spaces,
// the best lower bound that they prove, and whether the first is the optimum of all. A price
// moves those leaves out first that save least time for their bytes.
func (g *graph) priced(ctx context.Context, t *tree, rounds int) (found [][]int32, bound float64) {
	price := make([]float64, g.spaces)
	labels, sum := t.solve(price)
	found, bound = [][]int32{labels}, sum
	full := g.full(labels)
	if len(full) == 0 {
		return found, bound
	}
	low, high := 0.0, g.highestPrice()
	for range rounds {
		if ctx.Err() != nil {
			break
		}
		mid := (low + high) / 2
		if low == 0 {
			mid = high / 1024 // prices differ by magnitudes
		}
		for _, space := range full {
			price[space] = mid
		}
		labels, sum = t.solve(price)
		bound = max(bound, sum-g.allowance(price))
		if over := g.full(labels); len(over) > 0 {
			full = union(full, over)
			low = mid
			continue
		}
		found = append(found, labels)
		high = mid
	}
	return found, bound
}

// highestPrice is more than any byte of a leaf can save.
func (g *graph) highestPrice() float64 {
	var seconds float64
	for i := range g.Nodes {
		for _, t := range g.labelsOf(int32(i)) {
			seconds = max(seconds, g.seconds(int32(i), t))
		}
	}
	least := int64(1) << 62
	for i := range g.Leaves {
		if n := g.Leaves[i].Bytes; n > 0 {
			least = min(least, n)
		}
	}
	return 4 * (seconds + 1e-9) / float64(least)
}

// allowance is what the bytes that are allowed cost at these prices.
func (g *graph) allowance(price []float64) float64 {
	var sum float64
	for space, p := range price {
		if limit := g.Limits[space]; limit >= 0 {
			sum += p * float64(limit)
		}
	}
	return sum
}

// full returns the spaces in which an assignment puts more than is allowed.
func (g *graph) full(labels []int32) []int32 {
	used := make([]int64, g.spaces)
	for i := range g.Leaves {
		used[labels[len(g.Nodes)+i]] += g.Leaves[i].Bytes
	}
	var list []int32
	for space, n := range used {
		if g.excess(int32(space), n) > 0 {
			list = append(list, int32(space))
		}
	}
	return list
}

func union(a, b []int32) []int32 {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// eviction is the order in which leaves leave a full space.
type eviction int

const (
	cheapestFirst eviction = iota // those that cost least time for their bytes
	lastFirst                     // those that are read last: what stays is a beginning
	firstFirst                    // those that are read first: what stays is an end
	evictions
)

// evict moves leaves, with the nodes around them, out of full spaces until all fits, as far
// as that goes.
func (s *state) evict(groups *grouper, by eviction) {
	type candidate struct {
		leaf int32
		key  float64
	}
	var list []candidate
	for i := range s.g.Leaves {
		x := int32(len(s.g.Nodes) + i)
		users := s.g.usersOf(x)
		if len(s.g.labelsOf(x)) < 2 || s.g.excess(s.labels[x], s.used[s.labels[x]]) == 0 {
			continue
		}
		c := candidate{leaf: x}
		switch {
		case len(users) == 0:
		case by == lastFirst:
			c.key = -float64(users[0])
		case by == firstFirst:
			c.key = float64(users[0])
		default:
			c.key = s.loss(groups, x)
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.key, b.key) })
	for _, c := range list {
		if s.g.excess(s.labels[c.leaf], s.used[s.labels[c.leaf]]) > 0 {
			s.leave(groups, c.leaf)
		}
	}
}

// loss is how many seconds it costs, for each byte, to move a leaf out of its space.
func (s *state) loss(groups *grouper, x int32) float64 {
	cost, used, from, mark := s.cost, s.used[s.labels[x]], s.labels[x], s.mark()
	s.leave(groups, x)
	loss, freed := s.cost-cost, used-s.used[from]
	s.undo(mark)
	if freed <= 0 {
		return Never
	}
	return loss / float64(freed)
}

// leave moves a leaf out of its space in the way that costs least: with the nodes around it,
// or alone, so that they copy it in every step. Of many targets and spaces some are tried.
func (s *state) leave(groups *grouper, x int32) {
	from, mark := s.labels[x], s.mark()
	gr := group{leaves: []int32{x}}
	if users := s.g.usersOf(x); len(users) > 0 && len(users) <= maxGroup {
		gr = groups.around(users...)
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
	for t := range s.g.Targets {
		if int32(s.g.Targets[t].Home) != from && (t < 4*fewTargets || t == len(s.g.Targets)-1) {
			consider(func() { s.move(gr, int32(t)) })
		}
	}
	for i, space := range s.g.labelsOf(x) {
		if space != from && i < 4*fewTargets {
			consider(func() { s.set(x, space) })
		}
	}
	if best != nil {
		best()
	}
}

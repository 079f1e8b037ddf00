package placement

import (
	"context"
	"slices"
)

const (
	priceRounds = 12         // prices of memory that are tried at most
	maxTreeWork = 60_000_000 // pairs of labels that trees may look at for all prices together
)

// solveTrees returns the best assignments of the tree of a problem, and a lower bound of what any assignment costs,
// if nothing overlaps. It returns none for a problem that is too large.
//
// If the best assignment does not fit into the limits, bytes of leaves in full spaces get a price (this is Lagrangian
// relaxation of the limits). A price moves those leaves out first that save least time for their bytes. Bisection
// looks for the lowest price at which everything fits.
//
// Example: space 1 has a limit of 100 bytes. Two leaves of 80 bytes save 8 s and 4 s if they are stored there.
//
//	price 0           both are in space 1: 160 bytes do not fit
//	price 0.06 s/B    a leaf costs 4.8 s there: only the first one is in space 1
//
// With the second assignment as the optimum for its price, no assignment that fits costs less than its cost
// including the price, minus 100 * 0.06 s, as no such assignment pays for more than 100 bytes.
func (g *graph) solveTrees(ctx context.Context) (found [][]int32, bound float64) {
	once := g.variables() * len(g.Targets) * len(g.Targets)
	if once > maxTreeWork {
		return nil, 0
	}
	t := newTree(g)
	price := make([]float64, g.spaces)
	labels, bound := t.solve(price)
	found = [][]int32{labels}
	full := g.fullSpaces(labels)
	if len(full) == 0 {
		return found, bound
	}
	low, high := 0.0, g.highestPrice()
	for range min(priceRounds, maxTreeWork/max(once, 1)) {
		if ctx.Err() != nil {
			break
		}
		middle := (low + high) / 2
		if low == 0 {
			middle = high / 1024 // sensible prices differ by orders of magnitude
		}
		for _, space := range full {
			price[space] = middle
		}
		labels, cost := t.solve(price)
		bound = max(bound, cost-g.limitCost(price))
		if over := g.fullSpaces(labels); len(over) > 0 {
			full = union(full, over)
			low = middle
			continue
		}
		found = append(found, labels)
		high = middle
	}
	return found, bound
}

// highestPrice returns a price that is higher than what any byte of a leaf can save.
func (g *graph) highestPrice() float64 {
	var seconds float64
	for i := range g.Nodes {
		for _, t := range g.allowed[i] {
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

// limitCost returns what leaves cost that fill all spaces exactly up to their limits.
func (g *graph) limitCost(price []float64) float64 {
	var sum float64
	for space, p := range price {
		if limit := g.Limits[space]; limit >= 0 {
			sum += p * float64(limit)
		}
	}
	return sum
}

// fullSpaces returns the spaces in which an assignment stores more than their limits.
func (g *graph) fullSpaces(labels []int32) []int32 {
	var list []int32
	for space, n := range g.overs(labels) {
		if n > 0 {
			list = append(list, int32(space))
		}
	}
	return list
}

// union returns a with those elements of b that it lacks.
func union(a, b []int32) []int32 {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

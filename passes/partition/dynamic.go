package partition

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// minShareBarriers is the shortest time of a run with a dynamic share, on one worker and in barriers. In shorter runs
// workers are done before they could be disturbed. To take another unit costs less than a barrier.
const minShareBarriers = 100

// A dynamic share needs at least minShareUnits units for each worker. With fewer, one unit takes as long as the
// difference between workers that the share is to balance. If a unit takes at most shortUnit barriers' time, predicted
// for one worker alone, it is shorter than that difference in any case, and minShortUnits units are enough.
const (
	minShareUnits = 8
	minShortUnits = 4
	shortUnit     = 32
)

// maxRereadShare is the largest part of a unit's time that goes into reading again what all units read.
const maxRereadShare = 1.0 / 16

// ending is what follows the last epoch of a function.
type ending uint8

const (
	barrierFollows ending = iota // a barrier, or the end of the call
	epochContinues               // the next iteration, or the nodes after the repeat, are in the same epoch
)

// shareDynamically leaves the last units of long nodes to the workers that finish first. Two workers on two processors
// are hardly ever equally fast: they share memory, and the machine with other programs.
//
// A run is adjacent divided nodes with the same units. In each epoch the longest run gets a dynamic share, if it has no
// hazard with another node of the epoch: it is not known which worker takes a unit, so only a barrier keeps the order.
// The run becomes the last of the epoch, so that its share balances the whole epoch.
//
// For example, an epoch has %q, a product, and %k, another one, which the owners of its heads store in the cache. If
// nothing in the epoch reads %q, then %q gets the dynamic share and moves after the store of %k. In another epoch two
// products %u and %g and their elementwise product %s have the same units and become one run: a worker computes a unit
// of all three before it takes another one.
//
// An epoch that continues in the next iteration or after the repeat gets none, because the nodes that its units could
// conflict with are not all in one list.
func (e *entry) shareDynamically(f *ir.Func, end ending) {
	if !e.c.Enabled(pass.RulePartitionDynamic) {
		return
	}
	start := 0 // in f.Nodes
	epochs := epochsOf(f)
	for i, epoch := range epochs {
		start += slices.Index(f.Nodes[start:], epoch[0])
		startsHere := i > 0 || f.Owner == nil || f.HeadBarrier
		endsHere := i < len(epochs)-1 || end == barrierFollows
		if startsHere && endsHere {
			e.shareIn(epoch, f.Nodes[start:])
		}
		for k, n := range epoch {
			if n.Body == nil {
				continue
			}
			inner := epochContinues
			if isLast := k == len(epoch)-1; isLast && endsHere && n.Body.HeadBarrier {
				inner = barrierFollows
			}
			e.shareDynamically(n.Body, inner)
		}
	}
}

// epochsOf returns the nodes of f that do work, by epoch.
func epochsOf(f *ir.Func) [][]*ir.Node {
	var epochs [][]*ir.Node
	number := -1
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) {
			continue
		}
		if n.Epoch != number {
			number = n.Epoch
			epochs = append(epochs, nil)
		}
		last := &epochs[len(epochs)-1]
		*last = append(*last, n)
	}
	return epochs
}

// shareIn gives the longest run of an epoch a dynamic share, if it may have one. nodes are those of the function, from
// the first one of the epoch on.
func (e *entry) shareIn(epoch, nodes []*ir.Node) {
	if slices.ContainsFunc(epoch, func(n *ir.Node) bool { return n.Body != nil }) {
		return // an epoch of the body may be a part of this one
	}
	run := e.longestRun(epoch)
	if run == nil || !e.mayShare(run, epoch) || !e.c.Allow(pass.RulePartitionDynamic, run[0]) {
		return
	}
	times := shareGranule(run, pass.AssumedWorkers(e.c, e.c.Target(run[0]))) / run[0].Part.Granule
	for _, n := range run {
		n.Part.Dynamic, n.Part.Granule = true, times*n.Part.Granule
		e.c.Cause(n, pass.RulePartitionDynamic)
	}
	e.c.Count("tails", 1)
	moveLast(nodes, run, epoch)
}

// longestRun returns the longest run of adjacent nodes with the same units, in predicted time; nil if all are too
// short.
func (e *entry) longestRun(epoch []*ir.Node) []*ir.Node {
	var longest []*ir.Node
	most := 0.0
	for len(epoch) > 0 {
		first, end := epoch[0], 1
		for end < len(epoch) && sameUnits(epoch[end], first) && epoch[end].Backend == first.Backend {
			end++
		}
		if t := e.runSeconds(epoch[:end]); t > most {
			longest, most = epoch[:end], t
		}
		epoch = epoch[end:]
	}
	return longest
}

// sameUnits reports whether two nodes are divided, into the same units.
func sameUnits(a, b *ir.Node) bool {
	return a.Part.Mode == ir.PartSplit && b.Part.Mode == ir.PartSplit && a.Part.SameUnits(b.Part)
}

// runSeconds predicts how long one worker computes a run of nodes with the same units. It returns 0 if a dynamic share
// would not help: the run is too short, it has too few units, or units read the same bytes again.
func (e *entry) runSeconds(run []*ir.Node) float64 {
	n := run[0]
	t := e.c.Target(n)
	if n.Part.Mode != ir.PartSplit || t == nil || !t.Workers {
		return 0
	}
	units, workers := n.Part.N.CeilDiv(n.Part.Granule).Upper(), int64(pass.AssumedWorkers(e.c, t))
	sum := 0.0
	for _, n := range run {
		w, units := flow.NodeWork(t, n)
		if rereads(w, units) || startsAnew(n) {
			return 0
		}
		sum += w.Seconds(units, 1)
	}
	longUnits := sum > float64(units)*shortUnit*t.Rates.Barrier
	switch {
	case sum < minShareBarriers*t.Rates.Barrier:
		return 0
	case units < minShortUnits*workers || units < minShareUnits*workers && longUnits:
		return 0
	}
	return sum
}

// rereads reports whether it loses time to compute units one by one because each reads again what all share, such as
// the weights of a product that is divided by rows.
func rereads(w flow.Work, units int64) bool {
	own := w
	own.Shared = 0
	return flow.Ratio(w.Shared, w.D.Rates.CacheBW) > maxRereadShare*own.Seconds(1, 1)/float64(units)
}

// startsAnew reports whether each unit of n reads bytes that no other unit reads, as segments of a context do. A worker
// that takes another unit than the next one then reads memory that no cache has.
func startsAnew(n *ir.Node) bool { return n.Op == ir.OpAttentionSegments }

// mayShare reports whether nothing else in the epoch depends on which worker computes a unit of the run.
func (e *entry) mayShare(run, epoch []*ir.Node) bool {
	touched := newRegion(e.buffers)
	for _, n := range run {
		touched.add(e.finalAccesses(n))
	}
	first := slices.Index(epoch, run[0])
	others := slices.Concat(epoch[:first], epoch[first+len(run):])
	return !slices.ContainsFunc(others, func(n *ir.Node) bool {
		for range touched.hazards(e.finalAccesses(n)) {
			return true
		}
		return false
	})
}

// Products of at least minTileRows rows use tiles that are tileColumns wide (kernels/cpu/tile: N0). Units of half as
// many columns need a narrower tile, which reads the rows as often for half the result.
const (
	minTileRows = 8
	tileColumns = 32
)

// shareGranule returns the granule of a run with a dynamic share: the one that it has, or a whole tile if it consists
// of products of many rows, divided by columns, and has enough units then.
func shareGranule(run []*ir.Node, workers int) int64 {
	part := run[0].Part
	wide := part.Granule < tileColumns && tileColumns%part.Granule == 0 &&
		part.N.CeilDiv(tileColumns).Upper() >= int64(minShareUnits*workers)
	for _, n := range run {
		y := n.Result().Type
		last := y.Rank() - 1
		wide = wide && n.Op == ir.OpMatMul && part.Axis == last && y.Elems().Upper() >= minTileRows*y.Shape[last].Upper()
	}
	if wide {
		return tileColumns
	}
	return part.Granule
}

// moveLast moves a run with a dynamic share, and views of its results, to the end of its epoch. This is legal because
// no other node of the epoch has a hazard with the run; see mayShare. The run stays if splits would mix. It stays too
// if a later node of the epoch is submitted to a queue: a node of the host after that one begins an epoch; see
// walker.queued.
func moveLast(nodes, run, epoch []*ir.Node) {
	end := epoch[len(epoch)-1]
	if run[len(run)-1] == end { // as most do
		return
	}
	nodes = nodes[slices.Index(nodes, run[0]):]
	span := nodes[:slices.Index(nodes, end)+1] // from the run to the end of the epoch, with views
	if slices.ContainsFunc(span, func(n *ir.Node) bool { return n.Split != end.Split || n.Queue() != "" }) {
		return
	}
	moves := make(map[*ir.Node]bool)
	for _, n := range run {
		moves[n] = true
	}
	var rest, last []*ir.Node
	for _, n := range span {
		if moves[n] || n.Is(ir.View) && n.Args[0].Def != nil && moves[n.Args[0].Def] {
			moves[n] = true
			last = append(last, n)
		} else {
			rest = append(rest, n)
		}
	}
	copy(span, append(rest, last...))
}

package partition

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// tailLimit is how many barriers' time a run of nodes has to take on one worker to get a
// tail: taking units by turns costs less than a barrier, and gains nothing where workers
// are done before they could be disturbed.
const tailLimit = 100

// minTailUnits is how many units each worker has to have: with fewer, one more or less is
// as long as what the tail is to balance. Units that take no longer than so many barriers, predicted for one
// worker alone, are shorter than that in any case; of minShortUnits a tail has one.
const (
	minTailUnits  = 8
	minShortUnits = 4
	shortUnit     = 32
)

// rereadShare is how much of a unit's time may go into reading again what all units read.
const rereadShare = 1.0 / 16

// giveTails leaves the last units of long nodes to whoever is done early. Two workers on two
// processors are hardly ever equally fast: they share memory, and the machine with others.
//
// In each epoch the longest run of divided nodes with the same units gets a tail, if
// nothing else in the epoch touches by units what it touches: whoever takes a unit is not
// known, so only a barrier separates the run from others. The run comes last, so that its tail
// balances all of the epoch. An epoch that goes on in another round or behind the loop is left alone.
func (p *partitioner) giveTails(f *ir.Func, closed bool) {
	if !p.c.Enabled(pass.RulePartitionDynamic) {
		return
	}
	work, from := working(f), 0
	for first := 0; first < len(work); {
		from += slices.Index(f.Nodes[from:], work[first])
		end := first + 1
		for end < len(work) && work[end].Epoch == work[first].Epoch {
			end++
		}
		ends := end < len(work) || closed
		if (first > 0 || f.Owner == nil || f.HeadBarrier) && ends {
			p.tailIn(f.Nodes[from:], work[first:end])
		}
		for i, n := range work[first:end] {
			if n.Body != nil {
				last := first+i+1 == end
				p.giveTails(n.Body, n.Body.HeadBarrier && last && ends)
			}
		}
		first = end
	}
}

// working returns the nodes of f that do work, in order.
func working(f *ir.Func) []*ir.Node {
	list := make([]*ir.Node, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		if flow.DoesWork(n) {
			list = append(list, n)
		}
	}
	return list
}

// tailIn gives the longest run of an epoch's nodes a tail, if it may have one. nodes are those of the
// function, from the first one of the epoch on.
func (p *partitioner) tailIn(nodes, epoch []*ir.Node) {
	var best []*ir.Node
	longest := 0.0
	for first := 0; first < len(epoch); {
		if epoch[first].Body != nil {
			return // its first or last epoch may be a part of this one
		}
		end := first + 1
		for end < len(epoch) && sameUnits(epoch[end], epoch[first]) && epoch[end].Backend == epoch[first].Backend {
			end++
		}
		if t := p.runSeconds(epoch[first:end]); t > longest {
			best, longest = epoch[first:end], t
		}
		first = end
	}
	if len(best) > 0 && p.mayHaveTail(best, epoch) && p.c.Allow(pass.RulePartitionDynamic, best[0]) {
		granule := tailGranule(best, pass.AssumedWorkers(p.c, p.c.Target(best[0])))
		times := granule / best[0].Part.Granule
		for _, n := range best {
			n.Part.Tail, n.Part.Granule = true, times*n.Part.Granule
			p.c.Cause(n, pass.RulePartitionDynamic)
		}
		p.c.Count("tails", 1)
		moveLast(nodes, best, epoch)
	}
}

// sameUnits reports whether two nodes are divided, into the same units.
func sameUnits(a, b *ir.Node) bool {
	return a.Part.Mode == ir.PartSplit && b.Part.Mode == ir.PartSplit && a.Part.SameUnits(b.Part)
}

// moveLast puts a run, and views of what it makes, behind all else in its epoch, which reads
// nothing of it and writes nothing that it reads: it may have a tail. It stays where splits would
// mix, and before what worker 0 submits to a queue: no node of the host follows that in its epoch
// (walker.meet).
func moveLast(nodes, run, epoch []*ir.Node) {
	end := epoch[len(epoch)-1]
	if run[len(run)-1] == end { // as most do
		return
	}
	nodes = nodes[slices.Index(nodes, run[0]):]
	span := nodes[:slices.Index(nodes, end)+1]
	if slices.ContainsFunc(span, func(n *ir.Node) bool { return n.Split != end.Split || n.Queue() != "" }) {
		return
	}
	var last []*ir.Node
	moved := make(map[*ir.Node]bool)
	rest := slices.DeleteFunc(slices.Clone(span), func(n *ir.Node) bool {
		moves := slices.Contains(run, n) || n.Is(ir.View) && n.Args[0].Def != nil && moved[n.Args[0].Def]
		if moves {
			moved[n] = true
			last = append(last, n)
		}
		return moves
	})
	copy(span, append(rest, last...))
}

// tileColumns is the columns of the widest tile of a product of several rows: units of half
// as many leave a narrower tile to do, which reads the rows as often for half the result
// (kernels/cpu/tile: N0).
const tileColumns = 32

// tailGranule returns the units in which a run is dealt out: those that it has, or whole
// tiles where it computes products of many rows by columns and enough units stay.
func tailGranule(run []*ir.Node, workers int) int64 {
	part := run[0].Part
	wide := part.Granule < tileColumns && tileColumns%part.Granule == 0 &&
		part.N.CeilDiv(tileColumns).Upper() >= int64(minTailUnits*workers)
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

// minTileRows is from how many rows on products use the wide tiles.
const minTileRows = 8

// runSeconds predicts how long one worker computes a run of divided nodes; 0 if that is too
// short for a tail, or they have too few units.
func (p *partitioner) runSeconds(run []*ir.Node) float64 {
	n := run[0]
	d := p.c.Target(n)
	if n.Part.Mode != ir.PartSplit || d == nil || !d.Workers {
		return 0
	}
	units, workers := n.Part.N.CeilDiv(n.Part.Granule).Upper(), int64(pass.AssumedWorkers(p.c, d))
	if units < minShortUnits*workers {
		return 0
	}
	sum := 0.0
	for _, n := range run {
		if rereads(d, n) || startsAnew(n) {
			return 0
		}
		sum += flow.NodeSeconds(d, n, 1)
	}
	if sum < tailLimit*d.Rates.Barrier || units < minTailUnits*workers && sum > float64(units)*shortUnit*d.Rates.Barrier {
		return 0
	}
	return sum
}

// rereads reports whether computing a node unit by unit loses time because each unit reads
// again what all share, such as the weights of a product that is divided by rows.
func rereads(d *target.Descriptor, n *ir.Node) bool {
	w := flow.WorkOf(d, n, flow.ChosenAxis(n))
	units := float64(n.Part.N.CeilDiv(n.Part.Granule).Upper())
	own := w
	own.Shared = 0
	return flow.Ratio(w.Shared, d.Rates.CacheBW) > rereadShare*own.Seconds(1, 1)/units
}

// startsAnew reports whether each unit reads from memory what nothing has asked for before
// unless it comes right behind another one. With a tail two workers took 1.5 % longer for a
// step at position 4000 of a 1.1 B llama.
func startsAnew(n *ir.Node) bool { return n.Op == ir.OpAttentionSegments }

// mayHaveTail reports whether nothing else in the epoch needs to know which worker has a
// unit of the run.
func (p *partitioner) mayHaveTail(run, epoch []*ir.Node) bool {
	defer p.run.clear()
	for _, n := range run {
		p.run.add(p.final(n))
	}
	first := slices.Index(epoch, run[0])
	return !slices.ContainsFunc(epoch[:first], p.meetsRun) && !slices.ContainsFunc(epoch[first+len(run):], p.meetsRun)
}

// meetsRun reports whether a node touches what the run of nodes touches.
func (p *partitioner) meetsRun(n *ir.Node) bool {
	clash := false
	p.run.clashes(p.final(n), func(_, _ *flow.Access) bool {
		clash = true
		return false
	})
	return clash
}

// final returns the accesses of a node that has been partitioned, until it is called again.
func (p *partitioner) final(n *ir.Node) []flow.Access {
	p.accesses = p.touches.AppendFinal(p.accesses[:0], n)
	return p.accesses
}

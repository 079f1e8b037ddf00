package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// replicatedLimit is the most seconds of a node that every worker computes for itself. The memory traffic of longer
// ones slows down the workers that share a cache. A norm of 8192 numbers takes about half of it.
const replicatedLimit = 1e-5

// option is one way to share the work of a node.
type option struct {
	rule     pass.RuleName
	mode     ir.PartMode
	axis     *ir.Axis      // of ir.PartSplit
	class    *class        // of ir.PartSplit: the node and those of the open region that own alike
	accesses []flow.Access // what the node touches

	barrier bool   // a barrier comes before the node
	hazard  hazard // because of which

	cost float64 // what it adds to the predicted time, in seconds; unset if there is no other option
}

// options returns the ways to share n that are not disabled, in order of preference:
//
//   - workers divide an axis of the result, within the open epoch or after a barrier;
//   - every worker computes all of it, if it is short and only workers read it;
//   - worker 0 computes it, if there is no other way.
func (w *walker) options(n *ir.Node) []option {
	t, effort := w.c.Target(n), flow.EffortOf(n)
	axes := flow.NodeAxes(n)
	list := make([]option, 0, 2*len(axes)+1)
	for i := range axes {
		list = w.appendDivisions(list, n, &axes[i], effort)
	}
	whole := effort.Along(t, n, nil)
	seconds := whole.Seconds(1, 1)
	if w.c.Enabled(pass.RulePartitionReplicated) && w.mayReplicate(n) && seconds <= replicatedLimit {
		o := w.undivided(n, pass.RulePartitionReplicated, ir.PartReplicated)
		o.cost = seconds
		if o.barrier {
			o.cost += t.Rates.Barrier
		}
		list = append(list, o)
	}
	if len(list) == 0 {
		list = append(list, w.undivided(n, pass.RulePartitionOne, ir.PartOne))
	}
	return list
}

// cheapest returns the first of the options of least cost.
func cheapest(list []option) option {
	best := list[0]
	for _, o := range list {
		if o.cost < best.cost {
			best = o
		}
	}
	return best
}

// appendDivisions appends the options that divide n along an axis. If there is no hazard in the open region, n is
// divided as its kernel demands. Otherwise its units follow those of other nodes, if they can, or a barrier comes
// first.
func (w *walker) appendDivisions(list []option, n *ir.Node, ax *ir.Axis, effort flow.Effort) []option {
	barrier := w.c.Target(n).Rates.Barrier
	later := 0.0 // seconds lost after n
	if anyIn(&w.demand.whole, n.Results) {
		later = barrier // some reader needs the units of all workers, so a barrier will come before it
	}
	accesses := w.accesses(n, ir.PartSplit, ax)
	alone := aloneClass(n, ax, effort)
	fits := w.open.fit(alone, accesses)

	if fits.kind == fitsJoined && w.c.Enabled(pass.RulePartitionOwn) {
		list = append(list, option{
			rule: pass.RulePartitionOwn, mode: ir.PartSplit, axis: ax, class: fits.class, accesses: accesses,
			cost: w.addedSeconds(n, fits.class, fits.joins) + later,
		})
	}
	if w.c.Enabled(pass.RulePartitionSplit) {
		o := option{rule: pass.RulePartitionSplit, mode: ir.PartSplit, axis: ax, class: alone, accesses: accesses}
		o.cost = w.addedSeconds(n, alone, nil)
		if fits.kind != fitsFreely {
			o.barrier, o.hazard = true, fits.hazard
			o.cost += barrier
		}
		o.cost += later
		list = append(list, o)
	}
	return list
}

// undivided returns the option that one worker, or each of them, computes all of n.
func (w *walker) undivided(n *ir.Node, rule pass.RuleName, mode ir.PartMode) option {
	o := option{rule: rule, mode: mode, accesses: w.accesses(n, mode, nil)}
	o.hazard, o.barrier = w.open.conflict(o.accesses)
	return o
}

// mayReplicate reports whether workers may have private copies of the results of n: only workers read them, and only as
// long as the call lasts.
func (w *walker) mayReplicate(n *ir.Node) bool {
	return n.Is(ir.Pure) && !n.Is(ir.Alias) && !anyIn(&w.demand.common, n.Results)
}

// anyIn reports whether one of the values is in a set.
func anyIn(set *ir.ValueTable[bool], values []*ir.Value) bool {
	for _, v := range values {
		if *set.At(v) {
			return true
		}
	}
	return false
}

// addedSeconds predicts the time that n adds to the epoch as a member of joined. This is the time of n and the time
// that other members lose by larger granules. others are the classes of these members before the join.
//
// For example, a node of 48 units takes 1 ms on one worker and 0.5 ms on two. With a granule 16 times as large it has 3
// units, so one worker computes 2 of them and takes 0.67 ms: 0.17 ms are lost.
func (w *walker) addedSeconds(n *ir.Node, joined *class, others []*class) float64 {
	units := joined.units()
	sum := w.seconds(joined.member(n), units)
	for _, c := range others {
		before := c.units()
		if before == units {
			continue // their granules stay
		}
		for i := range c.members {
			sum += w.seconds(&c.members[i], units)
			sum -= w.seconds(&c.members[i], before)
		}
	}
	return sum
}

// seconds predicts the time of a member of a class in so many units.
func (w *walker) seconds(m *member, units int64) float64 {
	t := w.c.Target(m.node)
	work := m.effort.Along(t, m.node, m.axis)
	return work.Seconds(units, pass.AssumedWorkers(w.c, t))
}

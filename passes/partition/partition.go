// Package partition holds the pass partition, which divides nodes among workers and places barriers.
//
// The entry is Pass. Its steps, in the order in which they run:
//
//	precondition.go  refuses what cannot be partitioned
//	result.go        copies results that have no bytes of their own
//	buffer.go        finds the values that have to share bytes
//	demand.go        finds what the readers of each value need
//	walk.go          walks a function, divides nodes, places barriers
//	dynamic.go       gives long nodes dynamic shares
//	within.go        divides nodes of groups of threads, each by itself
//
// The walk uses
//
//	option.go        the ways to share one node, and what each costs
//	region.go        what runs between two barriers, and which accesses conflict
//	class.go         nodes whose units belong to the same workers
//
// Pass plan asks workers.go how many workers a step can use.
//
// The words that these files use:
//
//   - A worker is a thread of the processor. Texts for users call it a thread.
//   - A unit is the smallest part of a node that a worker computes; the granule is its length along the axis that is
//     divided. Worker p of n computes the units from U*p/n to U*(p+1)/n of U.
//   - The owner of a unit is the worker that computes it. Nodes whose units have the same owners form a class.
//   - A hazard is two accesses to the same bytes, one of which writes. It is a conflict if the owners may differ.
//   - An epoch is nodes of one function with no barrier of that function between them. A region is everything that runs
//     between two barriers, also across the beginning and the end of a repeat's body.
//   - A serial node is worker 0's. A replicated node is computed by each worker, into private bytes.
package partition

import (
	"errors"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Pass divides the nodes of CPU backends among workers and cuts functions into epochs. All workers meet at a barrier
// between two epochs.
//
// Before: the order of nodes is final, every node has a backend. After: every node with work has an epoch and, on a
// backend with workers, a partition; the body of a repeat records whether its iterations begin with a barrier; results
// of entry points own their bytes.
//
// Not earlier: where barriers are needed follows from the order, and a body is decided once for all iterations. Not
// later: plan may reuse bytes only after the barrier that follows their last reader.
//
// The walk is greedy. A node joins the open epoch if it has no conflict with another node there, for every number of
// workers and every size. To avoid conflicts, granules of the epoch's nodes may grow, while that costs less than a
// barrier. Otherwise the node begins the next epoch, after a barrier. Each barrier is placed as late as possible, so
// there are as few as the chosen granules allow.
//
// An example with two workers. A product has 64 columns in granules of 16:
//
//	%h = matmul %x, %w   divided along columns, granule 16: units 0 and 1 are worker 0's, 2 and 3 worker 1's
//	%s = silu %h         divided alike: unit u reads what unit u of %h has written, which is the same worker's
//	%y = matmul %s, %v   every unit reads all of %s: a barrier is needed, and %y begins epoch 1
//	%n = rms_norm %y     needs whole rows: a barrier again, epoch 2. It is cheap and all readers want all of it, so
//	                     each worker computes it for itself, into bytes of its own
//	%z = matmul %n, %u   reads %n, which needs no barrier: it is still epoch 2
//
// After the walk the longest nodes of an epoch may get a dynamic share and become the last ones of the epoch.
// docs/explanation/plan.md has the algebra and the alternatives.
//
// Cost: O(nodes * accesses of an epoch to one buffer).
var Pass = pass.Pass{
	Name:     "partition",
	Doc:      "divide nodes among threads and place barriers",
	Run:      partition,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned | ir.PropOrdered,
	Gives:    ir.PropPartitioned,
	Breaks:   pass.FromPartitioned,
	Rules: []pass.Rule{
		{Name: pass.RulePartitionSplit, Doc: "threads divide an axis of the result, in the kernel's granules"},
		{Name: pass.RulePartitionOwn, Doc: "threads divide it so that each uses only what it has computed itself: no barrier is needed"},
		{Name: pass.RulePartitionDynamic, Doc: "the last units are left to the threads that finish first: nothing else in the epoch depends on who computes them"},
		{Name: pass.RulePartitionReplicated, Doc: "every thread computes it for itself: this is cheaper than waiting for another thread"},
		{Name: pass.RulePartitionOne, Doc: "no axis of the result can be divided"},
		{Name: pass.RulePartitionRAW, Doc: "a barrier comes before it: it reads what another thread writes"},
		{Name: pass.RulePartitionWAR, Doc: "a barrier comes before it: it overwrites what another thread reads"},
		{Name: pass.RulePartitionWAW, Doc: "a barrier comes before it: it overwrites what another thread writes"},
		{Name: pass.RulePartitionHead, Doc: "each iteration begins with a barrier: it uses what another thread used at the end of the iteration before"},
		{Name: pass.RulePartitionWait, Doc: "a barrier comes before it: there thread 0 may wait for devices"},
		{Name: pass.RulePartitionWithin, Doc: "the threads of a group divide it: they meet before and after it"},
		{Name: pass.RulePartitionResult, Doc: "a result without bytes of its own is copied: the caller finds each result in one piece"},
	},
}

func partition(c *pass.Context, m *ir.Module) error {
	var errs []error
	for _, f := range m.Funcs {
		if err := canPartition(c, f); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := ownResults(c, f); err != nil {
			return err
		}
		e := newEntry(c, f)
		e.walk(f)
		e.shareDynamically(f, barrierFollows)
		e.divideWithin(f)
		c.Count("barriers", Barriers(f))
		c.Count("private", int64(e.privates))
	}
	return errors.Join(errs...)
}

// entry is what all steps know about one entry point and the bodies of repeats in it.
type entry struct {
	c       *pass.Context
	buffers buffers
	demand  *demand // what the readers of values need

	// private has the results of replicated nodes: each worker has bytes of its own for them. The walk fills it.
	private  ir.ValueTable[bool]
	privates int // how many they are
}

func newEntry(c *pass.Context, f *ir.Func) *entry {
	return &entry{c: c, buffers: newBuffers(f), demand: newDemand(c, f)}
}

// touches lists the accesses that may conflict. It leaves out private bytes, which no two workers share, and weights
// and constants, which no node writes.
func (e *entry) touches() *flow.Touches {
	return &flow.Touches{Skip: func(origin *ir.Value) bool { return *e.private.At(origin) || flow.IsFixed(origin) }}
}

// accesses returns what n touches if it is shared by mode, along ax if it is divided.
func (e *entry) accesses(n *ir.Node, mode ir.PartMode, ax *ir.Axis) []flow.Access {
	return e.touches().Append(nil, n, mode, ax)
}

// finalAccesses returns what n touches. Its partition is decided.
func (e *entry) finalAccesses(n *ir.Node) []flow.Access { return e.touches().AppendFinal(nil, n) }

// Barriers returns how many barriers a call of f runs. Those of a repeat count once for each iteration.
func Barriers(f *ir.Func) int64 {
	sum := int64(max(f.Epochs-1, 0))
	if f.HeadBarrier {
		sum++
	}
	for _, n := range f.Nodes {
		if n.Body != nil {
			sum += flow.Iterations(n) * Barriers(n.Body)
		}
	}
	return sum
}

package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// aloneOn reports whether worker 0 deals with n, which runs on d, by itself: it submits n to a queue, or
// waits while a device runs it or moves bytes that workers cannot address.
func aloneOn(d *target.Descriptor, n *ir.Node) bool {
	return n.Queue() != "" || !d.Workers || flow.IsTransfer(n) && !d.Addresses(n.Args[0].Type.Space)
}

// eachLimit is the most seconds for which every worker may compute the same: beyond it the
// others' memory traffic slows down whoever shares caches with them. A norm of 8192
// numbers is predicted to take half of it.
const eachLimit = 1e-5

// payLimit is how much faster more workers have to be in order to be asked for.
const payLimit = 1.02

// MaxParts returns the smallest number of workers whose predicted time for f is about the
// best; 0 where that is the bound. Only the last target's nodes are shared.
func MaxParts(c *pass.Context, f *ir.Func) int64 {
	d := c.Targets.Last()
	bound := pass.MostWorkers(c, d)
	best, at := 0.0, 1
	for i, t := range newStepClock(c, stepRates(d, f), bound).seconds(f) {
		if i == 0 || t*payLimit < best {
			best, at = t, i+1
		}
	}
	if at == bound {
		return 0
	}
	return int64(at)
}

// stepRates returns the rates at which steps of f run one after another: what fits into
// one worker's cache stays there, so that reading it is no matter of memory. A bound on the
// bandwidth of all workers together is left out: processors with more cores have more of
// it, and workers beyond what memory can feed do no harm.
func stepRates(d *target.Descriptor, f *ir.Func) target.Rates {
	r := d.Rates
	r.Bandwidth = 0
	if r.Cache > 0 && bytesWithin(f, r.Cache) >= 0 {
		r.WorkerBW = r.CacheBW
	}
	return r
}

// bytesWithin returns what is left of so many bytes when all weights and results of f and its
// bodies have theirs, at the symbols' upper bounds: no less than what a step touches. It is
// negative where they do not suffice.
func bytesWithin(f *ir.Func, left int64) int64 {
	for _, n := range f.Nodes {
		for _, r := range n.Results {
			if r.Source() == nil && n.Op != ir.OpState {
				left -= r.Type.MaxBytes()
			}
		}
		if n.Body != nil {
			left = bytesWithin(n.Body, left)
		}
		if left < 0 {
			break // large graphs have far more
		}
	}
	return left
}

// stepClock predicts how long functions take that workers of some rates share.
type stepClock struct {
	c       *pass.Context
	rates   target.Rates
	barrier []float64                     // seconds of one, by the number of workers less 1
	changed map[string]*target.Descriptor // targets with these rates, by name
}

// newStepClock returns the clock for up to so many workers.
func newStepClock(c *pass.Context, rates target.Rates, workers int) *stepClock {
	s := &stepClock{c: c, rates: rates, barrier: make([]float64, workers), changed: make(map[string]*target.Descriptor)}
	for i := range s.barrier {
		s.barrier[i] = flow.BarrierSeconds(rates, i+1)
	}
	return s
}

// with returns a target with the rates of the clock.
func (s *stepClock) with(d *target.Descriptor) *target.Descriptor {
	if s.changed[d.Name] == nil {
		with := *d
		with.Rates = s.rates
		s.changed[d.Name] = &with
	}
	return s.changed[d.Name]
}

// seconds predicts how long f takes, by the number of workers less 1.
func (s *stepClock) seconds(f *ir.Func) []float64 {
	sums := make([]float64, len(s.barrier))
	for i, n := range f.Nodes {
		if n.Body != nil {
			for k, t := range s.seconds(n.Body) {
				sums[k] += float64(flow.Iterations(n)) * t
			}
		} else if d := s.c.Target(n); d != nil && !aloneOn(s.c.Target(n), n) {
			s.add(sums, s.with(d), n, i > 0 && n.Epoch > f.Nodes[i-1].Epoch)
		}
	}
	if f.HeadBarrier {
		for k, t := range s.barrier {
			sums[k] += t
		}
	}
	return sums
}

// add adds the time of a node, and that of a barrier before it if there is one.
func (s *stepClock) add(sums []float64, d *target.Descriptor, n *ir.Node, barrier bool) {
	w, units := flow.NodeWork(d, n)
	for k := range sums {
		sums[k] += w.Seconds(units, k+1)
		if barrier {
			sums[k] += s.barrier[k]
		}
	}
}

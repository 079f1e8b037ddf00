package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// minGain is how many times as fast a step has to be with more workers, for these to be used.
const minGain = 1.02

// MaxParts returns the smallest number of workers with which the predicted time of f is about the best one, or 0 if all
// workers are needed for that. Workers share only nodes of the last target.
func MaxParts(c *pass.Context, f *ir.Func) int64 {
	t := c.Targets.Last()
	bound := pass.MostWorkers(c, t)
	clock := stepClock{c, &target.Descriptor{Rates: stepRates(t, f)}, bound}
	best, workers := 0.0, 1
	for i, seconds := range clock.seconds(f) {
		if i == 0 || seconds*minGain < best {
			best, workers = seconds, i+1
		}
	}
	if workers == bound {
		return 0
	}
	return int64(workers)
}

// stepRates returns the rates at which steps of f run one after another. What fits into the cache of a worker stays
// there from step to step, so it is read at the cache's bandwidth. The bandwidth of all workers together has no limit:
// processors with more cores have more of it, and workers beyond what memory can feed do no harm.
func stepRates(t *target.Descriptor, f *ir.Func) target.Rates {
	r := t.Rates
	r.Bandwidth = 0
	if r.Cache > 0 && fitsIn(f, r.Cache) {
		r.WorkerBW = r.CacheBW
	}
	return r
}

// fitsIn reports whether all weights and results of f and its bodies, which are no less than what a step touches, take
// at most so many bytes at the upper bounds of symbols.
func fitsIn(f *ir.Func, bytes int64) bool { return leftOf(bytes, f) >= 0 }

// leftOf returns what is left of so many bytes if each weight and each result of f and its bodies takes its own. It is
// negative if they do not suffice; then it stops early.
func leftOf(bytes int64, f *ir.Func) int64 {
	for _, n := range f.Nodes {
		for _, r := range n.Results {
			if r.Source() == nil && n.Op != ir.OpState {
				bytes -= r.Type.MaxBytes()
			}
		}
		if n.Body != nil {
			bytes = leftOf(bytes, n.Body)
		}
		if bytes < 0 {
			break
		}
	}
	return bytes
}

// stepClock predicts how long functions take for each number of workers.
type stepClock struct {
	c       *pass.Context
	target  *target.Descriptor // its rates are those of all nodes
	workers int                // at most
}

// seconds returns the time of f with 1, 2 and so on workers.
func (s *stepClock) seconds(f *ir.Func) []float64 {
	sums := make([]float64, s.workers)
	for i, n := range f.Nodes {
		if i > 0 && n.Epoch > f.Nodes[i-1].Epoch {
			s.addBarrier(sums)
		}
		if n.Body != nil {
			for k, t := range s.seconds(n.Body) {
				sums[k] += float64(flow.Iterations(n)) * t
			}
			continue
		}
		if t := s.c.Target(n); t == nil || isSerial(t, n) {
			continue // it takes as long with any number of workers
		}
		work, units := flow.NodeWork(s.target, n)
		var seconds float64
		for k := range sums {
			if k == 0 || int64(k) < units { // no more workers than units have work
				seconds = work.Seconds(units, k+1)
			}
			sums[k] += seconds
		}
	}
	if f.HeadBarrier {
		s.addBarrier(sums)
	}
	return sums
}

// addBarrier adds the time of a barrier to each sum.
func (s *stepClock) addBarrier(sums []float64) {
	for k := range sums {
		sums[k] += flow.BarrierSeconds(s.target.Rates, k+1)
	}
}

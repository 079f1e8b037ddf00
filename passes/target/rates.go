package target

import "github.com/ggmlc/ggmlc/ir/dtype"

// Rates are the figures of the cost model. They decide between alternatives that are all correct. 0 means that a rate
// is not known. Work for which no rate is known takes no time.
//
// A worker here is the whole device if the backend has no workers.
type Rates struct {
	FLOPs     float64 // operations per second of one worker on float weights; a multiply-add is two operations
	QuantOps  float64 // operations per second of one worker on quantized weights; 0 is as FLOPs
	Bandwidth float64 // bytes per second that all workers together read from memory
	WorkerBW  float64 // bytes per second that one worker reads from memory
	Cache     int64   // bytes of weights that stay in the cache of one worker from step to step
	CacheBW   float64 // bytes per second that one worker reads from its cache
	Barrier   float64 // seconds that one barrier takes
	Launch    float64 // seconds that starting one node takes
	Link      float64 // bytes per second of copies from other spaces into its home
	LinkOut   float64 // bytes per second of copies out of its home; 0 is as Link
	LinkDelay float64 // seconds that the smallest such copy takes, in either direction
}

// Known reports whether the cost of work is known: there is a rate of arithmetic or of memory.
func (r Rates) Known() bool { return r.FLOPs > 0 || r.QuantOps > 0 || r.Bandwidth > 0 }

// Seconds predicts the time of a node that does a number of operations on weights of dtype w, moves a number of bytes,
// and is shared by a number of workers: the time to start it, and the larger of its arithmetic and memory times. w is
// dtype.F32 for a node without weights. If only one of the two bandwidths is known, it is the only limit.
//
// Example: with FLOPs 4e10, Bandwidth 4e10, WorkerBW 1.2e10 and Launch 2e-8, a node of 8e6 operations that reads 4e6
// bytes takes
//
//	1 worker     arithmetic 8e6/4e10 = 200 µs; memory 4e6/1.2e10 = 333 µs: 333 µs
//	4 workers    arithmetic 50 µs; memory 4e6/min(4e10, 4.8e10) = 100 µs: 100 µs
//	8 workers    arithmetic 25 µs; memory 100 µs, because the bandwidth is shared: 100 µs
func (d *Descriptor) Seconds(flops, bytes float64, w dtype.DType, workers int) float64 {
	r := d.Rates
	rate := r.FLOPs
	if w.Valid() && w.IsQuantized() && r.QuantOps > 0 {
		rate = r.QuantOps
	}
	workers = max(workers, 1)
	arithmetic := over(flops, rate*float64(workers))
	memory := over(bytes, slower(r.Bandwidth, r.WorkerBW*float64(workers)))
	return r.Launch + max(arithmetic, memory)
}

// TransferSeconds predicts the time of a copy from the home of another backend into the home of d. It uses the slower
// of the two links and the longer of the two delays. A nil from is memory whose link is not a limit. If either backend
// is staged and neither has the processor's memory, it is the time of two copies.
func (d *Descriptor) TransferSeconds(from *Descriptor, bytes float64) float64 {
	rate, delay := d.Rates.Link, d.Rates.LinkDelay
	if from != nil && (d.Staged || from.Staged) && from.Home() != d.Home() && from.Home() != Host && d.Home() != Host {
		return delay + over(bytes, rate) + from.Rates.LinkDelay + over(bytes, from.Rates.out())
	}
	if from != nil {
		rate = slower(rate, from.Rates.out())
		delay = max(delay, from.Rates.LinkDelay)
	}
	return delay + over(bytes, rate)
}

// out returns the rate of copies out of the home.
func (r Rates) out() float64 {
	if r.LinkOut > 0 {
		return r.LinkOut
	}
	return r.Link
}

// slower returns the smaller of two rates, or the other one if one is 0.
func slower(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return max(a, b)
	}
	return min(a, b)
}

// over returns the time of an amount of work at a rate; 0 if the rate is 0.
func over(amount, rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	return amount / rate
}

package target

import "github.com/ggmlc/ggmlc/ir/dtype"

// Rates are the figures of the cost model. They order alternatives; nothing that is
// emitted depends on them being right.
type Rates struct {
	FLOPs     float64 // per second and worker, on float weights; a multiply-add counts as two
	QuantOps  float64 // the same on quantized weights
	Bandwidth float64 // bytes per second, of all workers together
	WorkerBW  float64 // bytes per second that one worker reaches
	Cache     int64   // bytes of weights that stay in a worker's cache from step to step
	CacheBW   float64 // bytes per second that one worker reads from there
	Barrier   float64 // seconds that one barrier takes
	Launch    float64 // seconds that starting one node takes
	Link      float64 // bytes per second of copies into its preferred space from elsewhere
	LinkOut   float64 // bytes per second of copies out of it; 0 is as Link
	LinkDelay float64 // seconds that one such copy takes at least, either way
}

// Known reports whether the figures say what work costs: arithmetic or memory has a rate.
func (r Rates) Known() bool { return r.FLOPs > 0 || r.QuantOps > 0 || r.Bandwidth > 0 }

// Seconds predicts how long a node takes that does flops operations on weights of dtype w
// (dtype.F32 for nodes without weights) and moves bytes bytes, shared by workers workers:
// the larger of arithmetic and memory time, and the start. Where QuantOps is not known, FLOPs
// counts; where one of the bandwidths is not, the other one.
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

// TransferSeconds predicts how long it takes to bring bytes bytes from the preferred space
// of from into that of d: the slower of the two links counts, and the longer of the delays.
// A nil from is memory that has no limit of its own.
func (d *Descriptor) TransferSeconds(from *Descriptor, bytes float64) float64 {
	rate, delay := d.Rates.Link, d.Rates.LinkDelay
	if from != nil {
		rate = slower(rate, from.Rates.out())
		delay = max(delay, from.Rates.LinkDelay)
	}
	return delay + over(bytes, rate)
}

func (r Rates) out() float64 {
	if r.LinkOut > 0 {
		return r.LinkOut
	}
	return r.Link
}

// slower returns the smaller of two rates, of which 0 is not known.
func slower(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return max(a, b)
	}
	return min(a, b)
}

// over is a/b, and 0 for a rate that is not known.
func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

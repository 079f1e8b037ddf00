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
	Link      float64 // bytes per second of copies into its spaces from elsewhere
	LinkDelay float64 // seconds that one such copy takes at least
}

// Seconds predicts how long a node takes that does flops operations on weights of dtype w
// (dtype.F32 for nodes without weights) and moves bytes bytes, shared by workers workers:
// the larger of arithmetic and memory time, and the start.
func (d *Descriptor) Seconds(flops, bytes float64, w dtype.DType, workers int) float64 {
	r := d.Rates
	rate := r.FLOPs
	if w.Valid() && w.IsQuantized() {
		rate = r.QuantOps
	}
	workers = max(workers, 1)
	arithmetic := over(flops, rate*float64(workers))
	memory := over(bytes, min(r.Bandwidth, r.WorkerBW*float64(workers)))
	return r.Launch + max(arithmetic, memory)
}

// CopySeconds predicts how long it takes to bring bytes bytes into the backend's space.
func (d *Descriptor) CopySeconds(bytes float64) float64 {
	return d.Rates.LinkDelay + over(bytes, d.Rates.Link)
}

// over is a/b, and 0 for a rate that is not known.
func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

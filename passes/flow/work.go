package flow

import (
	"math/bits"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// The cost model. The effort of a node is what its op has to compute and move, at the symbols' upper bounds. Dividing
// the node along an axis makes work of it: bytes that all units need are read by every worker, the others are divided.
// With rates of the target, the number of units and the number of workers, Seconds predicts a time.
//
// Example: a matmul of f32[1,2048] with a weight q4_0[2048,5632] has 23 MFLOP, reads 8 KiB and 6.5 MB and writes 22
// KiB. Along columns each worker reads all of the 8 KiB (Shared), and the rest (Split) is divided. With 352 units of 16
// columns on 8 workers, the worker with most units has 44, so all are as fast as 352/44 = 8 workers. With 9 workers it
// has 40, which is 8.8.

// Work is the effort of one execution of a node that is divided among workers.
type Work struct {
	D      *target.Descriptor
	Weight dtype.DType
	Flops  float64
	Shared float64 // bytes that every worker reads
	Split  float64 // bytes that are divided among workers
}

// Effort is what one execution of a node computes and moves, however it is divided.
type Effort struct {
	known         bool // the op has a cost function
	Weight        dtype.DType
	Flops         float64
	Read, Written float64 // bytes
}

// EffortOf returns the effort of n.
func EffortOf(n *ir.Node) Effort {
	e := Effort{Weight: weightOf(n)}
	if cost := n.Op.Info().Cost; cost != nil {
		c := cost(n)
		e.known = true
		e.Flops, e.Read, e.Written = float64(c.FLOPs.Upper()), float64(c.Read.Upper()), float64(c.Written.Upper())
	}
	return e
}

// weightOf returns the format of the last weight that n reads and that is not f32; f32 if there is none.
func weightOf(n *ir.Node) dtype.DType {
	w := dtype.F32
	for _, a := range n.Args {
		if a != nil && a.Type.DType != w && IsLeaf(a, ir.OpWeight) {
			w = a.Type.DType
		}
	}
	return w
}

// Along returns the work of n, which has the effort e, on d if it is divided along ax; with a nil ax it is not divided.
func (e *Effort) Along(d *target.Descriptor, n *ir.Node, ax *ir.Axis) Work {
	w := Work{D: d, Weight: e.Weight}
	if ax != nil {
		for i, a := range n.Args {
			if a != nil && i < len(ax.Reads) && ax.Reads[i].Kind == ir.ReadAll {
				w.Shared += float64(a.Type.MaxBytes())
			}
		}
	}
	if e.known {
		w.Flops = e.Flops
		w.Shared = min(w.Shared, e.Read)
		w.Split = e.Read - w.Shared + e.Written
	}
	return w
}

// WorkOf returns the work of n on d if it is divided along ax; with a nil ax it is not divided.
func WorkOf(d *target.Descriptor, n *ir.Node, ax *ir.Axis) Work {
	e := EffortOf(n)
	return e.Along(d, n, ax)
}

// Seconds predicts the time of units of equal size on that many workers. It is the time of the worker with most units,
// and each worker reads what is shared.
func (w *Work) Seconds(units int64, workers int) float64 {
	r := &w.D.Rates
	rate := r.FLOPs
	if w.Weight.IsQuantized() {
		rate = r.QuantOps
	}
	busy := parallel(units, workers)
	bandwidth := r.WorkerBW * busy
	if r.Bandwidth > 0 {
		bandwidth = min(bandwidth, r.Bandwidth)
	}
	return r.Launch + max(Ratio(w.Flops, rate*busy), Ratio(w.Split, bandwidth)) + Ratio(w.Shared, r.WorkerBW)
}

// parallel returns the speedup of units on that many workers: all units over those of the worker that has most.
func parallel(units int64, workers int) float64 {
	if units <= 1 || workers <= 1 {
		return 1
	}
	most := (units + int64(workers) - 1) / int64(workers)
	return float64(units) / float64(most)
}

// Ratio returns a/b; 0 if the rate b is not known.
func Ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// BarrierSeconds predicts the time of a barrier of that many workers in a running step. Each doubling of their number
// passes the counter's cache line on once more. That the workers do not arrive together costs as much again.
func BarrierSeconds(r target.Rates, workers int) float64 {
	return 2 * r.Barrier * float64(bits.Len(uint(workers-1)))
}

// NodeWork returns the work of a node that has been partitioned, and the number of its units.
func NodeWork(d *target.Descriptor, n *ir.Node) (Work, int64) {
	if n.Part.Mode != ir.PartSplit {
		return WorkOf(d, n, nil), 1
	}
	return WorkOf(d, n, ChosenAxis(n)), n.Part.N.CeilDiv(n.Part.Granule).Upper()
}

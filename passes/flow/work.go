package flow

import (
	"math/bits"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Work is what one execution of a node costs at the symbols' upper bounds.
type Work struct {
	D      *target.Descriptor
	Weight dtype.DType
	Flops  float64
	Shared float64 // bytes that every worker reads
	Split  float64 // bytes that are divided among workers
}

// Effort is what one execution of a node takes, whoever shares it.
type Effort struct {
	known         bool // the op says what it takes
	Weight        dtype.DType
	Flops         float64
	Read, Written float64 // bytes
}

func EffortOf(n *ir.Node) Effort {
	e := Effort{Weight: weightOf(n)}
	if cost := n.Op.Info().Cost; cost != nil {
		c := cost(n)
		e.known = true
		e.Flops, e.Read, e.Written = float64(c.FLOPs.Upper()), float64(c.Read.Upper()), float64(c.Written.Upper())
	}
	return e
}

// weightOf returns the format of the last weight that n reads; f32 where it reads none.
func weightOf(n *ir.Node) dtype.DType {
	w := dtype.F32
	for _, a := range n.Args {
		if a != nil && a.Type.DType != w && IsLeaf(a, ir.OpWeight) { // who is of this format changes nothing
			w = a.Type.DType
		}
	}
	return w
}

// Along returns the work of n, whose effort e is, when it is divided along ax; nil is not divided.
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

// WorkOf returns the work of n when it is divided along ax; nil is not divided.
func WorkOf(d *target.Descriptor, n *ir.Node, ax *ir.Axis) Work {
	e := EffortOf(n)
	return e.Along(d, n, ax)
}

// Seconds predicts the time with units of equal size, shared by workers workers: the one
// that has most units counts, and each reads what is shared.
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

// parallel returns how many workers' worth of progress units make: units over the most
// that one worker has.
func parallel(units int64, workers int) float64 {
	if units <= 1 || workers <= 1 {
		return 1
	}
	most := (units + int64(workers) - 1) / int64(workers)
	return float64(units) / float64(most)
}

// Ratio is a/b, and 0 for a rate that is not known.
func Ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// BarrierSeconds is what a barrier of so many workers takes in a running step: each
// doubling passes the counter's cache line on once more, and the workers do not arrive
// together, which costs as much again (aidreams260K: 17 barriers made a step of 11 µs on
// one worker no shorter on two).
func BarrierSeconds(r target.Rates, workers int) float64 {
	return 2 * r.Barrier * float64(bits.Len(uint(workers-1)))
}

func NodeSeconds(d *target.Descriptor, n *ir.Node, workers int) float64 {
	w, units := NodeWork(d, n)
	return w.Seconds(units, workers)
}

// NodeWork returns the work of a node that has been partitioned, and in how many units.
func NodeWork(d *target.Descriptor, n *ir.Node) (Work, int64) {
	if n.Part.Mode != ir.PartSplit {
		return WorkOf(d, n, nil), 1
	}
	return WorkOf(d, n, ChosenAxis(n)), n.Part.N.CeilDiv(n.Part.Granule).Upper()
}

package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// This file compares owners that are described differently, by trying: for every size and every number of workers it
// looks at each piece of the bytes that both touch. The bytes of a value are 256 bytes from address 0:
//
//	owner a: units of 64 bytes      0 … 63: 0   64 … 127: 1   128 … 191: 2   192 … 255: 3
//	owner b: units of 128 bytes     0 …         127: 0        128 …          255: 1
//	pieces: units (0,0) (1,0) (2,1) (3,1)
//
// With 2 workers, worker 0 owns units 0 and 1 of 4, and unit 0 of 2: each pair belongs to one worker. With 3 workers,
// unit 0 of 4 belongs to worker 0, and unit 0 of 2 to worker 1: pair (0,0) is a conflict. So a plan for two workers is
// right, and one for three is not.

// Limits of a proof by trying. What exceeds them is not proved.
const (
	maxSizes  = 64      // combinations of actual sizes
	maxPieces = 1 << 12 // pieces of a range, between borders of units
)

// tried is agree for owners that are described differently.
func (r *region) tried(a, b *access) bool {
	if a.own.by != byUnit || b.own.by != byUnit || a.own.dynamic || b.own.dynamic {
		return false
	}
	ok, dims := true, []ir.Dim{a.own.period, a.own.width, b.own.period, b.own.width}
	complete := eachSize(dims, func(size func(*ir.Symbol) int64) bool {
		x, y := a.own.units(size, a.object.place), b.own.units(size, b.object.place)
		ok = x.valid() && y.valid() && r.meetOnlyThemselves(x, y)
		return ok
	})
	return ok && complete
}

// units are those of an owner at actual sizes, for a value at addresses [start,end).
type units struct {
	start, end    int64
	period, width int64
}

func (o owner) units(size func(*ir.Symbol) int64, p ir.Place) units {
	return units{p.Offset, p.Offset + p.Bytes, o.period.Eval(size), o.width.Eval(size)}
}

func (u units) valid() bool { return u.period > 0 && u.width > 0 }

// count returns how many units there are.
func (u units) count() int64 { return (u.period + u.width - 1) / u.width }

// unit returns the unit of the byte at an address, and the end of the piece of that unit.
func (u units) unit(at int64) (unit, end int64) {
	in := (at - u.start) % u.period
	unit = in / u.width
	return unit, at - in + min((unit+1)*u.width, u.period)
}

// meetOnlyThemselves reports whether every byte that x and y share belongs to units of one worker.
func (r *region) meetOnlyThemselves(x, y units) bool {
	pairs := make(map[[2]int64]bool)
	at, end := max(x.start, y.start), min(x.end, y.end)
	for range maxPieces {
		if at >= end {
			return r.sameWorkers(pairs, x.count(), y.count())
		}
		ux, endX := x.unit(at)
		uy, endY := y.unit(at)
		pairs[[2]int64{ux, uy}] = true
		at = min(endX, endY)
	}
	return false
}

// sameWorkers reports whether the units of each pair belong to one worker, for all numbers of workers.
func (r *region) sameWorkers(pairs map[[2]int64]bool, countX, countY int64) bool {
	for workers := int64(2); workers <= int64(r.workers); workers++ {
		for p := range pairs {
			if workerOf(p[0], countX, workers) != workerOf(p[1], countY, workers) {
				return false
			}
		}
	}
	return true
}

// workerOf returns the worker p with count*p/workers <= unit < count*(p+1)/workers.
func workerOf(unit, count, workers int64) int64 { return ((unit+1)*workers - 1) / count }

// eachSize calls yield with every combination of sizes of the symbols in some dimensions, until it returns false. The
// result is false if there are too many combinations.
func eachSize(dims []ir.Dim, yield func(size func(*ir.Symbol) int64) bool) (complete bool) {
	var symbols []*ir.Symbol
	for _, d := range dims {
		d.Symbols(func(s *ir.Symbol) {
			if !slices.Contains(symbols, s) {
				symbols = append(symbols, s)
			}
		})
	}
	combinations := int64(1)
	for _, s := range symbols {
		span := s.Max - s.Min + 1
		if span > maxSizes || combinations*span > maxSizes {
			return false
		}
		combinations *= span
	}
	for k := range combinations {
		values := make(map[*ir.Symbol]int64, len(symbols))
		rest := k
		for _, s := range symbols {
			values[s] = s.Min + rest%(s.Max-s.Min+1)
			rest /= s.Max - s.Min + 1
		}
		if !yield(func(s *ir.Symbol) int64 { return values[s] }) {
			break
		}
	}
	return true
}

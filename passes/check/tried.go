package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Limits of a proof by trying.
const (
	maxSizes  = 64      // combinations of actual sizes
	maxPieces = 1 << 12 // pieces of a range, between borders of units
)

// tried claims what agree does, for owners that are described differently: it tries every
// number of workers that the plan is for, which the program never exceeds, and every size, and looks at every piece of the
// bytes that both touch. More sizes or pieces than it can try are no proof.
func (r *regions) tried(a, b *access) bool {
	if a.own.by != byUnit || b.own.by != byUnit || a.own.tail || b.own.tail {
		return false
	}
	ok := true
	complete := eachSize([]ir.Dim{a.own.period, a.own.width, b.own.period, b.own.width}, func(size func(*ir.Symbol) int64) bool {
		x, okX := a.own.units(size, r.s.t.objects[a.object].place)
		y, okY := b.own.units(size, r.s.t.objects[b.object].place)
		ok = okX && okY && r.meetOnlyThemselves(x, y)
		return ok
	})
	return ok && complete
}

// units are those of an owner at actual sizes, for a value that begins at start.
type units struct {
	start, end    int64
	period, width int64
}

func (o owner) units(size func(*ir.Symbol) int64, p ir.Place) (u units, ok bool) {
	u = units{p.Offset, p.Offset + p.Bytes, o.period.Eval(size), o.width.Eval(size)}
	return u, u.period > 0 && u.width > 0
}

// count returns how many units there are.
func (u units) count() int64 { return (u.period + u.width - 1) / u.width }

// unit returns the unit of the byte at an offset, and where its piece ends.
func (u units) unit(at int64) (unit, end int64) {
	in := (at - u.start) % u.period
	unit = in / u.width
	return unit, at - in + min((unit+1)*u.width, u.period)
}

// meetOnlyThemselves reports whether every byte of both belongs to units of one worker.
func (r *regions) meetOnlyThemselves(x, y units) bool {
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

// sameWorkers reports whether units that meet have one owner, for all numbers of workers.
func (r *regions) sameWorkers(pairs map[[2]int64]bool, countX, countY int64) bool {
	for workers := int64(2); workers <= int64(r.cap); workers++ {
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

// eachSize calls yield with every combination of sizes of the symbols in some dimensions;
// it returns false if there are too many of them.
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
		if span := s.Max - s.Min + 1; span > maxSizes || combinations*span > maxSizes {
			return false
		} else {
			combinations *= span
		}
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

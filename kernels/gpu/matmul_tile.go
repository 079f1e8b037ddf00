package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Sizes of tiles. A workgroup computes tileRows rows and tileCols columns of the result from slices of x and of the
// matrices that are sliceElems long. Thread t computes the elements in every 16th row from t/16 on and in every 16th
// column from t%16 on.
const (
	tileRows    = 64
	tileCols    = 64
	tileThreads = 256
	sliceElems  = 32

	lineThreads = 16 // threads of a row and of a column
	lineElems   = tileRows / lineThreads

	sliceQuads  = sliceElems / 4
	sliceStride = sliceQuads + 1 // quads from a row of a slice to the next in shared memory: odd, so that the rows begin in different banks
	sliceRun    = tileCols * sliceElems / tileThreads
)

// tiled computes products for many rows of x. A unit is a tile of the result.
type tiled struct {
	*product
	from wide
	xs   *kir.Shared   // a slice of x, in vectors of four
	ws   []*kir.Shared // a slice of each matrix, decoded
	over *tiling
}

// tiled returns the algorithm for matrices that are read by whole runs. All threads decode as many elements of a slice.
func (p *product) tiled(from wide) *tiled {
	from.length = min(from.length, sliceRun)
	t := &tiled{product: p, from: from, over: p.tiling(tileCols)}
	quad := kir.Vector(kir.F32, 4)
	t.xs = p.NewShared("xs", quad, tileRows*sliceStride)
	for _, name := range []string{"ws", "vs"}[:len(p.matrices)] {
		t.ws = append(t.ws, p.NewShared(name, quad, tileCols*sliceStride))
	}
	return t
}

// each computes all tiles.
func (t *tiled) each() {
	t.over.each(func(of *product, row, col *kir.Value) {
		t.product = of
		t.tile(row, col)
	})
}

// tile computes the tile from an element on.
func (t *tiled) tile(row, col *kir.Value) {
	xs, ws := t.sources(row, col)
	zeros := slices.Repeat([]*kir.Value{t.Float(0)}, lineElems*lineElems*len(t.ws))
	slicesOfK := (t.from.k + sliceElems - 1) / sliceElems
	sums := t.For(t.zero, t.Int(slicesOfK), t.one, zeros, func(s *kir.Value, c []*kir.Value) []*kir.Value {
		t.fill(s, xs, ws)
		t.Barrier()
		c = t.products(s, c)
		t.Barrier() // the next slice overwrites this one
		return c
	})
	t.put(row, col, sums)
}

// quads returns how many vectors of four slice s has.
func (t *tiled) quads(s *kir.Value) *kir.Value {
	if t.from.k%sliceElems == 0 {
		return t.Int(sliceQuads)
	}
	return t.Min(t.Int(sliceQuads), t.Sub(t.Int(t.from.k/4), t.Mul(s, t.Int(sliceQuads))))
}

// source is a row from which a thread fills a row of a slice.
type source struct {
	row *kir.Value // address
	to  *kir.Value // the first quad of the row in shared memory
}

// sources returns the rows of x and of each matrix that the thread reads. Rows and columns beyond the last are the last
// one again.
func (t *tiled) sources(row, col *kir.Value) (xs []source, ws [][]source) {
	for first := 0; first < tileRows; first += tileThreads / sliceQuads {
		r := t.Add(t.Div(t.Thread(), t.Int(sliceQuads)), t.Int(first))
		from := t.Min(t.Add(row, r), t.Sub(t.rows, t.one))
		xs = append(xs, source{t.from.xRow(t.lowering, t.x, t.xRow(t.number(from))), t.Mul(r, t.Int(sliceStride))})
	}
	runs := sliceElems / t.from.length
	for _, w := range t.matrices {
		var list []source
		for first := 0; first < tileCols; first += tileThreads / runs {
			c := t.Add(t.Div(t.Thread(), t.Int(runs)), t.Int(first))
			from := t.Min(t.Add(col, c), t.Sub(t.cols, t.one))
			list = append(list, source{t.from.row(t.lowering, w, t.matrixRow(from)), t.Mul(c, t.Int(sliceStride))})
		}
		ws = append(ws, list)
	}
	return xs, ws
}

// fill stores slice s of x and of the matrices in shared memory.
func (t *tiled) fill(s *kir.Value, xs []source, ws [][]source) {
	quad := t.Rem(t.Thread(), t.Int(sliceQuads))
	at := t.Add(t.Mul(s, t.Int(sliceQuads)), quad)
	t.ifWithin(at, t.from.k/4, func() {
		for i, x := range xs {
			t.ifRows(i*tileThreads/sliceQuads, func() {
				t.SharedStore(t.xs, t.Add(x.to, quad), t.from.quad(t.lowering, t.x, x.row, at))
			})
		}
	})
	runs := t.Int(sliceElems / t.from.length)
	i := t.Add(t.Mul(s, runs), t.Rem(t.Thread(), runs))
	t.ifWithin(i, t.from.k/t.from.length, func() {
		for m, w := range t.matrices {
			for _, from := range ws[m] {
				t.decode(t.ws[m], from.to, s, t.from.run(t.lowering, w, from.row, i))
			}
		}
	})
}

// ifWithin runs body where i is less than n, the number of quads or runs of a row.
func (t *tiled) ifWithin(i *kir.Value, n int, body func()) {
	if t.from.k%sliceElems == 0 {
		body()
		return
	}
	t.If(t.Lt(i, t.Int(n)), body)
}

// decode stores the elements of a run of slice s in shared memory.
func (t *tiled) decode(to *kir.Shared, row, s *kir.Value, r run) {
	first := t.Add(row, t.Div(t.Sub(r.first, t.Mul(s, t.Int(sliceElems))), t.Int(4)))
	for _, p := range r.pieces {
		t.SharedStore(to, t.Add(first, t.Int(p.at/4)), t.scaled(p.x, r))
	}
}

// products adds the products of slice s. Of a tile of an expert with few rows, those of the first half are all.
func (t *tiled) products(s *kir.Value, c []*kir.Value) []*kir.Value {
	of := func(lines int) func() []*kir.Value {
		return func() []*kir.Value {
			return t.For(t.zero, t.quads(s), t.one, c, func(q *kir.Value, c []*kir.Value) []*kir.Value { return t.multiply(lines, q, c) })
		}
	}
	if t.listed == nil {
		return of(lineElems)()
	}
	return t.Choose(t.Le(t.rows, t.Int(tileRows/2)), of(lineElems/2), of(lineElems))
}

// ifRows runs body where the tile has more than n rows, as other tiles than those of experts always have.
func (t *tiled) ifRows(n int, body func()) {
	if t.listed == nil || n == 0 {
		body()
		return
	}
	t.If(t.Lt(t.Int(n), t.rows), body)
}

// multiply adds the products of quad q of the slices, for the first ones of the thread's rows.
func (t *tiled) multiply(count int, q *kir.Value, c []*kir.Value) []*kir.Value {
	rows := t.lanesOf(t.xs, count, t.Div(t.Thread(), t.Int(lineThreads)), q)
	next := slices.Clone(c)
	for m, w := range t.ws {
		cols := t.lanesOf(w, lineElems, t.Rem(t.Thread(), t.Int(lineThreads)), q)
		for r, x := range rows {
			for n, y := range cols {
				sum := &next[(m*lineElems+r)*lineElems+n]
				for lane := range x {
					*sum = t.FMA(x[lane], y[lane], *sum)
				}
			}
		}
	}
	return next
}

// lanesOf returns the lanes of quad q of the first ones of the thread's rows of a slice, from row first on.
func (t *tiled) lanesOf(s *kir.Shared, count int, first, q *kir.Value) [][4]*kir.Value {
	list := make([][4]*kir.Value, count)
	at := t.Add(t.Mul(first, t.Int(sliceStride)), q)
	for i := range list {
		x := t.SharedLoad(s, t.Add(at, t.Int(i*lineThreads*sliceStride)))
		for lane := range list[i] {
			list[i][lane] = t.Extract(x, lane)
		}
	}
	return list
}

// put stores the elements of the tile that are in the result.
func (t *tiled) put(row, col *kir.Value, sums []*kir.Value) {
	each := lineElems * lineElems // sums for each matrix
	row, col = t.Add(row, t.Div(t.Thread(), t.Int(lineThreads))), t.Add(col, t.Rem(t.Thread(), t.Int(lineThreads)))
	for r := range lineElems {
		toRow := t.Add(row, t.Int(r*lineThreads))
		for c := range lineElems {
			toCol := t.Add(col, t.Int(c*lineThreads))
			t.If(t.And(t.Lt(toRow, t.rows), t.Lt(toCol, t.cols)), func() {
				var own []*kir.Value
				for m := range t.ws {
					own = append(own, sums[m*each+r*lineElems+c])
				}
				t.finish(toRow, toCol, own)
			})
		}
	}
}

package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// multiplied computes products for many rows of x with tiles of package kir. A unit has tileRows rows and tileCols
// columns, of two matrices half as many. The subgroups of a workgroup divide it into equal rectangles.
//
// Both factors are rounded to 16 bits: to bf16 if the matrices are of bf16, else to f16. So the elements of matrices of
// bf16 and f16 are exact, those of blocks and of x have relative errors of up to 2^-12, and with bf16 those of x of up
// to 2^-9. Processors round x to 8 bits for matrices of blocks, with errors of up to 1/254 of a block's largest
// element, and to bf16 for bf16. Finite elements of x beyond the largest f16, 65504, become that; infinite ones become
// NaN. Matrices of f32 are not multiplied in this way, since no other kernel rounds them.
//
// Two stages of shared memory have slices of x and of the matrices. While the subgroups multiply one, the threads load
// the next slice into registers and store it in the other one. Matrices that need no decoding are copied there
// asynchronously, where the machine does that.
type multiplied struct {
	*product
	from   wide
	kind   kir.Kind
	xs, ws *kir.Shared // two stages of a slice, in vectors of four
	out    *kir.Shared // a tile of sums of each subgroup

	outStride int // numbers from one row of such a tile to the next

	quads      int // of a stage
	matrixFrom int // the first one of the matrices
	slab       int // columns of a slab; 0 if subgroups multiply tiles

	lines          int // rows of a matrix in a slice
	across, down   int // subgroups of a workgroup, in columns and in rows of the result
	count          int // slices of a row
	over           *tiling
	ownRow, ownCol *kir.Value // the first ones of the subgroup in a unit
}

const (
	lineQuads  = sliceQuads + 2       // from one row of a slice to the next, in vectors of four 16-bit numbers: 80 bytes, so that 8 rows are in different banks
	stageQuads = tileRows * lineQuads // of a stage
	tileStride = kir.TileSize + 4     // numbers from one row of a tile of sums to the next
)

// multiplies reports whether products for many rows are computed in this way: by workgroups of productThreads, which
// are two, four or eight subgroups. They read x as f32, so not as quantized blocks.
func (l *lowering) multiplies() bool {
	const needs = kir.CapTile | kir.CapSubgroup
	return l.on.Caps&needs == needs && l.n.Args[0].Type.DType == dtype.F32 && l.n.Args[1].Type.DType != dtype.F32 && slices.Contains([]int{16, 32, 64}, l.on.Lanes)
}

// multiplied returns the algorithm for matrices that are read by whole runs. All threads decode as many elements of a
// slice.
func (p *product) multiplied(from wide) *multiplied {
	m := &multiplied{product: p, kind: kir.F16}
	if p.matrices[0].DType == dtype.BF16 {
		m.kind = kir.BF16
	}
	subgroups := p.threads / p.on.Lanes
	if p.slabs() {
		m.useSlabs()
	} else {
		m.useTiles(subgroups)
	}
	from.length = min(from.length, m.lines*len(p.matrices)*sliceElems/p.threads)
	m.from = from
	m.count = (from.k + sliceElems - 1) / sliceElems
	m.over = p.tiling(m.lines)
	m.out = p.NewShared("out", kir.Scalar(kir.F32), subgroups*kir.TileSize*m.outStride)
	return m
}

// useTiles sets the sizes of units, and makes the arrays of the stages.
func (m *multiplied) useTiles(subgroups int) {
	m.lines, m.quads, m.outStride = tileCols/len(m.matrices), stageQuads, tileStride
	m.across = min(subgroups/2, 2)
	m.down = subgroups / m.across
	quad := kir.Vector(m.kind, 4)
	m.xs, m.ws = m.NewShared("xs16", quad, 2*m.quads), m.NewShared("ws16", quad, 2*m.quads)
}

// each computes all units.
func (m *multiplied) each() {
	s := m.Subgroup()
	m.ownRow = m.Mul(m.Div(s, m.Int(m.across)), m.Int(tileRows/m.down))
	m.ownCol = m.Mul(m.Rem(s, m.Int(m.across)), m.Int(m.lines/m.across))
	unit := m.unit
	if m.slab > 0 {
		unit = m.slabUnit
	}
	m.over.each(func(of *product, row, col *kir.Value) {
		m.product = of
		unit(row, col)
	})
}

// unit computes the elements from a row and a column on.
func (m *multiplied) unit(row, col *kir.Value) {
	f := m.fetcher(row, col)
	f.start(m.zero, m.zero)
	f.deliver(m.zero)
	m.Barrier()
	sums := make([]*kir.Value, m.tilesDown()*m.tilesAcross()*len(m.matrices))
	for i := range sums {
		sums[i] = m.TileFill(m.Float(0))
	}
	last := m.Int(m.count - 1)
	sums = m.For(m.zero, m.Int(m.count), m.one, sums, func(s *kir.Value, c []*kir.Value) []*kir.Value {
		next := m.Add(s, m.one)
		f.start(m.Min(next, last), m.stage(next)) // the last slice again after the last: nothing reads it
		c = m.multiply(m.stage(s), c)
		f.deliver(m.stage(next))
		m.Barrier()
		return c
	})
	m.put(row, col, sums)
}

// stage returns the first quad of the stage of slice s.
func (m *multiplied) stage(s *kir.Value) *kir.Value {
	return m.Mul(m.And(s, m.one), m.Int(m.quads))
}

// line returns the first quad of a line of a slice in a stage, quad that of quad q of the line that begins at quad to.
func (m *multiplied) line(line *kir.Value) *kir.Value {
	if m.slab > 0 {
		return m.slabLine(line)
	}
	return m.Mul(line, m.Int(lineQuads))
}

func (m *multiplied) quad(to, q *kir.Value) *kir.Value {
	if m.slab > 0 {
		return m.slabQuad(to, q)
	}
	return m.Add(to, q)
}

// quadAfter is quad for a number plus a constant.
func (m *multiplied) quadAfter(to, q *kir.Value, plus int) *kir.Value {
	if m.slab > 0 {
		return m.slabQuad(to, m.Add(q, m.Int(plus)))
	}
	return m.Add(m.Add(to, q), m.Int(plus))
}

// tilesDown and tilesAcross return the tiles of a subgroup, in rows and in columns of each matrix.
func (m *multiplied) tilesDown() int   { return tileRows / kir.TileSize / m.down }
func (m *multiplied) tilesAcross() int { return m.lines / kir.TileSize / m.across }

// multiply adds the products of the slices in a stage to the sums.
func (m *multiplied) multiply(stage *kir.Value, sums []*kir.Value) []*kir.Value {
	x := m.Add(stage, m.Mul(m.ownRow, m.Int(lineQuads)))
	w := m.Add(stage, m.Mul(m.ownCol, m.Int(lineQuads)))
	tile := func(u kir.Use, s *kir.Shared, from *kir.Value, line, k int) *kir.Value {
		return m.TileSharedLoad(kir.Tile(m.kind, u), s, m.Add(from, m.Int(line*lineQuads+k/4)), lineQuads)
	}
	for k := 0; k < sliceElems; k += kir.TileSize {
		var next, xs []*kir.Value
		for r := range m.tilesDown() {
			xs = append(xs, tile(kir.TileA, m.xs, x, r*kir.TileSize, k))
		}
		for matrix := range m.matrices {
			for c := range m.tilesAcross() {
				y := tile(kir.TileB, m.ws, w, matrix*m.lines+c*kir.TileSize, k)
				for _, x := range xs {
					next = append(next, m.TileMulAdd(x, y, sums[len(next)]))
				}
			}
		}
		sums = next
	}
	return sums
}

// put stores the elements that are in the result. The sums of a tile go through shared memory to the threads of its
// subgroup.
func (m *multiplied) put(row, col *kir.Value, sums []*kir.Value) {
	row, col = m.Add(row, m.ownRow), m.Add(col, m.ownCol)
	own := m.Mul(m.Subgroup(), m.Int(kir.TileSize*m.outStride))
	perMatrix := m.tilesDown() * m.tilesAcross()
	for t := range perMatrix {
		var parts [][]*kir.Value
		for matrix := range m.matrices {
			m.TileSharedStore(m.out, own, sums[matrix*perMatrix+t], m.outStride)
			m.Barrier()
			parts = append(parts, m.elements(own))
			m.Barrier()
		}
		m.putTile(m.Add(row, m.Int(t%m.tilesDown()*kir.TileSize)), m.Add(col, m.Int(t/m.tilesDown()*kir.TileSize)), parts)
	}
}

// element returns the row and the column of element n of the thread in its subgroup's tile.
func (m *multiplied) element(n int) (row, col *kir.Value) {
	e := m.Add(m.Lane(), m.Int(n*m.on.Lanes))
	return m.Div(e, m.Int(kir.TileSize)), m.Rem(e, m.Int(kir.TileSize))
}

// elements returns the thread's elements of the tile from index own on.
func (m *multiplied) elements(own *kir.Value) []*kir.Value {
	list := make([]*kir.Value, kir.TileSize*kir.TileSize/m.on.Lanes)
	for n := range list {
		row, col := m.element(n)
		list[n] = m.SharedLoad(m.out, m.Add(own, m.Add(m.Mul(row, m.Int(m.outStride)), col)))
	}
	return list
}

// putTile stores the thread's elements of a tile, given its sums for each matrix.
func (m *multiplied) putTile(row, col *kir.Value, parts [][]*kir.Value) {
	for n := range parts[0] {
		r, c := m.element(n)
		r, c = m.Add(row, r), m.Add(col, c)
		m.If(m.And(m.Lt(r, m.rows), m.Lt(c, m.cols)), func() {
			var own []*kir.Value
			for _, p := range parts {
				own = append(own, p[n])
			}
			m.finish(r, c, own)
		})
	}
}

package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// On machines with slabs of package kir, multiplied lets the whole workgroup multiply the slices of a stage while its
// threads load and decode the next ones. A unit has tileRows rows and up to slabCols columns. What is rounded is the
// same.
//
// A stage is a part of one array, with the lines of x and then those of the matrices, in blocks of 8 lines of 8
// elements. The four blocks of 8 lines follow each other. Each 16 columns of the slab are a tile of each subgroup,
// which stores it like a tile that it multiplied itself.
const (
	slabCols = 128

	// From one block to the next, in vectors of four 16-bit numbers: 144 bytes. With 128, the 16 bytes that threads
	// store next to each other along a line would be in the same banks.
	slabAcross = kir.SlabBlock*kir.SlabBlock/4 + 2
	slabDown   = sliceElems / kir.SlabBlock * slabAcross
)

// slabs reports whether the machine multiplies slabs. Its subgroups have 32 threads.
func (p *product) slabs() bool {
	return p.on.has(kir.CapSlab) && p.threads == kir.SlabThreads && p.on.Lanes*4 == p.threads
}

// useSlabs sets the sizes of units, and makes the array of the stages.
func (m *multiplied) useSlabs() {
	m.slab = tileCols
	if n, constant := m.y.Inner().IsConst(); !constant || int(n)*len(m.matrices) > tileCols {
		m.slab = slabCols
	}
	m.lines = m.slab / len(m.matrices)
	m.outStride = kir.TileSize // with 4 more, two stages and the tiles would be more than a workgroup has
	m.across, m.down = 1, tileRows/kir.TileSize
	m.matrixFrom = tileRows / kir.SlabBlock * slabDown
	m.quads = (tileRows + m.slab) / kir.SlabBlock * slabDown
	m.xs = m.NewShared("slices16", kir.Vector(m.kind, 4), 2*m.quads)
	m.ws = m.xs
}

// slabUnit computes the elements from a row and a column on. A product of slices runs while the threads load the next
// ones. It is waited for before the barrier after which they are overwritten.
func (m *multiplied) slabUnit(row, col *kir.Value) {
	f := m.fetcher(row, col)
	f.start(m.zero, m.zero)
	f.deliver(m.zero)
	m.SlabPublish()
	m.Barrier()
	last := m.Int(m.count - 1)
	slab := m.For(m.zero, m.Int(m.count), m.one, []*kir.Value{m.SlabFill(m.slab, m.Float(0))}, func(s *kir.Value, c []*kir.Value) []*kir.Value {
		next := m.Add(s, m.one)
		sum := m.multiplySlab(m.stage(s), c[0])
		f.start(m.Min(next, last), m.stage(next))
		f.deliver(m.stage(next))
		m.SlabPublish()
		m.SlabWait(0)
		m.Barrier()
		return []*kir.Value{sum}
	})[0]
	var tiles []*kir.Value
	for n := range m.slab / kir.TileSize {
		tiles = append(tiles, m.SlabTile(slab, n))
	}
	m.put(row, col, tiles)
}

// multiplySlab begins to add the product of the slices in a stage.
func (m *multiplied) multiplySlab(stage, sum *kir.Value) *kir.Value {
	m.SlabFence()
	for k := 0; k < sliceElems; k += kir.SlabDepth {
		x := m.Add(stage, m.Int(k/kir.SlabBlock*slabAcross))
		sum = m.SlabMulAdd(m.xs, x, m.Add(x, m.Int(m.matrixFrom)), sum, slabAcross, slabDown)
	}
	m.SlabCommit()
	return sum
}

// slabLine returns the first quad of a line, slabQuad that of quad q of the line that begins at quad to.
func (m *multiplied) slabLine(line *kir.Value) *kir.Value {
	block := m.Int(kir.SlabBlock)
	return m.Add(m.Mul(m.Div(line, block), m.Int(slabDown)), m.Mul(m.Rem(line, block), m.Int(kir.SlabBlock/4)))
}

func (m *multiplied) slabQuad(to, q *kir.Value) *kir.Value {
	half := m.Uint(1)
	return m.Add(to, m.Add(m.Mul(m.Shr(q, half), m.Int(slabAcross)), m.And(q, m.one)))
}

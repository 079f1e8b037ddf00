package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// productThreads is the size of workgroups that compute products row by row.
const productThreads = 128

// matMul computes products of the rows of x with those of one or two matrices. There are three algorithms:
//
//   - rowwise, for few rows of x: a team of threads computes some elements of the result. Each of its threads decodes
//     runs of the matrices' rows, and the team adds the sums of its threads.
//   - tiled, for many: a workgroup computes a tile of the result from slices of x and of the matrices in shared memory, so
//     that it decodes each element of a matrix once for all rows of the tile.
//   - multiplied, for many on machines with kir.CapTile: the same, by tiles that subgroups multiply, or
//     by slabs that workgroups multiply, with kir.CapSlab.
//
// The number of rows is a symbol in most nodes that may have many, so the kernel of such a node has both, and all
// threads choose by the number. A node with few rows at most, such as those of a decode step, has no tiled code.
//
// A row of a product with experts' matrices is multiplied with one of the matrices. Tiled, a tile has rows of one
// expert: see chosen.
func matMul(l *lowering) {
	least, most := l.n.Result().Type.Rows().Bounds()
	atMost := l.fewRows()
	threads := productThreads
	if most > atMost && !l.multiplies() {
		threads = tileThreads
	}
	l.begin(l.n.Op.String(), threads)
	p := newProduct(l, threads)
	few := p.rowwise(p.together(most))
	fast, other, from := p.readers()
	compute, count := func() { few.each(fast) }, few.units(p.y.Rows())
	if from.k > 0 && most > atMost {
		many, tiles := p.many(from)
		count = few.units(p.mostRowByRow(atMost)).Max(tiles)
		compute = many
		if rowByRow := p.rowByRow(least, atMost); rowByRow != nil {
			compute = func() { l.either(rowByRow, func() { few.each(fast) }, many) }
		}
	}
	switch {
	case fast == nil:
		few.each(other)
	case other == nil:
		compute()
	default:
		l.either(p.aligned(), compute, func() { few.each(other) })
	}
	l.end(count)
}

// fewRows is the largest number of rows of x for which products are computed row by row. Up to that number, a matrix is
// read four times at most, and a tile of 64 rows would have at least as many without results.
const fewRows = 16

// fewRows returns the largest number of rows of the result that are computed row by row.
func (l *lowering) fewRows() int64 {
	if l.n.Op != ir.OpExpertsMatMul {
		return fewRows
	}
	return fewOfExpert * l.n.Args[1].Type.Shape[0].Upper()
}

// rowByRow tells whether the rows, of which there are least or more, are computed row by row. Up to atMost rows are,
// and on narrow devices any number of an expert's rows. The result is nil if no rows are.
func (p *product) rowByRow(least, atMost int64) *kir.Value {
	var few *kir.Value
	if least <= atMost {
		few = p.Le(p.rows, p.Int(int(atMost)))
	}
	if !p.maybeNarrow() {
		return few
	}
	narrow := p.Lt(p.Lanes(), p.Int(leastWide))
	if few == nil {
		return narrow
	}
	return p.Or(few, narrow)
}

// mostRowByRow returns how many rows are computed row by row at most, if few ones are always.
func (p *product) mostRowByRow(few int64) ir.Dim {
	if p.maybeNarrow() {
		return p.y.Rows()
	}
	return p.y.Rows().Min(ir.Const(few))
}

// together returns the number of rows that a team multiplies at once with what it decoded, row by row, if there are
// at most that many.
func (p *product) together(most int64) int {
	if p.idx != nil {
		return 1 // rows that follow each other have different experts
	}
	return int(min(most, mostRows))
}

// many returns the algorithm for many rows, and the number of its units.
func (p *product) many(from wide) (each func(), count ir.Dim) {
	if p.multiplies() {
		m := p.multiplied(from)
		return m.each, p.tiles(m.lines)
	}
	return p.tiled(from).each, p.tiles(tileCols)
}

// either runs one of two functions.
func (l *lowering) either(cond *kir.Value, then, otherwise func()) {
	nothing := func(f func()) func() []*kir.Value {
		return func() []*kir.Value { f(); return nil }
	}
	l.Choose(cond, nothing(then), nothing(otherwise))
}

// product is a kernel of products.
type product struct {
	*lowering
	x, y, residual *tensor
	matrices       []*tensor
	rows, cols     *kir.Value // of y
	threads        int        // of a workgroup

	// Of experts: which matrix a row is multiplied with. In a tile of an expert, listed has the numbers of its rows in
	// the result, rows counts them, and first is the first row of the expert's matrix.
	idx    *tensor
	listed *kir.Shared
	first  *kir.Value
}

func newProduct(l *lowering, threads int) *product {
	p := &product{lowering: l, threads: threads, x: l.operand(0), y: l.result(), matrices: []*tensor{l.matrix(1)}}
	p.rows, p.cols = l.size(p.y.Rows()), l.size(p.y.Inner())
	switch {
	case l.n.Op == ir.OpMatMulSwiGLU:
		p.matrices = append(p.matrices, l.matrix(2))
	case l.n.Op == ir.OpExpertsMatMul:
		p.idx = l.operand(2)
	case l.n.Arg(2) != nil:
		p.residual = l.operand(2)
	}
	return p
}

// aligned reports whether x and the matrices begin at multiples of 16. Those in layout planar always do.
func (p *product) aligned() *kir.Value {
	bits := p.x.base
	for _, w := range p.matrices {
		if w.Layout == dtype.Plain {
			bits = p.Or(bits, w.base)
		}
	}
	return p.Eq(p.And(bits, p.Bits(kir.U64, 15)), p.Bits(kir.U64, 0))
}

// finish stores an element of the result, given its sum for each matrix.
func (p *product) finish(row, col *kir.Value, sums []*kir.Value) {
	y := sums[0]
	switch {
	case len(sums) == 2:
		y = p.Mul(p.silu(y), sums[1])
	case p.residual != nil:
		at := p.Add(p.row(p.residual, row), p.Mul(col, p.innerStride(p.residual)))
		y = p.Add(y, p.load(p.residual, at))
	}
	p.store(p.y, p.Add(p.Mul(p.number(row), p.cols), col), y)
}

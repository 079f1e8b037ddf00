package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// productThreads is the size of workgroups that compute products.
const productThreads = 128

// matMul computes products of the rows of x with those of one or two matrices. There are two algorithms:
//
//   - rowwise, for few rows of x: a team of threads computes some elements of the result. Each of its threads decodes
//     runs of the matrices' rows, and the team adds the sums of its threads.
//   - tiled, for many: a workgroup computes a tile of the result from slices of x and of the matrices in shared memory, so
//     that it decodes each element of a matrix once for all rows of the tile.
//
// The number of rows is a symbol in most nodes that may have many, so the kernel of such a node has both, and all
// threads choose by the number. A node with few rows at most, such as those of a decode step, has no tiled code.
func matMul(l *lowering) {
	l.begin(l.n.Op.String(), productThreads)
	p := newProduct(l)
	few := p.rowwise(min(int(p.x.Rows().Upper()), mostRows))
	count := few.units()
	wide := p.canBeWide()
	if wide == nil {
		few.each(single{})
		l.end(count)
		return
	}
	l.Choose(p.aligned(), func() []*kir.Value {
		few.each(wide)
		return nil
	}, func() []*kir.Value {
		few.each(single{})
		return nil
	})
	l.end(count)
}

// product is the kernel of a matMul.
type product struct {
	*lowering
	x, y, residual *tensor
	matrices       []*tensor
	rows, cols     *kir.Value
}

func newProduct(l *lowering) *product {
	p := &product{lowering: l, x: l.tensor(l.n.Args[0]), y: l.tensor(l.n.Result()), matrices: []*tensor{l.tensor(l.n.Args[1])}}
	if l.n.Op == ir.OpMatMulSwiGLU {
		p.matrices = append(p.matrices, l.tensor(l.n.Args[2]))
	} else if v := l.n.Arg(2); v != nil {
		p.residual = l.tensor(v)
	}
	p.rows, p.cols = l.size(p.x.Rows()), l.size(p.y.Inner())
	return p
}

// canBeWide returns the reader of whole runs if x and the matrices have formats and shapes for it, else nil.
func (p *product) canBeWide() reader {
	w := p.matrices[0]
	f, ok := formats[w.DType]
	k, constant := p.x.Inner().IsConst()
	if !ok || !constant || k%int64(f.run) != 0 || p.x.DType != dtype.F32 || !w.Dense() {
		return nil
	}
	strides := p.x.StrideDims()
	for a, d := range strides {
		n, constant := d.IsConst()
		if last := a == len(strides)-1; !constant || last && n != 1 || !last && n%4 != 0 {
			return nil
		}
	}
	return wide{f, int(k)}
}

// aligned reports whether x and the matrices begin at multiples of 16.
func (p *product) aligned() *kir.Value {
	bits := p.x.base
	for _, w := range p.matrices {
		bits = p.Or(bits, w.base)
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
	p.store(p.y, p.Add(p.Mul(row, p.cols), col), y)
}

package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// productRows is the number of rows of x that a workgroup multiplies with a row of the matrix at once, so that it loads
// the row once for all of them.
const productRows = 4

// matMul computes products of the rows of x with those of one or two matrices. A unit is an element of the result for
// each of productRows rows of x. Its threads share the sums.
func matMul(l *lowering) {
	threads := 64
	l.begin(l.n.Op.String(), threads)
	p := &product{team: l.team(threads), x: l.tensor(l.n.Args[0]), y: l.tensor(l.n.Result()), matrices: []*tensor{l.tensor(l.n.Args[1])}}
	if l.n.Op == ir.OpMatMulSwiGLU {
		p.matrices = append(p.matrices, l.tensor(l.n.Args[2]))
	} else if v := l.n.Arg(2); v != nil {
		p.residual = l.tensor(v)
	}
	for _, w := range p.matrices {
		p.width = append(p.width, w.strides[0])
	}
	rows, cols := p.x.Rows(), p.y.Inner()
	p.rows, p.cols, p.k = l.size(rows), l.size(cols), l.size(p.x.Inner())
	count := units(rows, productRows).Mul(cols)
	l.perGroup(l.size(count), p.unit)
	l.end(count)
}

// product is the kernel of a matMul.
type product struct {
	*team
	x, y, residual *tensor
	matrices       []*tensor
	width          []*kir.Value // elements from one row of a matrix to the next
	rows, cols, k  *kir.Value
}

// unit computes element col of productRows rows.
func (p *product) unit(u *kir.Value) {
	col, first := p.Rem(u, p.cols), p.Mul(p.Div(u, p.cols), p.Int(productRows))
	at := make([]*kir.Value, productRows) // the first elements of the rows; rows beyond the last are the last one again
	for r := range at {
		row := p.Min(p.Add(first, p.Int(r)), p.Sub(p.rows, p.one))
		at[r] = p.row(p.x, row)
	}
	zeros := slices.Repeat([]*kir.Value{p.Float(0)}, productRows*len(p.matrices))
	inner := p.innerStride(p.x)
	sums := p.strided(p.k, p.threads, zeros, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		next := slices.Clone(c)
		for m, w := range p.matrices {
			factor := p.load(w, p.Add(p.Mul(col, p.width[m]), i))
			for r := range at {
				x := p.load(p.x, p.Add(at[r], p.Mul(i, inner)))
				next[m*productRows+r] = p.FMA(x, factor, c[m*productRows+r])
			}
		}
		return next
	})
	for i := range sums {
		sums[i] = p.sum(sums[i])
	}
	for r := range at {
		row := p.Add(first, p.Int(r))
		mine := p.And(p.Eq(p.Thread(), p.Int(r)), p.Lt(row, p.rows))
		p.If(mine, func() { p.finish(row, col, sums, r) })
	}
}

// finish stores element col of a row.
func (p *product) finish(row, col *kir.Value, sums []*kir.Value, r int) {
	y := sums[r]
	switch {
	case len(p.matrices) == 2:
		y = p.Mul(p.silu(y), sums[productRows+r])
	case p.residual != nil:
		at := p.Add(p.row(p.residual, row), p.Mul(col, p.innerStride(p.residual)))
		y = p.Add(y, p.load(p.residual, at))
	}
	p.store(p.y, p.Add(p.Mul(row, p.cols), col), y)
}

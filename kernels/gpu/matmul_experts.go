package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// expertsMatMul computes products of rows of x, each with the matrix of an expert, row by row.
func expertsMatMul(l *lowering) {
	l.begin("experts_matmul", productThreads)
	p := newProduct(l, productThreads)
	each := p.rowwise(1) // rows that follow each other have different experts
	switch fast, other, _ := p.readers(); {
	case fast == nil:
		each.each(other)
	case other == nil:
		each.each(fast)
	default:
		l.either(p.aligned(), func() { each.each(fast) }, func() { each.each(other) })
	}
	l.end(each.units(p.y.Rows()))
}

// xRow returns the row of x for row r of the result.
func (p *product) xRow(r *kir.Value) *kir.Value {
	if p.idx != nil && p.x.Shape[1].Is(1) {
		return p.Div(r, p.idx.shape[1]) // all choices of a token read one row
	}
	return r
}

// firstRow returns the row of the matrices, all experts' in order, for row r and column 0 of the result.
func (p *product) firstRow(r *kir.Value) *kir.Value {
	if p.idx == nil {
		return p.zero
	}
	expert := p.loadI32(p.idx, p.element(p.idx, p.coords(r, p.idx.shape)))
	return p.Mul(expert, p.cols)
}

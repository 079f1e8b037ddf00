package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// expertsMatMul computes products of rows of x, each with the matrix of an expert, row by row.
func expertsMatMul(l *lowering) {
	l.begin("experts_matmul", productThreads)
	p := newProduct(l, productThreads)
	each := p.rowwise(1) // rows that follow each other have different experts
	other := l.anyReader(p.matrices[0])
	if from, ok := l.wideReader(p.x, p.matrices[0]); ok {
		l.either(p.aligned(), func() { each.each(from) }, func() { each.each(other) })
	} else {
		each.each(other)
	}
	l.end(each.units())
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

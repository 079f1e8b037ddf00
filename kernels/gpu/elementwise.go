package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// elementThreads is the size of workgroups of elementwise kernels.
const elementThreads = 64

// unary computes each element of the result from the same one of the operand.
func unary(l *lowering) {
	l.begin(l.n.Op.String(), elementThreads)
	x, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Result())
	elems := y.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, y.shape)
		l.store(y, i, l.function(l.load(x, l.element(x, c))))
	})
	l.end(units(elems, elementThreads))
}

// function applies the elementwise op of the node to x.
func (l *lowering) function(x *kir.Value) *kir.Value {
	switch l.n.Op {
	case ir.OpNeg:
		return l.Neg(x)
	case ir.OpAbs:
		return l.abs(x)
	case ir.OpExp:
		return l.Exp(x)
	case ir.OpLog:
		return l.Log(x)
	case ir.OpSqrt:
		return l.Sqrt(x)
	case ir.OpSquare:
		return l.Mul(x, x)
	case ir.OpReLU:
		return l.orNaN(x, l.Max(x, l.Float(0)))
	case ir.OpSiLU:
		return l.silu(x)
	case ir.OpGELU:
		return l.gelu(x)
	case ir.OpTanh:
		return l.tanh(x)
	case ir.OpSigmoid:
		return l.sigmoid(x)
	case ir.OpScale:
		a := l.n.Attr.(*ir.ScaleAttr)
		return l.Add(l.Mul(x, l.Float(a.Scale)), l.Float(a.Bias))
	}
	l.refuse("%v", l.n.Op)
	return x
}

// orNaN returns x if it is NaN, else y.
func (l *lowering) orNaN(x, y *kir.Value) *kir.Value { return l.Select(l.Ne(x, x), x, y) }

// sigmoid returns 1/(1+e^-x).
func (l *lowering) sigmoid(x *kir.Value) *kir.Value {
	return l.Div(l.Float(1), l.Add(l.Float(1), l.Exp(l.Neg(x))))
}

func (l *lowering) silu(x *kir.Value) *kir.Value {
	return l.Div(x, l.Add(l.Float(1), l.Exp(l.Neg(x))))
}

// gelu is the tanh form of the op. As (1 + tanh z)/2 is the sigmoid of 2z, nothing cancels for negative x.
func (l *lowering) gelu(x *kir.Value) *kir.Value {
	cube := l.Mul(l.Mul(x, x), x)
	z := l.Mul(l.Float(float32(math.Sqrt(2/math.Pi))), l.Add(x, l.Mul(l.Float(0.044715), cube)))
	return l.Div(x, l.Add(l.Float(1), l.Exp(l.Mul(z, l.Float(-2)))))
}

// tanh returns 1 - 2/(e^2|x| + 1) with the sign of x; for small x, where that would cancel, the first terms of the series
// x - x³/3 + 2x⁵/15 - 17x⁷/315 + 62x⁹/2835, which below 1/4 leave 1e-8 of x.
func (l *lowering) tanh(x *kir.Value) *kir.Value {
	bits := l.Bitcast(x, kir.Scalar(kir.U32))
	abs := l.abs(x)
	large := l.Sub(l.Float(1), l.Div(l.Float(2), l.Add(l.Exp(l.Mul(abs, l.Float(2))), l.Float(1))))
	signed := l.Bitcast(l.Or(l.Bitcast(large, kir.Scalar(kir.U32)), l.And(bits, l.Uint(1<<31))), kir.Scalar(kir.F32))
	sq := l.Mul(x, x)
	p := l.Float(-1382.0 / 155925)
	for _, c := range []float32{62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1} {
		p = l.FMA(p, sq, l.Float(c))
	}
	return l.Select(l.Lt(abs, l.Float(0.25)), l.Mul(x, p), l.orNaN(x, signed))
}

// binary computes each element of the result from those of two operands. The second is repeated where its extent is 1.
func binary(l *lowering) {
	l.begin(l.n.Op.String(), elementThreads)
	a, b, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Args[1]), l.tensor(l.n.Result())
	elems := y.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, y.shape)
		l.store(y, i, l.join(l.load(a, l.element(a, c)), l.load(b, l.element(b, l.repeated(b, c)))))
	})
	l.end(units(elems, elementThreads))
}

// repeated returns the coordinates in t, whose axes are the last ones, for those of the tensor that it is repeated to.
func (l *lowering) repeated(t *tensor, c []*kir.Value) []*kir.Value {
	own := make([]*kir.Value, t.Rank())
	for a, d := range t.Shape {
		if own[a] = c[len(c)-t.Rank()+a]; d.Is(1) {
			own[a] = l.zero
		}
	}
	return own
}

// join applies the elementwise op of the node to a and b.
func (l *lowering) join(a, b *kir.Value) *kir.Value {
	switch l.n.Op {
	case ir.OpAdd:
		return l.Add(a, b)
	case ir.OpSub:
		return l.Sub(a, b)
	case ir.OpMul:
		return l.Mul(a, b)
	case ir.OpDiv:
		return l.Div(a, b)
	case ir.OpMax:
		return l.orNaN(a, l.orNaN(b, l.Max(a, b)))
	case ir.OpMin:
		return l.orNaN(a, l.orNaN(b, l.Min(a, b)))
	case ir.OpSwiGLU:
		return l.Mul(l.silu(a), b)
	}
	l.refuse("%v", l.n.Op)
	return a
}

// cast converts each element to another dtype.
func cast(l *lowering) {
	l.begin("cast", elementThreads)
	x, y := l.tensor(l.n.Args[0]), l.tensor(l.n.Result())
	elems := y.Elems()
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		l.store(y, i, l.load(x, l.element(x, l.coords(i, y.shape))))
	})
	l.end(units(elems, elementThreads))
}

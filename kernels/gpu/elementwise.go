package gpu

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// elementThreads is the size of workgroups of kernels with a thread for each element.
const elementThreads = 64

// elementwise is a kernel that computes each element of a dense result from the same ones of the operands. Operands are
// repeated where their extent is 1. A thread computes a run of elements, if the rows consist of runs or everything is
// dense.
type elementwise struct {
	*lowering
	y        *tensor
	operands []*tensor
	runs     []bool // of the operands, whether their rows consist of runs
	elems    *kir.Value
	value    func(x []*kir.Value) *kir.Value // of an element, from those of the operands
}

// elementwise builds the kernel. The operands are those of the node.
func (l *lowering) elementwise(value func(x []*kir.Value) *kir.Value) {
	y := l.n.Result().Type
	flat, each := l.isFlat(), 1
	if flat || y.Rank() > 0 && y.Inner().DivisibleBy(runLen) {
		each = runLen
	}
	count := units(y.Elems(), each)
	threads := threadsFor(count)
	l.begin(l.n.Op.String(), threads)
	e := &elementwise{lowering: l, y: l.result(), value: value}
	for i := range l.n.Args {
		t := l.operand(i)
		e.operands = append(e.operands, t)
		e.runs = append(e.runs, each > 1 && l.prepareRuns(t, runLen))
	}
	body := e.single
	switch {
	case flat:
		body = e.flatRun
	case each > 1:
		body = e.run
	}
	for _, t := range append(e.operands, e.y) {
		l.prepareAligned(t)
	}
	e.elems = l.size(y.Elems())
	l.perThread(l.size(count), threads, func(i *kir.Value) { body(l.Mul(i, l.Int(each))) })
	l.end(units(count, threads))
}

// threadsFor returns the size of workgroups for work that is done by that many threads: large ones where small ones
// would be more than a dispatch has.
func threadsFor(count ir.Dim) int {
	if count.Upper() > 256*elementThreads {
		return 4 * elementThreads
	}
	return elementThreads
}

// isFlat reports whether element i of the result is computed from elements i of the operands.
func (l *lowering) isFlat() bool {
	y := l.n.Result().Type
	for _, v := range l.n.Args {
		if !v.Type.Dense() || !ir.EqualDims(v.Type.Shape, y.Shape) {
			return false
		}
	}
	return true
}

// single computes element i.
func (e *elementwise) single(i *kir.Value) {
	c := e.coords(i, e.y.shape)
	x := make([]*kir.Value, len(e.operands))
	for k, t := range e.operands {
		x[k] = e.load(t, e.element(t, e.repeated(t, c)))
	}
	e.store(e.y, i, e.value(x))
}

// flatRun computes elements i to i+3 of dense tensors, or as many as there are.
func (e *elementwise) flatRun(i *kir.Value) {
	whole := func() {
		e.finish(i, func(k int) []*kir.Value { return e.loadRun(e.operands[k], i, runLen) })
	}
	if e.y.Elems().DivisibleBy(runLen) {
		whole()
		return
	}
	e.choose(e.Le(e.Add(i, e.Int(runLen)), e.elems), whole, func() {
		e.For(i, e.elems, e.lowering.one, nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
			x := make([]*kir.Value, len(e.operands))
			for k, t := range e.operands {
				x[k] = e.load(t, i)
			}
			e.store(e.y, i, e.value(x))
			return nil
		})
	})
}

// run computes elements i to i+3, which are in one row.
func (e *elementwise) run(i *kir.Value) {
	c := e.coords(i, e.y.shape)
	e.finish(i, func(k int) []*kir.Value {
		t := e.operands[k]
		own := e.repeated(t, c)
		at := e.element(t, own)
		switch {
		case t.Rank() == 0 || t.Inner().Is(1):
			return slices.Repeat([]*kir.Value{e.load(t, at)}, runLen)
		default:
			return e.loadSome(t, at, runLen, e.runs[k])
		}
	})
}

// finish stores elements i to i+3, of which operand k has these.
func (e *elementwise) finish(i *kir.Value, operand func(k int) []*kir.Value) {
	var x [][]*kir.Value
	for k := range e.operands {
		x = append(x, operand(k))
	}
	y := make([]*kir.Value, runLen)
	for j := range y {
		list := make([]*kir.Value, len(x))
		for k := range x {
			list[k] = x[k][j]
		}
		y[j] = e.value(list)
	}
	e.storeRun(e.y, i, y)
}

// unary computes each element of the result from the same one of the operand.
func unary(l *lowering) {
	l.elementwise(func(x []*kir.Value) *kir.Value { return l.function(l.n.Op, l.n.Attr, x[0]) })
}

// binary computes each element of the result from those of two operands. The second is repeated where its extent is 1.
func binary(l *lowering) {
	l.elementwise(func(x []*kir.Value) *kir.Value { return l.join(l.n.Op, x[0], x[1]) })
}

// chain computes each element of the result by several elementwise ops. What is in between stays in registers.
func chain(l *lowering) {
	steps := l.n.Attr.(*ir.ChainAttr).Steps
	l.elementwise(func(x []*kir.Value) *kir.Value {
		y := make([]*kir.Value, len(steps))
		for i, s := range steps {
			y[i] = l.step(s, x, y)
		}
		return y[len(y)-1]
	})
}

// step computes a step of a chain from its operands and the results of earlier steps.
func (l *lowering) step(s ir.ChainStep, x, y []*kir.Value) *kir.Value {
	args := make([]*kir.Value, len(s.Args))
	for i, r := range s.Args {
		from := x
		if r.Step {
			from = y
		}
		args[i] = from[r.Index]
	}
	if len(args) == 2 {
		return l.join(s.Op, args[0], args[1])
	}
	return l.function(s.Op, s.Attr, args[0])
}

// cast converts each element to another dtype.
func cast(l *lowering) {
	l.elementwise(func(x []*kir.Value) *kir.Value { return x[0] })
}

// function applies an elementwise op of one operand, which has these attributes, to x.
func (l *lowering) function(op ir.Op, attr any, x *kir.Value) *kir.Value {
	switch op {
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
	case ir.OpClamp:
		return l.clamp(x, attr.(*ir.ClampAttr))
	case ir.OpScale:
		a := attr.(*ir.ScaleAttr)
		return l.Add(l.Mul(x, l.Float(a.Scale)), l.Float(a.Bias))
	}
	l.refuse("%v", op)
	return x
}

// clamp needs no instruction for a bound that is infinite.
func (l *lowering) clamp(x *kir.Value, a *ir.ClampAttr) *kir.Value {
	y := x
	if !math.IsInf(float64(a.Lo), -1) {
		y = l.Max(y, l.Float(a.Lo))
	}
	if !math.IsInf(float64(a.Hi), 1) {
		y = l.Min(y, l.Float(a.Hi))
	}
	return l.orNaN(x, y)
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

// tanh returns 1 - 2/(e^2|x| + 1) with the sign of x; for small x, where that would cancel, the first terms of the
// series x - x³/3 + 2x⁵/15 - 17x⁷/315 + 62x⁹/2835, which below 1/4 leave 1e-8 of x.
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

// join applies an elementwise op of two operands to a and b.
func (l *lowering) join(op ir.Op, a, b *kir.Value) *kir.Value {
	switch op {
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
	l.refuse("%v", op)
	return a
}

package gpu

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Dispatch is a kernel for a node. Its arguments are the addresses of [Operands], then the values of [Symbols].
type Dispatch struct {
	Kernel *kir.Kernel
	Units  ir.Dim // units of work: workgroups beyond that number have little or nothing to do
}

// MaxGroups is the largest number of workgroups of a dispatch. Any number computes the same; more than a GPU runs at
// once gain nothing: large ones run about 8 of 128 threads on each of 130 multiprocessors.
const MaxGroups = 1024

// Operands returns the values whose addresses the kernel of n gets: the operands that are there, in order, and the
// result, unless it has the bytes of an operand.
func Operands(n *ir.Node) []*ir.Value {
	var list []*ir.Value
	for _, v := range n.Args {
		if v != nil {
			list = append(list, v)
		}
	}
	if r := n.Result(); r.Source() == nil {
		list = append(list, r)
	}
	return list
}

// Symbols returns the symbols of which the kernel of n gets the values, as i32: those in the shapes and strides of its
// operands, in the order in which they occur.
func Symbols(n *ir.Node) []*ir.Symbol {
	var list []*ir.Symbol
	add := func(s *ir.Symbol) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for _, v := range Operands(n) {
		for _, d := range slices.Concat(v.Type.Shape, v.Type.Strides) {
			d.Symbols(add)
		}
	}
	return list
}

// ErrNoKernel reports a node for which there is no kernel.
var ErrNoKernel = errors.New("there is no kernel for it")

// lowerings has the function for each op that has kernels. It adds what the node does to l.
var lowerings = map[ir.Op]func(l *lowering){
	ir.OpNeg: unary, ir.OpAbs: unary, ir.OpExp: unary, ir.OpLog: unary, ir.OpSqrt: unary, ir.OpSquare: unary, ir.OpReLU: unary,
	ir.OpSiLU: unary, ir.OpGELU: unary, ir.OpTanh: unary, ir.OpSigmoid: unary, ir.OpScale: unary, ir.OpClamp: unary,
	ir.OpAdd: binary, ir.OpSub: binary, ir.OpMul: binary, ir.OpDiv: binary, ir.OpMax: binary, ir.OpMin: binary, ir.OpSwiGLU: binary,
	ir.OpChain:  chain,
	ir.OpMatMul: matMul, ir.OpMatMulSwiGLU: matMul, ir.OpExpertsMatMul: matMul,
	ir.OpRMSNorm: rmsNorm, ir.OpLayerNorm: layerNorm, ir.OpSoftmax: softmax,
	ir.OpReduceSum: reduce, ir.OpReduceMean: reduce, ir.OpReduceMax: reduce,
	ir.OpRMSNormQuantize: rmsNormQuantize, ir.OpTopK: topK, ir.OpTake: take, ir.OpExpertsSum: expertsSum,
	ir.OpGather: gather, ir.OpRopeTable: ropeTable, ir.OpRope: rope,
	ir.OpAttention: attention, ir.OpAttentionSegments: attention, ir.OpAttentionCombine: attentionCombine, ir.OpStateWrite: stateWrite,
	ir.OpCopy: copyBytes, ir.OpConcat: concat, ir.OpCast: cast, ir.OpQuantize: quantize,
}

// Has reports whether nodes of this op may have kernels.
func Has(op ir.Op) bool { return lowerings[op] != nil }

// Lower returns the dispatches that compute n on a machine, one after the other. The error wraps ErrNoKernel if there
// is no kernel for the op, or for the formats of its operands.
func Lower(n *ir.Node, on Machine) ([]Dispatch, error) {
	lower := lowerings[n.Op]
	if lower == nil {
		return nil, fmt.Errorf("%v: %w", n.Op, ErrNoKernel)
	}
	l := &lowering{n: n, on: on}
	lower(l)
	if l.err != nil {
		return nil, fmt.Errorf("%v: %w", n.Op, l.err)
	}
	return l.list, nil
}

// lowering is the state of one Lower: the node, and the kernel that is being built.
type lowering struct {
	*kir.Builder
	n    *ir.Node
	on   Machine
	list []Dispatch
	err  error

	// Of the kernel that is being built.
	operands  []*kir.Value // addresses: two operands may be one value, but other nodes have the kernel as well
	y         *kir.Value   // address of the result, nil if it has the bytes of an operand
	symbols   map[*ir.Symbol]*kir.Value
	sizes     []size
	zero, one *kir.Value
}

// size is a number that depends on symbols and was computed.
type size struct {
	d ir.Dim
	v *kir.Value
}

// refuse reports that there is no kernel for these operands.
func (l *lowering) refuse(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrNoKernel)
	}
}

// begin begins a kernel.
func (l *lowering) begin(name string, threads int) {
	l.Builder, l.sizes = kir.NewBuilder(name, threads), nil
	l.addresses(len(Operands(l.n)))
	l.symbols = make(map[*ir.Symbol]*kir.Value)
	for i, s := range Symbols(l.n) {
		l.symbols[s] = l.Arg(fmt.Sprintf("s%d", i), kir.I32)
	}
	l.zero, l.one = l.Int(0), l.Int(1)
}

// addresses adds the arguments of the kernel for the addresses of count operands and result.
func (l *lowering) addresses(count int) {
	args := make([]*kir.Value, count)
	for i := range args {
		args[i] = l.Arg(fmt.Sprintf("a%d", i), kir.U64)
	}
	l.operands = make([]*kir.Value, len(l.n.Args))
	for i, v := range l.n.Args {
		if v != nil {
			l.operands[i], args = args[0], args[1:]
		}
	}
	l.y = nil
	if len(args) > 0 {
		l.y = args[0]
	}
}

// end ends the kernel, which divides its work into units.
func (l *lowering) end(units ir.Dim) {
	k, err := l.Kernel()
	if err != nil && l.err == nil {
		panic(fmt.Sprintf("kernels/gpu: internal error: %v", err))
	}
	l.list = append(l.list, Dispatch{Kernel: k, Units: units})
}

// size returns a number as i32: a constant, or computed from the symbols. It is called outside of loops and branches
// only, so that it is visible in all of them.
func (l *lowering) size(d ir.Dim) *kir.Value {
	if n, ok := d.IsConst(); ok {
		return l.Int(int(n))
	}
	for _, s := range l.sizes {
		if s.d.Equal(d) {
			return s.v
		}
	}
	v := ir.Compute[*kir.Value](d, dims{l})
	l.sizes = append(l.sizes, size{d, v})
	return v
}

// dims computes dimensions in a kernel.
type dims struct{ l *lowering }

func (d dims) Const(n int64) *kir.Value       { return d.l.Int(int(n)) }
func (d dims) Symbol(s *ir.Symbol) *kir.Value { return d.l.symbols[s] }
func (d dims) Add(a, b *kir.Value) *kir.Value { return d.l.Add(a, b) }
func (d dims) Mul(a, b *kir.Value) *kir.Value { return d.l.Mul(a, b) }
func (d dims) Min(a, b *kir.Value) *kir.Value { return d.l.Min(a, b) }
func (d dims) Max(a, b *kir.Value) *kir.Value { return d.l.Max(a, b) }

// FloorDiv rounds toward negative infinity: if a is negative, -1 - (-1-a)/b.
func (d dims) FloorDiv(a, b *kir.Value) *kir.Value {
	l := d.l
	negative := l.Lt(a, l.Int(0))
	minus := l.Int(-1)
	q := l.Div(l.Select(negative, l.Sub(minus, a), a), b)
	return l.Select(negative, l.Sub(minus, q), q)
}

// perGroup runs body for each unit of the workgroup.
func (l *lowering) perGroup(units *kir.Value, body func(unit *kir.Value)) {
	l.For(l.Group(), units, l.NumGroups(), nil, func(u *kir.Value, _ []*kir.Value) []*kir.Value {
		body(u)
		return nil
	})
}

// perThread runs body for each of n elements, each in one thread. A unit is as many elements as a workgroup has
// threads.
func (l *lowering) perThread(n *kir.Value, threads int, body func(i *kir.Value)) {
	t := l.Int(threads)
	from := l.Add(l.Mul(l.Group(), t), l.Thread())
	l.For(from, n, l.Mul(l.NumGroups(), t), nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
		body(i)
		return nil
	})
}

// strided runs body for the elements thread, thread+threads, … below n and returns the last carried values.
func (l *lowering) strided(n *kir.Value, threads int, init []*kir.Value, body func(i *kir.Value, c []*kir.Value) []*kir.Value) []*kir.Value {
	return l.For(l.Thread(), n, l.Int(threads), init, body)
}

// units returns how many units n elements are if a unit has that many.
func units(n ir.Dim, each int) ir.Dim { return n.CeilDiv(int64(each)) }

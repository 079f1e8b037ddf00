package ir

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ChainAttr is what a chain computes of each element.
type ChainAttr struct {
	Steps []ChainStep `attr:"steps"`
}

// ChainStep is a step of a chain: an elementwise op on operands of the chain and results of earlier steps.
type ChainStep struct {
	Op   Op
	Attr any // pointer to the op's attribute struct; nil if the op has none
	Args []ChainRef
}

// ChainRef is an operand of a step: operand Index of the chain, or the result of step Index.
type ChainRef struct {
	Step  bool
	Index int
}

// Limits of chains. A kernel has an address for each operand, and holds a few elements of each value in registers.
const (
	MaxChainOperands = 8
	MaxChainSteps    = 16
)

// InChain reports whether a step of a chain may be of the op: one elementwise op on f32.
func InChain(op Op) bool {
	return op.Info().Traits&Elementwise != 0 && op != OpCast && op != OpChain
}

var chainInfo = OpInfo{
	Name: "chain",
	Doc: "chain(x… f32) {steps}: elementwise ops one after the other. Step i is op(args), named y0, y1, …, on operands x0, x1, … and earlier steps. " +
		"The first operand of each step has the shape of x0, and the second is repeated to it. Result: the last step, f32 of the shape of x0, dense. " +
		"At most 8 operands and 16 steps; each of them is read.",
	Args:    []Arg{{Name: "x", Kinds: Float, Variadic: true}},
	Attr:    ChainAttr{},
	Traits:  Pure | Elementwise,
	InPlace: []int{0, 1, 2, 3, 4, 5, 6, 7},
	Infer:   inferChain,
	Cost:    chainCost,
	Axes:    elementwiseAxes,
	Cases:   chainCases,
	Tol:     Tolerance{NMSE: 1e-11, MaxAbs: 1e-5, Why: "that of a few steps: f32 roundings and polynomials"},
}

func inferChain(n *Node) (Type, error) {
	if len(n.Args) > MaxChainOperands {
		return Type{}, fmt.Errorf("takes at most %d operands, not %d", MaxChainOperands, len(n.Args))
	}
	if err := cmp.Or(needDType(n, slices.Repeat([]dtype.DType{dtype.F32}, len(n.Args))...), needPlain(n, 0), checkChain(n)); err != nil {
		return Type{}, err
	}
	return denseF32(n.Args[0].Type.Shape), checkChainShapes(n)
}

// checkChainShapes checks that the steps are of one shape: their first operands have it, and the others can be repeated
// to it.
func checkChainShapes(n *Node) error {
	shape := n.Args[0].Type.Shape
	for i, a := range n.Args {
		if !broadcastsTo(a.Type.Shape, shape) {
			return argErr(n, i, "cannot be repeated to the shape %s of the first operand", dimsText(shape))
		}
	}
	for i, s := range attrOf[ChainAttr](n).Steps {
		if r := s.Args[0]; !r.Step && !EqualDims(n.Args[r.Index].Type.Shape, shape) {
			return argErr(n, r.Index, "needs the shape %s of the first operand to be the first one of step y%d", dimsText(shape), i)
		}
	}
	return nil
}

// checkChain checks the steps: each is complete and refers to what is before it, and nothing is computed or passed in
// vain.
func checkChain(n *Node) error {
	steps := attrOf[ChainAttr](n).Steps
	if len(steps) < 1 || len(steps) > MaxChainSteps {
		return fmt.Errorf("has %d steps: it must have 1 to %d", len(steps), MaxChainSteps)
	}
	read := make(map[ChainRef]bool)
	for i, s := range steps {
		if err := s.check(i, len(n.Args)); err != nil {
			return fmt.Errorf("step y%d: %w", i, err)
		}
		for _, r := range s.Args {
			read[r] = true
		}
	}
	for i := range n.Args {
		if r := (ChainRef{Index: i}); !read[r] {
			return fmt.Errorf("no step reads %v", r)
		}
	}
	for i := range steps[:len(steps)-1] {
		if r := (ChainRef{Step: true, Index: i}); !read[r] {
			return fmt.Errorf("no step reads %v", r)
		}
	}
	return nil
}

// check checks the step with number i of a chain with that many operands.
func (s *ChainStep) check(i, operands int) error {
	if !InChain(s.Op) {
		return fmt.Errorf("%v is no elementwise op on f32", s.Op)
	}
	if got, want := len(s.Args), len(s.Op.Info().Args); got != want {
		return fmt.Errorf("%v takes %s, not %d", s.Op, count(want, "operand"), got)
	}
	for _, r := range s.Args {
		limit := operands
		if r.Step {
			limit = i
		}
		if r.Index < 0 || r.Index >= limit {
			return fmt.Errorf("%v does not exist here", r)
		}
	}
	return checkAttr(&Node{Op: s.Op, Attr: s.Attr})
}

// chainCost is the work of all steps. Memory is read and written once.
func chainCost(n *Node) Cost {
	c := moved(n)
	for _, s := range attrOf[ChainAttr](n).Steps {
		one := s.Op.Info().Cost(&Node{Op: s.Op, Attr: s.Attr, Results: n.Results})
		c.FLOPs = c.FLOPs.Add(one.FLOPs)
	}
	return c
}

func chainCases(yield func(Case) bool) {
	t := Sym(symTokens)
	gated := &ChainAttr{Steps: []ChainStep{
		{Op: OpMul, Args: []ChainRef{{Index: 0}, {Index: 1}}},
		{Op: OpScale, Attr: &ScaleAttr{Scale: 0.125, Bias: -1}, Args: []ChainRef{{Step: true, Index: 0}}},
		{Op: OpSiLU, Args: []ChainRef{{Step: true, Index: 1}}},
		{Op: OpSub, Args: []ChainRef{{Step: true, Index: 2}, {Index: 2}}},
		{Op: OpMax, Args: []ChainRef{{Step: true, Index: 3}, {Step: true, Index: 0}}}, // a value that two steps read
	}}
	one := &ChainAttr{Steps: []ChainStep{{Op: OpTanh, Args: []ChainRef{{Index: 0}}}}}
	twice := &ChainAttr{Steps: []ChainStep{
		{Op: OpSquare, Args: []ChainRef{{Index: 0}}},
		{Op: OpAdd, Args: []ChainRef{{Step: true}, {Step: true}}},
	}}
	each(yield,
		Case{Name: "rows", Args: args(f32(3, 65), f32(3, 65), f32(3, 65)), Attr: gated},
		Case{Name: "symbolic", Args: args(f32d(t, Const(48)), f32(48), f32d(t, Const(1))), Attr: gated, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 32).view(), f32(4, 32).view(), f32()), Attr: gated},
		Case{Name: "one step", Args: args(f32(7)), Attr: one},
		Case{Name: "scalar", Args: args(f32()), Attr: twice},
	)
}

package compare

import (
	"context"
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// operand is operand i of a node of the graph as it was imported.
type operand struct {
	n *ir.Node
	i int
}

// roundings returns the operands of f, a function as it was imported, that a program reads rounded, with the dtype that
// they have then: activations of products, and the queries, keys and values of attention in bf16.
func (x *stepOf) roundings(f *ir.Func) map[operand]dtype.DType {
	rounded := make(map[operand]dtype.DType)
	for _, n := range f.Nodes {
		c := x.compiled(n)
		switch {
		case c == nil:
		case isProduct(n.Op) && isProduct(c.Op):
			if d := c.Args[0].Type.DType; d.IsActivation() || d == dtype.BF16 {
				rounded[operand{n, 0}] = d
				x.covered[c.Args[0]] = true
			}
		case n.Op == ir.OpAttention && inBF16(c):
			for i := range 3 {
				rounded[operand{n, i}] = dtype.BF16
			}
		}
	}
	return rounded
}

// isProduct reports whether the first operand of an op are the activations of a product.
func isProduct(op ir.Op) bool {
	return op == ir.OpMatMul || op == ir.OpMatMulSwiGLU || op == ir.OpExpertsMatMul
}

// inBF16 reports whether c is attention that may round what it multiplies to bf16.
func inBF16(c *ir.Node) bool {
	switch a := c.Attr.(type) {
	case *ir.AttentionAttr:
		return a.BF16
	case *ir.AttentionSegmentsAttr:
		return a.BF16
	}
	return c.Op == ir.OpAttentionCombine && c.Args[0].Def != nil && inBF16(c.Args[0].Def)
}

// compiled returns the node of the program that computes n, alone or with others; nil if there is none. In a group it
// is that of a device.
func (x *stepOf) compiled(n *ir.Node) *ir.Node {
	if n.Result() == nil {
		return nil
	}
	names := []string{n.Result().Name()}
	for _, p := range x.f.PartsOf(names[0]) {
		names = append(names, p.Names...)
	}
	for _, name := range names {
		if c := find(x.f.Nodes, name); c != nil && (isProduct(c.Op) || c.Op == ir.OpAttention || c.Op == ir.OpAttentionCombine) {
			return c
		}
		if c := fusedInto(x.f, name); c != nil {
			return c
		}
	}
	return nil
}

// rounds are the values of a step by the definition, and the noise that the roundings of the program make.
type rounds struct {
	meant
	noise map[string]noise
}

// noise is the difference that roundings make to a value.
type noise struct {
	nmse    float64
	spread  float64 // how many elements have it: (Σd²)²/Σd⁴ of the differences d
	largest float64 // difference
	mean    float64 // of the squares of the exact value
}

// bothWays computes a step by the definition, and by the definition with the roundings of the program.
func bothWays(ctx context.Context, x *stepOf, def, like *definition) (side, error) {
	exact, err := def.step(ctx, x.s)
	if err != nil {
		return nil, err
	}
	f := def.m.Func(x.s.Func)
	like.rounded = x.roundings(f)
	values, err := like.step(ctx, x.s)
	if err != nil {
		return nil, err
	}
	r := rounds{exact, make(map[string]noise)}
	for _, n := range f.Nodes {
		if err := r.measure(n, values, like.rounded); err != nil {
			return nil, fmt.Errorf("%v: %w", n, err)
		}
	}
	return r, nil
}

// fewElements is the spread below which a value is too small a sample of noise: with as many elements, the standard
// deviation of an NMSE is 18 % of it.
const fewElements = 64

// measure sets the noise of the results of n. That of few elements is at least that of the operands as n reads them.
func (r *rounds) measure(n *ir.Node, values map[string]eval.Tensor, rounded map[operand]dtype.DType) error {
	for _, result := range n.Results {
		name := result.Name()
		made := noiseOf(values[name], r.meant[name])
		for i, a := range n.Args {
			if a == nil || a.Def == nil || made.spread >= fewElements {
				continue
			}
			made.nmse = max(made.nmse, r.noise[a.Name()].nmse)
			if to, ok := rounded[operand{n, i}]; ok {
				read, err := eval.Round(to, values[a.Name()])
				if err != nil {
					return err
				}
				made.nmse = max(made.nmse, noiseOf(read, r.meant[a.Name()]).nmse)
			}
		}
		r.noise[name] = made
	}
	return nil
}

// noiseOf returns the noise of x.
func noiseOf(x, exact eval.Tensor) noise {
	a, b := x.Flat(), exact.Flat()
	var squares, fourths, norm, largest float64
	for i := range a {
		d := (a[i] - b[i]) * (a[i] - b[i])
		squares, fourths, norm, largest = squares+d, fourths+d*d, norm+b[i]*b[i], max(largest, d)
	}
	if !(squares > 0 && norm > 0 && fourths > 0) {
		return noise{}
	}
	return noise{squares / norm, squares * squares / fourths, math.Sqrt(largest), norm / float64(len(b))}
}

// tolerance returns what the roundings may do to a value. The program rounds what the definition with its roundings
// does, but not always alike: an error of f32 can move a number to the next step, and what follows then rounds other
// numbers. So the root of the NMSE may be twice that of the noise, and more if few elements have the noise, as it varies
// more then.
func (r rounds) tolerance(name string) float64 {
	n := r.noise[name]
	return n.factor() * n.factor() * n.nmse
}

func (n noise) factor() float64 { return 2 * (1 + 4/math.Sqrt(max(1, n.spread))) }

// limit allows an element the largest noise of any, times the same factor, and an error of f32. A wrong block of a large
// weight changes one column, by much more than the noise, but hardly the NMSE. Few elements are no sample of the largest.
func (r rounds) limit(name string, other float64) float64 {
	n := r.noise[name]
	if n.spread < fewElements {
		return 0
	}
	const deviations = 10 // of errors of f32, whose sizes have a narrow distribution
	return n.factor()*n.largest + deviations*math.Sqrt(other*n.mean)
}

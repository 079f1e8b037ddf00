package eval

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

func unary(f func(float64) float64) evalFunc {
	return one(func(c *call) (Tensor, error) { return c.args[0].mapped(f), nil })
}

func binary(f func(a, b float64) float64) evalFunc {
	return one(func(c *call) (Tensor, error) { return zip(c.args[0].Tensor, c.args[1].Tensor, f) })
}

// zip applies f to each element of a and of b, which is broadcast to the shape of a.
func zip(a, b Tensor, f func(a, b float64) float64) (Tensor, error) {
	b, err := b.Broadcast(a.Shape...)
	if err != nil {
		return Tensor{}, err
	}
	x, y := a.Flat(), b.Flat()
	out := make([]float64, len(x))
	for i := range out {
		out[i] = f(x[i], y[i])
	}
	return Of(out, a.Shape...), nil
}

func sigmoid(x float64) float64   { return 1 / (1 + math.Exp(-x)) }
func silu(x float64) float64      { return x / (1 + math.Exp(-x)) }
func swiglu(g, u float64) float64 { return silu(g) * u }

// gelu is the approximation with tanh.
func gelu(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func scale(c *call) (Tensor, error) {
	a := attr[ir.ScaleAttr](c)
	return c.args[0].mapped(func(x float64) float64 { return float64(a.Scale)*x + float64(a.Bias) }), nil
}

func clamp(c *call) (Tensor, error) {
	a := attr[ir.ClampAttr](c)
	return c.args[0].mapped(func(x float64) float64 { return min(max(x, float64(a.Lo)), float64(a.Hi)) }), nil
}

// chain runs the functions of the steps, one after the other.
func chain(c *call) (Tensor, error) {
	var y []value
	for _, s := range attr[ir.ChainAttr](c).Steps {
		step := &call{frame: c.frame, node: &ir.Node{Op: s.Op, Attr: s.Attr}}
		for _, r := range s.Args {
			from := c.args
			if r.Step {
				from = y
			}
			step.args = append(step.args, from[r.Index])
		}
		results, err := table[s.Op](step)
		if err != nil {
			return Tensor{}, err
		}
		y = append(y, results[0])
	}
	return y[len(y)-1].Tensor, nil
}

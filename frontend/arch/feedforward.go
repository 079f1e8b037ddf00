package arch

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// activation is an elementwise function between the matrices of a feed-forward part.
type activation func(f *ir.FuncBuilder, x *ir.Value) *ir.Value

var (
	silu activation = (*ir.FuncBuilder).SiLU
	gelu activation = (*ir.FuncBuilder).GELU
)

var negativeInfinity = float32(math.Inf(-1))

// reluSquared is the square of what is above zero.
func reluSquared(f *ir.FuncBuilder, x *ir.Value) *ir.Value { return f.Square(f.ReLU(x)) }

// gated is down·(act(gate·x) * up·x).
type gated struct {
	act    activation
	size   int64
	bias   presence
	suffix string // of the names of its tensors
}

func (p gated) apply(g *graph, x *ir.Value) *ir.Value {
	gate := p.act(g.f, g.linear(x, "ffn_gate"+p.suffix, p.size, g.embd, p.bias))
	up := g.linear(x, "ffn_up"+p.suffix, p.size, g.embd, p.bias)
	y := g.linear(g.f.Mul(gate, up), "ffn_down"+p.suffix, g.embd, p.size, p.bias)
	g.divideInner("ffn"+p.suffix, p.size, []string{"ffn_gate" + p.suffix, "ffn_up" + p.suffix}, 1, "ffn_down"+p.suffix)
	return y
}

// gatedInOne is gated with one matrix ffn_up: rows of gate, then of up.
type gatedInOne struct {
	act  activation
	size int64
	bias presence
}

func (p gatedInOne) apply(g *graph, x *ir.Value) *ir.Value {
	y := g.linear(x, "ffn_up", 2*p.size, g.embd, p.bias)
	half := func(first int64) *ir.Value { return g.f.Slice(y, 1, ir.Const(first), ir.Const(p.size)) }
	down := g.linear(g.f.Mul(p.act(g.f, half(0)), half(p.size)), "ffn_down", g.embd, p.size, p.bias)
	g.divideInner("ffn", p.size, []string{"ffn_up"}, 2, "ffn_down")
	return down
}

// plain is down·act(up·x).
type plain struct {
	act  activation
	size int64
	bias presence
}

func (p plain) apply(g *graph, x *ir.Value) *ir.Value {
	h := p.act(g.f, g.linear(x, "ffn_up", p.size, g.embd, p.bias))
	y := g.linear(h, "ffn_down", g.embd, p.size, p.bias)
	g.divideInner("ffn", p.size, []string{"ffn_up"}, 1, "ffn_down")
	return y
}

// product is the product with one matrix.
type product struct {
	name       string
	rows, cols int64
}

func (p product) apply(g *graph, x *ir.Value) *ir.Value {
	return g.linear(x, p.name, p.rows, p.cols, absent)
}

// feedForward returns the width of feed-forward parts.
func (m *model) feedForward() int64 { return m.count("feed_forward_length", 1, maxWidth) }

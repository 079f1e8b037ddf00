package irtest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// Program is a random module with the tensors of its weights and a sequence of calls, each of which
// uses the states that the previous ones have written.
type Program struct {
	Module  *ir.Module
	Tensors map[string]eval.Tensor // of the source, by name
	Calls   []ProgramCall
}

// ProgramCall is one call of an entry point.
type ProgramCall struct {
	Func   string
	Inputs map[string]eval.Tensor
}

// Run calls m, which is the program's module or the result of passes on it, and returns the results of
// each call.
func (p *Program) Run(ctx context.Context, m *ir.Module) ([][]eval.Tensor, error) {
	weights, err := Weights(m, p.Tensors)
	if err != nil {
		return nil, err
	}
	env := &eval.Env{Weights: weights}
	var all [][]eval.Tensor
	for i, c := range p.Calls {
		env.Inputs = c.Inputs
		results, err := eval.Run(ctx, m, c.Func, env)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		all = append(all, results)
	}
	return all, nil
}

// SameResults compares results of Run with the expected ones.
func (p *Program) SameResults(got, want [][]eval.Tensor, tol ir.Tolerance) error {
	for i, c := range p.Calls {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("call %d of @%s: %d results, want %d", i, c.Func, len(got[i]), len(want[i]))
		}
		for j := range want[i] {
			if err := Compare(got[i][j], want[i][j], tol); err != nil {
				return fmt.Errorf("call %d of @%s: result %d: %w", i, c.Func, j, err)
			}
		}
	}
	return nil
}

// Bounds of random programs. A state has more positions than all calls write.
const (
	maxTokens  = 6
	stateSlots = 32
	vocabulary = 24
)

// Random returns a well-typed module with several functions that share weights and states: @prefill
// over a symbolic number of tokens, @decode over one, and @inner, which @prefill may call. Each is a
// chain of that many random moves. Numbers stay moderate for all sequences of moves. Equal arguments
// give equal programs. An error is a bug of this package or of the shape rules.
func Random(seed uint64, moves int) (*Program, error) {
	p := &Program{Tensors: make(map[string]eval.Tensor)}
	b := ir.NewBuilder(fmt.Sprintf("random%d", seed))
	b.Source("m", "random.gguf", 0)
	tokens := b.Symbol("tokens", 1, maxTokens)
	rng := rand.New(rand.NewPCG(seed, 0))

	inner := &generator{rng: rng, p: p, b: b, rows: tokens}
	inner.function("inner", moves/3)
	prefill := &generator{rng: rng, p: p, b: b, rows: tokens, hasState: true, inner: inner}
	prefill.function("prefill", moves)
	decode := &generator{rng: rng, p: p, b: b, rows: ir.Const(1), hasState: true}
	decode.function("decode", moves)

	m, err := b.Finish()
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", seed, err)
	}
	p.Module = m
	p.addCalls(rng)
	return p, nil
}

// addCalls adds two calls of @prefill with different lengths, two of @decode, and one of @inner.
func (p *Program) addCalls(rng *rand.Rand) {
	pos := 0
	for _, c := range []struct {
		fn     string
		tokens int
	}{{"prefill", 1 + rng.IntN(maxTokens)}, {"decode", 1}, {"prefill", 1 + rng.IntN(maxTokens)}, {"decode", 1}, {"inner", maxTokens}} {
		inputs := make(map[string]eval.Tensor)
		for _, v := range p.Module.Func(c.fn).Params {
			inputs[v.Name()] = inputFor(rng, v, c.tokens, pos)
		}
		p.Calls = append(p.Calls, ProgramCall{c.fn, inputs})
		if c.fn != "inner" {
			pos += c.tokens
		}
	}
}

// inputFor returns an input for a parameter, which depends on its name. Positions continue at pos.
func inputFor(rng *rand.Rand, v *ir.Value, tokens, pos int) eval.Tensor {
	shape := make([]int, v.Type.Rank())
	for i, d := range v.Type.Shape {
		shape[i] = int(d.Eval(func(*ir.Symbol) int64 { return int64(tokens) }))
	}
	t := eval.New(shape...)
	for i := range t.Data {
		switch v.Name() {
		case "ids":
			t.Data[i] = float64(rng.IntN(vocabulary))
		case "pos":
			t.Data[i] = float64(pos + i)
		case "slot":
		case "lengths":
			t.Data[i] = float64(pos + tokens)
		default:
			t.Data[i] = float64(float32(rng.NormFloat64()))
		}
	}
	return t
}

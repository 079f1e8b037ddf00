package gputest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/opcase"
)

// Prompt is a product of the tokens of a prompt with the matrices of experts.
type Prompt struct {
	Name                    string
	Tokens, Experts, Chosen int64
	Rows, K                 int64 // of an expert's matrix
	Format                  dtype.DType
	Each                    bool // x has a row for each choice, not one for each token

	// Choose returns the expert that a token chooses at a place.
	Choose func(token, place int) int
}

// Prompts have few and many tokens and experts, and choices that are hard: all of one expert, which makes several tiles,
// experts that no token chose, ids that a token has more than once, tiles that are full, and full but for one row.
func Prompts() []Prompt {
	random := func(experts int) func(token, place int) int {
		return func(token, place int) int { return rand.New(rand.NewPCG(uint64(token), uint64(place))).IntN(experts) }
	}
	distinct := func(experts int) func(token, place int) int { // as a router chooses: no expert twice
		return func(token, place int) int { return (token*token*5 + token + 3*place) % experts }
	}
	always := func(e int) func(token, place int) int { return func(int, int) int { return e } }
	return []Prompt{
		{"two tokens", 2, 8, 2, 33, 32, dtype.F32, false, distinct(8)},
		{"one for all", 150, 5, 1, 40, 64, dtype.Q8_0, false, always(3)},
		{"the last for all", 33, 2, 2, 65, 40, dtype.F16, true, always(1)},
		{"some are not chosen", 70, 6, 2, 33, 64, dtype.Q4_0, false, func(token, place int) int { return 1 + (token+place)%2*3 }},
		{"one token chose another", 66, 3, 1, 7, 32, dtype.BF16, false, func(token, _ int) int { return token / 65 * 2 }},
		{"full tiles", 128, 2, 1, 64, 32, dtype.F16, false, func(token, _ int) int { return token % 2 }},
		{"half tiles", 64, 2, 1, 64, 32, dtype.Q4_1, false, func(token, _ int) int { return token % 2 }},
		{"half tiles and a row", 33, 1, 1, 64, 32, dtype.Q5_1, false, always(0)},
		{"often the same", 40, 8, 8, 17, 32, dtype.Q5_0, true, func(token, place int) int { return (token + place/3) % 8 }},
		{"few of many", 65, 128, 8, 9, 32, dtype.IQ4_NL, false, func(token, place int) int { return (token + place) % 9 * 14 }},
		{"a long prompt", 512, 8, 2, 5, 32, dtype.MXFP4, true, random(8)},
		{"long rows", 20, 2, 2, 66, 512, dtype.Q4_K, false, random(2)},
		{"odd rows", 25, 4, 2, 35, 40, dtype.BF16, true, random(4)},
		{"unaligned rows", 9, 2, 1, 5, 33, dtype.F32, false, random(2)},
	}
}

// Case returns the product. The number of tokens is a symbol, of which it may be the greatest value.
func (p Prompt) Case() Case {
	tokens, rows := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 512}), int64(1)
	if p.Each {
		rows = p.Chosen
	}
	w := operand(p.Format, ir.Dims(p.Experts, p.Rows, p.K)...)
	w.Weight = true
	if dtype.Planar.Holds(p.Format) {
		w.Type.Layout = dtype.Planar
	}
	args := []ir.CaseArg{f32(tokens, ir.Const(rows), ir.Const(p.K)), w, whole(0, p.Experts, tokens, ir.Const(p.Chosen))}
	return Case{Op: ir.OpExpertsMatMul, Name: "experts_matmul/" + p.Name, Case: ir.Case{Args: args, Sizes: map[string]int64{"tokens": p.Tokens}}}
}

// Call returns the product with operands and the choices of its tokens.
func (p Prompt) Call() (*opcase.Call, error) {
	c := p.Case()
	call, err := opcase.Case(c.Op, c.Case, 1)
	if err != nil {
		return nil, err
	}
	found := false
	for _, x := range call.Env.Inputs {
		if len(x.Shape) != 2 || found {
			continue
		}
		found = true
		for i := range x.Data {
			x.Data[i] = float64(p.Choose(i/int(p.Chosen), i%int(p.Chosen)))
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: no operand has the choices", c.Name)
	}
	return call, nil
}

func expertsChecks() (list []Check) {
	for _, p := range Prompts() {
		c := p.Case()
		list = append(list, Check{c.Name, func(ctx context.Context, on Machine) error {
			call, err := p.Call()
			if err != nil {
				return err
			}
			return Compare(ctx, call, on, 3, Tolerance(c, on.Assumes()))
		}})
	}
	return list
}

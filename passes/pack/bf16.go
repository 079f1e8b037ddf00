package pack

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// roundWeights rounds weights of f16 to bf16 if --allow-bf16 is set: the matrices of products whose backend multiplies
// bf16 by bf16, which processors do at twice the rate of f32. Each weight loses three bits of its mantissa. A gather
// may read such a matrix too. A matrix that another op reads is not rounded.
//
// Processors without such instructions convert both operands of a product of bf16, but only the weights of a product of
// f16, so rounding gains little. A program that is limited to such processors keeps its weights.
//
// Matrices that one node reads are rounded together or not at all, so a refusal spreads:
//
//	%a = matmul_swiglu %x, %w1, %w2    would round both
//	%b = gather %w2, %i                does not mind
//	%c = neg %w1                       refuses %w1, so %w2 is not rounded either
func roundWeights(c *pass.Context, m *ir.Module) {
	if !c.Options.AllowBF16 || !c.Enabled(pass.RulePackBF16) || !multipliesBF16(c.Options.CPU) {
		return
	}
	r := findRoundable(c, m)
	for _, w := range m.Weights {
		if r.all[w.Name] {
			w.Type.DType = dtype.BF16
			if w.Expr != nil {
				w.Expr = ir.Quantize(w.Expr, dtype.BF16.String())
			}
			c.Count("bf16-weights", 1)
			c.Count("bf16-bytes", w.Type.MaxBytes())
		}
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight && r.all[WeightName(n)] {
				n.Result().Type.DType = dtype.BF16
				c.CauseChange(n, pass.RulePackBF16, dtype.F16.String(), dtype.BF16.String(), "--allow-bf16")
			}
		}
	}
}

// multipliesBF16 reports whether one of the implementations has instructions that multiply bf16. No names mean all.
func multipliesBF16(implementations []string) bool {
	return len(implementations) == 0 || slices.ContainsFunc(implementations, func(name string) bool { return slices.Contains(target.BF16CPUs(), name) })
}

// WeightName returns the name of the weight that a leaf names.
func WeightName(leaf *ir.Node) string { return leaf.Attr.(*ir.WeightAttr).Name }

// roundable are the weights that can be rounded.
type roundable struct {
	all      map[string]bool // by name
	together [][]string      // the matrices that one node reads, for each node
}

// findRoundable returns the weights that can be rounded. It collects the wishes of their readers, then spreads refusals
// until nothing changes.
func findRoundable(c *pass.Context, m *ir.Module) *roundable {
	r := &roundable{all: make(map[string]bool)}
	refused := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			r.reader(c, n, refused)
		}
		for _, v := range f.Results {
			if isF16Weight(v) {
				refused[WeightName(v.Def)] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, names := range r.together {
			some := slices.ContainsFunc(names, func(name string) bool { return refused[name] })
			for _, name := range names {
				changed = changed || some && !refused[name]
				refused[name] = refused[name] || some
			}
		}
	}
	for name := range refused {
		if refused[name] {
			delete(r.all, name)
		}
	}
	return r
}

// reader adds the weights that n reads. Products want bf16, gathers accept it, all other nodes refuse it.
func (r *roundable) reader(c *pass.Context, n *ir.Node, refused map[string]bool) {
	var names []string
	for _, v := range n.Args {
		if isF16Weight(v) {
			names = append(names, WeightName(v.Def))
		}
	}
	if len(names) == 0 {
		return
	}
	r.together = append(r.together, names)
	for _, name := range names {
		switch {
		case !readsBF16(c, n):
			refused[name] = true
		case n.Op != ir.OpGather:
			r.all[name] = true
		}
	}
}

// isF16Weight reports whether v is a weight of f16 in its plain form.
func isF16Weight(v *ir.Value) bool {
	return v != nil && v.Def != nil && v.Def.Op == ir.OpWeight && v.Type.DType == dtype.F16 && v.Type.Layout == dtype.Plain
}

// readsBF16 reports whether the backend of n would run it with weights of bf16, and with activations of bf16 if it is a
// product.
func readsBF16(c *pass.Context, n *ir.Node) bool {
	t := c.Target(n)
	if t == nil {
		return false
	}
	switch n.Op {
	case ir.OpGather:
	case ir.OpMatMul, ir.OpMatMulSwiGLU, ir.OpExpertsMatMul:
		if t.ActFormat(n.Op, dtype.BF16) != dtype.BF16 {
			return false
		}
	default:
		return false
	}
	trial := *n
	trial.Args = slices.Clone(n.Args)
	for i, v := range n.Args {
		if isF16Weight(v) {
			rounded := *v
			rounded.Type.DType = dtype.BF16
			trial.Args[i] = &rounded
		}
	}
	row, _ := t.Kernel(&trial)
	return row != nil
}

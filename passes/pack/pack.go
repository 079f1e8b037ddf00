// Package pack holds the pass pack, which brings every operand into the format that the chosen kernel reads:
// weights and keys into panels or planes, activations through a quantize node that all readers share.
package pack

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/simplify"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass brings every operand into the format that the kernel of its backend reads.
//
// Before: every node has a backend that runs it. After: each operand has the dtype, layout and density that the kernel
// reads. Results of functions are dense and have bytes of their own.
//
//   - Weights, and the states that attention multiplies with, have a layout for all their readers.
//   - Activations are quantized, or rounded to bf16 for matrices of bf16, by one node for all readers on a backend.
//   - Strided operands are copied if the kernel reads dense ones only.
//
// Not earlier: the format is that of the chosen kernel. Not later: the nodes it adds need a split, and copies move
// packed sizes.
//
// Cost: two walks, O(operands * rows of a target for the op).
//
// A weight gets the first layout that all its readers read (weights.go), or the cheapest of several (choice.go,
// cost.go). If there is none, a reader that cannot read it gets a second form of the weight, which takes memory.
//
//	%w = weight "q" : q4_0[64,32]     now q4_0 in panels
//	%x.q = quantize %x                added, for both products
//	%a = matmul %x, %w                reads %x.q
//	%b = matmul %x, %u                reads %x.q
var Pass = pass.Pass{
	Name:     "pack",
	Doc:      "bring operands into the formats that the chosen kernels read",
	Run:      pack,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned,
	Gives:    ir.PropPacked,
	Breaks:   pass.FromPacked,
	Rules: []pass.Rule{
		{Name: pass.RulePackBF16, Doc: "a weight of f16 is rounded to bf16: --allow-bf16 allows it, and all its products are faster"},
		{Name: pass.RulePackLayout, Doc: "the layout that the kernels of all readers read"},
		{Name: pass.RulePackCost, Doc: "kernels read several layouts: the cheapest for an item of a step is taken, if it is cheaper by a margin; a second form is made on measurements alone"},
		{Name: pass.RulePackState, Doc: "the layout for which all nodes that read or write the state have kernels: keys are multiplied in place"},
		{Name: pass.RulePackSecond, Doc: "no layout suits all readers of the weight: this reader gets a form of its own"},
		{Name: pass.RulePackAct, Doc: "the kernel reads activations that are quantized or rounded to bf16; all readers on the backend share them"},
		{Name: pass.RulePackDense, Doc: "the kernel does not read strided operands"},
		{Name: pass.RulePackNode, Doc: "the operand is not a weight: it is laid out in every step"},
		{Name: pass.RulePackResult, Doc: "a result of a function has dense bytes of its own"},
	},
}

func pack(c *pass.Context, m *ir.Module) error {
	roundWeights(c, m)
	second := layOutWeights(c, m)
	layOutStates(c, m)
	var errs []error
	for _, f := range m.AllFuncs() {
		p := &packer{c: c, e: rewrite.NewEdit(c, f), made: make(map[madeKey]*ir.Value), second: second}
		p.run(f)
		errs = append(errs, p.errs...)
	}
	return errors.Join(errs...)
}

// packer rebuilds one function.
type packer struct {
	c      *pass.Context
	e      *rewrite.Edit
	made   map[madeKey]*ir.Value // forms of values that nodes share
	second *secondForms
	errs   []error
}

// madeKey names a form of a value that nodes of a backend share.
type madeKey struct {
	v       *ir.Value
	backend string
	op      ir.Op
	to      dtype.DType
	layout  dtype.Layout
}

func (p *packer) run(f *ir.Func) {
	for _, n := range f.Nodes {
		p.e.Update(n)
		p.operands(n)
		p.e.Keep(n)
	}
	p.e.Done()
	p.results(f)
	f.Nodes = p.e.Out
}

// operands replaces the operands of n that its kernel does not read.
func (p *packer) operands(n *ir.Node) {
	t := p.c.Target(n)
	if t == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
		return
	}
	row, why := t.Kernel(n)
	if row == nil {
		p.errs = append(p.errs, p.misplaced(n, t, why))
		return
	}
	changed := false
	for i, a := range n.Args {
		if l, ok := p.second.wants(n, i); ok {
			n.Args[i], changed = p.secondForm(n, a, l), true
		} else if a != nil && i < len(row.Args) && !row.Args[i].Holds(a.Type) {
			n.Args[i], changed = p.form(n, a, row.Args[i]), true
		}
	}
	changed = p.alike(n) || changed
	if changed && !t.Reads(n) {
		panic(fmt.Sprintf("passes: internal error: %v: %s does not read what pack made for it", n, t.Name))
	}
}

// misplaced returns the error for a node that its target does not run. That happens if a module names backends itself,
// or if unfuse did not run.
func (p *packer) misplaced(n *ir.Node, t *target.Descriptor, why string) error {
	if simplify.IsFused(n) && !p.c.Ran(simplify.Unfuse.Name) {
		return fmt.Errorf("@%s %v: %s: pass %s, which has to run before %s, lowers it", n.Func.Name, n, why, simplify.Unfuse.Name, p.c.Pass.Name)
	}
	return fmt.Errorf("@%s %v: it is on %s, which does not run it: %s: put it on another target, or compile it again from before pass assign",
		n.Func.Name, n, t.Name, why)
}

// alike gives the second matrix of a matmul_swiglu the layout of the first, and reports whether it had another one. The
// two may differ if the backend reads any layout, and other readers of the matrices read different ones.
func (p *packer) alike(n *ir.Node) bool {
	if n.Op != ir.OpMatMulSwiGLU {
		return false
	}
	gate, up := n.Args[1], n.Args[2]
	if gate.Type.Layout == up.Type.Layout {
		return false
	}
	n.Args[2] = p.secondForm(n, up, gate.Type.Layout)
	return true
}

// form returns v in the format f, for the reader n.
func (p *packer) form(n *ir.Node, v *ir.Value, f target.Format) *ir.Value {
	dt, layout := f.Want(v)
	if v.Def != nil && v.Def.Op == ir.OpWeight && layout != v.Type.Layout {
		return p.secondForm(n, v, layout)
	}
	switch {
	case dt == v.Type.DType:
	case dt.IsActivation():
		return p.make(n, v, ir.OpQuantize, &ir.QuantizeAttr{To: dt}, pass.RulePackAct, ".q")
	default:
		return p.make(n, v, ir.OpCast, &ir.CastAttr{To: dt}, pass.RulePackAct, "."+dt.String())
	}
	if layout != v.Type.Layout {
		return p.make(n, v, ir.OpPack, &ir.PackAttr{To: layout}, pass.RulePackNode, "."+layout.String())
	}
	return p.make(n, v, ir.OpCopy, nil, pass.RulePackDense, ".dense")
}

// make returns v in another form, for the reader n: the result of the node that was made for another reader on the same
// backend, or of a new one.
func (p *packer) make(n *ir.Node, v *ir.Value, op ir.Op, attr any, rule pass.RuleName, suffix string) *ir.Value {
	key := madeKey{v: v, backend: n.Backend, op: op}
	switch a := attr.(type) {
	case *ir.PackAttr:
		key.layout = a.To
	case *ir.CastAttr:
		key.to = a.To
	case *ir.QuantizeAttr:
		key.to = a.To
	}
	if made := p.made[key]; made != nil {
		return made
	}
	made := p.add(n, op, attr, v.Name()+suffix, v)
	p.c.Cause(made, rule, v.String(), n.String())
	p.c.Count(string(rule), 1)
	p.made[key] = made.Result()
	return made.Result()
}

// add adds a node that converts v for n. If the conversion does not read v as it is, v is converted for it first.
func (p *packer) add(n *ir.Node, op ir.Op, attr any, name string, v *ir.Value) *ir.Node {
	trial := &ir.Node{Op: op, Attr: attr, Args: []*ir.Value{v}, Func: n.Func, Backend: n.Backend}
	row, why := p.c.Target(n).Kernel(trial)
	if row == nil {
		panic(fmt.Sprintf("passes: internal error: %v needs %v of %v: %s", n, op, v, why))
	}
	if len(row.Args) > 0 && !row.Args[0].Holds(v.Type) && op != ir.OpCopy {
		v = p.form(n, v, row.Args[0])
	}
	return p.e.Add(n, op, attr, name, v)
}

// secondForm returns a leaf for the form of a weight in another layout. A function has one leaf for each form.
func (p *packer) secondForm(n *ir.Node, v *ir.Value, layout dtype.Layout) *ir.Value {
	key := madeKey{v: v, op: ir.OpWeight, layout: layout}
	if made := p.made[key]; made != nil {
		return made
	}
	w := p.second.get(p.c, v.Def.Attr.(*ir.WeightAttr).Name, layout)
	leaf := p.e.Add(nil, ir.OpWeight, &ir.WeightAttr{Name: w.Name}, w.Name)
	leaf.Result().Type.Space = w.Type.Space
	p.c.Cause(leaf, pass.RulePackSecond, v.String(), n.String())
	p.made[key] = leaf.Result()
	return leaf.Result()
}

// results copies the results of an entry point that are strided or do not have bytes of their own.
func (p *packer) results(f *ir.Func) {
	if f.Owner != nil {
		return
	}
	for i, r := range f.Results {
		if !p.shared(f, i) && target.IsDense(r.Type) {
			continue
		}
		n := f.NewNode(ir.OpCopy, nil, []*ir.Value{r}, r.Name()+".out", r.Type.WithShape(r.Type.Shape...))
		last := p.c.Targets.Last()
		if row, why := last.Kernel(n); row == nil {
			p.errs = append(p.errs, fmt.Errorf("@%s: result %s needs bytes of its own, and nothing copies it: %s: return a value that a node computes", f.Name, f.ResultNames[i], why))
			continue
		}
		n.Backend = last.Name
		n.Result().Type.Space = rewrite.ResultSpace(p.c.Targets, n)
		p.e.Append(n)
		p.c.Cause(n, pass.RulePackResult, r.String())
		f.Results[i] = n.Result()
	}
}

// shared reports whether result i has bytes of a parameter, a leaf or an earlier result, or only a part of the bytes of
// a value.
func (p *packer) shared(f *ir.Func, i int) bool {
	root := f.Results[i].Root()
	return root.IsParam() || root.Def.Is(ir.Leaf) || !flow.SameBytes(root, f.Results[i]) ||
		slices.ContainsFunc(f.Results[:i], func(r *ir.Value) bool { return r.Root() == root })
}

package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Fuse joins nodes that some target says it can run as one.
//
// Before: one spelling of views and operands. After: the same, with fused ops; each can be
// run by at least one target, in the formats that pack will make.
//
// Not earlier: the patterns know one spelling. Not later: a backend is asked about the op
// that will run. Where assign chooses a backend that cannot run a fused op, unfuse takes
// it apart again.
//
// Cost: a few walks, O(nodes) each.
//
// A pattern is a tree of ops below its root (fuse_rules.go); what it takes over must have
// no other reader. Products that share an operand are no tree: they are grouped by it.
var Fuse = pass.Pass{
	Name:   "fuse",
	Doc:    "join nodes that some target runs as one",
	Run:    fuse,
	Needs:  ir.PropShaped,
	Breaks: pass.FromAssigned,
	Rules:  append(rewrite.RulesOf(fuseRewrites), pass.Rule{Name: pass.RuleFuseQKV, Doc: "products of one operand become one product with the weights one after the other, then slices"}),
}

func fuse(c *pass.Context, m *ir.Module) error {
	if err := rewrite.Apply(c, m, fuseRewrites); err != nil {
		return err
	}
	if wantsMerged(c) && c.Enabled(pass.RuleFuseQKV) {
		mergeProducts(c, m)
	}
	return nil
}

// someTargetRuns reports whether a target would run op with these operands in place of
// the node n. A nil operand is absent.
func someTargetRuns(c *pass.Context, n *ir.Node, op ir.Op, attr any, args ...*ir.Value) bool {
	trial := &ir.Node{Op: op, Attr: attr, Args: args, Results: n.Results, Func: n.Func}
	for _, t := range c.Targets.All() {
		if ok, _ := t.Supports(trial); ok {
			return true
		}
	}
	return false
}

// wantsMerged reports whether a target asks for one product instead of several.
func wantsMerged(c *pass.Context) bool {
	return slices.ContainsFunc(c.Targets.All(), func(t *target.Descriptor) bool { return t.MergeMatMul })
}

// mergeProducts makes one product of several that read the same operand.
func mergeProducts(c *pass.Context, m *ir.Module) {
	weights := make(map[string]string) // of joined weights, by their parts
	for _, f := range m.AllFuncs() {
		mergeInFunc(c, f, weights)
	}
}

// mergeInFunc finds the groups, then rebuilds the function: the first product of a group
// is followed by one product and slices in place of them all.
func mergeInFunc(c *pass.Context, f *ir.Func, weights map[string]string) {
	groups := productGroups(f)
	if len(groups) == 0 {
		return
	}
	merged := make(map[*ir.Node][]*ir.Node, len(groups)) // by the first of the group
	member := make(map[*ir.Node]bool)
	for _, g := range groups {
		if !c.Allow(pass.RuleFuseQKV, g[0]) {
			continue
		}
		merged[g[0]] = g
		for _, n := range g {
			member[n] = true
		}
	}
	e := rewrite.NewEdit(c, f)
	for _, n := range f.Nodes {
		e.Update(n)
		switch {
		case merged[n] != nil:
			mergeGroup(c, e, merged[n], weights)
		case !member[n]:
			followView(n)
			e.Keep(n)
		}
	}
	e.Done()
}

// followView gives a view the type that follows from what it names now.
func followView(n *ir.Node) {
	if n.Is(ir.View) {
		t := rewrite.Inferred(n)[0]
		t.Space = n.Result().Type.Space
		n.Result().Type = t
	}
}

// productGroups returns the plain products with weights that share their operand and the
// format of their weights, in order; only groups of at least two.
func productGroups(f *ir.Func) [][]*ir.Node {
	type key struct {
		x  *ir.Value
		dt string
	}
	uses := ir.Uses(f)
	index := make(map[key]int)
	var groups [][]*ir.Node
	for _, n := range f.Nodes {
		if n.Op != ir.OpMatMul || rewrite.Present(n) != 2 || n.Args[1].Def == nil || n.Args[1].Def.Op != ir.OpWeight {
			continue
		}
		if !viewsFollow(uses, n.Result(), sliceOfWider(n.Result().Type), 0) {
			continue
		}
		w := n.Args[1].Type
		k := key{n.Args[0], w.DType.String() + w.Layout.String() + w.Space}
		i, known := index[k]
		if !known {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return slices.DeleteFunc(groups, func(g []*ir.Node) bool { return len(g) < 2 })
}

// sliceOfWider returns t as it is when it is a range of columns of a matrix twice as
// wide.
func sliceOfWider(t ir.Type) ir.Type {
	strides := t.DenseStrides()
	for i := range strides[:len(strides)-1] {
		strides[i] = strides[i].Add(strides[i])
	}
	t.Strides = strides
	return t
}

// maxViews is the length of a chain of views up to which viewsFollow looks.
const maxViews = 16

// viewsFollow reports whether all views of v, and views of them, can still be expressed if v is of type t.
func viewsFollow(uses *ir.UseLists, v *ir.Value, t ir.Type, depth int) bool {
	if slices.Contains(v.Func.Results, v) {
		return false
	}
	for _, n := range uses.Of(v) {
		if !n.Is(ir.View) {
			continue
		}
		trial := &ir.Node{Op: n.Op, Attr: n.Attr, Args: []*ir.Value{{Type: t, Func: v.Func}}, Func: v.Func}
		types, err := ir.Infer(trial)
		if err != nil || depth > maxViews || !viewsFollow(uses, n.Result(), types[0], depth+1) {
			return false
		}
	}
	return true
}

// mergeGroup emits the joined weight, its product, and a slice for each part.
func mergeGroup(c *pass.Context, e *rewrite.Edit, group []*ir.Node, weights map[string]string) {
	first := group[0]
	parts := make([]*ir.Weight, len(group))
	for i, n := range group {
		parts[i] = e.F.Module.Weight(n.Args[1].Def.Attr.(*ir.WeightAttr).Name)
	}
	w := joinWeights(e.F.Module, parts, weights)
	leaf := e.Add(first, ir.OpWeight, &ir.WeightAttr{Name: w.Name}, w.Name)
	whole := e.Add(first, ir.OpMatMul, first.Attr, first.Result().Name+".all", e.Now(first.Args[0]), leaf.Result())
	c.Cause(whole, pass.RuleFuseQKV, rewrite.Names(group)...)
	c.Count(string(pass.RuleFuseQKV), 1)
	last := whole.Result().Type.Rank() - 1
	start := ir.Const(0)
	for _, n := range group {
		size := n.Result().Type.Inner()
		part := e.Add(n, ir.OpSlice, &ir.SliceAttr{Axis: last, Start: start, Len: size}, n.Result().Name, whole.Result())
		e.Replace(n.Result(), part.Result())
		start = start.Add(size)
	}
}

// joinWeights returns the weight that holds the rows of parts one after the other; it is
// made once for the whole module.
func joinWeights(m *ir.Module, parts []*ir.Weight, made map[string]string) *ir.Weight {
	key, rows := "", ir.Const(0)
	exprs := make([]*ir.Expr, 0, len(parts))
	for _, p := range parts {
		key += p.Name + "\x00"
		rows = rows.Add(p.Type.Shape[0])
		if p.Expr != nil {
			exprs = append(exprs, p.Expr)
		}
	}
	if name := made[key]; name != "" {
		return m.Weight(name)
	}
	w := &ir.Weight{Name: freeWeightName(m, parts[0].Name+".all"), Type: parts[0].Type.WithShape(rows, parts[0].Type.Shape[1])}
	if len(exprs) == len(parts) {
		w.Expr = ir.Concat(exprs...)
	}
	m.Weights = append(m.Weights, w)
	made[key] = w.Name
	return w
}

// freeWeightName returns name, with a number behind it where that is taken.
func freeWeightName(m *ir.Module, name string) string {
	for m.Weight(name) != nil {
		name += "'"
	}
	return name
}

package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Products that read the same operand become one product with the rows of all weights, and slices of its result, if a
// target asks for that. The example has a query with 2 heads of 64 and keys with 1:
//
//	%q = matmul %x, %wq            %all = matmul %x, %wq.all            f32[n,192], with wq.all = concat(wq, wk)
//	%k = matmul %x, %wk            %q = slice %all {0 to 128}           f32[n,128], stride 192
//	                               %k = slice %all {128 to 192}         f32[n,64], stride 192
//	%h = reshape %q                %h = reshape %q {[n,2,64]}
//
// The slices are strided, so views of them have to be expressible with strides: %h is. A reshape to f32[2*n*64] would
// not be, and its product is left out of the group.

// mergeProducts merges the products of each function that share an operand.
func mergeProducts(c *pass.Context, m *ir.Module) {
	if !wantsMerged(c) || !c.Enabled(pass.RuleFuseQKV) {
		return
	}
	weights := make(map[string]string) // names of joined weights, by the names of their parts
	for _, f := range m.AllFuncs() {
		mergeInFunc(c, f, weights)
	}
}

// mergeInFunc finds the groups of products in f, then rebuilds f: in the place of the first product of a group are the
// joined product and all slices.
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
			inferView(n)
			e.Keep(n)
		}
	}
	e.Done()
}

// inferView gives a view the type that follows from its operand, which may be strided now.
func inferView(n *ir.Node) {
	if n.Is(ir.View) {
		t := rewrite.Inferred(n)[0]
		t.Space = n.Result().Type.Space
		n.Result().Type = t
	}
}

// productGroups returns the groups of at least two products with weights, in order, that share the operand and the
// format of the weights. Products with a third operand are left out.
func productGroups(f *ir.Func) [][]*ir.Node {
	type key struct {
		x       *ir.Value
		dt      string
		backend string
	}
	uses := ir.Uses(f)
	index := make(map[key]int)
	var groups [][]*ir.Node
	for _, n := range f.Nodes {
		if n.Op != ir.OpMatMul || rewrite.Present(n) != 2 || n.Args[1].Def == nil || n.Args[1].Def.Op != ir.OpWeight {
			continue
		}
		if !canBeStrided(uses, n.Result(), sliceOfWider(n.Result().Type), 0) {
			continue
		}
		w := n.Args[1].Type
		k := key{n.Args[0], w.DType.String() + w.Layout.String() + w.Space, n.Backend}
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

// sliceOfWider returns t with the strides of a range of columns in a matrix that is twice as wide. Which views can be
// expressed does not depend on how much wider the joined product is.
func sliceOfWider(t ir.Type) ir.Type {
	strides := t.DenseStrides()
	for i := range strides[:len(strides)-1] {
		strides[i] = strides[i].Add(strides[i])
	}
	t.Strides = strides
	return t
}

// maxViews is the length of the longest chain of views that canBeStrided follows.
const maxViews = 16

// canBeStrided reports whether v may have the strided type t: it is not a result of the function, and all views of it,
// and views of these, can be expressed.
func canBeStrided(uses *ir.UseLists, v *ir.Value, t ir.Type, depth int) bool {
	if slices.Contains(v.Func.Results, v) {
		return false
	}
	for _, n := range uses.Of(v) {
		if !n.Is(ir.View) {
			continue
		}
		trial := &ir.Node{Op: n.Op, Attr: n.Attr, Args: []*ir.Value{{Type: t, Func: v.Func}}, Func: v.Func}
		types, err := ir.Infer(trial)
		if err != nil || depth == maxViews || !canBeStrided(uses, n.Result(), types[0], depth+1) {
			return false
		}
	}
	return true
}

// mergeGroup adds the joined weight, its product, and a slice in place of each product of the group.
func mergeGroup(c *pass.Context, e *rewrite.Edit, group []*ir.Node, weights map[string]string) {
	first := group[0]
	parts := make([]*ir.Weight, len(group))
	for i, n := range group {
		parts[i] = e.F.Module.Weight(n.Args[1].Def.Attr.(*ir.WeightAttr).Name)
	}
	w := joinWeights(e.F.Module, parts, weights)
	leaf := e.Add(first, ir.OpWeight, &ir.WeightAttr{Name: w.Name}, w.Name)
	whole := e.Add(first, ir.OpMatMul, first.Attr, first.Result().Name()+".all", e.Now(first.Args[0]), leaf.Result())
	c.Cause(whole, pass.RuleFuseQKV, rewrite.Names(group)...)
	c.Count(string(pass.RuleFuseQKV), 1)
	last := whole.Result().Type.Rank() - 1
	start := ir.Const(0)
	for _, n := range group {
		size := n.Result().Type.Inner()
		part := e.Add(n, ir.OpSlice, &ir.SliceAttr{Axis: last, Start: start, Len: size}, n.Result().Name(), whole.Result())
		e.Replace(n.Result(), part.Result())
		start = start.Add(size)
	}
}

// joinWeights returns the weight with the rows of all parts. It is made once for the module: made has the names of
// those from before.
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

// freeWeightName returns name, with an apostrophe appended for each time that it is taken.
func freeWeightName(m *ir.Module, name string) string {
	for m.Weight(name) != nil {
		name += "'"
	}
	return name
}

// wantsMerged reports whether a target asks for one product instead of several.
func wantsMerged(c *pass.Context) bool {
	return slices.ContainsFunc(c.Targets.All(), func(t *target.Descriptor) bool { return t.MergeMatMul })
}

package roll

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// builder turns a repetition into a repeat.
type builder struct {
	*repetition
	c    *pass.Context
	f    *ir.Func
	body *ir.Func

	params map[sourceKind][]*ir.Value // of the body: carried, invariant, and entries of tables
	nodes  []*ir.Node                 // of the body, by number
	leaves map[*ir.Value]*ir.Value    // of the body, by leaf of the function
}

// build replaces the groups by a repeat, whose body has a name, and returns it.
func (r *repetition) build(c *pass.Context, name string) *ir.Node {
	b := &builder{
		repetition: r,
		c:          c,
		f:          r.s.f,
		body:       r.s.f.Module.NewBody(name),
		params:     make(map[sourceKind][]*ir.Value),
		leaves:     make(map[*ir.Value]*ir.Value),
	}
	args := b.operands()
	b.fillBody()
	return b.replace(args)
}

// canCopy reports whether there is a kernel to copy each value of which the repeat may need a copy: the carried values,
// and the invariant ones that are a part of another value.
func (r *repetition) canCopy(c *pass.Context) bool {
	for _, v := range r.carried {
		if !copyable(c, v.init) || !copyable(c, r.group(0)[v.node].Results[v.result]) {
			return false
		}
	}
	return !slices.ContainsFunc(r.fixed, func(v *ir.Value) bool {
		return !flow.SameBytes(v.Root(), v) && !copyable(c, v)
	})
}

// copyable reports whether the backend that CopyNode chooses has a kernel that copies v. Kernels do not copy panels,
// which come to a device by transfers.
func copyable(c *pass.Context, v *ir.Value) bool {
	d := c.Targets.Get(rewrite.CopiesOn(c, v))
	return d != nil && d.Has(ir.OpCopy) && v.Type.Layout == dtype.Plain
}

// operands adds the parameters of the body, and returns the operands of the repeat: one for each parameter, but one for
// each group where the parameter is an entry of a table.
func (b *builder) operands() []*ir.Value {
	var args []*ir.Value
	add := func(kind sourceKind, name string, entries ...*ir.Value) {
		p := b.body.AddParam(name, entries[0].Type)
		b.params[kind] = append(b.params[kind], p)
		args = append(args, entries...)
	}
	for _, c := range b.carried {
		add(fromCarried, c.init.Name(), b.initial(c))
	}
	for _, v := range b.fixed {
		add(fromInvariant, v.Name(), b.invariant(v))
	}
	for _, t := range b.tables {
		add(fromTable, tableName(t), t...)
	}
	return args
}

// tableName returns the end that the names of the first two entries have in common, after the number of the layer. For
// blk.0.attn_q.weight and blk.1.attn_q.weight it is attn_q.weight.
func tableName(t []*ir.Value) string {
	a, b := t[0].Name(), t[1].Name()
	n := 0 // length of the common end
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	if _, name, ok := strings.Cut(a[len(a)-n:], "."); ok && name != "" {
		return name
	}
	return a
}

// initial returns the initial value of a carried one. The repeat overwrites its bytes, so it is a copy if they belong
// to another value, are read elsewhere, or have several instances.
func (b *builder) initial(c carried) *ir.Value {
	v := c.init
	if v.Root() == v && v.Def != nil && !v.Def.Is(ir.Leaf) && b.makeSingle(v) && b.readAsInitial(v) {
		return v
	}
	return b.copyBefore(v)
}

// makeSingle reports whether v has one instance, as a carried value has to. If v has several, but its backend has no
// kernel that could copy it, v is changed to have one.
func (b *builder) makeSingle(v *ir.Value) bool {
	n := v.Root().Def
	if v.Slots() > 1 && !b.c.Target(n).Has(ir.OpCopy) {
		n.Submit.Slots = 0
	}
	return v.Slots() == 1
}

// readAsInitial reports whether the groups and the nodes after them read v only as the initial value of one carried
// value.
func (b *builder) readAsInitial(v *ir.Value) bool {
	initials := 0
	for _, c := range b.carried {
		if c.init.Root() == v {
			initials++
		}
	}
	if initials != 1 || slices.ContainsFunc(b.f.Results, func(r *ir.Value) bool { return r.Root() == v }) {
		return false
	}
	for i, n := range b.s.nodes[b.start:] {
		for arg, a := range n.Args {
			if a == nil || a.Root() != v {
				continue
			}
			if i >= b.period || b.sources[i][arg].kind != fromCarried {
				return false
			}
		}
	}
	return true
}

// invariant returns the operand for an invariant value: a copy if v has only a part of the bytes of another value.
func (b *builder) invariant(v *ir.Value) *ir.Value {
	if flow.SameBytes(v.Root(), v) {
		return v
	}
	return b.copyBefore(v)
}

// copyBefore returns a copy of v that is made before the repeat.
func (b *builder) copyBefore(v *ir.Value) *ir.Value {
	n := rewrite.CopyNode(b.c, b.f, v)
	n.Split = flow.NoSplit
	b.c.Cause(n, pass.RuleRollInit, v.String())
	b.f.InsertBefore(b.group(0)[0], n)
	return n.Result()
}

// fillBody copies the first group into the body, and makes the next carried values its results.
func (b *builder) fillBody() {
	for j, n := range b.group(0) {
		args := make([]*ir.Value, len(n.Args))
		for arg, v := range n.Args {
			args[arg] = b.operand(b.sources[j][arg], v)
		}
		m := cloneNode(b.body, n, args)
		if n.Op == ir.OpObserve {
			m.Attr = b.observed(j)
		}
		b.nodes = append(b.nodes, b.body.Append(m))
	}
	inferViews(b.body)
	for i, c := range b.carried {
		b.body.AddResult(b.params[fromCarried][i].Name(), b.next(i, c))
	}
}

// observed returns the names under which node j of all groups hands its operand out.
func (b *builder) observed(j int) *ir.ObserveAttr {
	all := new(ir.ObserveAttr)
	for g := range b.count {
		all.Names = append(all.Names, b.group(g)[j].Attr.(*ir.ObserveAttr).Names...)
	}
	return all
}

// inferViews infers the types of views again: the value that a view shows may have become dense by a copy.
func inferViews(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Is(ir.View) {
			t := rewrite.Inferred(n)[0]
			t.Space = n.Args[0].Type.Space
			n.Result().Type = t
		}
	}
}

// cloneNode returns a node of f that is like n except for its operands.
func cloneNode(f *ir.Func, n *ir.Node, args []*ir.Value) *ir.Node {
	m := f.NewNode(n.Op, ir.CloneAttr(n.Op, n.Attr), args, "")
	for i, r := range n.Results {
		v := f.NewValue(r.Name(), r.Type)
		v.Def, v.Index = m, i
		m.Results = append(m.Results, v)
	}
	m.Pos, m.Backend, m.Split = n.Pos, n.Backend, n.Split
	if n.Submit != nil {
		s := *n.Submit
		m.Submit = &s
	}
	m.CausedAs(n)
	return m
}

// operand returns what an operand of the body becomes, which is v in the first group.
func (b *builder) operand(src source, v *ir.Value) *ir.Value {
	switch src.kind {
	case fromNothing:
		return nil
	case fromBody:
		return b.nodes[src.index].Results[v.Index]
	case fromLeaf:
		if b.leaves[src.leaf] == nil {
			b.leaves[src.leaf] = b.body.Append(cloneNode(b.body, src.leaf.Def, nil)).Result()
		}
		return b.leaves[src.leaf]
	}
	return b.params[src.kind][src.index]
}

// next returns the body's result for carried value i. The result takes the bytes of the parameter, so it is a copy if
// the parameter is still read after the value is made:
//
//	(%x) ->                        (%x) ->
//	%a = matmul %x, %w             %a = matmul %x, %w
//	%b = add %a, %x       ->       %b = add %a, %x
//	%c = mul %b, %x                %c = mul %b, %x
//	return %b                      %b.next = copy %b
//	                               return %b.next
func (b *builder) next(i int, c carried) *ir.Value {
	v := b.nodes[c.node].Results[c.result]
	if b.canOverwrite(b.params[fromCarried][i], v) && !b.isResult(v) {
		return v
	}
	n := rewrite.CopyNode(b.c, b.body, v)
	n.Split = flow.SplitAtEnd(b.body, n.Backend)
	b.c.Cause(n, pass.RuleRollNext, v.String())
	return b.body.Append(n).Result()
}

// isResult reports whether the bytes of v are those of a result of the body already.
func (b *builder) isResult(v *ir.Value) bool {
	return slices.ContainsFunc(b.body.Results, func(r *ir.Value) bool { return r.Root() == v.Root() })
}

// canOverwrite reports whether v can have the bytes of the carried parameter: v owns its bytes, and no node reads the
// parameter once they are made. The node that makes them may read it as an operand that it may overwrite.
func (b *builder) canOverwrite(param, v *ir.Value) bool {
	root := v.Root()
	if root.Def == nil || root.Def.Is(ir.Leaf) || flow.IsLeaf(root, ir.OpState) || !flow.SameBytes(root, v) || !b.makeSingle(v) {
		return false
	}
	return flow.StillRead(b.body.Nodes, param, root) == nil
}

// replace puts the repeat with these operands in the place of the groups, and returns it.
func (b *builder) replace(args []*ir.Value) *ir.Node {
	attr := &ir.RepeatAttr{Count: int64(b.count), Carried: len(b.carried), Invariant: len(b.fixed)}
	n := b.f.NewNode(ir.OpRepeat, attr, args, "")
	n.Body, b.body.Owner = b.body, n
	b.chooseBackend(n)
	last := b.group(b.count - 1)
	for i, c := range b.carried {
		old := last[c.node].Results[c.result]
		v := b.f.NewValue("", b.body.Results[i].Type)
		b.f.TakeName(v, old)
		v.Def, v.Index = n, i
		n.Results = append(n.Results, v)
	}
	b.f.InsertBefore(last[len(last)-1], n)
	gone := make(map[*ir.Node]bool)
	for _, m := range b.s.nodes[b.start : b.start+b.count*b.period] {
		gone[m] = true
	}
	b.f.Nodes = slices.DeleteFunc(b.f.Nodes, func(m *ir.Node) bool { return gone[m] })
	for i, c := range b.carried {
		ir.Replace(last[c.node].Results[c.result], n.Results[i])
	}
	inferViews(b.f)
	b.dropLeaves()
	if b.f.Module.Props&ir.PropSplit != 0 {
		flow.Renumber(b.f, n, flow.LastSplitIn(last))
	}
	return n
}

// chooseBackend gives the repeat the backend of the nodes of the first group, or, if they have several, the last
// target, which drives the step.
func (b *builder) chooseBackend(n *ir.Node) {
	for _, m := range b.group(0) {
		switch {
		case m.Backend == "" || m.Is(ir.View):
		case n.Backend == "":
			n.Backend, n.Split, n.Pos = m.Backend, m.Split, m.Pos
		case n.Backend != m.Backend:
			n.Backend = b.c.Targets.Last().Name
			return
		}
	}
}

// dropLeaves removes the leaves that have no reader any more. They moved into the body, or named the same bytes as
// another leaf.
func (b *builder) dropLeaves() {
	uses := ir.Uses(b.f)
	b.f.Nodes = slices.DeleteFunc(b.f.Nodes, func(n *ir.Node) bool {
		return n.Is(ir.Leaf) && len(uses.Of(n.Result())) == 0 && !slices.Contains(b.f.Results, n.Result())
	})
}

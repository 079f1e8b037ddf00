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

// roller turns a repetition into a repeat.
type roller struct {
	*repetition
	c    *pass.Context
	f    *ir.Func
	body *ir.Func
	node *ir.Node // the repeat

	params map[sourceKind][]*ir.Value // of the body, by what they stand for
	nodes  []*ir.Node                 // of the body, by place in the group
	leaves map[*ir.Value]*ir.Value    // moved into the body
}

// build replaces the groups by a repeat and returns it.
func (r *repetition) build(c *pass.Context, name string) *ir.Node {
	b := &roller{
		repetition: r,
		c:          c,
		f:          r.s.f,
		body:       r.s.f.Module.NewBody(name),
		params:     make(map[sourceKind][]*ir.Value),
		leaves:     make(map[*ir.Value]*ir.Value),
	}
	args := b.operands()
	b.fillBody()
	b.replace(args)
	return b.node
}

// copies reports whether the backends of what is carried, and of operands that are a part of
// a value, can copy: a repeat may need a copy of each.
func (r *repetition) copies(c *pass.Context) bool {
	for _, v := range r.carried {
		if !copyable(c, v.init) || !copyable(c, r.group(0)[v.node].Results[v.result]) {
			return false
		}
	}
	return !slices.ContainsFunc(r.fixed, func(v *ir.Value) bool {
		return !flow.SameBytes(v.Root(), v) && !copyable(c, v)
	})
}

// copyable reports whether the backend that CopyNode chooses has a kernel that copies v: kernels
// copy no panels, which come to a device by transfers.
func copyable(c *pass.Context, v *ir.Value) bool {
	d := c.Targets.Get(rewrite.CopiesOn(c, v))
	return d != nil && d.Has(ir.OpCopy) && v.Type.Layout == dtype.Plain
}

// operands adds the body's parameters and returns what the repeat passes for them.
func (b *roller) operands() []*ir.Value {
	var args []*ir.Value
	add := func(kind sourceKind, name string, entries ...*ir.Value) {
		p := b.body.AddParam(name, entries[0].Type)
		b.params[kind] = append(b.params[kind], p)
		args = append(args, entries...)
	}
	for _, c := range b.carried {
		add(fromCarried, c.init.Name, b.fresh(c))
	}
	for _, v := range b.fixed {
		add(fromInvariant, v.Name, b.whole(v))
	}
	for _, t := range b.tables {
		add(fromTable, tableName(t), t...)
	}
	return args
}

// tableName returns what the names of a table's first two entries have in common behind
// the number of the layer, such as attn_q.weight.
func tableName(t []*ir.Value) string {
	a, b := t[0].Name, t[1].Name
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	if _, name, ok := strings.Cut(a[len(a)-n:], "."); ok && name != "" {
		return name
	}
	return a
}

// fresh returns the value that a carried one starts with: a copy where others need the
// bytes.
func (b *roller) fresh(c carried) *ir.Value {
	v := c.init
	if v.Root() == v && v.Def != nil && !v.Def.Is(ir.Leaf) && b.one(v) && b.onlyStarts(v) {
		return v
	}
	return b.copied(v, pass.RuleRollInit)
}

// one reports whether v has one instance, as what is carried must. Where its backend cannot
// copy it, it gets along with one.
func (b *roller) one(v *ir.Value) bool {
	n := v.Root().Def
	if v.Slots() > 1 && !b.c.Target(n).Has(ir.OpCopy) {
		n.Submit.Slots = 0
	}
	return v.Slots() == 1
}

// onlyStarts reports whether, from the first group on, v is read as the start of one
// carried value only.
func (b *roller) onlyStarts(v *ir.Value) bool {
	starts := 0
	for _, c := range b.carried {
		if c.init.Root() == v {
			starts++
		}
	}
	if starts != 1 || slices.ContainsFunc(b.f.Results, func(r *ir.Value) bool { return r.Root() == v }) {
		return false
	}
	for i, n := range b.s.nodes[b.start:] {
		for arg, a := range n.Args {
			if a == nil || a.Root() != v {
				continue
			}
			in := i < b.period
			if !in || b.at(site{i, arg}).kind != fromCarried {
				return false
			}
		}
	}
	return true
}

// whole returns an invariant operand: a copy where v is a part of a value.
func (b *roller) whole(v *ir.Value) *ir.Value {
	if flow.SameBytes(v.Root(), v) {
		return v
	}
	return b.copied(v, pass.RuleRollInit)
}

// copied returns a copy of v, made before the repeat.
func (b *roller) copied(v *ir.Value, rule pass.RuleName) *ir.Value {
	n := rewrite.CopyNode(b.c, b.f, v)
	n.Split = flow.NoSplit
	b.c.Cause(n, rule, v.String())
	b.f.InsertBefore(b.group(0)[0], n)
	return n.Result()
}

// fillBody copies the first group into the body.
func (b *roller) fillBody() {
	for j, n := range b.group(0) {
		args := make([]*ir.Value, len(n.Args))
		for arg, v := range n.Args {
			args[arg] = b.operand(site{j, arg}, v)
		}
		b.nodes = append(b.nodes, b.body.Append(cloneNode(b.body, n, args)))
	}
	refit(b.body)
	for i, c := range b.carried {
		b.body.AddResult(b.params[fromCarried][i].Name, b.next(i, c))
	}
}

// refit infers the types of views anew: what they view may have become dense by a copy.
func refit(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Is(ir.View) {
			t := rewrite.Inferred(n)[0]
			t.Space = n.Args[0].Type.Space
			n.Result().Type = t
		}
	}
}

// cloneNode returns a node of f that is like n but for its operands.
func cloneNode(f *ir.Func, n *ir.Node, args []*ir.Value) *ir.Node {
	m := f.NewNode(n.Op, ir.CloneAttr(n.Op, n.Attr), args, "")
	for i, r := range n.Results {
		v := f.NewValue(r.Name, r.Type)
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

func (b *roller) operand(at site, v *ir.Value) *ir.Value {
	src := b.at(at)
	switch src.kind {
	case fromNothing:
		return nil
	case fromGroup:
		return b.nodes[src.index].Results[v.Index]
	case fromLeaf:
		if b.leaves[src.leaf] == nil {
			b.leaves[src.leaf] = b.body.Append(cloneNode(b.body, src.leaf.Def, nil)).Result()
		}
		return b.leaves[src.leaf]
	}
	return b.params[src.kind][src.index]
}

// next returns the body's result for a carried value: a copy where the value would be
// overwritten while it is still needed.
func (b *roller) next(i int, c carried) *ir.Value {
	v := b.nodes[c.node].Results[c.result]
	if b.canOverwrite(b.params[fromCarried][i], v) && !b.isNextAlready(v) {
		return v
	}
	n := rewrite.CopyNode(b.c, b.body, v)
	n.Split = flow.SplitAtEnd(b.body, n.Backend)
	b.c.Cause(n, pass.RuleRollNext, v.String())
	return b.body.Append(n).Result()
}

func (b *roller) isNextAlready(v *ir.Value) bool {
	return slices.ContainsFunc(b.body.Results, func(r *ir.Value) bool { return r.Root() == v.Root() })
}

// canOverwrite reports whether v's bytes can be those of the carried parameter: v owns
// them, and no node from the one that makes them on reads the parameter, but for an
// operand that this node may overwrite.
func (b *roller) canOverwrite(param, v *ir.Value) bool {
	root := v.Root()
	if root.Def == nil || root.Def.Is(ir.Leaf) || flow.IsLeaf(root, ir.OpState) || !flow.SameBytes(root, v) || !b.one(v) {
		return false
	}
	return flow.StillRead(b.body.Nodes, param, root) == nil
}

// replace puts the repeat in the place of the groups.
func (b *roller) replace(args []*ir.Value) {
	attr := &ir.RepeatAttr{Count: int64(b.count), Carried: len(b.carried), Invariant: len(b.fixed)}
	n := b.f.NewNode(ir.OpRepeat, attr, args, "")
	n.Body, b.body.Owner, b.node = b.body, n, n
	b.likeGroup(n)
	last := b.group(b.count - 1)
	for i, c := range b.carried {
		old := last[c.node].Results[c.result]
		v := b.f.NewValue("", b.body.Results[i].Type)
		v.Name = old.Name // which is gone from the function with its node
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
	refit(b.f)
	b.dropLeaves()
	if b.f.Module.Props&ir.PropSplit != 0 {
		flow.Renumber(b.f, n, flow.LastSplitIn(last))
	}
}

// likeGroup makes n, the repeat, belong to the backend of the first group's nodes; where
// they are on several, to the last target, which drives the step.
func (b *roller) likeGroup(n *ir.Node) {
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

// dropLeaves removes leaves that nothing reads any more: they moved into the body, or
// named what another leaf names.
func (b *roller) dropLeaves() {
	uses := ir.Uses(b.f)
	b.f.Nodes = slices.DeleteFunc(b.f.Nodes, func(n *ir.Node) bool {
		return n.Is(ir.Leaf) && len(uses.Of(n.Result())) == 0 && !slices.Contains(b.f.Results, n.Result())
	})
}

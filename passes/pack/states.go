package pack

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// layOutStates gives a state the packed layout that the kernels of its readers prefer, unless rows cost less. These are
// the keys of attention, which multiplies panels in place. All nodes that read or write the state have to have kernels
// for the layout, on one backend, so that the state is never copied. A state that a view, call or result reads keeps
// its layout.
func layOutStates(c *pass.Context, m *ir.Module) {
	if len(m.States) == 0 || !c.Enabled(pass.RulePackState) {
		return
	}
	uses := make(map[string]*stateUse, len(m.States))
	for _, f := range m.AllFuncs() {
		collectStateUses(c, f, uses)
	}
	weights := flow.StepWeights(m.AllFuncs())
	for _, s := range m.States {
		u := uses[s.Name]
		if u == nil || u.layout == dtype.Plain || s.Type.Layout != dtype.Plain || !u.servesAll(c, s.Name) {
			continue
		}
		if u.compare(c, s.Name, weights); !u.pays() {
			continue
		}
		s.Type.Layout = u.layout
		c.Count("states", 1)
		c.Count("state-bytes", s.Type.MaxBytes())
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			followState(c, m, n, uses)
		}
	}
}

// stateUse is what the nodes that read or write a state need.
type stateUse struct {
	nodes  []*ir.Node
	layout dtype.Layout  // the first packed one that a kernel prefers
	fixed  bool          // a view, call or result reads it: it keeps its layout
	choice *layoutChoice // the comparison with rows; nil if there was none
}

// stateOf returns the name of the state whose bytes v names.
func stateOf(v *ir.Value) (name string, ok bool) {
	if v == nil {
		return "", false
	}
	r := v.Root()
	if r.Def == nil || r.Def.Op != ir.OpState {
		return "", false
	}
	return r.Def.Attr.(*ir.StateAttr).Name, true
}

// collectStateUses adds the uses of states by the nodes and results of f.
func collectStateUses(c *pass.Context, f *ir.Func, uses map[string]*stateUse) {
	use := func(v *ir.Value) *stateUse {
		name, ok := stateOf(v)
		if ok && uses[name] == nil {
			uses[name] = new(stateUse)
		}
		return uses[name] // nil where v is no state
	}
	for _, n := range f.Nodes {
		for i, v := range n.Args {
			if u := use(v); u != nil {
				u.add(c, n, i)
			}
		}
	}
	for _, v := range f.Results {
		if u := use(v); u != nil {
			u.fixed = true
		}
	}
}

// add adds that n reads the state as operand i.
func (u *stateUse) add(c *pass.Context, n *ir.Node, i int) {
	t := c.Target(n)
	if t == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
		u.fixed = true
		return
	}
	if k := len(u.nodes); k == 0 || u.nodes[k-1] != n {
		u.nodes = append(u.nodes, n)
	}
	if l := t.WeightLayout(n.Op, i, n.Args[i].Type.DType); u.layout == dtype.Plain {
		u.layout = l
	}
}

// servesAll reports whether all nodes that use the state run on one backend, with kernels for the layout.
func (u *stateUse) servesAll(c *pass.Context, name string) bool {
	if u.fixed {
		return false
	}
	for _, n := range u.nodes {
		if n.Backend != u.nodes[0].Backend || !runsWith(c, n, name, u.layout) {
			return false
		}
	}
	return true
}

// runsWith reports whether n has a kernel for the layout in all operands that name the state.
func runsWith(c *pass.Context, n *ir.Node, state string, l dtype.Layout) bool {
	trial := *n
	trial.Args = slices.Clone(n.Args)
	for i, v := range n.Args {
		if name, ok := stateOf(v); ok && name == state {
			packed := *v
			packed.Type.Layout = l
			trial.Args[i] = &packed
		}
	}
	row, _ := c.Target(n).Kernel(&trial)
	return row != nil
}

// followState gives the results of n that are versions of a state the state's layout.
func followState(c *pass.Context, m *ir.Module, n *ir.Node, uses map[string]*stateUse) {
	for _, r := range n.Results {
		name, ok := stateOf(r)
		if !ok {
			continue
		}
		if u := uses[name]; u != nil && u.choice != nil && n.Op == ir.OpState {
			c.Cause(n, pass.RulePackCost, optionTexts(u.choice.options)...)
		}
		if m.State(name).Type.Layout == r.Type.Layout {
			continue
		}
		if n.Op == ir.OpState {
			c.CauseChange(n, pass.RulePackState, r.Type.Layout.String(), m.State(name).Type.Layout.String(), opsOf(uses[name].nodes)...)
		}
		r.Type.Layout = m.State(name).Type.Layout
	}
}

// opsOf returns the names of the nodes' ops, each once.
func opsOf(nodes []*ir.Node) []string {
	var names []string
	for _, n := range nodes {
		names = appendNew(names, n.Op.String())
	}
	return names
}

// appendNew appends s unless the list has it.
func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

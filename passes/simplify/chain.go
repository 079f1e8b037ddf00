package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Chain joins elementwise nodes where a backend computes them in one pass over memory.
//
// Before: the nodes of a function or body, with splits, copies and queues. After: elementwise nodes of one shape whose
// inner values have no other reader are one node, if their backend has kernels for that.
//
// Not earlier: roll compares layers node by node, and a chain from one layer into the next would make them unequal.
// Within a body it cannot happen. Splits are known too, and a chain is within one. Not later: order and partition treat
// a chain as one node.
//
// Cost: one walk, O(nodes * steps of a chain).
//
// On a GPU each node is a dispatch, with a barrier between two of them, and its result goes to memory and back:
//
//	%a = mul %x, %row
//	%b = silu %a
//	%y = add %b, %a      %y = chain %x, %row {steps=[mul(x0, x1), silu(y0), add(y1, y0)]}
//
// All operands are read where the last node was. So where other nodes are in between, operands of earlier nodes are
// live for longer.
//
// The alternatives were these. Patterns of rewrite are trees of given ops, and %a above is read twice. Fused ops for
// frequent sequences, as matmul_swiglu is one, need a definition and a kernel each. A body of nodes, as a repeat has
// one, is known to all passes and to codegen as something to plan. A list of steps is an attribute, which only the op's
// definition, its kernel and unfuse read.
var Chain = pass.Pass{
	Name:   "chain",
	Doc:    "join elementwise nodes that a backend computes in one pass over memory",
	Run:    chain,
	Needs:  ir.PropShaped | ir.PropAssigned | ir.PropPacked | ir.PropSplit | ir.PropCopied | ir.PropQueued,
	Breaks: pass.FromOrdered,
	Rules:  []pass.Rule{{Name: pass.RuleChainJoin, Doc: "elementwise nodes of one shape follow each other, and nothing else reads what is in between"}},
}

func chain(c *pass.Context, m *ir.Module) error {
	if !slices.ContainsFunc(c.Targets.All(), hasChain) {
		return nil
	}
	for _, f := range m.AllFuncs() {
		j := &chainJoiner{c: c, f: f, uses: ir.Uses(f), pos: ir.Positions(f), gone: make(map[*ir.Node]bool)}
		for _, n := range slices.Backward(f.Nodes) {
			j.node(n)
		}
		f.Nodes = slices.DeleteFunc(f.Nodes, func(n *ir.Node) bool { return j.gone[n] })
	}
	c.Unchanged = c.NoneCounted()
	return nil
}

func hasChain(t *target.Descriptor) bool { return t.Has(ir.OpChain) }

// chainJoiner joins nodes of one function. It visits the last node of a chain first.
type chainJoiner struct {
	c    *pass.Context
	f    *ir.Func
	uses *ir.UseLists
	pos  []int             // by id of nodes
	gone map[*ir.Node]bool // which became steps of a later node
}

// node makes root a chain with the nodes before it, if there are some.
func (j *chainJoiner) node(root *ir.Node) {
	t := j.c.Target(root)
	if t == nil || !hasChain(t) || j.gone[root] || !ir.InChain(root.Op) || !flow.DoesWork(root) {
		return
	}
	members := j.members(root)
	if len(members) < 2 || !t.Reads(chainOf(members)) || !j.c.Allow(pass.RuleChainJoin, root) {
		return
	}
	before, joined := root.Op.String(), chainOf(members)
	root.Op, root.Attr, root.Args = joined.Op, joined.Attr, joined.Args
	inner := members[:len(members)-1]
	for _, n := range inner {
		j.gone[n] = true
	}
	j.c.CauseChange(root, pass.RuleChainJoin, before, root.Op.String(), rewrite.Names(inner)...)
	j.c.Count("nodes", int64(len(inner)))
}

// members returns the nodes of the chain that ends with root, in order. From the root on, the latest node that a member
// reads is added, unless it cannot be a step. So all readers of a node have been tried before it.
func (j *chainJoiner) members(root *ir.Node) []*ir.Node {
	members := []*ir.Node{root}
	refused := make(map[*ir.Node]bool)
	for {
		n := j.latest(members, refused)
		if n == nil {
			return members
		}
		if more := append([]*ir.Node{n}, members...); j.joins(n, members) && withinLimits(more) {
			members = more
		} else {
			refused[n] = true
		}
	}
}

// latest returns the last node of the function, except for the refused ones, that is no member and whose result a
// member reads; nil if there is none.
func (j *chainJoiner) latest(members []*ir.Node, refused map[*ir.Node]bool) (last *ir.Node) {
	for _, m := range members {
		for _, a := range m.Args {
			if n := a.Def; n != nil && !refused[n] && !slices.Contains(members, n) && (last == nil || j.pos[n.ID] > j.pos[last.ID]) {
				last = n
			}
		}
	}
	return last
}

// joins reports whether n can be a step before the members: it is of their shape, and in their split and queue, only
// they read its result, and what it reads is still there when the last of them runs.
func (j *chainJoiner) joins(n *ir.Node, members []*ir.Node) bool {
	root, y := members[len(members)-1], n.Result()
	if !ir.InChain(n.Op) || n.Backend != root.Backend || n.Split != root.Split || n.Queue() != root.Queue() || y.Slots() > 1 {
		return false
	}
	if !ir.EqualDims(y.Type.Shape, root.Result().Type.Shape) || slices.Contains(j.f.Results, y) {
		return false
	}
	for _, reader := range j.uses.Of(y) {
		if !slices.Contains(members, reader) {
			return false
		}
	}
	return j.canReadAt(n, root)
}

// canReadAt reports whether root can read the operands of n: no node from n to root overwrites their bytes.
func (j *chainJoiner) canReadAt(n, root *ir.Node) bool {
	for _, w := range j.f.Nodes[j.pos[n.ID]+1 : j.pos[root.ID]] {
		if flow.MayOverwrite(w) && rewrite.OverwritesOperand(w, n) {
			return false
		}
	}
	for _, a := range n.Args {
		if made := flow.NextCarried(a); made != nil && !j.readBefore(a, made, n, root) {
			return false
		}
	}
	return true
}

// readBefore reports whether root can read a, an operand of n that is carried, though made is its next value, which
// overwrites it: made is defined before n, after root, or by root element by element.
func (j *chainJoiner) readBefore(a, made *ir.Value, n, root *ir.Node) bool {
	at := j.pos[made.Def.ID]
	return at < j.pos[n.ID] || at > j.pos[root.ID] || made.Def == root && flow.SameShape(a, made)
}

// withinLimits reports whether a chain may have these steps.
func withinLimits(members []*ir.Node) bool {
	return len(members) <= ir.MaxChainSteps && len(chainOf(members).Args) <= ir.MaxChainOperands
}

// chainOf returns the node that computes what the members do, in order. Its operands are in the order in which the
// members read them; the first one has the shape of the result, as each first operand of an elementwise op has.
func chainOf(members []*ir.Node) *ir.Node {
	root, attr := members[len(members)-1], &ir.ChainAttr{}
	var args []*ir.Value
	ref := func(a *ir.Value) ir.ChainRef {
		if i := slices.Index(members, a.Def); i >= 0 {
			return ir.ChainRef{Step: true, Index: i}
		}
		i := slices.Index(args, a)
		if i < 0 {
			i, args = len(args), append(args, a)
		}
		return ir.ChainRef{Index: i}
	}
	for _, n := range members {
		s := ir.ChainStep{Op: n.Op, Attr: n.Attr}
		for _, a := range n.Args {
			s.Args = append(s.Args, ref(a))
		}
		attr.Steps = append(attr.Steps, s)
	}
	return &ir.Node{Op: ir.OpChain, Attr: attr, Args: args, Results: root.Results, Func: root.Func, Backend: root.Backend}
}

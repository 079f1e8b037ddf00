package simplify

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Inline writes the nodes of called and repeated functions in place of the nodes that
// run them.
//
// Before: types are known. After: only functions that touch a state are still called, and
// only bodies that name a state themselves are still repeated.
//
// Not earlier: copies get the types that shape has inferred. Not later: what is written
// several times is merged and fused with what surrounds it, each round is assigned by
// itself, and no pass before roll looks into a body. roll finds the repeats again.
//
// Cost: O(nodes after it), of which there may be maxInlined.
//
// Called functions stay entry points. A callee that touches a state sees the versions of
// the time of the call, which are no values of the caller: such calls stay. A strided
// result is copied, as a call or round would make it dense, and so is an operand that is a result
// where the caller overwrites the operand later.
var Inline = pass.Pass{
	Name:   "inline",
	Doc:    "write the nodes of called and repeated functions in place of the calls",
	Run:    inline,
	Needs:  ir.PropShaped,
	Breaks: pass.FromSplit,
	Rules: []pass.Rule{
		{Name: pass.RuleInlineCall, Doc: "the nodes come from a function that was called here"},
		{Name: pass.RuleInlineRepeat, Doc: "the nodes are those of one round of a repeat"},
	},
}

// maxInlined is the number of nodes that a function may grow to: a hundred times the
// largest models' graphs, and far below what would make the compiler run out of memory.
const maxInlined = 1 << 20

func inline(c *pass.Context, m *ir.Module) error {
	if !slices.ContainsFunc(m.AllFuncs(), runsFunctions) {
		return nil
	}
	in := &inliner{c: c, done: make(map[*ir.Func]bool), open: make(map[*ir.Func]bool)}
	for _, f := range m.AllFuncs() {
		if err := in.function(f); err != nil {
			return err
		}
	}
	return nil
}

// runsFunctions reports whether nodes of f run functions.
func runsFunctions(f *ir.Func) bool { return slices.ContainsFunc(f.Nodes, flow.RunsFunction) }

// inliner handles callees before their callers.
type inliner struct {
	c          *pass.Context
	done, open map[*ir.Func]bool
}

func (in *inliner) function(f *ir.Func) error {
	switch {
	case in.done[f]:
		return nil
	case in.open[f]:
		return fmt.Errorf("@%s calls itself, at once or by others: every call has to end", f.Name)
	}
	in.open[f] = true
	e := rewrite.NewEdit(in.c, f)
	for _, n := range f.Nodes {
		e.Update(n)
		if err := in.node(e, n); err != nil {
			return err
		}
	}
	e.Done()
	in.done[f] = true
	return nil
}

// node keeps n or writes in its place what it runs.
func (in *inliner) node(e *rewrite.Edit, n *ir.Node) error {
	callee, rounds, rule := calleeOf(n)
	if callee == nil {
		e.Keep(n)
		return nil
	}
	if err := in.function(callee); err != nil {
		return err
	}
	if touchesState(callee) || !in.c.Allow(rule, n) {
		e.Keep(n)
		return nil
	}
	if total := int64(len(e.Out)) + rounds*int64(len(callee.Nodes)); rounds > maxInlined || total > maxInlined {
		return fmt.Errorf("@%s %v: written out, the function has more than %d nodes", e.F.Name, n, maxInlined)
	}
	results := n.Args
	for i := range rounds {
		results = in.write(e, n, callee, roundArgs(n, results, i), rule)
	}
	for i, r := range n.Results {
		e.Replace(r, results[i])
	}
	in.c.Count(string(rule), 1)
	return nil
}

// calleeOf returns the function that n runs, how often, and the rule for it; nil where it
// runs none.
func calleeOf(n *ir.Node) (f *ir.Func, rounds int64, rule pass.RuleName) {
	switch attr := n.Attr.(type) {
	case *ir.CallAttr:
		return n.Func.Module.Func(attr.Func), 1, pass.RuleInlineCall
	case *ir.RepeatAttr:
		return n.Body, attr.Count, pass.RuleInlineRepeat
	}
	return nil, 0, ""
}

// roundArgs returns the operands of round i of what n runs, where last are the results of
// the round before (the operands of n before the first).
func roundArgs(n *ir.Node, last []*ir.Value, i int64) []*ir.Value {
	attr, ok := n.Attr.(*ir.RepeatAttr)
	if !ok {
		return n.Args
	}
	fixed := attr.Carried + attr.Invariant
	args := append(slices.Clone(last[:attr.Carried]), n.Args[attr.Carried:fixed]...)
	for table := n.Args[fixed:]; len(table) > 0; table = table[attr.Count:] {
		args = append(args, table[i])
	}
	return args
}

// touchesState reports whether f names a state, or calls what may. A state that a body
// gets as an operand is a value like others.
func touchesState(f *ir.Func) bool {
	for _, n := range f.Nodes {
		if n.Op == ir.OpState || n.Op == ir.OpCall || n.Body != nil && touchesState(n.Body) {
			return true
		}
	}
	return false
}

// write writes the callee's nodes in place of n and returns what stands for its results.
func (in *inliner) write(e *rewrite.Edit, n *ir.Node, callee *ir.Func, args []*ir.Value, rule pass.RuleName) []*ir.Value {
	stand := make(map[*ir.Value]*ir.Value) // what stands in the caller for the callee's values
	for i, p := range callee.Params {
		stand[p] = args[i]
	}
	for _, inner := range callee.Nodes {
		made := in.copyNode(e.F, inner, stand)
		in.c.Cause(made, rule, n.String(), callee.Name)
		e.Append(made)
	}
	results := make([]*ir.Value, len(callee.Results))
	for i, r := range callee.Results {
		results[i] = stand[r]
		if !target.IsDense(r.Type) || flow.ViewedValue(r).IsParam() && in.overwritten(e, n, results[i]) {
			results[i] = e.Add(n, ir.OpCopy, nil, r.Name+".dense", results[i]).Result()
		}
	}
	return results
}

// overwritten reports whether the caller overwrites the bytes of v, which n returns as it got them, by
// another name than the result: that is the version before then. What is written to the result is
// written to v.
func (in *inliner) overwritten(e *rewrite.Edit, n *ir.Node, v *ir.Value) bool {
	at := slices.Index(e.F.Nodes, n)
	later := slices.DeleteFunc(slices.Clone(e.F.Nodes[at+1:]), func(n *ir.Node) bool { return !flow.MayOverwrite(n) })
	return e.Overwrites(later, v)
}

// CopyNode makes the node n of another function anew in f, with the values that stand for
// its operands, and notes what stands for its results.
func (in *inliner) copyNode(f *ir.Func, n *ir.Node, stand map[*ir.Value]*ir.Value) *ir.Node {
	args := make([]*ir.Value, len(n.Args))
	for i, a := range n.Args {
		if a != nil {
			args[i] = stand[a]
		}
	}
	made := f.NewNode(n.Op, ir.CloneAttr(n.Op, n.Attr), args, "")
	made.Pos, made.Backend = n.Pos, n.Backend
	made.CausedAs(n)
	for i, r := range n.Results {
		v := f.NewValue(r.Name, r.Type)
		v.Def, v.Index = made, i
		made.Results = append(made.Results, v)
		stand[r] = v
	}
	if n.Body != nil {
		made.Body = in.copyBody(made, n.Body)
	}
	return made
}

func (in *inliner) copyBody(owner *ir.Node, body *ir.Func) *ir.Func {
	f := owner.Func.Module.NewBody(body.Name)
	f.Owner, f.Doc = owner, body.Doc
	stand := make(map[*ir.Value]*ir.Value)
	for _, p := range body.Params {
		stand[p] = f.AddParam(p.Name, p.Type)
	}
	for _, n := range body.Nodes {
		f.Append(in.copyNode(f, n, stand))
	}
	for i, r := range body.Results {
		f.AddResult(body.ResultNames[i], stand[r])
	}
	return f
}

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

// Inline replaces calls and repeats by the nodes of the functions that they run.
//
// Before: types are known. After: only functions that touch a state are still called, and only bodies that name a state
// are still repeated.
//
// Not earlier: the new nodes get the types that shape has inferred. Not later: equal nodes of several calls are merged,
// nodes are fused with those around the call, each iteration is assigned for itself, and no pass before roll looks into
// a body. roll finds the repeats again.
//
// Cost: O(nodes after it), at most maxInlined in a function.
//
// Example: a call, and a repeat of 2 iterations with a carried value and a table of two weights.
//
//	%a = call @square %x                             %a = mul %x, %x
//	%r = repeat 2 carried=1 (%a, %w0, %w1) {         %m0 = matmul %a, %w0
//	  ^(%c, %w)                                      %m1 = matmul %m0, %w1
//	  %m = matmul %c, %w
//	  return %m
//	}
//	return %r                                        return %m1
//
// Called functions stay entry points. A callee that touches a state stays a call: it sees the versions at the time of
// the call, for which the caller has no values. Two kinds of results are copied. A strided result is, as a call or an
// iteration makes its results dense. And so is a result that is an operand, if the caller overwrites the operand later:
// without the call both would be one value.
var Inline = pass.Pass{
	Name: "inline",
	Doc: "write the nodes of called and repeated functions in place of the calls; if it is disabled, repeats stay as they were written, " +
		"and a module with calls is refused",
	Run:    inline,
	Needs:  ir.PropShaped,
	Breaks: pass.FromSplit,
	Rules: []pass.Rule{
		{Name: pass.RuleInlineCall, Doc: "the nodes come from a function that was called here"},
		{Name: pass.RuleInlineRepeat, Doc: "the nodes are those of one iteration of a repeat"},
	},
}

// maxInlined is the largest number of nodes that inlining makes of a function: a hundred times the graphs of the
// largest models, and few enough for the compiler's memory.
const maxInlined = 1 << 20

func inline(c *pass.Context, m *ir.Module) error {
	if !slices.ContainsFunc(m.AllFuncs(), runsFunctions) {
		c.Unchanged = true
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

// inliner handles a callee before its callers.
type inliner struct {
	c    *pass.Context
	done map[*ir.Func]bool
	open map[*ir.Func]bool // begun: a call of such a function is a cycle
}

func (in *inliner) function(f *ir.Func) error {
	switch {
	case in.done[f]:
		return nil
	case in.open[f]:
		return fmt.Errorf("@%s calls itself, directly or through other functions: every call has to end", f.Name)
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

// node keeps n or replaces it by the nodes that it runs.
func (in *inliner) node(e *rewrite.Edit, n *ir.Node) error {
	callee, iterations, rule := calleeOf(n)
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
	if total := int64(len(e.Out)) + iterations*int64(len(callee.Nodes)); iterations > maxInlined || total > maxInlined {
		return fmt.Errorf("@%s %v: written out, the function has more than %d nodes", e.F.Name, n, maxInlined)
	}
	results := n.Args
	for i := range iterations {
		results = in.expand(e, n, callee, argsOf(n, results, i), rule)
	}
	for i, r := range n.Results {
		e.Replace(r, results[i])
	}
	in.c.Count(string(rule), 1)
	return nil
}

// calleeOf returns the function that n runs, how often, and the rule to inline it; nil if it runs none.
func calleeOf(n *ir.Node) (f *ir.Func, iterations int64, rule pass.RuleName) {
	switch attr := n.Attr.(type) {
	case *ir.CallAttr:
		return n.Func.Module.Func(attr.Func), 1, pass.RuleInlineCall
	case *ir.RepeatAttr:
		return n.Body, attr.Count, pass.RuleInlineRepeat
	}
	return nil, 0, ""
}

// argsOf returns the operands of iteration i of the function that n runs: the carried values, which are the last
// results (for the first iteration the operands of n), then the invariant operands, then entry i of each table.
func argsOf(n *ir.Node, last []*ir.Value, i int64) []*ir.Value {
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

// touchesState reports whether f names a state or calls a function, which may name one. A state that a body gets as an
// operand is a value like any other.
func touchesState(f *ir.Func) bool {
	for _, n := range f.Nodes {
		if n.Op == ir.OpState || n.Op == ir.OpCall || n.Body != nil && touchesState(n.Body) {
			return true
		}
	}
	return false
}

// expand adds copies of the callee's nodes, for one iteration of n, and returns the values of its results.
func (in *inliner) expand(e *rewrite.Edit, n *ir.Node, callee *ir.Func, args []*ir.Value, rule pass.RuleName) []*ir.Value {
	values := make(map[*ir.Value]*ir.Value) // of the caller, by value of the callee
	for i, p := range callee.Params {
		values[p] = args[i]
	}
	for _, inner := range callee.Nodes {
		made := in.copyNode(e.F, inner, values)
		in.c.Cause(made, rule, n.String(), callee.Name)
		e.Append(made)
	}
	results := make([]*ir.Value, len(callee.Results))
	for i, r := range callee.Results {
		results[i] = values[r]
		if !target.IsDense(r.Type) || flow.ViewedValue(r).IsParam() && in.overwritten(e, n, results[i]) {
			results[i] = e.Add(n, ir.OpCopy, nil, r.Name()+".dense", results[i]).Result()
		}
	}
	return results
}

// overwritten reports whether a node of the caller after n overwrites the bytes of v, an operand that n returns. The
// result of n has to keep the value from before. Writes to the result of n itself do not count.
func (in *inliner) overwritten(e *rewrite.Edit, n *ir.Node, v *ir.Value) bool {
	at := slices.Index(e.F.Nodes, n)
	later := slices.DeleteFunc(slices.Clone(e.F.Nodes[at+1:]), func(n *ir.Node) bool { return !flow.MayOverwrite(n) })
	return e.Overwrites(later, v)
}

// copyNode makes a copy in f of n, a node of another function. Values maps the values of that function to those of f;
// the results of n are added to it.
func (in *inliner) copyNode(f *ir.Func, n *ir.Node, values map[*ir.Value]*ir.Value) *ir.Node {
	args := make([]*ir.Value, len(n.Args))
	for i, a := range n.Args {
		if a != nil {
			args[i] = values[a]
		}
	}
	made := f.NewNode(n.Op, ir.CloneAttr(n.Op, n.Attr), args, "")
	made.Pos, made.Backend = n.Pos, n.Backend
	made.CausedAs(n)
	for i, r := range n.Results {
		v := f.NewValue(r.Name(), r.Type)
		v.Def, v.Index = made, i
		made.Results = append(made.Results, v)
		values[r] = v
	}
	if n.Body != nil {
		made.Body = in.copyBody(made, n.Body)
	}
	return made
}

func (in *inliner) copyBody(owner *ir.Node, body *ir.Func) *ir.Func {
	f := owner.Func.Module.NewBody(body.Name)
	f.Owner, f.Doc = owner, body.Doc
	values := make(map[*ir.Value]*ir.Value)
	for _, p := range body.Params {
		values[p] = f.AddParam(p.Name(), p.Type)
	}
	for _, n := range body.Nodes {
		f.Append(in.copyNode(f, n, values))
	}
	for i, r := range body.Results {
		f.AddResult(body.ResultNames[i], values[r])
	}
	return f
}

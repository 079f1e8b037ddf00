package ir

import (
	"fmt"
	"slices"
)

// Equal reports whether two modules are the same in everything but ids; diff describes the first
// difference and is empty if there is none.
func Equal(a, b *Module) (equal bool, diff string) {
	var c comparer
	c.module(a, b)
	return c.diff == "", c.diff
}

// comparer compares modules and keeps the first difference.
type comparer struct {
	diff string
	at   string // the current function and node
}

// same records a difference in what unless ok. It returns whether no difference has been found so far.
func (c *comparer) same(ok bool, what string, a, b any) bool {
	if !ok && c.diff == "" {
		c.diff = fmt.Sprintf("%s%s: %v is not %v", c.at, what, a, b)
	}
	return c.diff == ""
}

func (c *comparer) module(a, b *Module) {
	c.same(a.Name == b.Name, "module name", a.Name, b.Name)
	c.same(a.Props == b.Props, "props", a.Props, b.Props)
	c.same(a.Last == b.Last, "last pass", a.Last, b.Last)
	c.same(slices.Equal(a.Headers, b.Headers), "headers", a.Headers, b.Headers)
	c.same(slices.Equal(a.Meta, b.Meta), "metadata", a.Meta, b.Meta)
	c.language(a.LM, b.LM)
	if c.same((a.Encoder == nil) == (b.Encoder == nil), "encoder", a.Encoder != nil, b.Encoder != nil) && a.Encoder != nil {
		c.same(*a.Encoder == *b.Encoder, "encoder", *a.Encoder, *b.Encoder)
	}
	pairs(c, "symbols", a.Symbols, b.Symbols, func(s, t *Symbol) { c.same(*s == *t, "symbol", *s, *t) })
	pairs(c, "sources", a.Sources, b.Sources, func(s, t *Source) { c.same(*s == *t, "source", *s, *t) })
	pairs(c, "weights", a.Weights, b.Weights, c.weight)
	pairs(c, "states", a.States, b.States, c.state)
	pairs(c, "functions", a.Funcs, b.Funcs, c.fn)
	c.plan(a.Plan, b.Plan)
}

// pairs compares two lists element by element.
func pairs[T any](c *comparer, what string, a, b []T, compare func(a, b T)) {
	if !c.same(len(a) == len(b), "number of "+what, len(a), len(b)) {
		return
	}
	for i := range a {
		compare(a[i], b[i])
	}
}

func (c *comparer) weight(a, b *Weight) {
	what := fmt.Sprintf("weight %q", a.Name)
	c.same(a.Name == b.Name, "weight name", a.Name, b.Name)
	c.same(a.Type.Equal(b.Type), what, a.Type, b.Type)
	c.same(a.Expr.Equal(b.Expr), what, a.Expr, b.Expr)
	c.same(a.Divide.equal(b.Divide), what, a.Divide, b.Divide)
	c.place(what, a.Place, b.Place)
}

func (c *comparer) state(a, b *State) {
	what := fmt.Sprintf("state %q", a.Name)
	c.same(a.Name == b.Name, "state name", a.Name, b.Name)
	c.same(a.Type.Equal(b.Type), what, a.Type, b.Type)
	c.same(a.Divide.equal(b.Divide), what, a.Divide, b.Divide)
	c.place(what, a.Place, b.Place)
}

func (c *comparer) place(what string, a, b *Place) {
	equal := a == b || a != nil && b != nil && *a == *b
	c.same(equal, "place of "+what, a, b)
}

func (c *comparer) fn(a, b *Func) {
	outer := c.at
	defer func() { c.at = outer }()
	if !c.same(a.Name == b.Name, "function", a.Name, b.Name) {
		return
	}
	c.at += "@" + a.Name + ": "
	c.same(a.Doc == b.Doc, "doc", a.Doc, b.Doc)
	c.same(a.Epochs == b.Epochs, "epochs", a.Epochs, b.Epochs)
	c.same(a.HeadBarrier == b.HeadBarrier, "barrier at the head of iterations", a.HeadBarrier, b.HeadBarrier)
	c.same(slices.Equal(a.ResultNames, b.ResultNames), "names of results", a.ResultNames, b.ResultNames)
	c.same(slices.Equal(a.Observed, b.Observed), "observed values", a.Observed, b.Observed)
	c.same(slices.EqualFunc(a.Parts, b.Parts, Parts.equal), "parts", a.Parts, b.Parts)
	pairs(c, "parameters", a.Params, b.Params, c.value)
	pairs(c, "nodes", a.Nodes, b.Nodes, c.node)
	pairs(c, "results", a.Results, b.Results, c.use)
}

// value compares the definitions of two values.
func (c *comparer) value(a, b *Value) {
	c.same(a.Name() == b.Name(), "value", a, b)
	c.same(a.Type.Equal(b.Type), "type of "+a.String(), a.Type, b.Type)
	c.same(a.Sharding().Equal(b.Sharding()), "state of "+a.String(), a.Sharding(), b.Sharding())
	c.place(a.String(), a.Place, b.Place)
}

// use compares two operands by name: names are unique within a function.
func (c *comparer) use(a, b *Value) {
	equal := a == b || a != nil && b != nil && a.Name() == b.Name()
	c.same(equal, "operand", valueName(a), valueName(b))
}

func (c *comparer) node(a, b *Node) {
	outer := c.at
	defer func() { c.at = outer }()
	c.at += a.String() + ": "
	if !c.same(a.Op == b.Op, "op", a.Op, b.Op) {
		return
	}
	c.same(EqualAttr(a.Op, a.Attr, b.Attr), "attributes", attrText(a), attrText(b))
	pairs(c, "operands", a.Args, b.Args, c.use)
	pairs(c, "results", a.Results, b.Results, c.value)
	c.same(a.Pos == b.Pos, "position", a.Pos, b.Pos)
	c.same(a.Backend == b.Backend, "backend", a.Backend, b.Backend)
	c.same(a.Split == b.Split, "split", a.Split, b.Split)
	c.same(a.Part.Equal(b.Part), "partition", partText(a.Part), partText(b.Part))
	c.same(a.Epoch == b.Epoch, "epoch", a.Epoch, b.Epoch)
	c.same(queueText(a) == queueText(b), "queue", queueText(a), queueText(b))
	pairs(c, "causes", a.Causes(), b.Causes(), func(a, b Cause) { c.same(a.Equal(b), "cause", a, b) })
	if c.same((a.Body == nil) == (b.Body == nil), "body", a.Body != nil, b.Body != nil) && a.Body != nil {
		c.fn(a.Body, b.Body)
	}
}

func attrText(n *Node) string {
	positional, braces := AttrText(n)
	return positional + braces
}

func (c *comparer) language(a, b *LanguageModel) {
	if c.same((a == nil) == (b == nil), "language model", a != nil, b != nil) && a != nil {
		c.same(*a == *b, "language model", *a, *b)
	}
}

func (c *comparer) plan(a, b *Plan) {
	if !c.same((a == nil) == (b == nil), "plan", a != nil, b != nil) || a == nil {
		return
	}
	pairs(c, "arenas", a.Arenas, b.Arenas, func(a, b Arena) { c.same(a.equal(&b), "arena", a.String(), b.String()) })
	c.same(a.Pipeline == b.Pipeline, "pipeline", a.Pipeline, b.Pipeline)
	c.same(a.Threads == b.Threads, "threads", a.Threads, b.Threads)
	c.same(a.Cut == b.Cut, "cut", a.Cut, b.Cut)
	pairs(c, "planned functions", a.Funcs, b.Funcs, func(a, b FuncPlan) {
		c.same(a.Func == b.Func && a.Barriers == b.Barriers && a.Nodes == b.Nodes && a.MaxParts == b.MaxParts,
			"plan of a function", a, b)
		pairs(c, "splits", a.Splits, b.Splits, func(a, b Split) {
			c.same(a.Backend == b.Backend && slices.Equal(a.Inputs, b.Inputs) && a.Cause.Equal(b.Cause), "split", a, b)
		})
	})
}

func (a *Arena) equal(b *Arena) bool {
	return a.Space == b.Space && a.Class == b.Class && a.Align == b.Align && a.Bound == b.Bound &&
		a.BoundFunc == b.BoundFunc && slices.Equal(a.Chunks, b.Chunks) && slices.Equal(a.Setters, b.Setters)
}

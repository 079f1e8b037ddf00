package ir

import (
	"maps"
	"slices"
)

// Clone returns a deep copy of m that shares nothing with it: symbols, values and nodes
// are new, ids and names stay.
func (m *Module) Clone() *Module {
	c := cloner{symbols: make(map[*Symbol]*Symbol, len(m.Symbols))}
	n := &Module{Name: m.Name, Props: m.Props, Last: m.Last, nextFunc: m.nextFunc}
	n.Symbols = cloneEach(m.Symbols, func(s *Symbol) *Symbol {
		t := *s
		c.symbols[s] = &t
		return &t
	})
	n.Sources = cloneEach(m.Sources, func(s *Source) *Source { t := *s; return &t })
	n.Weights = cloneEach(m.Weights, c.weight)
	n.States = cloneEach(m.States, c.state)
	n.LM, n.Encoder = m.LM.clone(), m.Encoder.clone()
	n.Meta = slices.Clone(m.Meta)
	n.Headers = slices.Clone(m.Headers)
	n.Plan = m.Plan.clone()
	c.m = n
	n.Funcs = cloneEach(m.Funcs, func(f *Func) *Func { return c.fn(f, nil) })
	return n
}

// cloner maps the symbols of a module to those of its copy.
type cloner struct {
	m       *Module
	symbols map[*Symbol]*Symbol
}

func cloneEach[T any](s []T, clone func(T) T) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(s))
	for i, e := range s {
		out[i] = clone(e)
	}
	return out
}

func (c *cloner) weight(w *Weight) *Weight {
	return &Weight{Name: w.Name, Type: c.typ(w.Type), Expr: w.Expr.Clone(), Place: w.Place.clone(), Divide: w.Divide.clone()}
}

func (c *cloner) state(s *State) *State {
	return &State{Name: s.Name, Type: c.typ(s.Type), Place: s.Place.clone(), Divide: s.Divide.clone()}
}

func (c *cloner) typ(t Type) Type {
	t.Shape = cloneEach(t.Shape, c.dim)
	t.Strides = cloneEach(t.Strides, c.dim)
	return t
}

// dim returns d over the symbols of the copy.
func (c *cloner) dim(d Dim) Dim {
	if _, ok := d.IsConst(); ok {
		return d
	}
	return d.rename(func(s *Symbol) *Symbol {
		if t := c.symbols[s]; t != nil {
			return t
		}
		return s
	})
}

// rename returns d with its symbols replaced by others with the same names and bounds.
func (d Dim) rename(to func(*Symbol) *Symbol) Dim {
	if d.sum == nil {
		return d
	}
	ts := slices.Clone(*d.sum)
	for i, t := range ts {
		t.atoms = slices.Clone(t.atoms)
		for j, a := range t.atoms {
			if a.op == dimSym {
				t.atoms[j].sym = to(a.sym)
				continue
			}
			left, right := a.a.rename(to), a.b.rename(to)
			t.atoms[j].a, t.atoms[j].b = &left, &right
		}
		ts[i] = t
	}
	return ts.dim()
}

func (c *cloner) fn(f *Func, owner *Node) *Func {
	g := &Func{
		ID: f.ID, Name: f.Name, Module: c.m, Doc: f.Doc, Owner: owner, Epochs: f.Epochs, HeadBarrier: f.HeadBarrier,
		ResultNames: slices.Clone(f.ResultNames), Observed: slices.Clone(f.Observed), Parts: cloneEach(f.Parts, Parts.clone),
		nextValue: f.nextValue, nextNode: f.nextNode,
		shards: cloneEach(f.shards, (*Sharding).clone),
	}
	g.names = maps.Clone(f.names)
	values := make([]*Value, f.nextValue) // copies, by the number of the value
	value := func(v *Value) *Value {
		if v == nil {
			return nil // an operand that is absent
		}
		return values[v.ID]
	}
	add := func(v *Value, def *Node) *Value {
		w := g.valueSlab.next()
		*w = Value{ID: v.ID, name: v.Name(), Type: c.typ(v.Type), Def: def, Index: v.Index, Func: g, Place: v.Place.clone()}
		values[v.ID] = w
		return w
	}
	g.Params = cloneEach(f.Params, func(v *Value) *Value { return add(v, nil) })
	// Define all results first: during a pass, nodes may be out of order.
	g.Nodes = cloneEach(f.Nodes, func(n *Node) *Node {
		m := c.node(n, g)
		m.Results = cloneEach(n.Results, func(v *Value) *Value { return add(v, m) })
		return m
	})
	for i, n := range f.Nodes {
		g.Nodes[i].Args = cloneEach(n.Args, value)
	}
	g.Results = cloneEach(f.Results, value)
	return g
}

// node copies a node without its operands and results.
func (c *cloner) node(n *Node, f *Func) *Node {
	m := f.nodeSlab.next()
	*m = *n
	m.Func = f
	m.Attr = CloneAttr(n.Op, n.Attr)
	m.CausedAs(n)
	c.attrDims(m.Attr)
	m.Part.N = c.dim(n.Part.N)
	if m.Submit = n.Submit.clone(); m.Submit != nil {
		m.Submit.Within.N = c.dim(n.Submit.Within.N)
	}
	if n.Body != nil {
		m.Body = c.fn(n.Body, m)
	}
	return m
}

// attrDims replaces the symbols in the dimensions of attributes by those of the copy.
func (c *cloner) attrDims(attr any) {
	switch a := attr.(type) {
	case *ReshapeAttr:
		a.Shape = cloneEach(a.Shape, c.dim)
	case *SliceAttr:
		a.Start, a.Len = c.dim(a.Start), c.dim(a.Len)
	case *AttentionSegmentsAttr:
		a.Segments = c.dim(a.Segments)
	}
}

func (s *Submission) clone() *Submission {
	if s == nil {
		return nil
	}
	t := *s
	t.Waits = slices.Clone(s.Waits)
	return &t
}

func (p *Place) clone() *Place {
	if p == nil {
		return nil
	}
	q := *p
	return &q
}

// Clone returns a deep copy of e.
func (e *Expr) Clone() *Expr {
	if e == nil {
		return nil
	}
	f := *e
	f.Args = cloneEach(e.Args, (*Expr).Clone)
	f.Data = slices.Clone(e.Data)
	return &f
}

func (p *Plan) clone() *Plan {
	if p == nil {
		return nil
	}
	return &Plan{
		Pipeline: p.Pipeline,
		Threads:  p.Threads,
		Cut:      p.Cut,
		Arenas: cloneEach(p.Arenas, func(a Arena) Arena {
			a.Chunks, a.Setters = slices.Clone(a.Chunks), slices.Clone(a.Setters)
			return a
		}),
		Funcs: cloneEach(p.Funcs, func(f FuncPlan) FuncPlan {
			f.Splits = cloneEach(f.Splits, func(s Split) Split {
				s.Inputs, s.Cause.Operands = slices.Clone(s.Inputs), slices.Clone(s.Cause.Operands)
				return s
			})
			return f
		}),
	}
}

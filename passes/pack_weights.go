package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// wish is what the readers of a weight can read.
type wish struct {
	layouts []dtype.Layout // that all readers so far read; nil is any
	readers []string       // ops, each once
	fixed   bool           // a view, call or result reads it: it stays as it is
}

// layOutWeights gives every weight the first layout that all its readers read.
func layOutWeights(c *Context, m *ir.Module) *secondForms {
	wishes := make(map[string]*wish, len(m.Weights))
	for _, f := range m.AllFuncs() {
		collectWishes(c, f, wishes)
	}
	byName := make(map[string]*ir.Weight, len(m.Weights))
	for _, w := range m.Weights {
		byName[w.Name] = w
		if s := wishes[w.Name]; s != nil {
			layOut(c, w, s)
		}
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight {
				followWeight(c, n, byName, wishes)
			}
		}
	}
	return &secondForms{m: m, byName: byName}
}

// collectWishes notes what each node of f can read of weights. Views, calls and results
// read them as they are.
func collectWishes(c *Context, f *ir.Func, wishes map[string]*wish) {
	for _, n := range f.Nodes {
		for i, a := range n.Args {
			if a == nil || a.Def == nil || a.Def.Op != ir.OpWeight {
				continue
			}
			w := wishFor(wishes, a.Def.Attr.(*ir.WeightAttr).Name)
			w.readers = appendNew(w.readers, n.Op.String())
			t := c.Target(n)
			if t == nil || !works(n) || runsFunction(n) {
				w.fixed = true
				continue
			}
			if row, _ := t.Kernel(n); row != nil && i < len(row.Args) {
				w.narrow(row.Args[i].Layouts)
			}
		}
	}
	for _, r := range f.Results {
		if r.Def != nil && r.Def.Op == ir.OpWeight {
			wishFor(wishes, r.Def.Attr.(*ir.WeightAttr).Name).fixed = true
		}
	}
}

func wishFor(wishes map[string]*wish, name string) *wish {
	w := wishes[name]
	if w == nil {
		w = &wish{}
		wishes[name] = w
	}
	return w
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// narrow keeps the layouts that one more reader reads too. Where that leaves nothing, the
// wish of the earlier readers stays, and this one gets a second form later.
func (w *wish) narrow(layouts []dtype.Layout) {
	switch {
	case layouts == nil:
	case w.layouts == nil:
		w.layouts = layouts
	default:
		both := slices.DeleteFunc(slices.Clone(w.layouts), func(l dtype.Layout) bool { return !slices.Contains(layouts, l) })
		if len(both) > 0 {
			w.layouts = both
		}
	}
}

// choose returns the layout for a weight of type t: its own where that will do.
func (w *wish) choose(t ir.Type) dtype.Layout {
	if w.fixed || w.layouts == nil || slices.Contains(w.layouts, t.Layout) || t.Layout != dtype.Plain || t.Rank() != 2 && t.Rank() != 3 {
		return t.Layout
	}
	for _, l := range w.layouts {
		if l.Holds(t.DType) {
			return l
		}
	}
	return t.Layout
}

func layOut(c *Context, w *ir.Weight, s *wish) {
	l := s.choose(w.Type)
	if l == w.Type.Layout {
		return
	}
	setLayout(w, l)
	c.Count("weights", 1)
	c.Count("bytes", w.Type.MaxBytes())
}

// setLayout changes a weight's layout and how its bytes are made.
func setLayout(w *ir.Weight, l dtype.Layout) {
	w.Type.Layout = l
	if w.Expr != nil {
		w.Expr = ir.Pack(w.Expr, l.String())
	}
}

// followWeight gives a leaf the layout of its weight.
func followWeight(c *Context, n *ir.Node, byName map[string]*ir.Weight, wishes map[string]*wish) {
	name := n.Attr.(*ir.WeightAttr).Name
	w, r := byName[name], n.Result()
	if w == nil || w.Type.Layout == r.Type.Layout {
		return
	}
	c.CauseChange(n, ruleLayout, r.Type.Layout.String(), w.Type.Layout.String(), wishes[name].readers...)
	r.Type.Layout = w.Type.Layout
}

// secondForms are further forms of weights, made once for the module.
type secondForms struct {
	m      *ir.Module
	byName map[string]*ir.Weight
}

// get returns the weight that holds the named one in another layout. Only plain weights
// can be laid out; a packed one is laid out from what it was made of.
func (s *secondForms) get(c *Context, name string, layout dtype.Layout) *ir.Weight {
	formName := name + "." + layout.String()
	if w := s.byName[formName]; w != nil {
		return w
	}
	from := s.byName[name]
	w := &ir.Weight{Name: formName, Type: from.Type, Expr: from.Expr}
	if e := from.Expr; e != nil && e.Op == ir.ExprPack {
		w.Expr = e.Args[0]
	}
	w.Type.Layout = dtype.Plain
	if layout != dtype.Plain {
		setLayout(w, layout)
	}
	s.m.Weights = append(s.m.Weights, w)
	s.byName[formName] = w
	c.Count("second", 1)
	c.Count("second-bytes", w.Type.MaxBytes())
	return w
}

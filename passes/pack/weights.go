package pack

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// weightUse is what the readers of a weight can read.
type weightUse struct {
	layouts []dtype.Layout // that all readers so far read; nil is any
	readers []string       // ops, each once
	fixed   bool           // a view, call or result reads it: it keeps its layout
	open    bool           // a reader reads several layouts
	choice  *layoutChoice  // the comparison of layouts; nil if there was none
}

// layOutWeights gives every weight a layout that all its readers read: the first, or the cheapest of several. It
// returns which readers get a second form.
//
// Example: a weight of f16 that a matmul reads in panels, and a gather in rows or panels.
//
//	matmul                 panels            all readers so far read panels
//	gather                 rows, panels      all readers read panels: the weight is laid out in panels
//	another target's op    rows              no common layout: panels stay, and this reader gets a second form
func layOutWeights(c *pass.Context, m *ir.Module) *secondForms {
	uses := newWeightUses(m)
	for _, f := range m.AllFuncs() {
		uses.collect(c, f)
	}
	second := &secondForms{m: m, made: make(map[string]*ir.Weight), wanted: make(map[*ir.Node]dtype.Layout)}
	uses.chooseLayouts(c, second)
	for i, w := range m.Weights {
		layOut(c, w, &uses.of[i])
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight {
				uses.follow(c, n)
			}
		}
	}
	return second
}

// weightUses are the uses of all weights of a module.
type weightUses struct {
	m       *ir.Module
	of      []weightUse    // by the weight's index in the module
	indexes map[string]int // of weights, by name
}

func newWeightUses(m *ir.Module) *weightUses {
	s := &weightUses{m: m, of: make([]weightUse, len(m.Weights)), indexes: make(map[string]int, len(m.Weights))}
	for i, w := range m.Weights {
		s.indexes[w.Name] = i
	}
	return s
}

// index returns the index of the weight that a leaf names.
func (s *weightUses) index(leaf *ir.Node) int { return s.indexes[WeightName(leaf)] }

// collect adds what the nodes of f read of weights. Views, calls and results read any layout, but it must not change.
func (s *weightUses) collect(c *pass.Context, f *ir.Func) {
	for _, n := range f.Nodes {
		for i, a := range n.Args {
			if a == nil || a.Def == nil || a.Def.Op != ir.OpWeight {
				continue
			}
			w := &s.of[s.index(a.Def)]
			w.readers = appendNew(w.readers, n.Op.String())
			t := c.Target(n)
			if t == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
				w.fixed = true
				continue
			}
			if row, _ := t.Kernel(n); row != nil && i < len(row.Args) {
				w.narrow(row.Args[i].Layouts)
				w.open = w.open || target.HasLayoutChoice(n.Op, i) && len(row.Args[i].Layouts) > 1
			}
		}
	}
	for _, r := range f.Results {
		if r.Def != nil && r.Def.Op == ir.OpWeight {
			s.of[s.index(r.Def)].fixed = true
		}
	}
}

// narrow keeps the layouts that one more reader reads too. If it reads none of them, they stay, and this reader gets a
// second form later.
func (w *weightUse) narrow(layouts []dtype.Layout) {
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

// choose returns the layout for a weight of type t: its own if all readers read that.
func (w *weightUse) choose(t ir.Type) dtype.Layout {
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

// layOut gives a weight the layout that suits its use.
func layOut(c *pass.Context, w *ir.Weight, s *weightUse) {
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

// follow gives a leaf the layout of its weight.
func (s *weightUses) follow(c *pass.Context, n *ir.Node) {
	i, r := s.index(n), n.Result()
	w := s.m.Weights[i]
	if choice := s.of[i].choice; choice != nil {
		c.Cause(n, pass.RulePackCost, optionTexts(choice.options)...)
	}
	if w.Type.Layout == r.Type.Layout {
		return
	}
	c.CauseChange(n, pass.RulePackLayout, r.Type.Layout.String(), w.Type.Layout.String(), s.of[i].readers...)
	r.Type.Layout = w.Type.Layout
}

// secondForms are weights in a second layout, made once for the module.
type secondForms struct {
	m      *ir.Module
	made   map[string]*ir.Weight     // by name
	wanted map[*ir.Node]dtype.Layout // the readers for which a second form is cheaper, and its layout
}

// get returns the weight that holds the named one in another layout. It is made from plain bytes: if the named weight
// is packed, from the bytes that it was packed from.
func (s *secondForms) get(c *pass.Context, name string, layout dtype.Layout) *ir.Weight {
	formName := name + "." + layout.String()
	if w := s.made[formName]; w != nil {
		return w
	}
	from := s.m.Weight(name)
	w := &ir.Weight{Name: s.unused(formName), Type: from.Type, Expr: from.Expr}
	if e := from.Expr; e != nil && e.Op == ir.ExprPack {
		w.Expr = e.Args[0]
	}
	w.Type.Layout = dtype.Plain
	if layout != dtype.Plain {
		setLayout(w, layout)
	}
	s.m.Weights = append(s.m.Weights, w)
	s.made[formName] = w
	c.Count("second", 1)
	c.Count("second-bytes", w.Type.MaxBytes())
	return w
}

// unused returns the name, with underscores appended if a weight has it already.
func (s *secondForms) unused(name string) string {
	for s.m.Weight(name) != nil {
		name += "_"
	}
	return name
}

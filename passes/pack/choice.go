package pack

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// layoutChoice is a comparison of layouts for a weight or a state, and its result.
type layoutChoice struct {
	options []layoutOption
	taken   int // index of the option that was taken
}

// chooseLayouts compares the layouts of the weights for which there are several. It adds the readers that get a second
// form.
func (s *weightUses) chooseLayouts(c *pass.Context, second *secondForms) {
	if !c.Enabled(pass.RulePackCost) || !slices.ContainsFunc(s.of, func(w weightUse) bool { return w.open }) {
		return
	}
	for i, readers := range s.openReaders(c) {
		w := s.m.Weights[i]
		if !s.of[i].canChoose(w.Type) || len(readers) == 0 {
			continue
		}
		s.of[i].decide(c, w, readers)
		s.of[i].split(c, readers, second)
	}
}

// canChoose reports whether pack may choose the weight's layout.
func (w *weightUse) canChoose(t ir.Type) bool {
	return w.open && !w.fixed && t.Layout == dtype.Plain && len(w.layouts) > 0
}

// openReaders returns the readers of each open weight, by its index.
func (s *weightUses) openReaders(c *pass.Context) [][]layoutReader {
	readers := make([][]layoutReader, len(s.of))
	funcs := s.m.AllFuncs()
	weights := flow.StepWeights(funcs)
	for _, f := range funcs {
		for _, n := range f.Nodes {
			for i, a := range n.Args {
				if a == nil || a.Def == nil || a.Def.Op != ir.OpWeight || !s.of[s.index(a.Def)].open {
					continue // entries of a repeat's table are not leaves
				}
				if r, ok := newLayoutReader(c, n, i, weights[f]); ok {
					k := s.index(a.Def)
					readers[k] = append(readers[k], r)
				}
			}
		}
	}
	return readers
}

// newLayoutReader returns n as a reader of operand i; ok is false if it has no kernel that names a layout.
func newLayoutReader(c *pass.Context, n *ir.Node, i int, weight float64) (r layoutReader, ok bool) {
	t := c.Target(n)
	if t == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
		return r, false
	}
	layouts := t.Layouts(n.Op, i, n.Args[i].Type.DType)
	return layoutReader{n, layouts, weight}, len(layouts) > 0
}

// decide compares the layouts that all readers read, and two forms of the weight if some reader reads a further layout.
func (w *weightUse) decide(c *pass.Context, weight *ir.Weight, readers []layoutReader) {
	var options []layoutOption
	for _, l := range w.layouts {
		one := []dtype.Layout{l}
		if l.Holds(weight.Type.DType) && !slices.ContainsFunc(readers, func(r layoutReader) bool { return !r.reads(one) }) {
			options = append(options, newOption(c, readers, l))
		}
	}
	if len(options) == 0 {
		return // no layout serves all readers: some reader gets a second form anyway
	}
	for _, l := range otherLayouts(readers, w.layouts) {
		o := newOption(c, readers, options[0].layouts[0], l)
		o.extra = layoutBytes(weight.Type, l)
		options = append(options, o)
	}
	if len(options) < 2 {
		return
	}
	w.choice = &layoutChoice{options, cheapest(options)}
	w.layouts = options[w.choice.taken].layouts[:1]
}

// otherLayouts returns the layouts that some readers read, without the known ones.
func otherLayouts(readers []layoutReader, known []dtype.Layout) (others []dtype.Layout) {
	for _, r := range readers {
		for _, l := range r.layouts {
			if !slices.Contains(known, l) && !slices.Contains(others, l) {
				others = append(others, l)
			}
		}
	}
	return others
}

// layoutBytes returns the bytes of a weight of type t in a layout.
func layoutBytes(t ir.Type, l dtype.Layout) int64 {
	t.Layout = l
	return t.MaxBytes()
}

// split adds the readers that get the second form, if two forms were taken.
func (w *weightUse) split(c *pass.Context, readers []layoutReader, second *secondForms) {
	if w.choice == nil {
		return
	}
	taken := w.choice.options[w.choice.taken].layouts
	if len(taken) < 2 {
		return
	}
	for i := range readers {
		if l, _, _ := readers[i].best(c, taken); l != taken[0] {
			second.wanted[readers[i].n] = l
		}
	}
}

// wants returns the layout of the second form that n gets as operand i; ok is false if it reads the first form.
func (s *secondForms) wants(n *ir.Node, i int) (l dtype.Layout, ok bool) {
	l, ok = s.wanted[n]
	return l, ok && target.HasLayoutChoice(n.Op, i)
}

// compare compares the packed layout of a state with rows, by the time of the readers that read both.
func (u *stateUse) compare(c *pass.Context, state string, weights map[*ir.Func]float64) {
	if !c.Enabled(pass.RulePackCost) {
		return
	}
	var readers []layoutReader
	for _, n := range u.nodes {
		i := target.LayoutOperand(n.Op)
		if i < 0 {
			continue
		}
		if name, ok := stateOf(n.Args[i]); !ok || name != state {
			continue
		}
		if r, ok := newLayoutReader(c, n, i, weights[n.Func]); ok && r.reads([]dtype.Layout{dtype.Plain}) {
			readers = append(readers, r)
		}
	}
	if len(readers) > 0 {
		options := []layoutOption{newOption(c, readers, u.layout), newOption(c, readers, dtype.Plain)}
		u.choice = &layoutChoice{options, cheapest(options)}
	}
}

// pays reports whether the packed layout is taken: it is cheaper, or nothing was compared.
func (u *stateUse) pays() bool { return u.choice == nil || u.choice.taken == 0 }

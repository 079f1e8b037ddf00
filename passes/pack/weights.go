package pack

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// wish is what the readers of a weight can read.
type wish struct {
	layouts []dtype.Layout // that all readers so far read; nil is any
	readers []string       // ops, each once
	fixed   bool           // a view, call or result reads it: it stays as it is
	open    bool           // a reader reads several
	choice  *layoutChoice  // what was compared; nil where there was no choice
}

// layOutWeights gives every weight a layout that all its readers read: the first, or the
// cheapest of several.
func layOutWeights(c *pass.Context, m *ir.Module) *secondForms {
	wishes := newWishes(m)
	for _, f := range m.AllFuncs() {
		wishes.collect(c, f)
	}
	second := &secondForms{m: m, made: make(map[string]*ir.Weight), wanted: make(map[*ir.Node]dtype.Layout)}
	wishes.chooseLayouts(c, second)
	for i, w := range m.Weights {
		layOut(c, w, &wishes.of[i])
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight {
				wishes.follow(c, n)
			}
		}
	}
	return second
}

// wishes are those of all weights of a module.
type wishes struct {
	m       *ir.Module
	of      []wish
	numbers map[*ir.Func][]int32 // of the weights that leaves name, by id of the leaf

	in        *ir.Func // whose leaf was asked for last, as functions are walked one by one
	inNumbers []int32
}

// newWishes numbers the weights, and looks the name of each leaf up once.
func newWishes(m *ir.Module) *wishes {
	index := make(map[string]int32, len(m.Weights))
	for i, w := range m.Weights {
		index[w.Name] = int32(i)
	}
	s := &wishes{m: m, of: make([]wish, len(m.Weights)), numbers: make(map[*ir.Func][]int32)}
	for _, f := range m.AllFuncs() {
		numbers := make([]int32, f.NumNodes())
		for _, n := range f.Nodes {
			if n.Op == ir.OpWeight {
				numbers[n.ID] = index[WeightName(n)]
			}
		}
		s.numbers[f] = numbers
	}
	return s
}

// number returns the number of the weight that a leaf names.
func (s *wishes) number(leaf *ir.Node) int32 {
	if leaf.Func != s.in {
		s.in, s.inNumbers = leaf.Func, s.numbers[leaf.Func]
	}
	return s.inNumbers[leaf.ID]
}

// collect notes what each node of f can read of weights. Views, calls and results
// read them as they are.
func (s *wishes) collect(c *pass.Context, f *ir.Func) {
	for _, n := range f.Nodes {
		for i, a := range n.Args {
			if a == nil || a.Def == nil || a.Def.Op != ir.OpWeight {
				continue
			}
			w := &s.of[s.number(a.Def)]
			w.addReader(n.Op)
			t := c.Target(n)
			if t == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
				w.fixed = true
				continue
			}
			if row, _ := t.Kernel(n); row != nil && i < len(row.Args) {
				w.narrow(row.Args[i].Layouts)
				w.open = w.open || i == target.LayoutOperand(n.Op) && len(row.Args[i].Layouts) > 1
			}
		}
	}
	for _, r := range f.Results {
		if r.Def != nil && r.Def.Op == ir.OpWeight {
			s.of[s.number(r.Def)].fixed = true
		}
	}
}

// addReader notes the name of an op that reads the weight. Most have one.
func (w *wish) addReader(op ir.Op) {
	name := op.String()
	switch {
	case w.readers == nil:
		w.readers = soleReaders[op : op+1 : op+1]
	case !slices.Contains(w.readers, name):
		w.readers = append(w.readers, name)
	}
}

// soleReaders are the names of ops, to be cut into lists of one.
var soleReaders = func() (names [ir.NumOps]string) {
	for op := range names {
		names[op] = ir.Op(op).String()
	}
	return names
}()

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

func layOut(c *pass.Context, w *ir.Weight, s *wish) {
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
func (s *wishes) follow(c *pass.Context, n *ir.Node) {
	i, r := s.number(n), n.Result()
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

// secondForms are further forms of weights, made once for the module.
type secondForms struct {
	m    *ir.Module
	made map[string]*ir.Weight // by name

	// wanted are the readers to which a second form was given by choice, with its layout.
	wanted map[*ir.Node]dtype.Layout
}

// get returns the weight that holds the named one in another layout. Only plain weights
// can be laid out; a packed one is laid out from what it was made of.
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

// unused returns a name that no weight has, the one given if possible.
func (s *secondForms) unused(name string) string {
	for s.m.Weight(name) != nil {
		name += "_"
	}
	return name
}

package sched

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/check"
)

// decidingPasses are the passes whose decisions the traces contain.
var decidingPasses = []string{"assign", "split", "copy", "elide-copy"}

// Run runs the deciding passes and checks their decisions at the addresses of the traces.
func (g *Graph) Run(ctx context.Context) error {
	_, err := passes.Run(ctx, g.Module, passes.RunOptions{Targets: g.Targets, Options: g.Options, Passes: decidingPasses})
	if err != nil {
		return err
	}
	g.found, err = g.checkTraced(ctx)
	return err
}

// Items are the items that are compared separately.
var Items = []string{"backends", "causes", "splits", "copies", "rewired", "final_leafs", "final_nodes", "unreachable"}

// Outcome holds a line of text for each decision, by item.
type Outcome map[string][]string

// Differences returns, by item, the first line in which the decisions of the passes about case i differ from the
// trace.
func (g *Graph) Differences(i int) map[string]string {
	want, got := g.Cases[i].outcome(), g.outcome(i)
	diffs := make(map[string]string)
	for _, item := range Items {
		for k := range max(len(want[item]), len(got[item])) {
			if w, g := line(want[item], k), line(got[item], k); w != g {
				diffs[item] = fmt.Sprintf("%s %d: trace %s, passes %s", item, k, w, g)
				break
			}
		}
	}
	return diffs
}

func line(lines []string, i int) string {
	if i >= len(lines) {
		return "nothing"
	}
	return lines[i]
}

// String identifies a copy independently of its number.
func (c Copy) String() string {
	return fmt.Sprintf("copy of %d on %s slot %d", c.Of, c.Backend, c.Slot)
}

// String contains everything that is compared.
func (s Split) String() string {
	return fmt.Sprintf("%s %d to %d, inputs %v", s.Backend, s.Start, s.End, s.Inputs)
}

// outcome returns the decisions of the trace.
func (c *Case) outcome() Outcome {
	o, e := make(Outcome), &c.Expect
	for i, a := range e.Assign {
		o.add("backends", "%d %s", i, a[0])
		o.add("causes", "%d %s", i, a[1])
	}
	for _, s := range e.Splits {
		o.add("splits", "%v", s)
	}
	for _, cp := range e.Copies {
		o.add("copies", "%v", cp)
	}
	for _, r := range e.Rewired {
		o.add("rewired", "%d source %d is %v", r[0], r[1], e.Copies[r[2]])
	}
	for _, l := range e.FinalLeafs {
		o.add("final_leafs", "%s", c.finalText(l))
	}
	for _, n := range e.FinalNodes {
		o.add("final_nodes", "%s", c.finalText(n))
	}
	for _, u := range e.Unreachable {
		o.add("unreachable", "%d source %d", u[0], u[1])
	}
	return o.sorted()
}

func (o Outcome) add(item, format string, args ...any) {
	o[item] = append(o[item], fmt.Sprintf(format, args...))
}

// sorted sorts the items that are sets.
func (o Outcome) sorted() Outcome {
	for _, item := range []string{"copies", "rewired", "unreachable"} {
		slices.Sort(o[item])
	}
	return o
}

// finalText returns an entry of a final order: a tensor's number, or a text.
func (c *Case) finalText(entry any) string {
	text := fmt.Sprint(entry)
	if k, ok := strings.CutPrefix(text, "copy "); ok {
		if i, err := strconv.Atoi(k); err == nil && i < len(c.Expect.Copies) {
			return c.Expect.Copies[i].String()
		}
	}
	return text
}

// reading converts a function after the passes to the terms of its case.
type reading struct {
	c      *Case
	f      *ir.Func
	values []*ir.Value
	number map[*ir.Node]int // of tensors, by defining node
	copies [][]*ir.Node     // indexed by split, in order
	idle   string           // the backend of a split without work
	o      Outcome
}

// read returns the function of case i.
func (g *Graph) read(i int) *reading {
	r := &reading{c: g.Cases[i], f: g.Module.Funcs[i], values: g.Values[i], number: make(map[*ir.Node]int), idle: g.idle(i), o: make(Outcome)}
	for t, v := range r.values {
		if v != nil {
			r.number[v.Def] = t
		}
	}
	r.readCopies()
	return r
}

// idle returns the backend that ggml's scheduler gives the only split of a graph of views. As nothing chooses one,
// that is the backend of the first split which it made before, and initially the best backend.
func (g *Graph) idle(i int) string {
	for _, f := range slices.Backward(g.Module.Funcs[:i]) {
		for _, n := range f.Nodes {
			if n.Split == 0 && !n.Is(ir.View) && !n.Is(ir.Leaf) {
				return n.Backend
			}
		}
	}
	return g.Cases[i].Backends[0].Name
}

// outcome returns the decisions of the passes about case i.
func (g *Graph) outcome(i int) Outcome {
	r := g.read(i)
	r.assign()
	r.splits()
	r.order()
	r.inputs()
	r.rewired()
	for _, v := range g.found[i] {
		if v.Unreached != nil {
			r.unreachable(*v.Unreached)
		}
	}
	return r.o.sorted()
}

// readCopies finds the copies of each split; their ids are in the order of first use.
func (r *reading) readCopies() {
	for _, n := range r.f.Nodes {
		if n.Op != ir.OpCopy {
			continue
		}
		for len(r.copies) <= n.Split {
			r.copies = append(r.copies, nil)
		}
		r.copies[n.Split] = append(r.copies[n.Split], n)
	}
	for _, nodes := range r.copies {
		slices.SortFunc(nodes, func(a, b *ir.Node) int { return cmp.Compare(a.ID, b.ID) })
	}
}

func (r *reading) assign() {
	for t, v := range r.values {
		if v == nil {
			r.o.add("backends", "%d is in no order", t)
			continue
		}
		r.o.add("backends", "%d %s", t, v.Def.Backend)
		r.o.add("causes", "%d %s", t, r.cause(v.Def))
	}
}

// cause returns the last cause of assign. For 1.wgt it includes the index of the weight among the sources.
func (r *reading) cause(n *ir.Node) string {
	for _, c := range slices.Backward(n.Causes()) {
		if c.Pass != "assign" {
			continue
		}
		if c.Rule == "1.wgt" {
			return c.Rule + strconv.Itoa(r.position(n, c.Operands[0]))
		}
		return c.Rule
	}
	return ""
}

// position returns the index of the first source with that name.
func (r *reading) position(n *ir.Node, name string) int {
	return slices.IndexFunc(r.c.Tensors[r.number[n]].Src, func(s *int) bool {
		return s != nil && r.values[*s].String() == name
	})
}

// splits finds the boundaries of splits in the order of the case.
func (r *reading) splits() {
	var splits []Split
	for pos, t := range r.c.Nodes {
		n := r.values[t].Def
		for len(splits) <= n.Split {
			splits = append(splits, Split{Start: pos, Inputs: r.inputsOf(len(splits))})
		}
		s := &splits[n.Split]
		if s.End = pos + 1; !n.Is(ir.View) {
			s.Backend = n.Backend
		}
	}
	for i, s := range splits {
		if s.Backend == "" {
			splits[i].Backend = r.idle
		}
		r.o.add("splits", "%v", splits[i])
	}
}

// order reads the order of work: for each split its copies, then its nodes. It differs from the order of the module
// in two ways, since the module defines values before they are read. Views, which do no work, appear where the case
// has them, though the module has copied views before their copies. A copy of a value that is computed in the same
// split (copy.late) appears at the head of the split, where ggml makes it too early.
func (r *reading) order() {
	views := r.views()
	split := -1
	for _, n := range r.f.Nodes {
		t, ofCase := r.number[n]
		switch {
		case n.Op == ir.OpCopy && !isLate(n) && n.Split <= split:
			r.o.add("final_nodes", "%v behind a node", r.copyOf(n)) // never equal
		case !ofCase || n.Is(ir.View) || n.Is(ir.Leaf):
		default:
			if n.Split > split {
				views = r.emitViews(views, func(v int) bool { return r.values[v].Def.Split < n.Split })
				split = n.Split
				r.heads(split)
			}
			pos := slices.Index(r.c.Nodes, t)
			views = r.emitViews(views, func(v int) bool { return slices.Index(r.c.Nodes, v) < pos })
			r.o.add("final_nodes", "%d", t)
		}
	}
	r.emitViews(views, func(int) bool { return true })
}

func isLate(n *ir.Node) bool {
	return n.HasCause("copy.late")
}

// views returns the views of the case in its order.
func (r *reading) views() []int {
	var views []int
	for _, t := range r.c.Nodes {
		if r.values[t].Def.Is(ir.View) {
			views = append(views, t)
		}
	}
	return views
}

// emitViews emits the first views, as far as they are due, and returns the rest.
func (r *reading) emitViews(views []int, due func(int) bool) []int {
	for len(views) > 0 && due(views[0]) {
		r.o.add("final_nodes", "%d", views[0])
		views = views[1:]
	}
	return views
}

func (r *reading) inputsOf(split int) []int {
	inputs := []int{}
	for _, n := range r.copiesOf(split) {
		inputs = append(inputs, r.number[n.Args[0].Def])
	}
	return inputs
}

func (r *reading) copiesOf(split int) []*ir.Node {
	if split >= len(r.copies) {
		return nil
	}
	return r.copies[split]
}

// heads emits the copies of a split. Their sources are kept until then.
func (r *reading) heads(split int) {
	for _, n := range r.copiesOf(split) {
		cp := r.copyOf(n)
		r.o.add("final_nodes", "keep %d", cp.Of)
		r.o.add("final_nodes", "%v", cp)
	}
}

// copyOf returns the current copy made by a node.
func (r *reading) copyOf(n *ir.Node) Copy {
	return Copy{Of: r.number[n.Args[0].Def], Backend: n.Backend, Slot: r.c.CurrentCopy}
}

// inputs emits all copies, and the leafs. With several copies, those of the inputs of the graph come first, in the
// order in which they are read, followed by those of the splits.
func (r *reading) inputs() {
	for _, t := range r.graphInputs() {
		for slot := range r.c.Copies {
			if slot == r.c.CurrentCopy {
				r.o.add("final_leafs", "%d", t)
				continue
			}
			r.copyLeaf(Copy{Of: t, Backend: r.values[t].Def.Backend, Slot: slot})
		}
	}
	for _, nodes := range r.copies {
		for _, n := range nodes {
			for slot := range r.c.Copies {
				cp := r.copyOf(n)
				cp.Slot = slot
				r.copyLeaf(cp)
			}
		}
	}
	for _, t := range r.c.Leafs {
		r.o.add("final_leafs", "%d", t)
	}
}

func (r *reading) copyLeaf(cp Copy) {
	r.o.add("copies", "%v", cp)
	if r.c.Copies > 1 {
		r.o.add("final_leafs", "%v", cp)
	}
}

// graphInputs returns the inputs with several copies, in the order of first use.
func (r *reading) graphInputs() []int {
	var inputs []int
	for _, t := range r.c.Nodes {
		n := r.values[t].Def
		if n.Is(ir.View) {
			continue
		}
		for _, v := range n.Sources() {
			if v.Def.Op == ir.OpCopy {
				v = v.Def.Args[0]
			}
			t := r.number[v.Def]
			if v.Def.HasCause("4.cpy") && !slices.Contains(inputs, t) {
				inputs = append(inputs, t)
			}
		}
	}
	return inputs
}

func (r *reading) rewired() {
	for _, t := range r.c.Nodes {
		n := r.values[t].Def
		for i, v := range n.Sources() {
			if v.Def.Op == ir.OpCopy {
				r.o.add("rewired", "%d source %d is %v", t, n.SourcePos(i), r.copyOf(v.Def))
			}
		}
	}
}

func (r *reading) unreachable(u check.Unreached) {
	pos := -1
	if u.Operand >= 0 {
		pos = u.Node.SourcePos(u.Operand)
	}
	r.o.add("unreachable", "%d source %d", r.number[u.Node], pos)
}

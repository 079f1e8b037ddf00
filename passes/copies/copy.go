package copies

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Copy copies every operand into the space that its backend prefers.
//
// Before: every node has a split. After: every operand lies in the preferred space of its
// node's backend, and results of functions where the last target keeps its bytes. Each
// split has copies of its own at its beginning.
//
// Not earlier: a copy belongs to the inputs of a split. Not later: plan gives copies
// addresses.
//
// Cost: one walk, O(nodes + operands).
//
// This is sufficient, not thrifty: elide-copy removes what a shared space or another copy
// makes needless. Views that show all of their operand in another shape or order are made
// again of the copy, so that a value is copied once for all its views; a slice is copied
// as what it shows, unless copying all of the value once takes less than its slices do
// (copy_whole.go). Of experts that lie elsewhere those are copied that the router chose
// (copy_experts.go). Inputs of the caller go to backends with queues ahead of all else
// (copy_ahead.go).
var Copy = pass.Pass{
	Name:     "copy",
	Doc:      "copy split inputs into the space of their backend",
	Run:      insertCopies,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned | ir.PropPacked | ir.PropSplit,
	Gives:    ir.PropCopied,
	Breaks:   pass.FromCopied,
	Rules: []pass.Rule{
		{Name: pass.RuleCopyIn, Doc: "the operand lies in another space"},
		{Name: pass.RuleCopyLate, Doc: "what is copied is computed in the same split: it is copied there, not at the head"},
		{Name: pass.RuleCopyOut, Doc: "the caller, or the next round, reads the result in another space"},
		{Name: pass.RuleCopyWhole, Doc: "what is read of the value in this space is more than the value: all of it is copied, once"},
		{Name: pass.RuleCopyAhead, Doc: "an input of the caller is copied before all else: the caller may overwrite it soon, and the copy runs beside other work"},
		{Name: pass.RuleCopyExperts, Doc: "the experts lie in another space: of them those are copied that the router chose"},
		{Name: pass.RuleCopyIdx, Doc: "whoever copies experts has to know which ones, where they lie"},
	},
	Flags: copyFlags{},
}

type copyFlags struct {
	Needed bool `debug:"needed,copy only what the backend cannot address, as ggml's rules do"`
	Copies int  `debug:"copies,under ggml's rules: instances of each copy"`
}

func insertCopies(c *pass.Context, m *ir.Module) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil {
		return err
	}
	for _, f := range m.AllFuncs() {
		newCopier(c, f, set).run(f)
	}
	flow.NumberBodies(m)
	return nil
}

// copier rebuilds one function, split by split.
type copier struct {
	c      *pass.Context
	e      *rewrite.Edit
	set    *assign.RuleSet
	needed bool // no pass removes copies later: only what cannot be addressed is copied

	once   map[copyFor]*ir.Value // copies of the function, where RuleSet.copyOnce
	copies splitTable            // of the open split, by what is copied
	views  splitTable            // likewise: views made again
	before []*ir.Node            // what is copied elsewhere before the open split begins
	heads  []*ir.Node            // copies and views at the beginning of the open split
	body   []*ir.Node            // its nodes
	split  int
	last   string // the backend of the split before

	placed []bool           // by id: what is in the new order
	extra  map[*ir.Node]int // nodes of splits that the pass adds, with a number for each split

	full, wholes map[CopyKey]bool        // values of which all is copied into a space, slices or not
	ahead        map[CopyKey]*ir.Value   // copies of inputs
	chosen       map[expertKey]*ir.Value // copies of experts, of the open split
	known        map[CopyKey]*ir.Value   // copies of indices, where the experts lie
}

// copyFor names a value that is copied for a backend.
type copyFor struct {
	v       *ir.Value
	backend string
}

// splitTable holds values of the open split by the ids of others.
type splitTable struct {
	list  []splitEntry
	split int32 // counts the splits that were opened
}

type splitEntry struct {
	split int32
	v     *ir.Value
}

// clear makes the table an empty one.
func (t *splitTable) clear() { t.split++ }

// get returns the value for key, or nil.
func (t *splitTable) get(key *ir.Value) *ir.Value {
	if key.ID < len(t.list) && t.list[key.ID].split == t.split {
		return t.list[key.ID].v
	}
	return nil
}

// set makes v the value for key.
func (t *splitTable) set(key, v *ir.Value) {
	if more := key.ID + 1 - len(t.list); more > 0 {
		t.list = append(t.list, make([]splitEntry, max(more, key.Func.NumValues()-len(t.list)))...)
	}
	t.list[key.ID] = splitEntry{t.split, v}
}

func newCopier(c *pass.Context, f *ir.Func, set *assign.RuleSet) *copier {
	return &copier{
		c: c, e: rewrite.NewEdit(c, f), set: set, needed: !set.Elide || pass.Flags[copyFlags](c).Needed, once: make(map[copyFor]*ir.Value),
		placed: make([]bool, f.NumNodes()), extra: make(map[*ir.Node]int),
		ahead: make(map[CopyKey]*ir.Value), known: make(map[CopyKey]*ir.Value), chosen: make(map[expertKey]*ir.Value),
	}
}

func (w *copier) run(f *ir.Func) {
	if w.set.Elide {
		w.wholeCopies(f)
		w.copyAhead(f)
	}
	w.open(0)
	for _, n := range f.Nodes {
		if n.Split != w.split {
			w.close()
			w.open(n.Split)
		}
		w.operands(n)
		w.body = append(w.body, n)
	}
	w.close()
	w.renumber()
	w.e.Done()
	w.results(f)
}

func (w *copier) open(split int) {
	w.split = split
	w.copies.clear()
	w.views.clear()
	clear(w.chosen)
	w.before, w.heads, w.body = w.before[:0], w.heads[:0], w.body[:0]
}

// close puts the open split at the end of the order: what its copies read first, as leaves
// and views may stand in the same split, then the copies, then the rest.
func (w *copier) close() {
	for _, h := range w.before {
		w.placeDefs(h)
	}
	for _, h := range w.heads {
		w.placeDefs(h)
	}
	for _, n := range w.body {
		if flow.DoesWork(n) {
			w.last = n.Backend
		}
		w.place(n)
	}
}

// placeDefs puts h into the order, after the leaves and views that it reads and that are not
// there yet: they stand in the same split.
func (w *copier) placeDefs(h *ir.Node) {
	for _, a := range h.Args {
		if a != nil && a.Def != nil && !flow.DoesWork(a.Def) && !w.isPlaced(a.Def) {
			w.extraLike(h, a.Def)
			w.placeDefs(a.Def)
		}
	}
	w.place(h)
}

func (w *copier) place(n *ir.Node) {
	if !w.isPlaced(n) {
		w.placed[n.ID] = true
		w.e.Keep(n)
	}
}

// isPlaced reports whether n, which the pass may have made, is in the new order.
func (w *copier) isPlaced(n *ir.Node) bool {
	if n.ID >= len(w.placed) {
		w.placed = append(w.placed, make([]bool, w.e.F.NumNodes()-len(w.placed))...)
	}
	return w.placed[n.ID]
}

// elsewhere makes n, which was made for the open split, a node of the split before it, if
// that is one of the backend, or of one that is added between.
func (w *copier) elsewhere(n *ir.Node, backend string) {
	w.heads = w.heads[:len(w.heads)-1]
	n.Backend = backend
	if w.split > 0 && w.last == backend {
		n.Split = w.split - 1
	} else {
		w.extra[n] = w.split + 1
	}
	w.before = append(w.before, n)
}

// extraLike makes what h reads a part of the split that h is in.
func (w *copier) extraLike(h, def *ir.Node) {
	def.Split = h.Split
	if number, ok := w.extra[h]; ok {
		w.extra[def] = number
	}
}

// renumber numbers splits anew, as some were added.
func (w *copier) renumber() {
	if len(w.extra) == 0 {
		return
	}
	number, split, extra := -1, -1, 0
	for _, n := range w.e.Out {
		if n.Split != split || w.extra[n] != extra || number < 0 {
			number++
		}
		split, extra = n.Split, w.extra[n]
		n.Split = number
	}
}

// operands makes n read copies. A node that itself moves bytes between spaces reads them
// where they are; the aliased operand of a node has to lie where its backend writes.
func (w *copier) operands(n *ir.Node) {
	t := w.c.Target(n)
	if t == nil || !flow.DoesWork(n) || flow.IsTransfer(n) && !w.copiedAnyway(n, t) {
		return
	}
	if w.set.CopyOnce {
		w.copyOnce(n, t)
		return
	}
	if w.set.Elide {
		w.experts(n, t)
	}
	for i, a := range n.Args {
		if a != nil && a.Type.Space != t.Home() && !(t.Addresses(a.Type.Space) && w.stays(n, i)) {
			n.Args[i] = w.here(n, a)
		}
	}
}

// copyOnce makes n read copies, each made in the split of its first reader.
func (w *copier) copyOnce(n *ir.Node, t *target.Descriptor) {
	if flow.RunsFunction(n) {
		return
	}
	for i, a := range n.Sources() {
		if a == nil || n.Is(ir.Alias) && i == n.Op.Info().AliasArg || !w.set.Crosses(w.c, t, a) {
			continue
		}
		key := copyFor{a, t.Name}
		if w.once[key] == nil {
			w.once[key] = w.copyOf(n, a)
			w.late(w.once[key].Def, a)
			w.several(w.once[key].Def)
		}
		n.Args[i] = w.once[key]
	}
}

// several notes how many instances of a copy there are, under rules that say so.
func (w *copier) several(cp *ir.Node) {
	if n := pass.Flags[copyFlags](w.c).Copies; n > 1 {
		cp.Submitted().Slots = n
	}
}

// late moves a copy from the head of the open split to where the walk is, if what it
// copies is computed in the same split: a view may be with another backend than what it
// shows. (ggml's scheduler copies at the head all the same, and so too early.)
func (w *copier) late(cp *ir.Node, v *ir.Value) {
	if !w.computedHere(v) {
		return
	}
	w.heads = w.heads[:len(w.heads)-1]
	w.body = append(w.body, cp)
	w.c.Cause(cp, pass.RuleCopyLate, v.String())
}

// computedHere reports whether v needs a node that works in the open split.
func (w *copier) computedHere(v *ir.Value) bool {
	n := v.Def
	if n == nil || n.Split != w.split || flow.DoesWork(n) {
		return n != nil && n.Split == w.split
	}
	return slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && w.computedHere(a) })
}

// stays reports whether operand i of n, which n's backend can address, is read where it
// lies: copies are not thinned out later, n writes there, or it was written in this split.
func (w *copier) stays(n *ir.Node, i int) bool {
	if w.needed || flow.RunsFunction(n) || n.Is(ir.Alias) && i == n.Op.Info().AliasArg {
		return true
	}
	v := n.Args[i]
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v.Def != nil && flow.DoesWork(v.Def) && v.Def.Split == w.split
}

// here returns v in the home space of n's backend.
func (w *copier) here(n *ir.Node, v *ir.Value) *ir.Value {
	base, whole := flow.CopyBase(v), w.wholes[CopyKey{flow.ViewedValue(v), w.c.Target(n).Home()}]
	if all := w.ahead[CopyKey{base, w.c.Target(n).Home()}]; all != nil {
		w.copies.set(base, all)
	}
	if v != base || whole && v.Def != nil && v.Def.Is(ir.View) {
		if again := w.views.get(v); again != nil {
			return again
		}
		again := w.node(n, v.Def.Op, v.Def.Attr, v.Name+"."+n.Backend, w.here(n, v.Def.Args[0])).Result()
		w.views.set(v, again)
		return again
	}
	if made := w.copies.get(base); made != nil {
		return made
	}
	made := w.copyOf(n, base)
	w.copies.set(base, made)
	if whole {
		w.c.Cause(made.Def, pass.RuleCopyWhole, base.String())
	}
	return made
}

// copyOf returns a copy of v for n, made at the head of the open split.
func (w *copier) copyOf(n *ir.Node, v *ir.Value) *ir.Value {
	cp := w.node(n, ir.OpCopy, nil, v.Name+"."+n.Backend, v)
	w.c.CauseChange(cp, pass.RuleCopyIn, v.Type.Space, cp.Result().Type.Space, v.String(), n.String())
	w.c.Count("inserted", 1)
	return cp.Result()
}

// node makes a node at the head of the open split.
func (w *copier) node(n *ir.Node, op ir.Op, attr any, name string, arg *ir.Value) *ir.Node {
	h := w.e.Add(n, op, attr, name, arg)
	w.e.Drop(h)
	h.Split = w.split
	w.heads = append(w.heads, h)
	return h
}

// results copies what the caller reads to where the last target keeps its bytes, and what the next
// round of a body begins with to where the body looks for it. They are a split of that target.
func (w *copier) results(f *ir.Func) {
	last := w.c.Targets.Last()
	for i, r := range f.Results {
		there := last.Addresses(r.Type.Space)
		if f.Owner != nil {
			there = r.Type.Space == f.Params[i].Type.Space
		}
		if there || r.Def != nil && r.Def.Op == ir.OpForeign {
			continue // the caller of a foreign graph reads it where it lies
		}
		f.Results[i] = w.result(r, last)
	}
	f.Nodes = w.e.Out
}

// result returns a copy of a result for the caller. Of one that shows another value in another
// shape that value is copied: readers of it may have needed the same copy.
func (w *copier) result(r *ir.Value, last *target.Descriptor) *ir.Value {
	name := r.Name + "." + last.Name
	if w.set.Elide && r.Def != nil && r.Def.Op == ir.OpReshape {
		view := w.e.Add(nil, ir.OpReshape, r.Def.Attr, name, w.result(r.Def.Args[0], last))
		view.Split = view.Args[0].Def.Split
		return view.Result()
	}
	n := w.e.Add(nil, ir.OpCopy, nil, name, r)
	n.Backend = last.Name
	n.Result().Type.Space = last.Home()
	n.Split = w.lastSplit(last.Name, n)
	w.c.CauseChange(n, pass.RuleCopyOut, r.Type.Space, last.Home(), r.String())
	w.c.Count("inserted", 1)
	return n.Result()
}

// lastSplit returns the number of the split that a node at the end belongs to.
func (w *copier) lastSplit(backend string, n *ir.Node) int {
	for i := len(w.e.Out) - 1; i >= 0; i-- {
		before := w.e.Out[i]
		if before == n || !flow.DoesWork(before) {
			continue
		}
		if before.Backend == backend {
			return before.Split
		}
		return before.Split + 1
	}
	return 0
}

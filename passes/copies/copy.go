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
// Before: every node has a split. After: every operand is in the home space of its node's backend. An operand for which
// copier.stays holds may be in another space that the backend addresses. Results of entry points are in a space that
// the last target addresses, results of bodies in that of the body's parameter. Each split has its own copies, at its
// head.
//
// Not earlier: a copy belongs to the inputs of a split. Not later: plan gives copies addresses.
//
// For example, with gpu, which addresses only the space dev, and cpu:
//
//	%a = f(%w)               cpu   split 0
//	%a.gpu = copy %a         gpu   split 1, inserted
//	%b = g(%a.gpu)           gpu   split 1
//	%c = h(%a.gpu, %b)       gpu   split 1
//	%b.cpu = copy %b         cpu   split 2, inserted
//	%d = k(%b.cpu)           cpu   split 2
//
// The pass inserts more copies than are needed. elide-copy removes the copies that a shared space or another copy makes
// needless.
//
//   - A reshape or permute shows all of its operand. Its operand is copied, and the view is made again from the copy.
//     So a value is copied once for all such views.
//   - A slice is copied as the bytes that it shows, unless one copy of the whole value takes less time than the copies
//     of its slices (whole.go).
//   - Of experts in another space, only those are copied that the router chose (experts.go).
//   - Between devices that do not address each other's memory a value is copied by way of the host (via.go).
//   - Inputs of the caller are copied into backends with queues before everything else (ahead.go).
//
// Cost: one walk, O(nodes + operands).
var Copy = pass.Pass{
	Name:     "copy",
	Doc:      "copy split inputs into the space of their backend",
	Run:      insertCopies,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned | ir.PropPacked | ir.PropSplit,
	Gives:    ir.PropCopied,
	Breaks:   pass.FromCopied,
	Rules: []pass.Rule{
		{Name: pass.RuleCopyIn, Doc: "the operand is in another space"},
		{Name: pass.RuleCopyLate, Doc: "the copied value is computed in the same split: the copy is after it, not at the head"},
		{Name: pass.RuleCopyOut, Doc: "the caller, or the next iteration, reads the result in another space"},
		{Name: pass.RuleCopyWhole, Doc: "copying the parts of the value that are read takes longer than copying the whole value once"},
		{Name: pass.RuleCopyAhead, Doc: "an input of the caller is copied before all else: the caller may overwrite it soon, and the copy runs at the same time as other work"},
		{Name: pass.RuleCopyExperts, Doc: "the experts are in another space: only those that the router chose are copied"},
		{Name: pass.RuleCopyVia, Doc: "the two devices do not address each other's memory: the copy goes by way of the host"},
		{Name: pass.RuleCopyIdx, Doc: "the copy of experts reads the indices in the space of the experts"},
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
	needed bool // only operands that the backend cannot address are copied, as no pass removes copies later

	once   map[copyFor]*ir.Value   // copies of the function under RuleSet.CopyOnce
	copies map[*ir.Value]*ir.Value // of the open split, by copied value
	views  map[*ir.Value]*ir.Value // views of the open split that are made again, by view
	before []*ir.Node              // copies for another backend that are made before the open split
	heads  []*ir.Node              // copies and views at the head of the open split
	body   []*ir.Node              // the other nodes of the open split
	split  int                     // number of the open split
	last   string                  // backend of the split before

	placed ir.NodeTable[bool] // nodes in the new order
	extra  map[*ir.Node]int   // nodes of splits that the pass adds, with the number of the added split
	added  int                // such splits

	full   map[CopyKey]bool        // values that nodes read whole in a space; empty if the module came without copies
	wholes map[CopyKey]bool        // values that are copied whole into a space, although some readers read slices
	ahead  map[CopyKey]*ir.Value   // copies of inputs before everything else
	chosen map[expertKey]*ir.Value // copies of experts of the open split
	known  map[CopyKey]*ir.Value   // copies for other copies to read: of indices, and of values on the way by the host
}

// copyFor names a value that is copied for a backend.
type copyFor struct {
	v       *ir.Value
	backend string
}

func newCopier(c *pass.Context, f *ir.Func, set *assign.RuleSet) *copier {
	return &copier{
		c: c, e: rewrite.NewEdit(c, f), set: set, needed: !set.Elide || pass.Flags[copyFlags](c).Needed, once: make(map[copyFor]*ir.Value),
		extra: make(map[*ir.Node]int),
		ahead: make(map[CopyKey]*ir.Value), known: make(map[CopyKey]*ir.Value),
	}
}

// run rebuilds f.
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

// open begins a split.
func (w *copier) open(split int) {
	w.split = split
	w.copies, w.views, w.chosen = make(map[*ir.Value]*ir.Value), make(map[*ir.Value]*ir.Value), make(map[expertKey]*ir.Value)
	w.before, w.heads, w.body = nil, nil, nil
}

// close appends the open split to the new order: first the copies for other backends, then the copies at its head, each
// after the leaves and views that it reads, then the other nodes.
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

// placeDefs appends h to the new order, after the leaves and views that it reads, which may come later in the same
// split of the old order.
func (w *copier) placeDefs(h *ir.Node) {
	for _, a := range h.Args {
		if a != nil && a.Def != nil && !flow.DoesWork(a.Def) && !*w.placed.At(a.Def) {
			w.splitAs(h, a.Def)
			w.placeDefs(a.Def)
		}
	}
	w.place(h)
}

// place appends n to the new order, unless it is there.
func (w *copier) place(n *ir.Node) {
	if placed := w.placed.At(n); !*placed {
		*placed = true
		w.e.Keep(n)
	}
}

// elsewhere moves n, the last node at the head of the open split, to another backend: into the split before if that is
// on the backend, otherwise into a new split between the two. The new split has the number of the open one until
// renumber: extra tells it from the open one.
func (w *copier) elsewhere(n *ir.Node, backend string) {
	w.heads = w.heads[:len(w.heads)-1] // that is n
	n.Backend = backend
	if w.split > 0 && w.last == backend {
		n.Split = w.split - 1
	} else {
		w.extra[n] = w.addedFor(backend)
	}
	w.before = append(w.before, n)
}

// addedFor returns the number of an added split before the open one, on a backend: the last one if that is on the
// backend, otherwise a new one.
func (w *copier) addedFor(backend string) int {
	if k := len(w.before); k > 0 && w.before[k-1].Backend == backend {
		if number, found := w.extra[w.before[k-1]]; found {
			return number
		}
	}
	w.added++
	return w.added
}

// splitAs puts def, which h reads, into the split of h.
func (w *copier) splitAs(h, def *ir.Node) {
	def.Split = h.Split
	if number, ok := w.extra[h]; ok {
		w.extra[def] = number
	}
}

// renumber numbers the splits again, as the pass may have added some.
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

// operands makes n read copies where an operand is not in the home space of n's backend. A node that itself moves bytes
// between spaces reads them where they are.
func (w *copier) operands(n *ir.Node) {
	t := w.c.Target(n)
	if t == nil || !flow.DoesWork(n) {
		return
	}
	if flow.IsTransfer(n) && !w.copiedAnyway(n, t) {
		if n.Op == ir.OpCopy {
			n.Args[0] = w.direct(n, n.Args[0])
		}
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

// copyOnce makes n read copies that serve the rest of the function. Each is made in the split of its first reader.
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
			w.delay(w.once[key].Def, a)
			w.setInstances(w.once[key].Def)
		}
		n.Args[i] = w.once[key]
	}
}

// setInstances sets the number of instances of a copy to that of the flag copies.
func (w *copier) setInstances(cp *ir.Node) {
	if n := pass.Flags[copyFlags](w.c).Copies; n > 1 {
		cp.Submitted().Slots = n
	}
}

// delay moves a copy from the head of the open split to the current node, if the copied value is computed in the same
// split. That happens where a view belongs to another backend than the value that it shows. (ggml's scheduler copies at
// the head nevertheless, which is too early.)
func (w *copier) delay(cp *ir.Node, v *ir.Value) {
	if !w.computedHere(v) {
		return
	}
	w.heads = w.heads[:len(w.heads)-1] // that is cp
	w.body = append(w.body, cp)
	w.c.Cause(cp, pass.RuleCopyLate, v.String())
}

// computedHere reports whether v depends on work in the open split.
func (w *copier) computedHere(v *ir.Value) bool {
	n := v.Def
	if n == nil || n.Split != w.split || flow.DoesWork(n) {
		return n != nil && n.Split == w.split
	}
	return slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && w.computedHere(a) })
}

// stays reports whether operand i of n, which n's backend addresses, is not copied. There are four reasons: no pass
// removes copies later, n runs a function, n overwrites the operand, or the open split has computed it.
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

// here returns v in the home space of n's backend: a copy at the head of the open split, or a view of one.
func (w *copier) here(n *ir.Node, v *ir.Value) *ir.Value {
	// Of %v, a reshape of a slice of %x, base is the slice. If %x is copied whole, the slice is made again as well.
	base, whole := flow.CopyBase(v), w.wholes[CopyKey{flow.ViewedValue(v), w.c.Target(n).Home()}]
	if made := w.ahead[CopyKey{base, w.c.Target(n).Home()}]; made != nil {
		w.copies[base] = made
	}
	if v != base || whole && v.Def != nil && v.Def.Is(ir.View) {
		if again := w.views[v]; again != nil {
			return again
		}
		view := w.node(n, v.Def.Op, v.Def.Attr, v.Name()+"."+n.Backend, w.here(n, v.Def.Args[0])).Result()
		w.views[v] = view
		return view
	}
	if made := w.copies[base]; made != nil {
		return made
	}
	cp := w.copyOf(n, base)
	w.copies[base] = cp
	if whole {
		w.c.Cause(cp.Def, pass.RuleCopyWhole, base.String())
	}
	return cp
}

// copyOf returns a copy of v for n, made at the head of the open split.
func (w *copier) copyOf(n *ir.Node, v *ir.Value) *ir.Value {
	cp := w.node(n, ir.OpCopy, nil, v.Name()+"."+n.Backend, w.direct(n, v))
	from := cp.Args[0]
	w.c.CauseChange(cp, pass.RuleCopyIn, from.Type.Space, cp.Result().Type.Space, from.String(), n.String())
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

// results copies the results of f, in a split of the last target. The caller reads them in the spaces that this target
// addresses. The next iteration of a body reads them in the space of the body's parameter.
func (w *copier) results(f *ir.Func) {
	last := w.c.Targets.Last()
	for i, r := range f.Results {
		there := last.Addresses(r.Type.Space)
		if f.Owner != nil {
			there = r.Type.Space == f.Params[i].Type.Space
		}
		if there || r.Def != nil && r.Def.Op == ir.OpForeign {
			continue // the caller of a foreign graph reads it where it is
		}
		f.Results[i] = w.result(r, last)
	}
	f.Nodes = w.e.Out // Done ran before result added more
}

// result returns a copy of a result for the caller. If the result is a reshape, the value before it is copied, as other
// readers may need the same copy.
func (w *copier) result(r *ir.Value, last *target.Descriptor) *ir.Value {
	name := r.Name() + "." + last.Name
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

// lastSplit returns the number of the split of n, a node of a backend at the end of the function: the last split if
// that is on the backend, otherwise a new one.
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

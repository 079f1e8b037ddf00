// Package order holds the pass order, which makes the order of nodes final.
package order

import (
	"container/heap"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass makes the order of nodes final, with fewer bytes live at once where it can.
//
// Before: any order that respects data. After: leaves and views stand before their first
// reader; the other nodes in an order whose peak of live bytes is in no space above that of
// the order before; the final order.
//
// Not earlier: bodies are ordered once, and copies have to be there. Not later: epochs and
// lifetimes follow the order.
//
// A list schedule takes, among the nodes whose operands are there, the one that makes the
// live bytes grow least, and is kept only if the peak of a space is lower and that of none is
// higher; a result that may take an operand's bytes adds none. Nodes stay in their split,
// but for copies into backends with queues, which begin earlier, as do those that devices make
// for others, within their split (order_overlap.go).
// Whoever reads a version of a state or of a carried value runs before the next version
// is written.
//
// Cost: O(nodes * log of the ready nodes + operands).
var Pass = pass.Pass{
	Name:     "order",
	Doc:      "order nodes for fewer live bytes",
	Run:      order,
	Required: true,
	Needs:    ir.PropShaped,
	Gives:    ir.PropOrdered,
	Breaks:   pass.FromPartitioned,
	Rules: []pass.Rule{
		{Name: pass.RuleOrderPeak, Doc: "the node runs earlier than before, so that fewer bytes are live at once"},
		{Name: pass.RuleOrderOverlap, Doc: "the copy is submitted earlier, so that it runs beside other work"},
	},
}

func order(c *pass.Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		g := newDataflow(c.Targets, f)
		now := identity(len(g.work))
		list, better := now, false
		if c.Enabled(pass.RuleOrderPeak) {
			list, better = g.better(c, now)
		}
		if better {
			now = list
		}
		o := newOverlapper(g, c)
		o.survey(now)
		if better {
			g.sayBetter(c, now)
		}
		f.Nodes = g.withNames(o.overlap(now))
	}
	return nil
}

func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// dataflow is what an order of the nodes with work has to respect, and what it costs.
type dataflow struct {
	f     *ir.Func
	work  []*ir.Node // all but leaves and views
	index []int32    // in work, by node id; none for leaves and views
	split []int32    // by index: the node's
	preds [][]int32  // by index: what runs before; some more than once
	named []bool     // by index: it reads a leaf or a view

	makes [][]int32 // by index: ids of the values with bytes of their own that it defines
	reads [][]int32 // by index: ids of the values whose bytes it reads
	takes [][]int32 // by index: of these, those that its result may take the bytes of
	uses  []int32   // by value id: number of readers, results of the function counted
	bytes []int64   // by value id: what those that are made take in their space
	space []int32   // by value id, likewise: in spaces

	targets *target.List
	spaces  []target.Space
}

func newDataflow(targets *target.List, f *ir.Func) *dataflow {
	g := &dataflow{f: f, targets: targets, index: make([]int32, f.NumNodes())}
	g.work, g.split = make([]*ir.Node, 0, len(f.Nodes)), make([]int32, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		g.index[n.ID] = flow.None
		if flow.DoesWork(n) {
			g.index[n.ID] = int32(len(g.work))
			g.work, g.split = append(g.work, n), append(g.split, int32(n.Split))
		}
	}
	g.follow()
	g.note()
	return g
}

// follow finds what has to run before what, and what results take.
func (g *dataflow) follow() {
	values := g.f.NumValues()
	g.bytes, g.space = make([]int64, values), make([]int32, values)
	g.preds, g.named = make([][]int32, len(g.work)), make([]bool, len(g.work))
	for i, n := range g.work {
		for _, a := range n.Args {
			if a == nil || a.Def == nil {
				continue
			}
			before := g.index[a.Def.ID]
			if before == flow.None {
				g.named[i] = true
				if v := flow.ViewedValue(a); v.Def != nil {
					before = g.index[v.Def.ID]
				}
			}
			if before != flow.None {
				g.preds[i] = append(g.preds[i], before)
			}
		}
		for _, r := range n.Results {
			if r.Source() == nil {
				g.size(r)
			}
		}
	}
	g.keepVersions()
	g.keepForeign()
	g.keepCarried()
}

// note notes whose bytes nodes make, read and may take.
func (g *dataflow) note() {
	g.uses = make([]int32, g.f.NumValues())
	g.makes, g.reads, g.takes = make([][]int32, len(g.work)), make([][]int32, len(g.work)), make([][]int32, len(g.work))
	for i, n := range g.work {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			if r := a.Root(); r.Def != nil && !r.Def.Is(ir.Leaf) && !slices.Contains(g.reads[i], int32(r.ID)) {
				g.reads[i] = append(g.reads[i], int32(r.ID))
				g.uses[r.ID]++
			}
		}
		for _, r := range n.Results {
			if r.Source() == nil {
				g.makes[i] = append(g.makes[i], int32(r.ID))
			}
		}
		for _, arg := range n.InPlace() {
			if a := n.Arg(arg); a != nil && slices.Contains(g.reads[i], int32(a.Root().ID)) && mayTake(n, a) {
				g.takes[i] = append(g.takes[i], int32(a.Root().ID))
			}
		}
	}
	for _, r := range g.f.Results {
		g.uses[r.Root().ID]++
	}
}

// mayTake reports whether the result of n could have an operand's bytes if n is the last to read these.
func mayTake(n *ir.Node, operand *ir.Value) bool {
	r, result := operand.Root(), n.Result()
	return result.Source() == nil && flow.SameShape(operand, result) && flow.SpaceOf(&r.Type) == flow.SpaceOf(&result.Type) && max(r.Slots(), result.Slots()) <= 1
}

// size notes what v takes in its space. What has several instances takes its bytes at all
// times, whatever the order.
func (g *dataflow) size(v *ir.Value) {
	name := flow.SpaceOf(&v.Type)
	at := slices.IndexFunc(g.spaces, func(s target.Space) bool { return s.Name == name })
	if at < 0 {
		at = len(g.spaces)
		g.spaces = append(g.spaces, g.targets.Space(name))
	}
	g.space[v.ID] = int32(at)
	if v.Slots() <= 1 {
		g.bytes[v.ID] = g.spaces[at].Room(v.MaxBytes())
	}
}

// keepVersions lets the readers of a version run before the node that writes the next one.
func (g *dataflow) keepVersions() {
	readers := make(map[any][]int) // of versions that are overwritten
	for _, n := range g.work {
		for _, key := range flow.Overwrites(n) {
			readers[key] = nil
		}
	}
	if len(readers) == 0 {
		return
	}
	for i, n := range g.work {
		for _, key := range flow.Overwrites(n) {
			g.after(i, readers[key])
		}
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			key := flow.VersionKey(flow.ViewedValue(a))
			if list, overwritten := readers[key]; overwritten {
				readers[key] = append(list, i)
			}
		}
	}
}

// keepForeign keeps the order of foreign nodes that change bytes in place, and of all that
// read these: nothing but the order says what a reader finds.
func (g *dataflow) keepForeign() {
	if !slices.ContainsFunc(g.work, writesInPlace) {
		return
	}
	readers, writer := make(map[any][]int), make(map[any]int)
	for i, n := range g.work {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			key := flow.VersionKey(a.Root())
			if w, changed := writer[key]; changed {
				g.after(i, []int{w})
			}
			readers[key] = append(readers[key], i)
		}
		if writesInPlace(n) {
			key := flow.VersionKey(n.Result().Root())
			g.after(i, readers[key])
			readers[key], writer[key] = nil, i
		}
	}
}

// writesInPlace reports whether a foreign node changes an operand's bytes.
func writesInPlace(n *ir.Node) bool {
	a, ok := n.Attr.(*ir.ForeignAttr)
	return ok && a.InPlace
}

// after makes node i run after others, which stand before it.
func (g *dataflow) after(i int, others []int) {
	for _, j := range others {
		if j < i {
			g.preds[i] = append(g.preds[i], int32(j))
		}
	}
}

// keepCarried lets the readers of a carried parameter run before its next value is made,
// which takes its bytes.
func (g *dataflow) keepCarried() {
	for _, p := range g.f.Params {
		if kind, _ := flow.ParamKind(p); kind != flow.ParamCarried {
			continue
		}
		next := g.f.Results[p.Index].Root()
		if next.Def == nil || g.index[next.Def.ID] == flow.None {
			continue
		}
		var readers []int
		for i, n := range g.work {
			if slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && a.Root() == p }) {
				readers = append(readers, i)
			}
		}
		g.after(int(g.index[next.Def.ID]), readers)
	}
}

// memory keeps account of live bytes along an order.
type memory struct {
	g          *dataflow
	left       []int32 // by value id: readers to come
	live, peak []int64 // by space
}

func (g *dataflow) memory() *memory {
	n := len(g.spaces)
	return &memory{g: g, left: slices.Clone(g.uses), live: make([]int64, n), peak: make([]int64, n)}
}

// growth returns what running node i adds to the live bytes once it is done.
func (m *memory) growth(i int) int64 {
	var sum int64
	for _, v := range m.g.makes[i] {
		if m.left[v] > 0 {
			sum += m.g.bytes[v]
		}
	}
	for _, v := range m.g.reads[i] {
		if m.left[v] == 1 {
			sum -= m.g.bytes[v]
		}
	}
	return sum
}

// run runs node i: operands and results are live together while it does, but for an operand whose
// bytes the result takes.
func (m *memory) run(i int) {
	taken := m.taken(i)
	if taken >= 0 {
		m.add(taken, -m.g.bytes[taken])
	}
	for _, v := range m.g.makes[i] {
		m.add(v, m.g.bytes[v])
	}
	for _, v := range m.g.makes[i] {
		if m.left[v] == 0 {
			m.add(v, -m.g.bytes[v])
		}
	}
	for _, v := range m.g.reads[i] {
		if m.left[v]--; m.left[v] == 0 && v != taken {
			m.add(v, -m.g.bytes[v])
		}
	}
}

// taken returns the value whose bytes the result of node i takes; -1 for none.
func (m *memory) taken(i int) int32 {
	for _, v := range m.g.takes[i] {
		if m.left[v] == 1 {
			return v
		}
	}
	return -1
}

// add makes so many more bytes live in the space of v.
func (m *memory) add(v int32, bytes int64) {
	space := m.g.space[v]
	m.live[space] += bytes
	m.peak[space] = max(m.peak[space], m.live[space])
}

// peaks returns the most bytes that are live at once in each space.
func (g *dataflow) peaks(order []int) []int64 {
	m := g.memory()
	for _, i := range order {
		m.run(i)
	}
	return m.peak
}

// better returns an order with a lower peak, if there is one that may be taken.
func (g *dataflow) better(c *pass.Context, now []int) (list []int, ok bool) {
	before := g.peaks(now)
	list, after := g.schedule()
	c.Count("peak.before", sum(before))
	if !allLower(after, before) {
		c.Count("peak.after", sum(before))
		return nil, false
	}
	for at, i := range list {
		if at < i && !c.Allow(pass.RuleOrderPeak, g.work[i]) {
			return nil, false
		}
	}
	c.Count("peak.after", sum(after))
	return list, true
}

// allLower reports whether some numbers of after are lower than those of before, and none is higher.
func allLower(after, before []int64) bool {
	lower := false
	for i, n := range after {
		if n > before[i] {
			return false
		}
		lower = lower || n < before[i]
	}
	return lower
}

func sum(list []int64) int64 {
	var all int64
	for _, n := range list {
		all += n
	}
	return all
}

// sayBetter gives the nodes that run earlier in the order a cause.
func (g *dataflow) sayBetter(c *pass.Context, order []int) {
	for at, i := range order {
		if at < i {
			c.Cause(g.work[i], pass.RuleOrderPeak)
		}
	}
}

// schedule returns a list schedule, greedy, ties in the order before, and the peaks that it has.
func (g *dataflow) schedule() (_ []int, peaks []int64) {
	s := newScheduler(g)
	list := make([]int, 0, len(g.work))
	for len(s.ready) > 0 {
		c := heap.Pop(&s.ready).(candidate)
		if i := int(c.node); !s.ran[i] { // else there was a better entry of it
			s.run(i)
			list = append(list, i)
		}
	}
	return list, s.m.peak
}

// candidate is a node that can run, with what that adds to the live bytes.
type candidate struct {
	node, split int32
	growth      int64
}

// before reports whether a comes first: what is of the first split, has the least growth, and
// stood first in the order before.
func (a candidate) before(b candidate) bool {
	switch {
	case a.split != b.split:
		return a.split < b.split
	case a.growth != b.growth:
		return a.growth < b.growth
	}
	return a.node < b.node
}

// candidates is a heap; see container/heap.
type candidates []candidate

func (c candidates) Len() int           { return len(c) }
func (c candidates) Less(i, j int) bool { return c[i].before(c[j]) }
func (c candidates) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)        { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// scheduler is the state of a list schedule. What a node adds to the live bytes becomes
// less when it is the last reader of a value: then it gets another entry in the heap.
type scheduler struct {
	g       *dataflow
	m       *memory
	waits   []int32   // by index: predecessors to come
	after   [][]int32 // by index: those it is a predecessor of
	readers [][]int32 // by value id: who reads it
	ran     []bool
	ready   candidates
}

func newScheduler(g *dataflow) *scheduler {
	n := len(g.work)
	s := &scheduler{g: g, m: g.memory(), waits: make([]int32, n), after: holders(g.preds, n), readers: holders(g.reads, len(g.uses)), ran: make([]bool, n)}
	for i := range n {
		if s.waits[i] = int32(len(g.preds[i])); s.waits[i] == 0 {
			s.enter(i)
		}
	}
	return s
}

// holders returns for each of count numbers which lists hold it, in order, as often as they do.
func holders(lists [][]int32, count int) [][]int32 {
	of := make([][]int32, count)
	for i, list := range lists {
		for _, x := range list {
			of[x] = append(of[x], int32(i))
		}
	}
	return of
}

// enter puts a node that can run into the heap.
func (s *scheduler) enter(i int) {
	heap.Push(&s.ready, candidate{int32(i), s.g.split[i], s.m.growth(i)})
}

func (s *scheduler) run(i int) {
	s.m.run(i)
	s.ran[i] = true
	for _, v := range s.g.reads[i] {
		if s.m.left[v] == 1 {
			s.lastReader(v)
		}
	}
	for _, j := range s.after[i] {
		if s.waits[j]--; s.waits[j] == 0 {
			s.enter(int(j))
		}
	}
}

// lastReader enters the only node again that is still to read v, if it can run.
func (s *scheduler) lastReader(v int32) {
	for _, j := range s.readers[int(v)] {
		if !s.ran[j] && s.waits[j] == 0 {
			s.enter(int(j))
		}
	}
}

// withNames returns the nodes in the given order, with leaves and views before their first
// readers; those that nothing reads come last.
func (g *dataflow) withNames(order []int) []*ir.Node {
	out := make([]*ir.Node, 0, len(g.f.Nodes))
	done := make([]bool, g.f.NumNodes()) // leaves and views
	var names func(n *ir.Node)
	names = func(n *ir.Node) {
		for _, a := range n.Args {
			if a == nil || a.Def == nil || g.index[a.Def.ID] != flow.None || done[a.Def.ID] {
				continue
			}
			done[a.Def.ID] = true
			names(a.Def)
			out = append(out, a.Def)
		}
	}
	for _, i := range order {
		if g.named[i] {
			names(g.work[i])
		}
		out = append(out, g.work[i])
	}
	if len(out) < len(g.f.Nodes) {
		for _, n := range g.f.Nodes {
			if g.index[n.ID] == flow.None && !done[n.ID] {
				done[n.ID] = true
				names(n)
				out = append(out, n)
			}
		}
	}
	return out
}

package passes

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// orderPass makes the order of nodes final, with fewer bytes live at once where it can.
//
// Before: any order that respects data. After: leaves and views stand before their first
// reader; the other nodes in an order whose peak of live bytes is not above that of the
// order before; the final order.
//
// Not earlier: bodies are ordered once, and copies have to be there. Not later: epochs and
// lifetimes follow the order.
//
// A list schedule takes, among the nodes whose operands are there, the one that makes the
// live bytes grow least, and is kept only if its peak is lower. Nodes stay in their split,
// but for copies into backends with queues, which begin earlier (order_overlap.go).
// Whoever reads a version of a state or of a carried value runs before the next version
// is written.
//
// Cost: O(nodes * log of the ready nodes + operands).
var orderPass = Pass{
	Name:     "order",
	Doc:      "order nodes for fewer live bytes",
	Run:      order,
	Required: true,
	Needs:    ir.PropShaped,
	Gives:    ir.PropOrdered,
	Rules: []Rule{
		{"order.peak", "the node runs earlier than before, so that fewer bytes are live at once"},
		{ruleOverlap, "the copy is submitted earlier, so that it runs beside other work"},
	},
}

func order(c *Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		g := newDataflow(f)
		now := identity(len(g.work))
		if c.Enabled("order.peak") {
			now = g.better(c, now)
		}
		if c.Enabled(ruleOverlap) {
			now = g.overlap(c, now)
		}
		f.Nodes = g.withNames(now)
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
	index []int      // in work, by node id
	preds [][]int    // by index in work: what runs before

	makes [][]*ir.Value // by index: the values with bytes of their own that it defines
	reads [][]*ir.Value // by index: the values whose bytes it reads
	uses  []int         // by value id: number of readers, results of the function counted
	bytes []int64       // by value id: of those that are made or read
}

func newDataflow(f *ir.Func) *dataflow {
	g := &dataflow{f: f, index: make([]int, f.NumNodes()), uses: make([]int, f.NumValues()), bytes: make([]int64, f.NumValues())}
	for _, n := range f.Nodes {
		g.index[n.ID] = -1
		if !n.Is(ir.Leaf) && !n.Is(ir.View) {
			g.index[n.ID] = len(g.work)
			g.work = append(g.work, n)
		}
	}
	g.preds = make([][]int, len(g.work))
	for i, n := range g.work {
		g.flow(i, n)
	}
	g.keepVersions()
	g.keepForeign()
	g.keepCarried()
	for _, r := range f.Results {
		g.uses[r.Root().ID]++
	}
	return g
}

// flow notes the operands of a node.
func (g *dataflow) flow(i int, n *ir.Node) {
	var made, read []*ir.Value
	for _, a := range n.Args {
		if a == nil {
			continue
		}
		if v := behindViews(a); v.Def != nil && g.index[v.Def.ID] >= 0 {
			g.preds[i] = append(g.preds[i], g.index[v.Def.ID])
		}
		if r := a.Root(); r.Def != nil && !r.Def.Is(ir.Leaf) && !slices.Contains(read, r) {
			read = append(read, r)
			g.uses[r.ID]++
			g.bytes[r.ID] = r.MaxBytes()
		}
	}
	for _, r := range n.Results {
		if r.Root() == r {
			made = append(made, r)
			g.bytes[r.ID] = r.MaxBytes()
		}
	}
	g.makes, g.reads = append(g.makes, made), append(g.reads, read)
}

// behindViews returns the value that v is a view of.
func behindViews(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v
}

// keepVersions lets the readers of a version run before the node that writes the next one.
func (g *dataflow) keepVersions() {
	readers := make(map[any][]int)
	for i, n := range g.work {
		for _, key := range overwrites(n) {
			g.after(i, readers[key])
		}
		for _, a := range n.Args {
			if a != nil {
				key := versionKey(behindViews(a))
				readers[key] = append(readers[key], i)
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
			key := versionKey(a.Root())
			if w, changed := writer[key]; changed {
				g.after(i, []int{w})
			}
			readers[key] = append(readers[key], i)
		}
		if writesInPlace(n) {
			key := versionKey(n.Result().Root())
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
			g.preds[i] = append(g.preds[i], j)
		}
	}
}

// overwrites returns the versions after which n writes others into the same bytes: the
// aliased operand's, those of what a repeat carries, and of any state a body may write.
func overwrites(n *ir.Node) []any {
	var keys []any
	attr, isRepeat := n.Attr.(*ir.RepeatAttr)
	for i, a := range n.Args {
		switch {
		case a == nil:
		case n.Is(ir.Alias) && i == n.Op.Info().AliasArg,
			isRepeat && i < attr.Carried,
			n.Is(ir.WritesState) && isLeaf(a, ir.OpState):
			keys = append(keys, versionKey(behindViews(a)))
		}
	}
	return keys
}

// versionKey returns what is the same for all nodes that name the same version.
func versionKey(v *ir.Value) any {
	if v.Def != nil && v.Def.Op == ir.OpState {
		return v.Def.Attr.(*ir.StateAttr).Name
	}
	return v
}

// keepCarried lets the readers of a carried parameter run before its next value is made,
// which takes its bytes.
func (g *dataflow) keepCarried() {
	for _, p := range g.f.Params {
		if kind, _ := paramKind(p); kind != paramCarried {
			continue
		}
		next := g.f.Results[p.Index].Root()
		if next.Def == nil || g.index[next.Def.ID] < 0 {
			continue
		}
		var readers []int
		for i, n := range g.work {
			if slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && a.Root() == p }) {
				readers = append(readers, i)
			}
		}
		g.after(g.index[next.Def.ID], readers)
	}
}

// memory keeps account of live bytes along an order.
type memory struct {
	g          *dataflow
	left       []int // by value id: readers to come
	live, peak int64
}

func (g *dataflow) memory() *memory { return &memory{g: g, left: slices.Clone(g.uses)} }

// growth returns what running node i adds to the live bytes once it is done.
func (m *memory) growth(i int) int64 {
	var sum int64
	for _, v := range m.g.makes[i] {
		if m.left[v.ID] > 0 {
			sum += m.g.bytes[v.ID]
		}
	}
	for _, v := range m.g.reads[i] {
		if m.left[v.ID] == 1 {
			sum -= m.g.bytes[v.ID]
		}
	}
	return sum
}

// run runs node i: operands and results are live together while it does.
func (m *memory) run(i int) {
	for _, v := range m.g.makes[i] {
		m.live += m.g.bytes[v.ID]
	}
	m.peak = max(m.peak, m.live)
	for _, v := range m.g.makes[i] {
		if m.left[v.ID] == 0 {
			m.live -= m.g.bytes[v.ID]
		}
	}
	for _, v := range m.g.reads[i] {
		if m.left[v.ID]--; m.left[v.ID] == 0 {
			m.live -= m.g.bytes[v.ID]
		}
	}
}

func (g *dataflow) peak(order []int) int64 {
	m := g.memory()
	for _, i := range order {
		m.run(i)
	}
	return m.peak
}

// better returns an order with a lower peak, or the one it is given.
func (g *dataflow) better(c *Context, now []int) []int {
	before := g.peak(now)
	list := g.schedule()
	after := g.peak(list)
	c.Count("peak.before", before)
	if after >= before {
		c.Count("peak.after", before)
		return now
	}
	for at, i := range list {
		if at < i && !c.Allow("order.peak", g.work[i]) {
			return now
		}
	}
	for at, i := range list {
		if at < i {
			c.Cause(g.work[i], "order.peak")
		}
	}
	c.Count("peak.after", after)
	return list
}

// schedule returns a list schedule: greedy, ties in the order before.
func (g *dataflow) schedule() []int {
	s := newScheduler(g)
	list := make([]int, 0, len(g.work))
	for len(s.ready) > 0 {
		c := heap.Pop(&s.ready).(candidate)
		if s.ran[c.node] {
			continue // there was a better entry of it
		}
		s.run(c.node)
		list = append(list, c.node)
	}
	return list
}

// candidate is a node that can run, with what that adds to the live bytes.
type candidate struct {
	node, split int
	growth      int64
}

// candidates is a heap: first comes what is of the first split, has the least growth, and
// stood first in the order before.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c candidates) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	return cmp.Or(cmp.Compare(a.split, b.split), cmp.Compare(a.growth, b.growth), cmp.Compare(a.node, b.node)) < 0
}
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// scheduler is the state of a list schedule. What a node adds to the live bytes becomes
// less when it is the last reader of a value: then it gets another entry in the heap.
type scheduler struct {
	g      *dataflow
	m      *memory
	waits  []int   // by index: predecessors to come
	after  [][]int // by index: those it is a predecessor of
	reader [][]int // by value id: who reads it
	ran    []bool
	ready  candidates
}

func newScheduler(g *dataflow) *scheduler {
	n := len(g.work)
	s := &scheduler{g: g, m: g.memory(), waits: make([]int, n), after: make([][]int, n), reader: make([][]int, len(g.uses)), ran: make([]bool, n)}
	for i, preds := range g.preds {
		slices.Sort(preds)
		for _, j := range slices.Compact(preds) {
			s.after[j] = append(s.after[j], i)
			s.waits[i]++
		}
		for _, v := range g.reads[i] {
			s.reader[v.ID] = append(s.reader[v.ID], i)
		}
	}
	for i, n := range s.waits {
		if n == 0 {
			s.enter(i)
		}
	}
	return s
}

// enter puts a node that can run into the heap.
func (s *scheduler) enter(i int) {
	heap.Push(&s.ready, candidate{i, s.g.work[i].Split, s.m.growth(i)})
}

func (s *scheduler) run(i int) {
	s.m.run(i)
	s.ran[i] = true
	for _, v := range s.g.reads[i] {
		if s.m.left[v.ID] == 1 {
			s.lastReader(v)
		}
	}
	for _, j := range s.after[i] {
		if s.waits[j]--; s.waits[j] == 0 {
			s.enter(j)
		}
	}
}

// lastReader enters the only node again that is still to read v, if it can run.
func (s *scheduler) lastReader(v *ir.Value) {
	for _, j := range s.reader[v.ID] {
		if !s.ran[j] && s.waits[j] == 0 {
			s.enter(j)
		}
	}
}

// withNames returns the nodes in the given order, with leaves and views before their first
// readers; those that nothing reads come last.
func (g *dataflow) withNames(order []int) []*ir.Node {
	out := make([]*ir.Node, 0, len(g.f.Nodes))
	done := make([]bool, g.f.NumNodes())
	var put func(n *ir.Node)
	put = func(n *ir.Node) {
		if done[n.ID] {
			return
		}
		done[n.ID] = true
		for _, a := range n.Args {
			if a != nil && a.Def != nil && (a.Def.Is(ir.Leaf) || a.Def.Is(ir.View)) {
				put(a.Def)
			}
		}
		out = append(out, n)
	}
	for _, i := range order {
		put(g.work[i])
	}
	for _, n := range g.f.Nodes {
		put(n)
	}
	return out
}

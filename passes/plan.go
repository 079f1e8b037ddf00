package passes

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/abreast"
	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/target"
)

// planPass gives every value that owns bytes an address.
//
// Before: nodes have partitions and epochs. After: every such value, weight and state has
// a place; Module.Plan has the arenas with their lower bounds, and figures per entry point.
//
// Not earlier: bytes live until the barrier behind their last reader. Not later: nothing
// follows but the proof.
//
// Bytes that may be shared in time are one buffer; results take the bytes of operands
// where nothing can tell the difference. Buffers are packed per arena: greedily, then by a
// search up to the lower bound or the budget of steps (package mem). docs/plan.md says why
// this is right in the presence of threads and loops.
//
// Cost: O(nodes + uses of buffers) without loops, O(nodes * uses of a buffer) with them, and
// the search.
var planPass = Pass{
	Name:     "plan",
	Doc:      "give every value an address",
	Run:      plan,
	Looks:    true,
	Required: true,
	Needs:    ir.PropPartitioned,
	Gives:    ir.PropPlaced,
	Rules: []Rule{
		{"plan.inplace", "the result takes the bytes of an operand that nothing reads any more"},
		{"plan.carried", "a carried value stays in one place through all rounds"},
	},
	Flags: planFlags{},
}

// planFlags are switches for experiments.
type planFlags struct {
	Greedy bool `debug:"greedy,do not search for a better packing"`
}

func plan(c *Context, m *ir.Module) error {
	a := &arenas{c: c, m: m, spaces: make(map[string]target.Space)}
	var broken error
	var errs []error
	planners, all := make([]*planner, len(m.Funcs)), make([]*origins, len(m.Funcs))
	for i, f := range m.Funcs {
		planners[i] = newPlanner(c, f, a)
		all[i] = planners[i].origins
	}
	abreast.Do(func() {
		for _, p := range planners {
			p.time = newTimeline(p.f, p.origins)
		}
	}, func() {
		for _, p := range planners {
			p.classify()
		}
		broken = c.Change()
	})
	if broken != nil {
		return broken
	}
	m.Plan = &ir.Plan{}
	if n := c.Options.Pipeline; n > 1 {
		m.Plan.Pipeline = n
	}
	leaves := sync.OnceValue(func() error { return a.placeLeaves(all) })
	for i, p := range planners {
		p.sayCarried()
		abreast.Do(p.reuse, func() {
			p.layQueues()
			_ = leaves() // beside the first one's
		})
		var figures ir.FuncPlan
		errs = append(errs, p.place(func() { figures = p.figures() }))
		m.Plan.Funcs = append(m.Plan.Funcs, figures)
		planners[i] = nil // its tables are large
	}
	if err := errors.Join(leaves(), errors.Join(errs...)); err != nil {
		return err
	}
	a.finish()
	return a.checkBudgets()
}

// planner plans one entry point. First it needs to know its time and the classes of buffers.
type planner struct {
	c       *Context
	f       *ir.Func
	arenas  *arenas
	origins *origins
	bufs    *buffers
	time    *timeline
	clocks  *clockwork // nil where there are no queues
	queues  *horizon   // likewise

	both    []event            // scratch of canFollow
	users   [][]*event         // scratch of noRace, by tick
	last    []*event           // scratch of lastUsers
	chains  store[chain]
	taken   int64 // how many results took over bytes
	moved   bool  // a result lies in another space than that of its backend
	values  int   // that get places
}

func newPlanner(c *Context, f *ir.Func, a *arenas) *planner {
	p := &planner{c: c, f: f, arenas: a, origins: newOrigins(f)}
	for _, r := range f.Results {
		o := p.origins.get(r)
		kind := &p.origins.kinds[o]
		if (*kind == plainOrigin || *kind == privateOrigin) && !isForeign(p.origins.list[o]) { // those are read where they lie
			*kind = resultOrigin
		}
	}
	return p
}

// classify finds the buffers and where they belong.
func (p *planner) classify() {
	p.bufs = newBuffers(p.f, p.origins)
	for b := range p.bufs.all {
		b.class, b.slots = p.class(b), 1
		if p.origins.slots {
			b.slots = slotsOf(b)
		}
	}
}

// layQueues lays out what queues do, as far as it does not depend on who shares bytes.
func (p *planner) layQueues() {
	if hasQueues(p.f) {
		p.clocks = newClockwork(p.c.Targets, p.f, false)
	}
}

// sayCarried says why the carried values of repeats are where they are.
func (p *planner) sayCarried() {
	for _, s := range p.time.steps {
		if s.node.Op == ir.OpRepeat && len(s.node.Results) > 0 {
			p.c.Cause(s.node, "plan.carried", s.node.Result().String())
		}
	}
}

// class returns where a buffer belongs.
func (p *planner) class(b *buffer) ir.Class {
	class := ir.ClassActivations
	for x := b; x != nil; x = x.next {
		switch p.origins.kinds[x.id] {
		case fixedOrigin:
			return ir.ClassWeights
		case stateOrigin:
			return ir.ClassState
		case entryOrigin, resultOrigin:
			class = ir.ClassIO
		case privateOrigin:
			class = ir.ClassScratch
		}
	}
	return class
}

func isForeign(v *ir.Value) bool { return v.Def != nil && v.Def.Op == ir.OpForeign }

// space returns the memory space of a buffer.
func (p *planner) space(b *buffer) string { return spaceOf(&b.value.Type) }

// item is a buffer to be packed.
type item struct {
	buf    *buffer
	live   interval
	size   int64      // bytes that it takes at the bounds, all instances together
	places []ir.Place // of its values
}

// tenants are the buffers of the entry point that go to one arena.
type tenants struct {
	key   arenaKey
	space target.Space
	count int // so many items there will be
	items []item
}

// place packs the buffers of the entry point and writes the addresses. Meanwhile it does also.
//
// Arenas are packed side by side, as none of them has to do with another one. The one with most buffers
// comes first: it often takes longer than all others together.
func (p *planner) place(also func()) error {
	groups := p.sort()
	abreast.Do(func() {
		if p.clocks != nil {
			p.queues = newHorizon(p, len(groups))
		}
	}, func() { p.measure(groups) })
	solved := make([]solution, len(groups))
	var jobs []func()
	for _, i := range byCount(groups) {
		jobs = append(jobs, func() { solved[i] = p.solve(&groups[i]) })
	}
	abreast.Do(slices.Insert(jobs, min(1, len(jobs)), also)...)
	var errs []error
	for i := range groups {
		errs = append(errs, p.settle(&groups[i], &solved[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return err // what bodies stand for may have no place
	}
	p.placeBodies()
	return nil
}

// byCount returns the indices of groups, those of most items first.
func byCount(groups []tenants) []int {
	list := make([]int, len(groups))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(i, j int) int { return groups[j].count - groups[i].count })
	return list
}

// sort tells the buffers that are to be placed their arenas, and returns these, with room for
// items.
func (p *planner) sort() []tenants {
	var groups []tenants
	index := make(map[arenaKey]int)
	before := -1 // before is the arena of the last one: mostly it is the next one's too
	for b := range p.bufs.all {
		if !b.isPlaced() {
			continue
		}
		if key := (arenaKey{p.space(b), b.class}); before < 0 || groups[before].key != key {
			at, known := index[key]
			if !known {
				at = len(groups)
				index[key] = at
				groups = append(groups, tenants{key: key, space: p.arenas.space(key.space)})
			}
			before = at
		}
		b.arena = int32(before)
		groups[before].count++
		for range b.values {
			p.values++
		}
	}
	for i := range groups {
		groups[i].items = make([]item, 0, groups[i].count)
	}
	return groups
}

// isPlaced reports whether plan packs b for each entry point: weights and states it does not.
func (b *buffer) isPlaced() bool { return b.class != ir.ClassWeights && b.class != ir.ClassState }

// measure makes the items of all groups, as far as queues do not matter, and places, with the bytes
// of each, for their values.
func (p *planner) measure(groups []tenants) {
	places := make([]ir.Place, p.values)
	for b := range p.bufs.all {
		if !b.isPlaced() {
			continue
		}
		g, extra, values := &groups[b.arena], int64(0), 0
		if b.slots > 1 { // the next instance begins behind what kernels may touch
			extra = g.space.Extra
		}
		for v := range b.values {
			v.Place = &places[values]
			v.Place.Bytes = v.MaxBytes() + extra
			values++
		}
		g.items = append(g.items, p.item(b, g.space, places[:values:values]))
		places = places[values:]
	}
}

// item returns a buffer as it is packed, where queues do not matter. What exists several times has its
// bytes for itself throughout: other steps may use other instances at any time.
func (p *planner) item(b *buffer, space target.Space, places []ir.Place) item {
	if b.slots > 1 {
		return item{b, interval{0, p.time.end()}, int64(b.slots) * space.Room(p.size(b)), places}
	}
	return item{b, p.live(b), space.Room(p.size(b)), places}
}

// extend lets items live for as long as queues may be at work on them.
func (p *planner) extend(items []item) {
	for i := range items {
		if it := &items[i]; it.buf.slots == 1 && it.buf.class == ir.ClassActivations {
			it.live = p.queues.extend(it.live, it.buf)
		}
	}
}

// slotsOf returns how many instances of a buffer there are.
func slotsOf(b *buffer) int32 {
	slots := 1
	for v := range b.values {
		slots = max(slots, v.Slots())
	}
	return int32(slots)
}

// live returns the buffer's interval on its class's axis of time. Inputs and outputs are
// the caller's for the whole call.
func (p *planner) live(b *buffer) interval {
	switch b.class {
	case ir.ClassIO:
		return interval{0, 0}
	case ir.ClassScratch:
		return p.time.positions(b)
	}
	return p.time.live(b)
}

func (p *planner) size(b *buffer) int64 {
	var n int64
	for v := range b.values {
		n = max(n, v.MaxBytes())
	}
	return n
}

// solution is how one arena of the entry point is packed.
type solution struct {
	groups [][]item
	places packing
	stats  mem.Stats
	err    error
}

// solve packs one arena of the entry point.
func (p *planner) solve(g *tenants) (s solution) {
	if p.queues != nil {
		p.extend(g.items)
	}
	limit := g.space.MaxAlloc
	s.groups = p.groups(g.items, limit)
	prob := mem.Problem{Buffers: make([]mem.Buffer, len(s.groups))}
	for i, group := range s.groups {
		it := &group[0]
		if it.live == never {
			it.live = interval{0, 0} // a parameter that nothing reads
		}
		prob.Buffers[i] = mem.Buffer{
			ID:    it.buf.value.Name,
			Lower: int64(it.live.first),
			Upper: int64(it.live.last) + 1,
			Size:  sizeOf(group),
			Align: max(g.space.Align, 1),
		}
	}
	s.places, s.stats, s.err = packChunks(p.c, prob, limit, p.steps())
	return s
}

// settle writes the addresses of one arena.
func (p *planner) settle(g *tenants, s *solution) error {
	index := p.arenas.index(g.key)
	if s.err != nil {
		return fmt.Errorf("@%s: %s of %s: %w", p.f.Name, g.key.class, g.key.space, s.err)
	}
	p.c.Count("steps", s.stats.Steps)
	p.c.Count("cut-by-clock", boolInt64(s.stats.Cancelled))
	p.arenas.m.Plan.Cut = p.arenas.m.Plan.Cut || s.stats.Cancelled
	p.c.Count("above-bound", boolInt64(s.places.height > s.stats.Bound))
	for i, group := range s.groups {
		offset := s.places.offset[i]
		for k := range group {
			for v := range group[k].places {
				at := &group[k].places[v]
				at.Arena, at.Chunk, at.Offset = index, s.places.chunk[i], offset
			}
			offset += group[k].size
		}
	}
	p.arenas.grow(g.key, s.places.chunks)
	p.arenas.bound(g.key, p.f, s.stats.Bound, p.names(s.groups, s.stats.Setters))
	return nil
}

// groups returns the items that are packed as one: what has several instances lives
// throughout, and so lies one behind the other. Limit is the largest allocation; 0 is none.
func (p *planner) groups(items []item, limit int64) [][]item {
	groups := make([][]item, 0, len(items))
	several := -1 // the open group of those
	for i, it := range items {
		alone := items[i : i+1 : i+1]
		switch {
		case it.buf.slots == 1:
			groups = append(groups, alone)
		case several >= 0 && (limit == 0 || sizeOf(groups[several])+it.size <= limit):
			groups[several] = append(groups[several], it)
		default:
			several = len(groups)
			groups = append(groups, alone)
		}
	}
	return groups
}

// sizeOf returns the bytes of the items of a group together.
func sizeOf(group []item) int64 {
	var n int64
	for _, it := range group {
		n += it.size
	}
	return n
}

func (p *planner) steps() int64 {
	if Flags[planFlags](p.c).Greedy {
		return -1
	}
	return int64(p.c.Options.PlanSteps)
}

// names returns the names of the values that set a bound.
func (p *planner) names(groups [][]item, setters []int) []string {
	var list []string
	for _, i := range setters {
		for _, it := range groups[i] {
			list = append(list, qualified(p.f, it.buf.value))
		}
	}
	return list
}

// qualified names a value within an entry point: those of bodies with their function.
func qualified(f *ir.Func, v *ir.Value) string {
	if v.Func == f {
		return v.Name
	}
	return v.Func.Name + "." + v.Name
}

// placeBodies gives the parameters of bodies that stand for values of the function around
// them the place of those, outer bodies first.
func (p *planner) placeBodies() {
	for _, s := range p.time.steps {
		if s.node.Op != ir.OpRepeat {
			continue
		}
		for _, v := range s.node.Body.Params {
			kind, i := paramKind(v)
			if kind == paramInvariant || kind == paramTable {
				place := *p.arenas.placeOf(s.node.Args[i])
				place.Bytes = v.Type.MaxBytes()
				v.Place = &place
			}
		}
	}
}

// figures returns what the plan says about the entry point as a whole.
func (p *planner) figures() ir.FuncPlan {
	return ir.FuncPlan{
		Func:     p.f.Name,
		Splits:   Splits(p.f),
		Barriers: barriers(p.f),
		Nodes:    nodesRun(p.f),
		MaxParts: maxParts(p.c, p.f),
	}
}

// nodesRun returns how many nodes with work a call of f runs.
func nodesRun(f *ir.Func) int64 {
	var sum int64
	for _, n := range f.Nodes {
		switch {
		case n.Body != nil:
			sum += rounds(n) * nodesRun(n.Body)
		case !n.Is(ir.Leaf) && !n.Is(ir.View):
			sum++
		}
	}
	return sum
}

func boolInt64(b bool) int64 { return int64(boolInt(b)) }

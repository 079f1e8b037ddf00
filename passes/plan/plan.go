// Package plan holds the pass plan, which gives every value an address.
package plan

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/partition"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/pipeline"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass gives every value that owns bytes an address.
//
// Before: nodes have partitions and epochs. After: every such value, weight and state has
// a place; Module.Plan has the arenas with their lower bounds, and figures per entry point.
//
// Not earlier: bytes live until the barrier behind their last reader. Not later: nothing
// follows but the proof.
//
// Bytes that may be shared in time are one buffer; results take the bytes of operands
// where nothing can tell the difference. Buffers are packed per arena: greedily, then by a
// search up to the lower bound or the budget of steps (package mem). docs/explanation/plan.md says why
// this is right in the presence of threads and loops.
//
// Cost: O(nodes + uses of buffers) without loops, O(nodes * uses of a buffer) with them, and
// the search.
var Pass = pass.Pass{
	Name:     "plan",
	Doc:      "give every value an address",
	Run:      plan,
	Required: true,
	Needs:    ir.PropPartitioned,
	Gives:    ir.PropPlaced,
	Breaks:   pass.FromSynced,
	Rules: []pass.Rule{
		{Name: pass.RulePlanInplace, Doc: "the result takes the bytes of an operand that nothing reads any more"},
		{Name: pass.RulePlanCarried, Doc: "a carried value stays in one place through all rounds"},
	},
	Flags: planFlags{},
}

// planFlags are switches for experiments.
type planFlags struct {
	Greedy bool `debug:"greedy,do not search for a better packing"`
}

func plan(c *pass.Context, m *ir.Module) error {
	if n := c.Options.Pipeline; n > ir.MaxPipeline {
		return fmt.Errorf("%d steps under way: at most %d may be, each with buffers of its own: lower --pipeline", n, ir.MaxPipeline)
	}
	a := &Arenas{c: c, M: m, spaces: make(map[string]target.Space)}
	var planners []*planner
	var all []*flow.Origins
	for _, f := range m.Funcs {
		p := newPlanner(c, f, a)
		planners, all = append(planners, p), append(all, p.origins)
	}
	m.Plan = &ir.Plan{Threads: planThreads(c)}
	if n := c.Options.Pipeline; n > 1 {
		m.Plan.Pipeline = n
	}
	errs := []error{a.placeLeaves(all)}
	for _, p := range planners {
		p.analyze()
		p.sayCarried()
		p.reuse()
		errs = append(errs, p.place())
		m.Plan.Funcs = append(m.Plan.Funcs, p.figures())
	}
	if err := errors.Join(errs...); err != nil {
		m.Plan = nil // it has no arenas: there is nothing to explain
		return err
	}
	a.finish()
	return a.checkBudgets()
}

// planner plans one entry point. First it needs to know its time and the classes of buffers.
type planner struct {
	c       *pass.Context
	f       *ir.Func
	arenas  *Arenas
	origins *flow.Origins
	bufs    *buffers
	time    *Timeline
	clocks  *pipeline.Clockwork // nil where there are no queues
	queues  *horizon            // likewise

	both   []event     // scratch of canFollow
	users  [][]*event  // scratch of noRace, by tick
	last   []*event    // scratch of lastUsers
	taken  int64       // how many results took over bytes
	moved  bool        // a result lies in another space than that of its backend
	places []*ir.Place // of values, buffer by buffer
}

func newPlanner(c *pass.Context, f *ir.Func, a *Arenas) *planner {
	p := &planner{c: c, f: f, arenas: a, origins: flow.NewUsedOrigins(f)}
	for _, r := range f.Results {
		o := p.origins.Get(r)
		kind := &p.origins.Kinds[o]
		if (*kind == flow.PlainOrigin || *kind == flow.PrivateOrigin) && !flow.IsForeign(p.origins.List[o]) { // those are read where they lie
			*kind = flow.ResultOrigin
		}
	}
	return p
}

// analyze finds when values live, the buffers and where they belong, and what queues do.
func (p *planner) analyze() {
	p.time = NewTimeline(p.f, p.origins)
	p.classify()
	p.layQueues()
}

// classify finds the buffers and where they belong.
func (p *planner) classify() {
	p.bufs = newBuffers(p.f, p.origins)
	for b := range p.bufs.all {
		b.class, b.slots = p.class(b), 1
		if p.origins.Slots {
			b.slots = slotsOf(b)
		}
	}
}

// layQueues lays out what queues do, as far as it does not depend on who shares bytes.
func (p *planner) layQueues() {
	if pipeline.HasQueues(p.f) {
		p.clocks = pipeline.NewClockwork(p.c.Targets, p.f, p.origins.Numbers, false)
	}
}

// sayCarried says why the carried values of repeats are where they are.
func (p *planner) sayCarried() {
	for _, l := range p.time.inOrder {
		if len(l.node.Results) > 0 {
			p.c.Cause(l.node, pass.RulePlanCarried, l.node.Result().String())
		}
	}
}

// class returns where a buffer belongs.
func (p *planner) class(b *buffer) ir.Class {
	class := ir.ClassActivations
	for x := b; x != nil; x = x.next {
		switch p.origins.Kinds[x.id] {
		case flow.FixedOrigin:
			return ir.ClassWeights
		case flow.StateOrigin:
			return ir.ClassState
		case flow.EntryOrigin, flow.ResultOrigin:
			class = ir.ClassIO
		case flow.PrivateOrigin:
			class = ir.ClassScratch
		}
	}
	return class
}

// space returns the memory space of a buffer.
func (p *planner) space(b *buffer) string { return flow.SpaceOf(&b.value.Type) }

// tenants are the buffers of the entry point that go to one arena, as they are packed: what has several
// instances lives throughout, and so lies one behind the other as one.
type tenants struct {
	key     arenaKey
	space   target.Space
	count   int // so many buffers there will be
	problem mem.Problem
	first   []tenant // by the index in the problem: the first one there
	more    []tenant // those behind others
	several int      // index of the open one of several, counted from 1; 0 is none
	last    int32    // the last one of that among more, likewise
}

// tenant is a buffer that is packed.
type tenant struct {
	id         int32 // of the buffer
	from, many int32 // its values' places among those of the planner
	next       int32 // who lies behind it: among the tenants' more, counted from 1
	size       int64 // bytes that it takes at the bounds, all instances together
}

// place packs the buffers of the entry point, arena by arena, and writes the addresses.
func (p *planner) place() error {
	groups := p.sort()
	if p.clocks != nil {
		p.queues = newHorizon(p, len(groups))
	}
	p.measure(groups)
	var errs []error
	for i := range groups {
		errs = append(errs, p.settle(&groups[i], p.solve(&groups[i])))
	}
	if err := errors.Join(errs...); err != nil {
		return err // what bodies stand for may have no place
	}
	p.placeBodies()
	return nil
}

// sort tells the buffers that are to be placed their arenas, and returns these, with room for
// tenants.
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
	}
	for i := range groups {
		g := &groups[i]
		g.problem.Buffers, g.first = make([]mem.Buffer, 0, g.count), make([]tenant, 0, g.count)
	}
	return groups
}

// isPlaced reports whether plan packs b for each entry point: weights and states it does not.
func (b *buffer) isPlaced() bool { return b.class != ir.ClassWeights && b.class != ir.ClassState }

// measure makes the tenants of all groups, as far as queues do not matter, and places, with the bytes
// of each, for their values.
func (p *planner) measure(groups []tenants) {
	for b := range p.bufs.all {
		if !b.isPlaced() {
			continue
		}
		g, extra := &groups[b.arena], int64(0)
		if b.slots > 1 { // the next instance begins behind what kernels may touch
			extra = g.space.Extra
		}
		t, bytes := tenant{id: b.id, from: int32(len(p.places))}, int64(0)
		for v := range b.values {
			n := v.MaxBytes()
			v.Place, bytes = p.arenas.place(ir.Place{Bytes: n + extra}), max(bytes, n)
			p.places = append(p.places, v.Place)
		}
		t.many, t.size = int32(len(p.places))-t.from, int64(b.slots)*g.space.Room(bytes)
		if b.slots == 1 {
			g.add(t, b.value.Name, p.live(b))
		} else {
			g.addSeveral(t, b.value.Name, p.time.end())
		}
	}
}

// add adds a buffer of that name with its life.
func (g *tenants) add(t tenant, name string, live Interval) {
	if live == Never {
		live = Interval{0, 0} // a parameter that nothing reads
	}
	g.first = append(g.first, t)
	g.problem.Buffers = append(g.problem.Buffers, mem.Buffer{
		ID:    name,
		Lower: int64(live.First),
		Upper: int64(live.Last) + 1,
		Size:  t.size,
		Align: max(g.space.Align, 1),
	})
}

// addSeveral adds a buffer of which there are several instances. It has its bytes for itself throughout,
// up to the end: other steps may use other instances at any time.
func (g *tenants) addSeveral(t tenant, name string, end int) {
	if i := g.several - 1; i >= 0 {
		all := &g.problem.Buffers[i]
		if limit := g.space.MaxAlloc; limit == 0 || all.Size+t.size <= limit {
			all.Size += t.size
			g.more = append(g.more, t)
			if g.last == 0 {
				g.first[i].next = int32(len(g.more))
			} else {
				g.more[g.last-1].next = int32(len(g.more))
			}
			g.last = int32(len(g.more))
			return
		}
	}
	g.add(t, name, Interval{0, end})
	g.several, g.last = len(g.first), 0
}

// at calls yield with the tenants of the buffer with an index in the problem, one behind the other.
func (g *tenants) at(i int, yield func(*tenant)) {
	t := &g.first[i]
	for yield(t); t.next > 0; yield(t) {
		t = &g.more[t.next-1]
	}
}

// extend lets tenants live for as long as queues may be at work on them.
func (p *planner) extend(g *tenants) {
	for i := range g.first {
		if b := &p.bufs.list[g.first[i].id]; b.slots == 1 && b.class == ir.ClassActivations {
			at := &g.problem.Buffers[i]
			live := p.queues.extend(Interval{int(at.Lower), int(at.Upper) - 1}, b)
			at.Lower, at.Upper = int64(live.First), int64(live.Last)+1
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
func (p *planner) live(b *buffer) Interval {
	switch b.class {
	case ir.ClassIO:
		return Interval{0, 0}
	case ir.ClassScratch:
		return p.time.positions(b)
	}
	return p.time.live(b)
}

// solution is how one arena of the entry point is packed.
type solution struct {
	places packing
	stats  mem.Stats
	err    error
}

// solve packs one arena of the entry point.
func (p *planner) solve(g *tenants) (s solution) {
	if p.queues != nil {
		p.extend(g)
	}
	s.places, s.stats, s.err = packChunks(p.c, g.problem, g.space.MaxAlloc, p.steps())
	return s
}

// settle writes the addresses of one arena.
func (p *planner) settle(g *tenants, s solution) error {
	index := p.arenas.index(g.key)
	if s.err != nil {
		return fmt.Errorf("@%s: %s of %s: %w", p.f.Name, g.key.class, g.key.space, s.err)
	}
	p.c.Count("steps", s.stats.Steps)
	p.c.Count("cut-by-clock", int64(flow.BoolInt(s.stats.Cancelled)))
	p.arenas.M.Plan.Cut = p.arenas.M.Plan.Cut || s.stats.Cancelled
	p.c.Count("above-bound", int64(flow.BoolInt(s.places.height > s.stats.Bound)))
	for i := range g.first {
		chunk, offset := s.places.at(i)
		g.at(i, func(t *tenant) {
			for _, at := range p.places[t.from : t.from+t.many] {
				at.Arena, at.Chunk, at.Offset = index, chunk, offset
			}
			offset += t.size
		})
	}
	p.arenas.grow(g.key, s.places.chunks)
	p.arenas.bound(g.key, p.f, s.stats.Bound, p.names(g, s.stats.Setters))
	return nil
}

func (p *planner) steps() int64 {
	if pass.Flags[planFlags](p.c).Greedy {
		return -1
	}
	return int64(p.c.Options.PlanSteps)
}

// names returns the names of the values that set a bound.
func (p *planner) names(g *tenants, setters []int) []string {
	var list []string
	for _, i := range setters {
		g.at(i, func(t *tenant) {
			list = append(list, Qualified(p.f, p.bufs.list[t.id].value))
		})
	}
	return list
}

// Qualified names a value within an entry point: those of bodies with their function.
func Qualified(f *ir.Func, v *ir.Value) string {
	if v.Func == f {
		return v.Name
	}
	return v.Func.Name + "." + v.Name
}

// placeBodies gives the parameters of bodies that stand for values of the function around
// them the place of those, outer bodies first. The reserved bytes are part of a place: they say
// how far apart the instances are.
func (p *planner) placeBodies() {
	for _, l := range p.time.inOrder {
		for _, v := range l.node.Body.Params {
			kind, i := flow.ParamKind(v)
			if kind == flow.ParamInvariant || kind == flow.ParamTable {
				v.Place = p.arenas.place(*p.arenas.PlaceOf(l.node.Args[i]))
			}
		}
	}
}

// figures returns what the plan says about the entry point as a whole.
func (p *planner) figures() ir.FuncPlan {
	return ir.FuncPlan{
		Func:     p.f.Name,
		Splits:   flow.Splits(p.f),
		Barriers: partition.Barriers(p.f),
		Nodes:    nodesRun(p.f),
		MaxParts: partition.MaxParts(p.c, p.f),
	}
}

// planThreads returns the most workers that the plan is for, 0 where that is the usual bound.
func planThreads(c *pass.Context) int {
	n := c.Targets.MaxWorkers()
	if c.Options.Threads > 0 {
		n = min(n, c.Options.Threads)
	}
	if n == ir.MaxThreads {
		return 0
	}
	return n
}

// nodesRun returns how many nodes with work a call of f runs.
func nodesRun(f *ir.Func) int64 {
	var sum int64
	for _, n := range f.Nodes {
		switch {
		case n.Body != nil:
			sum += flow.Iterations(n) * nodesRun(n.Body)
		case !n.Is(ir.Leaf) && !n.Is(ir.View):
			sum++
		}
	}
	return sum
}

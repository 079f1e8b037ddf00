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
// Before: nodes have partitions and epochs. After: every such value, weight and state has a place; Module.Plan has the
// arenas with their lower bounds, and figures for each entry point.
//
// Not earlier: bytes live until the barrier that follows their last reader. Not later: only sync and the proof follow.
//
// The steps for each entry point:
//
//	timeline.go, event.go  nodes in order of time, and the events of each value: who reads and writes it when
//	buffer.go              values that share bytes are one buffer
//	inplace.go             results take over the bytes of operands if no node can tell the difference
//	horizon.go             until when queues may still be at work on a buffer
//	packing.go             each arena is packed: greedily, then by a search (package mem)
//
// Weights, constants and states are placed once for the module (leaf.go). docs/explanation/plan.md explains why this is
// right in the presence of threads and loops.
//
// Cost: O(nodes + uses of buffers) without loops, O(nodes * uses of a buffer) with them, and the search.
var Pass = pass.Pass{
	Name:     "plan",
	Doc:      "give every value an address",
	Run:      plan,
	Required: true,
	Needs:    ir.PropPartitioned,
	Gives:    ir.PropPlaced,
	Breaks:   pass.FromSynced,
	Rules: []pass.Rule{
		{Name: pass.RulePlanInplace, Doc: "the result takes the bytes of an operand that is not read any more"},
		{Name: pass.RulePlanCarried, Doc: "a carried value has one place in all iterations"},
	},
	Flags: planFlags{},
}

// planFlags are the debug flags of the pass.
type planFlags struct {
	Greedy bool `debug:"greedy,do not search for a better packing"`
}

func plan(c *pass.Context, m *ir.Module) error {
	if n := c.Options.Pipeline; n > ir.MaxPipeline {
		return fmt.Errorf("%d steps are under way at once, and at most %d may be: lower --pipeline", n, ir.MaxPipeline)
	}
	m.Plan = &ir.Plan{Threads: planThreads(c)}
	if n := c.Options.Pipeline; n > 1 {
		m.Plan.Pipeline = n
	}
	a := newArenas(c, m)
	errs := []error{a.placeLeaves()}
	for _, f := range m.Funcs {
		p := newPlanner(c, f, a)
		p.explainCarried()
		p.takeOverOperands()
		errs = append(errs, p.place())
		m.Plan.Funcs = append(m.Plan.Funcs, p.figures())
	}
	if err := errors.Join(errs...); err != nil {
		m.Plan = nil // it has no arenas
		return err
	}
	a.finish()
	return a.checkBudgets()
}

// planThreads returns the most workers that the plan is for, or 0 if that is the usual limit.
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

// planner plans one entry point.
type planner struct {
	c      *pass.Context
	f      *ir.Func
	arenas *arenas
	time   *Timeline
	bufs   *buffers
}

func newPlanner(c *pass.Context, f *ir.Func, a *arenas) *planner {
	p := &planner{c: c, f: f, arenas: a, time: NewTimeline(f)}
	p.bufs = newBuffers(f, p.time)
	return p
}

// explainCarried adds the causes of repeats for the places of what they carry.
func (p *planner) explainCarried() {
	for _, l := range p.time.loops {
		if len(l.node.Results) > 0 {
			p.c.Cause(l.node, pass.RulePlanCarried, l.node.Result().String())
		}
	}
}

// place packs the buffers of the entry point, arena by arena, and writes the addresses into the values.
func (p *planner) place() error {
	var h *horizon
	if pipeline.HasQueues(p.f) {
		h = newHorizon(p)
	}
	var errs []error
	for _, g := range p.groups(h) {
		errs = append(errs, p.pack(g))
	}
	if err := errors.Join(errs...); err != nil {
		return err // values that parameters of bodies denote may have no place
	}
	p.placeParams()
	return nil
}

// group is the buffers of the entry point that go to one arena.
type group struct {
	key     arenaKey
	space   target.Space
	problem mem.Problem

	// residents has, for each buffer of the problem, the buffers of the entry point that it consists of, one after the
	// other in memory. There are several if these have several instances.
	residents [][]resident
	instances int // index of the buffer of the problem to which more such buffers may be added, or -1
}

// resident is a buffer of the entry point that is packed.
type resident struct {
	*buffer
	size int64 // bytes at the upper bounds of symbols, all instances together
}

// groups returns the packing problems of the entry point, in the order of their first buffers. The horizon is nil if
// there are no queues.
func (p *planner) groups(h *horizon) []*group {
	var list []*group
	byKey := make(map[arenaKey]*group)
	for b := range p.bufs.all {
		if !b.isPlaced() {
			continue
		}
		key := arenaKey{b.space(), b.class}
		g := byKey[key]
		if g == nil {
			g = &group{key: key, space: p.arenas.space(key.space), instances: -1}
			byKey[key] = g
			list = append(list, g)
		}
		r := resident{b, p.makePlaces(b, g.space)}
		if b.slots > 1 {
			g.addInstances(r, p.time.end())
		} else {
			g.add(r, p.live(b, h))
		}
	}
	return list
}

// makePlaces makes the places of the values of a buffer, without their addresses, and returns the bytes that the buffer
// takes.
func (p *planner) makePlaces(b *buffer, space target.Space) int64 {
	extra := int64(0)
	if b.slots > 1 { // kernels may touch bytes between this instance and the next one
		extra = space.Extra
	}
	most := int64(0)
	for _, v := range b.values {
		bytes := v.MaxBytes()
		v.Place = p.arenas.place(ir.Place{Bytes: bytes + extra})
		most = max(most, bytes)
	}
	return int64(b.slots) * space.Room(most)
}

// live returns the positions between which nothing else may use the bytes of a buffer. Inputs and outputs are the
// caller's for the whole call.
func (p *planner) live(b *buffer, h *horizon) Interval {
	var live Interval
	switch b.class {
	case ir.ClassIO:
		live = Interval{0, 0}
	case ir.ClassScratch:
		live = p.time.positions(b.events)
	default:
		live = p.time.live(b.events)
	}
	if live == Never {
		live = Interval{0, 0} // a parameter that no node reads
	}
	if h != nil && b.class == ir.ClassActivations {
		live = h.extend(live, b)
	}
	return live
}

// add adds a buffer to the problem.
func (g *group) add(r resident, live Interval) {
	g.residents = append(g.residents, []resident{r})
	g.problem.Buffers = append(g.problem.Buffers, mem.Buffer{
		ID:    r.name(),
		Lower: int64(live.First),
		Upper: int64(live.Last) + 1,
		Size:  r.size,
		Align: max(g.space.Align, 1),
	})
}

// addInstances adds a buffer of several instances. Other steps may use the other instances at any time, so nothing
// shares bytes with it, up to the end. All such buffers of the arena are next to each other, as one buffer of the
// problem, unless the largest allocation is too small for that.
func (g *group) addInstances(r resident, end int) {
	if g.instances >= 0 {
		all := &g.problem.Buffers[g.instances]
		if limit := g.space.MaxAlloc; limit == 0 || all.Size+r.size <= limit {
			all.Size += r.size
			g.residents[g.instances] = append(g.residents[g.instances], r)
			return
		}
	}
	g.instances = len(g.problem.Buffers)
	g.add(r, Interval{0, end})
}

// pack packs one arena and writes the addresses.
func (p *planner) pack(g *group) error {
	packed, stats, err := packChunks(p.c, g.problem, g.space.MaxAlloc, p.searchSteps())
	arena := p.arenas.index(g.key)
	if err != nil {
		return fmt.Errorf("@%s: %s of %s: %w", p.f.Name, g.key.class, g.key.space, err)
	}
	p.c.Count("steps", stats.Steps)
	p.c.Count("cut-by-clock", int64(flow.BoolInt(stats.Cancelled)))
	p.c.Count("above-bound", int64(flow.BoolInt(packed.height > stats.Bound)))
	p.arenas.m.Plan.Cut = p.arenas.m.Plan.Cut || stats.Cancelled
	for i, residents := range g.residents {
		chunk, offset := packed.at(i)
		for _, r := range residents {
			for _, v := range r.values {
				v.Place.Arena, v.Place.Chunk, v.Place.Offset = arena, chunk, offset
			}
			offset += r.size
		}
	}
	p.arenas.grow(g.key, packed.chunks)
	var setters []string // of the bound
	for _, i := range stats.Setters {
		for _, r := range g.residents[i] {
			setters = append(setters, Qualified(p.f, r.values[0]))
		}
	}
	p.arenas.bound(g.key, p.f, stats.Bound, setters)
	return nil
}

// searchSteps returns the limit of mem.Options: -1 is no search.
func (p *planner) searchSteps() int64 {
	if pass.Flags[planFlags](p.c).Greedy {
		return -1
	}
	return int64(p.c.Options.PlanSteps)
}

// placeParams gives the parameters of bodies that denote values of the function around the repeat the places of these
// values, outer bodies first. A place includes the reserved bytes, which are the distance between instances.
func (p *planner) placeParams() {
	for _, l := range p.time.loops {
		for _, v := range l.node.Body.Params {
			kind, i := flow.ParamKind(v)
			if kind == flow.ParamInvariant || kind == flow.ParamTable {
				v.Place = p.arenas.place(*PlaceOf(p.arenas.m, l.node.Args[i]))
			}
		}
	}
}

// Qualified returns the name of a value within an entry point: for values of bodies with the name of the body.
func Qualified(f *ir.Func, v *ir.Value) string {
	if v.Func == f {
		return v.Name()
	}
	return v.Func.Name + "." + v.Name()
}

// figures returns the figures of the entry point.
func (p *planner) figures() ir.FuncPlan {
	return ir.FuncPlan{
		Func:     p.f.Name,
		Splits:   flow.Splits(p.f),
		Barriers: partition.Barriers(p.f),
		Nodes:    nodesRun(p.f),
		MaxParts: partition.MaxParts(p.c, p.f),
	}
}

// nodesRun returns how many nodes with work a call of f runs.
func nodesRun(f *ir.Func) int64 {
	var sum int64
	for _, n := range f.Nodes {
		switch {
		case n.Body != nil:
			sum += flow.Iterations(n) * nodesRun(n.Body)
		case flow.DoesWork(n):
			sum++
		}
	}
	return sum
}

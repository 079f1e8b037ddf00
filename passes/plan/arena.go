package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// arenaKey names an arena.
type arenaKey struct {
	space string
	class ir.Class
}

// Arenas are those of the whole module, while they grow. Entry points share them: each
// begins at 0, and the largest counts.
type Arenas struct {
	c    *pass.Context
	M    *ir.Module
	keys []arenaKey
	list []ir.Arena

	spaces map[string]target.Space // that were asked for
	places []*ir.Place             // of all that has one: they know their arenas by index
}

func (a *Arenas) index(key arenaKey) int {
	if i := slices.Index(a.keys, key); i >= 0 {
		return i
	}
	a.keys = append(a.keys, key)
	a.list = append(a.list, ir.Arena{Space: key.space, Class: key.class, Align: max(a.space(key.space).Align, 1)})
	return len(a.keys) - 1
}

// place returns a new place of the plan.
func (a *Arenas) place(p ir.Place) *ir.Place {
	a.places = append(a.places, &p)
	return &p
}

func (a *Arenas) get(key arenaKey) *ir.Arena { return &a.list[a.index(key)] }

// space returns a memory space with its limits.
func (a *Arenas) space(name string) target.Space {
	s, known := a.spaces[name]
	if !known {
		s = a.c.Targets.Space(name)
		a.spaces[name] = s
	}
	return s
}

// limit returns the largest allocation of a space in bytes; 0 is none.
func (a *Arenas) limit(space string) int64 { return a.space(space).MaxAlloc }

// room returns the bytes that a tensor of n bytes takes in an arena: aligned, and with those
// behind it that kernels may touch.
func (a *Arenas) room(key arenaKey, n int64) int64 { return a.space(key.space).Room(n) }

// grow makes the arena large enough for chunks of these sizes.
func (a *Arenas) grow(key arenaKey, chunks []int64) {
	arena := a.get(key)
	for i, n := range chunks {
		if i == len(arena.Chunks) {
			arena.Chunks = append(arena.Chunks, 0)
		}
		arena.Chunks[i] = max(arena.Chunks[i], n)
	}
}

// bound notes an entry point's lower bound; the largest counts.
func (a *Arenas) bound(key arenaKey, f *ir.Func, bytes int64, setters []string) {
	if arena := a.get(key); bytes > arena.Bound {
		arena.Bound, arena.BoundFunc, arena.Setters = bytes, f.Name, setters
	}
}

// finish puts the arenas into the plan, ordered by space, in the order of the targets, and
// class.
func (a *Arenas) finish() {
	if len(a.keys) == 0 {
		return // nothing has a place
	}
	spaces := a.c.Targets.Spaces()
	rank := func(key arenaKey) int {
		return slices.IndexFunc(spaces, func(s target.Space) bool { return s.Name == key.space })
	}
	order := make([]int, len(a.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := a.keys[i], a.keys[j]
		return cmp.Or(rank(x)-rank(y), cmp.Compare(x.space, y.space), int(x.class)-int(y.class))
	})
	moved := make([]int, len(order))
	for to, from := range order {
		moved[from] = to
		a.M.Plan.Arenas = append(a.M.Plan.Arenas, a.list[from])
	}
	for _, p := range a.places {
		p.Arena = moved[p.Arena]
	}
	for i, arena := range a.M.Plan.Arenas {
		a.c.Count("bytes."+arena.Space+"."+arena.Class.String(), a.M.Plan.Arenas[i].Bytes())
	}
}

// checkBudgets compares the arenas of each space with the limits of the options, which
// name spaces or backends, and with what the targets have.
func (a *Arenas) checkBudgets() error {
	if a.c.Dry != nil {
		return nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(a.c.Options.MaxMemory)) {
		space := name
		if d := a.c.Targets.Get(name); d != nil {
			space = d.Home()
		}
		errs = append(errs, a.budget(space, pass.BudgetError{Name: name, Limit: a.c.Options.MaxMemory[name], Movable: a.movable()}))
	}
	for _, d := range a.c.Targets.All() {
		if d.Memory > 0 {
			errs = append(errs, a.budget(d.Home(), pass.BudgetError{Name: d.Name, Limit: d.Memory, Own: true, Movable: a.movable()}))
		}
	}
	return errors.Join(errs...)
}

// movable reports whether the rules cost, which know limits, could put something elsewhere.
func (a *Arenas) movable() bool {
	rules := a.c.Options.Rules
	return rules != "" && rules != assign.CostRules.Name && len(a.c.Targets.All()) > 1
}

// budget returns e, filled in, if the arenas of the space need more than its limit.
func (a *Arenas) budget(space string, e pass.BudgetError) error {
	for _, arena := range a.M.Plan.Arenas {
		if arena.Space == space {
			arena = flow.UnderWay(a.M.Plan, arena)
			e.Need += arena.Bytes()
			e.Arenas = append(e.Arenas, arena)
		}
	}
	if e.Need <= e.Limit {
		return nil
	}
	return &e
}

// packing is where buffers lie: a chunk and an offset each.
type packing struct {
	chunk  []int // nil where there is one
	offset []int64
	chunks []int64 // sizes
	height int64   // sum of the sizes
}

// packChunks packs buffers into one chunk, or, where that would be larger than limit
// (0 is none), into several.
func packChunks(c *pass.Context, p mem.Problem, limit, steps int64) (packing, mem.Stats, error) {
	var out packing
	ctx, cancel := c.Ctx, func() {}
	if c.Options.PlanTime > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Options.PlanTime)
	}
	defer cancel()
	s, stats, err := mem.Solve(ctx, p, mem.Options{MaxSteps: steps})
	if err != nil {
		return out, stats, err
	}
	if limit == 0 || s.Height <= limit {
		out.offset, out.chunks, out.height = s.Offsets, []int64{s.Height}, s.Height
		return out, stats, nil
	}
	for _, b := range p.Buffers {
		if b.Size > limit {
			err = errors.Join(err, pass.TooLarge(fmt.Sprintf("%q", b.ID), b.Size, limit))
		}
	}
	if err == nil {
		out.chunk, out.offset, out.chunks = mem.Chunks(p, limit)
		for _, size := range out.chunks {
			out.height += size
		}
	}
	return out, stats, err
}

// at returns where buffer i lies.
func (p *packing) at(i int) (chunk int, offset int64) {
	if p.chunk == nil {
		return 0, p.offset[i]
	}
	return p.chunk[i], p.offset[i]
}

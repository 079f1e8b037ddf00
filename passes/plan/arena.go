package plan

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// arenaKey names an arena.
type arenaKey struct {
	space string
	class ir.Class
}

// arenas are those of the whole module, while they grow. Entry points share them: each begins at 0, and the largest one
// determines the size.
type arenas struct {
	c      *pass.Context
	m      *ir.Module
	keys   []arenaKey
	list   []ir.Arena
	spaces map[string]target.Space // that were asked for
	places []*ir.Place             // every place made; they have the indexes of their arenas
}

func newArenas(c *pass.Context, m *ir.Module) *arenas {
	return &arenas{c: c, m: m, spaces: make(map[string]target.Space)}
}

// index returns the index of an arena, which is made if there is none yet.
func (a *arenas) index(key arenaKey) int {
	if i := slices.Index(a.keys, key); i >= 0 {
		return i
	}
	a.keys = append(a.keys, key)
	a.list = append(a.list, ir.Arena{Space: key.space, Class: key.class, Align: max(a.space(key.space).Align, 1)})
	return len(a.keys) - 1
}

// place makes a place.
func (a *arenas) place(p ir.Place) *ir.Place {
	a.places = append(a.places, &p)
	return &p
}

func (a *arenas) get(key arenaKey) *ir.Arena { return &a.list[a.index(key)] }

// space returns a memory space with its limits.
func (a *arenas) space(name string) target.Space {
	s, known := a.spaces[name]
	if !known {
		s = a.c.Targets.Space(name)
		a.spaces[name] = s
	}
	return s
}

// grow makes an arena large enough for chunks of these sizes.
func (a *arenas) grow(key arenaKey, chunks []int64) {
	arena := a.get(key)
	for i, n := range chunks {
		if i == len(arena.Chunks) {
			arena.Chunks = append(arena.Chunks, 0)
		}
		arena.Chunks[i] = max(arena.Chunks[i], n)
	}
}

// bound records the lower bound of an entry point. The largest one is kept.
func (a *arenas) bound(key arenaKey, f *ir.Func, bytes int64, setters []string) {
	if arena := a.get(key); bytes > arena.Bound {
		arena.Bound, arena.BoundFunc, arena.Setters = bytes, f.Name, setters
	}
}

// finish puts the arenas into the plan, ordered by space, as the targets are, and by class.
func (a *arenas) finish() {
	if len(a.keys) == 0 {
		return // no value has a place
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
		a.m.Plan.Arenas = append(a.m.Plan.Arenas, a.list[from])
	}
	for _, p := range a.places {
		p.Arena = moved[p.Arena]
	}
	for i, arena := range a.m.Plan.Arenas {
		a.c.Count("bytes."+arena.Space+"."+arena.Class.String(), a.m.Plan.Arenas[i].Bytes())
	}
}

// checkBudgets compares the arenas of each space with the limits of the options, which name spaces or backends, and
// with the memory of the targets.
func (a *arenas) checkBudgets() error {
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

// movable reports whether the rules cost, which know limits, could move values to another space.
func (a *arenas) movable() bool {
	rules := a.c.Options.Rules
	return rules != "" && rules != assign.CostRules.Name && len(a.c.Targets.All()) > 1
}

// budget returns e, with what is needed, if the arenas of the space need more than its limit.
func (a *arenas) budget(space string, e pass.BudgetError) error {
	for _, arena := range a.m.Plan.Arenas {
		if arena.Space == space {
			arena = flow.UnderWay(a.m.Plan, arena)
			e.Need += arena.Bytes()
			e.Arenas = append(e.Arenas, arena)
		}
	}
	if e.Need <= e.Limit {
		return nil
	}
	return &e
}

// PlaceOf returns the place of the bytes that v begins with. Weights and states have theirs in the module.
func PlaceOf(m *ir.Module, v *ir.Value) *ir.Place {
	o := flow.Origin(v)
	if o.Def != nil {
		switch attr := o.Def.Attr.(type) {
		case *ir.WeightAttr:
			return m.Weight(attr.Name).Place
		case *ir.StateAttr:
			return m.State(attr.Name).Place
		}
	}
	return o.Place
}

package plan

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// leafPlacer places weights, constants and states in the order of their use. Those in the tables of a repeat are placed
// iteration by iteration: all entries 0, all entries 1, and so on. So the entries of each table have a constant
// distance, and an iteration reads memory that is in one piece:
//
//	%r = repeat 2 (table %w0, %w1; table %u0, %u1)    places: w0 u0 w1 u1
type leafPlacer struct {
	arenas *arenas
	done   map[**ir.Place]bool // by where the place of a weight, a state or a constant is stored
	group  []leaf              // to be placed next, in one chunk if possible
	errs   []error
}

// leaf is a weight, a state or a constant that needs a place.
type leaf struct {
	key   arenaKey
	name  string
	bytes int64
	place **ir.Place
}

// placeLeaves gives every weight, state and constant its place, used ones first. It returns an error for each that no
// allocation can hold.
func (a *arenas) placeLeaves() error {
	p := &leafPlacer{arenas: a, done: make(map[**ir.Place]bool)}
	for _, f := range a.m.Funcs {
		p.addUsed(f)
	}
	for _, w := range a.m.Weights {
		p.addWeight(w)
	}
	for _, s := range a.m.States {
		p.addState(s)
	}
	p.placeGroup()
	for i := range a.list {
		if c := a.list[i].Class; c == ir.ClassWeights || c == ir.ClassState {
			a.list[i].Bound = a.list[i].Bytes()
		}
	}
	return errors.Join(p.errs...)
}

// addUsed places the leaves that the nodes of f and of the bodies in it use.
func (p *leafPlacer) addUsed(f *ir.Func) {
	for _, n := range f.Nodes {
		fixed := len(n.Args) // operands that are no entries of tables
		attr, isRepeat := n.Attr.(*ir.RepeatAttr)
		if isRepeat {
			fixed = attr.Carried + attr.Invariant
		}
		for _, v := range n.Args[:fixed] {
			p.add(v)
			p.placeGroup()
		}
		if !isRepeat {
			continue
		}
		for iteration := range int(attr.Count) {
			for i := fixed + iteration; i < len(n.Args); i += int(attr.Count) {
				p.add(n.Args[i])
			}
			p.placeGroup()
		}
		p.addUsed(n.Body)
	}
}

// add adds the leaf whose bytes v names, if it names one. For the parameter of a table, the entries were added before.
func (p *leafPlacer) add(v *ir.Value) {
	if v == nil {
		return
	}
	o := flow.Origin(v)
	if o.Def == nil {
		return
	}
	switch o.Def.Op {
	case ir.OpWeight:
		p.addWeight(p.arenas.m.Weight(o.Def.Attr.(*ir.WeightAttr).Name))
	case ir.OpState:
		p.addState(p.arenas.m.State(o.Def.Attr.(*ir.StateAttr).Name))
	case ir.OpConstant:
		p.addLeaf(ir.ClassWeights, &o.Type, o.String(), &o.Place)
	}
}

func (p *leafPlacer) addWeight(w *ir.Weight) { p.addLeaf(ir.ClassWeights, &w.Type, w.Name, &w.Place) }

func (p *leafPlacer) addState(s *ir.State) { p.addLeaf(ir.ClassState, &s.Type, s.Name, &s.Place) }

func (p *leafPlacer) addLeaf(class ir.Class, t *ir.Type, name string, place **ir.Place) {
	if !p.done[place] {
		p.done[place] = true
		p.group = append(p.group, leaf{arenaKey{flow.SpaceOf(t), class}, name, t.MaxBytes(), place})
	}
}

// placeGroup places the group at the ends of its arenas. If a chunk would become larger than the largest allocation,
// all pieces of this arena go to a new chunk; if no chunk can hold them, each piece goes where it fits.
func (p *leafPlacer) placeGroup() {
	needs := make(map[arenaKey]int64) // bytes of the group; 0 once its first leaf is placed
	for _, l := range p.group {
		space := p.arenas.space(l.key.space)
		room := space.Room(l.bytes)
		needs[l.key] += room
		if limit := space.MaxAlloc; limit > 0 && room > limit {
			p.errs = append(p.errs, pass.TooLarge(fmt.Sprintf("%s of %s: %q", l.key.class, l.key.space, l.name), room, limit))
		}
	}
	for _, l := range p.group {
		*l.place = p.arenas.place(p.arenas.append(l.key, l.bytes, needs[l.key]))
		needs[l.key] = 0
	}
	p.group = nil
}

// append reserves bytes at the end of an arena, in a chunk that has room for together bytes if any chunk can have.
func (a *arenas) append(key arenaKey, bytes, together int64) ir.Place {
	arena, space := a.get(key), a.space(key.space)
	limit, room := space.MaxAlloc, space.Room(bytes)
	last := len(arena.Chunks) - 1
	fits := func(n int64) bool { return limit == 0 || arena.Chunks[last]+n <= limit }
	if last < 0 || !fits(room) || together <= limit && !fits(together) {
		arena.Chunks = append(arena.Chunks, 0)
		last++
	}
	at := ir.Place{Arena: a.index(key), Chunk: last, Offset: arena.Chunks[last], Bytes: bytes}
	arena.Chunks[last] += room
	return at
}

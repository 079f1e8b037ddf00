package plan

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// leafPlacer lays out weights, constants and states in the order of their use. What the
// tables of a repeat hold is laid out round by round: all entries 0, all entries 1, and so
// on, so that the entries of each table lie at a constant distance.
type leafPlacer struct {
	a     *Arenas
	done  map[**ir.Place]bool // by where the place of a weight, a state or a constant stands
	open  []leaf              // that must not be torn apart: one round
	seen  []bool              // by the number of an origin: its bytes have their place, or need none here
	needs []leafNeed          // scratch of flush
	errs  []error
}

// leaf is a weight, a state or a constant that needs a place.
type leaf struct {
	class ir.Class
	typ   *ir.Type
	name  string
	place **ir.Place
}

// leafNeed is the bytes that leaves need in an arena.
type leafNeed struct {
	key   arenaKey
	bytes int64
}

// placeLeaves gives every weight, state and constant its place, used ones first. It
// reports those that no allocation can hold. All has the origins of each entry point.
func (a *Arenas) placeLeaves(all []*flow.Origins) error {
	p := &leafPlacer{a: a, done: make(map[**ir.Place]bool, len(a.M.Weights)+len(a.M.States))}
	for i, f := range a.M.Funcs {
		p.seen = make([]bool, len(all[i].List))
		p.visit(f, all[i])
	}
	for _, w := range a.M.Weights {
		p.weight(w)
	}
	for _, s := range a.M.States {
		p.state(s)
	}
	p.flush()
	for i := range a.list {
		if c := a.list[i].Class; c == ir.ClassWeights || c == ir.ClassState {
			a.list[i].Bound = a.list[i].Bytes()
		}
	}
	return errors.Join(p.errs...)
}

// visit places what nodes of f read, in order; leaves themselves are only names.
func (p *leafPlacer) visit(f *ir.Func, o *flow.Origins) {
	for _, n := range f.Nodes {
		operands := o.Used.Operands(int32(o.Numbers.Node(n)))
		if n.Op != ir.OpRepeat {
			for _, id := range operands {
				p.origin(id, o)
				p.flush()
			}
			continue
		}
		attr := n.Attr.(*ir.RepeatAttr)
		fixed := attr.Carried + attr.Invariant
		for _, id := range operands[:fixed] {
			p.origin(id, o)
			p.flush()
		}
		for round := range int(attr.Count) {
			for at := fixed + round; at < len(operands); at += int(attr.Count) {
				p.origin(operands[at], o)
			}
			p.flush()
		}
		p.visit(n.Body, o)
	}
}

// origin puts an origin, if that is a leaf, among those to be placed.
func (p *leafPlacer) origin(i int32, o *flow.Origins) {
	if i == flow.None {
		return
	}
	if kind := o.Kinds[i]; p.seen[i] || kind != flow.FixedOrigin && kind != flow.StateOrigin {
		return
	}
	p.seen[i] = true
	n := o.List[i].Def
	if n == nil {
		return // a table: its entries come first
	}
	switch n.Op {
	case ir.OpWeight:
		p.weight(p.a.M.Weight(n.Attr.(*ir.WeightAttr).Name))
	case ir.OpState:
		p.state(p.a.M.State(n.Attr.(*ir.StateAttr).Name))
	case ir.OpConstant:
		v := n.Result()
		p.add(leaf{ir.ClassWeights, &v.Type, v.String(), &v.Place})
	}
}

func (p *leafPlacer) weight(w *ir.Weight) {
	p.add(leaf{ir.ClassWeights, &w.Type, w.Name, &w.Place})
}

func (p *leafPlacer) state(s *ir.State) {
	p.add(leaf{ir.ClassState, &s.Type, s.Name, &s.Place})
}

func (p *leafPlacer) add(l leaf) {
	if !p.done[l.place] {
		p.done[l.place] = true
		p.open = append(p.open, l)
	}
}

// flush places what is open behind all else. Where that would make a chunk larger than
// the largest allocation, all of it goes to a new chunk; if a chunk cannot hold it all,
// each piece by itself.
func (p *leafPlacer) flush() {
	if len(p.open) == 0 {
		return
	}
	p.needs = p.needs[:0]
	for _, l := range p.open {
		key := p.key(l)
		room := p.a.room(key, l.typ.MaxBytes())
		p.need(key).bytes += room
		if limit := p.a.limit(key.space); limit > 0 && room > limit {
			p.errs = append(p.errs, pass.TooLarge(fmt.Sprintf("%s of %s: %q", l.class, key.space, l.name), room, limit))
		}
	}
	for _, l := range p.open {
		need := p.need(p.key(l))
		*l.place = p.a.place(p.a.append(need.key, l.typ.MaxBytes(), need.bytes))
		need.bytes = 0
	}
	p.open = p.open[:0]
}

func (p *leafPlacer) key(l leaf) arenaKey { return arenaKey{flow.SpaceOf(l.typ), l.class} }

// need returns what is needed in an arena so far.
func (p *leafPlacer) need(key arenaKey) *leafNeed {
	for i := range p.needs {
		if p.needs[i].key == key {
			return &p.needs[i]
		}
	}
	p.needs = append(p.needs, leafNeed{key: key})
	return &p.needs[len(p.needs)-1]
}

// append reserves bytes at the end of an arena, where room more are to follow in the same
// chunk if they can.
func (a *Arenas) append(key arenaKey, bytes, room int64) ir.Place {
	arena, limit := a.get(key), a.limit(key.space)
	last := len(arena.Chunks) - 1
	fits := func(n int64) bool { return limit == 0 || arena.Chunks[last]+n <= limit }
	if last < 0 || !fits(a.room(key, bytes)) || room <= limit && !fits(room) {
		arena.Chunks = append(arena.Chunks, 0)
		last++
	}
	at := ir.Place{Arena: a.index(key), Chunk: last, Offset: arena.Chunks[last], Bytes: bytes}
	arena.Chunks[last] += a.room(key, bytes)
	return at
}

// PlaceOf returns the place of the bytes that v begins with: those of a weight or state
// stand in the module.
func (a *Arenas) PlaceOf(v *ir.Value) *ir.Place {
	o := flow.Origin(v)
	if o.Def != nil {
		switch attr := o.Def.Attr.(type) {
		case *ir.WeightAttr:
			return a.M.Weight(attr.Name).Place
		case *ir.StateAttr:
			return a.M.State(attr.Name).Place
		}
	}
	return o.Place
}

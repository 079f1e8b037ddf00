package passes

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// leafPlacer lays out weights, constants and states in the order of their use. What the
// tables of a repeat hold is laid out round by round: all entries 0, all entries 1, and so
// on, so that the entries of each table lie at a constant distance.
type leafPlacer struct {
	a    *arenas
	done map[any]bool // weights, states and constant nodes
	open []leaf       // that must not be torn apart: one round
	errs []error
}

// leaf is a weight, a state or a constant that needs a place.
type leaf struct {
	class ir.Class
	typ   ir.Type
	name  string
	set   func(ir.Place)
}

// placeLeaves gives every weight, state and constant its place, used ones first. It
// reports those that no allocation can hold.
func (a *arenas) placeLeaves() error {
	p := &leafPlacer{a: a, done: make(map[any]bool)}
	for _, f := range a.m.Funcs {
		p.visit(f)
	}
	for _, w := range a.m.Weights {
		p.weight(w)
	}
	for _, s := range a.m.States {
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
func (p *leafPlacer) visit(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Op != ir.OpRepeat {
			for _, v := range n.Args {
				p.value(v)
				p.flush()
			}
			continue
		}
		attr := n.Attr.(*ir.RepeatAttr)
		fixed := attr.Carried + attr.Invariant
		for _, v := range n.Args[:fixed] {
			p.value(v)
			p.flush()
		}
		for round := range int(attr.Count) {
			for at := fixed + round; at < len(n.Args); at += int(attr.Count) {
				p.value(n.Args[at])
			}
			p.flush()
		}
		p.visit(n.Body)
	}
}

// value puts what v names, if that is a leaf, among those to be placed.
func (p *leafPlacer) value(v *ir.Value) {
	if v == nil {
		return
	}
	n := v.Root().Def
	if n == nil {
		return
	}
	switch n.Op {
	case ir.OpWeight:
		p.weight(p.a.m.Weight(n.Attr.(*ir.WeightAttr).Name))
	case ir.OpState:
		p.state(p.a.m.State(n.Attr.(*ir.StateAttr).Name))
	case ir.OpConstant:
		p.add(n, leaf{ir.ClassWeights, n.Result().Type, n.String(), func(at ir.Place) { n.Result().Place = &at }})
	}
}

func (p *leafPlacer) weight(w *ir.Weight) {
	p.add(w, leaf{ir.ClassWeights, w.Type, w.Name, func(at ir.Place) { w.Place = &at }})
}

func (p *leafPlacer) state(s *ir.State) {
	p.add(s, leaf{ir.ClassState, s.Type, s.Name, func(at ir.Place) { s.Place = &at }})
}

func (p *leafPlacer) add(key any, l leaf) {
	if !p.done[key] {
		p.done[key] = true
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
	need := make(map[arenaKey]int64)
	for _, l := range p.open {
		key := arenaKey{p.a.spaceOf(l.typ), l.class}
		need[key] += p.a.room(key, l.typ.MaxBytes())
		if limit := p.a.limit(key.space); limit > 0 && l.typ.MaxBytes() > limit {
			p.errs = append(p.errs, tooLarge(fmt.Sprintf("%s of %s: %q", l.class, key.space, l.name), l.typ.MaxBytes(), limit))
		}
	}
	for _, l := range p.open {
		key := arenaKey{p.a.spaceOf(l.typ), l.class}
		l.set(p.a.append(key, l.typ.MaxBytes(), need[key]))
		need[key] = 0
	}
	p.open = p.open[:0]
}

// append reserves bytes at the end of an arena, where room more are to follow in the same
// chunk if they can.
func (a *arenas) append(key arenaKey, bytes, room int64) ir.Place {
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

// placeOf returns the place of the bytes that v begins with: those of a weight or state
// stand in the module.
func (a *arenas) placeOf(v *ir.Value) *ir.Place {
	o := origin(v)
	if o.Def != nil {
		switch attr := o.Def.Attr.(type) {
		case *ir.WeightAttr:
			return a.m.Weight(attr.Name).Place
		case *ir.StateAttr:
			return a.m.State(attr.Name).Place
		}
	}
	return o.Place
}

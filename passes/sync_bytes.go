package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// placedBytes knows which bytes were touched last by whom, by their addresses.
type placedBytes struct {
	m      *ir.Module
	layout *layout
	areas  map[chunkKey]*ledger
	shared map[*ir.Node]map[*ir.Value]bool // by repeat: leaves that are in its tables more than once
}

// chunkKey names memory without gaps: a chunk of an arena, of which some exist once for each
// step that is under way.
type chunkKey struct{ arena, chunk, instance int }

// placedRange is bytes [lo, hi) of a chunk.
type placedRange struct {
	chunk  chunkKey
	lo, hi int64
}

func newPlacedBytes(m *ir.Module, l *layout) *placedBytes {
	return &placedBytes{m: m, layout: l, areas: make(map[chunkKey]*ledger), shared: make(map[*ir.Node]map[*ir.Value]bool)}
}

func (b *placedBytes) touch(at int32, found func(int32, string)) {
	p := &b.layout.places[at]
	var reads, writes []placedRange
	for _, v := range p.node.Sources() {
		if v != nil {
			reads = b.ranges(reads, v, p.in, p.step)
		}
	}
	for _, v := range p.node.Results {
		writes = b.ranges(writes, v, p.in, p.step)
	}
	for _, r := range reads {
		b.ledger(r.chunk).read(r.lo, r.hi, at, b.layout, found)
	}
	for _, r := range writes {
		b.ledger(r.chunk).write(r.lo, r.hi, at, found)
	}
}

func (b *placedBytes) ledger(key chunkKey) *ledger {
	a := b.areas[key]
	if a == nil {
		a = new(ledger)
		b.areas[key] = a
	}
	return a
}

// ranges appends the bytes of v in a round and a step. Weights and constants have none:
// nobody writes them.
func (b *placedBytes) ranges(list []placedRange, v *ir.Value, in *round, step int) []placedRange {
	o := origin(v)
	for in != nil && in.node.Body != o.Func {
		in = in.outer
	}
	if kind, first := paramKind(o); kind == paramTable {
		return b.entries(list, o, first, in, step)
	}
	if isLeaf(o, ir.OpWeight, ir.OpConstant) {
		return list
	}
	at := o.Place
	if o.Def != nil && o.Def.Op == ir.OpState {
		at = b.m.State(o.Def.Attr.(*ir.StateAttr).Name).Place
	}
	if at.Bytes == 0 {
		return list
	}
	r := placedRange{chunkKey{at.Arena, at.Chunk, 0}, at.Offset, at.Offset + at.Bytes}
	arena := &b.m.Plan.Arenas[at.Arena]
	switch {
	case arena.Class == ir.ClassIO && b.m.Plan.Pipeline > 1:
		r.chunk.instance = step
	case o.Slots() > 1:
		move := int64(step) * arena.Stride(at)
		r.lo, r.hi = r.lo+move, r.hi+move
	}
	return append(list, r)
}

// entries appends the bytes of the entries of a table that a round may name: the first
// one's, or those of the others. What is in tables more than once counts in any.
func (b *placedBytes) entries(list []placedRange, p *ir.Value, first int, in *round, step int) []placedRange {
	n := p.Func.Owner
	for i, v := range n.Args[first : first+int(n.Attr.(*ir.RepeatAttr).Count)] {
		other := in.which == firstRound && i > 0 || in.which == laterRound && i == 0
		if !other || b.sharedIn(n)[origin(v)] {
			list = b.ranges(list, v, in.outer, step)
		}
	}
	return list
}

// sharedIn returns the values that are entries of tables of a repeat more than once.
func (b *placedBytes) sharedIn(n *ir.Node) map[*ir.Value]bool {
	if shared, known := b.shared[n]; known {
		return shared
	}
	attr := n.Attr.(*ir.RepeatAttr)
	seen, shared := make(map[any]bool), make(map[*ir.Value]bool)
	for _, v := range n.Args[attr.Carried+attr.Invariant:] {
		o := origin(v)
		key := any(o)
		if o.Def != nil && o.Def.Op == ir.OpState {
			key = o.Def.Attr.(*ir.StateAttr).Name
		}
		if seen[key] {
			shared[o] = true
		}
		seen[key] = true
	}
	b.shared[n] = shared
	return shared
}

// ledger is memory in which ranges remember who touched them. The segments are disjoint and
// in order; what lies between them was never touched.
type ledger struct {
	segments []segment
}

// segment is bytes [lo, hi) that have the same history since they were written last.
type segment struct {
	lo, hi int64
	write  int32   // the place of the last write; none
	reads  []int32 // since then, the last of each queue
}

// read notes a read, and finds the writes before it.
func (a *ledger) read(lo, hi int64, at int32, l *layout, found func(int32, string)) {
	from, to := a.cut(lo, hi)
	for i := from; i < to; i++ {
		s := &a.segments[i]
		if s.write != none {
			found(s.write, ruleRAW)
		}
		s.note(at, l)
	}
}

// note makes at the last read of its queue.
func (s *segment) note(at int32, l *layout) {
	for i, r := range s.reads {
		if l.places[r].queue == l.places[at].queue {
			s.reads[i] = at
			return
		}
	}
	s.reads = append(s.reads, at)
}

// write notes a write, and finds what was done to the bytes since the write before.
func (a *ledger) write(lo, hi int64, at int32, found func(int32, string)) {
	from, to := a.cut(lo, hi)
	for i := from; i < to; i++ {
		s := &a.segments[i]
		if s.write != none {
			found(s.write, ruleWAW)
		}
		for _, r := range s.reads {
			found(r, ruleWAR)
		}
	}
	a.segments = slices.Replace(a.segments, from, to, segment{lo: lo, hi: hi, write: at})
}

// cut makes [lo, hi) whole segments and returns which.
func (a *ledger) cut(lo, hi int64) (from, to int) {
	from, _ = slices.BinarySearchFunc(a.segments, lo, func(s segment, lo int64) int {
		return boolInt(s.hi > lo) - boolInt(s.hi <= lo)
	})
	if from < len(a.segments) && a.segments[from].lo < lo {
		a.split(from, lo)
		from++
	}
	at := lo
	for to = from; at < hi; to++ {
		switch {
		case to == len(a.segments) || a.segments[to].lo >= hi:
			a.segments = slices.Insert(a.segments, to, segment{lo: at, hi: hi, write: none})
		case a.segments[to].lo > at:
			a.segments = slices.Insert(a.segments, to, segment{lo: at, hi: a.segments[to].lo, write: none})
		case a.segments[to].hi > hi:
			a.split(to, hi)
		}
		at = a.segments[to].hi
	}
	return from, to
}

// split cuts segment i in two.
func (a *ledger) split(i int, at int64) {
	s := a.segments[i]
	a.segments[i].hi = at
	s.lo, s.reads = at, slices.Clone(s.reads)
	a.segments = slices.Insert(a.segments, i+1, s)
}

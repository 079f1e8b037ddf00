package pipeline

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// placedBytes knows which bytes were touched last by whom, by their addresses.
type placedBytes struct {
	m      *ir.Module
	layout *layout
	areas  []ledger                        // by arena, instance and chunk
	first  []int                           // by arena: its first area
	ranges []placedRange                   // scratch of touch
	shared map[*ir.Node]map[*ir.Value]bool // by repeat: leaves that are in its tables more than once
}

// placedRange is bytes [lo, hi) of an area: a chunk of an arena, of which some exist once for
// each step that is under way.
type placedRange struct {
	area   int
	lo, hi int64
}

func newPlacedBytes(m *ir.Module, l *layout) *placedBytes {
	b := &placedBytes{m: m, layout: l, shared: make(map[*ir.Node]map[*ir.Value]bool)}
	areas := 0
	for i := range m.Plan.Arenas {
		b.first = append(b.first, areas)
		areas += 2 * len(m.Plan.Arenas[i].Chunks) // two steps are laid out at most
	}
	b.areas = make([]ledger, areas)
	return b
}

func (b *placedBytes) Touch(at int32, needs *Demands) {
	p := &b.layout.Places[at]
	b.ranges = b.ranges[:0]
	for _, v := range p.node.Sources() {
		if v != nil {
			b.add(v, p.In, p.step)
		}
	}
	for _, r := range b.ranges {
		b.areas[r.area].read(r.lo, r.hi, at, needs)
	}
	b.ranges = b.ranges[:0]
	for _, v := range p.node.Results {
		b.add(v, p.In, p.step)
	}
	for _, r := range b.ranges {
		b.areas[r.area].write(r.lo, r.hi, at, needs)
	}
}

// add adds the bytes of v in a round and a step to the ranges. Weights and constants have none:
// nobody writes them.
func (b *placedBytes) add(v *ir.Value, in *Round, step int32) {
	o := flow.Origin(v)
	for in != nil && in.Node.Body != o.Func {
		in = in.Outer
	}
	if kind, first := flow.ParamKind(o); kind == flow.ParamTable {
		b.addEntries(o, first, in, step)
		return
	}
	if flow.IsLeaf(o, ir.OpWeight, ir.OpConstant) {
		return
	}
	at := o.Place
	if o.Def != nil && o.Def.Op == ir.OpState {
		at = b.m.State(o.Def.Attr.(*ir.StateAttr).Name).Place
	}
	if at.Bytes == 0 {
		return
	}
	r := placedRange{b.first[at.Arena] + at.Chunk, at.Offset, at.Offset + at.Bytes}
	arena := &b.m.Plan.Arenas[at.Arena]
	switch {
	case arena.Class == ir.ClassIO && b.m.Plan.Pipeline > 1:
		r.area += int(step) * len(arena.Chunks)
	case o.Slots() > 1:
		move := int64(step) * arena.Stride(at)
		r.lo, r.hi = r.lo+move, r.hi+move
	}
	b.ranges = append(b.ranges, r)
}

// addEntries adds the bytes of the entries of a table that a round may name: the first
// one's, or those of the others. What is in tables more than once counts in any.
func (b *placedBytes) addEntries(p *ir.Value, first int, in *Round, step int32) {
	n := p.Func.Owner
	for i, v := range n.Args[first : first+int(n.Attr.(*ir.RepeatAttr).Count)] {
		other := in.Which == firstRound && i > 0 || in.Which == LaterRound && i == 0
		if !other || b.sharedIn(n)[flow.Origin(v)] {
			b.add(v, in.Outer, step)
		}
	}
}

// sharedIn returns the values that are entries of tables of a repeat more than once.
func (b *placedBytes) sharedIn(n *ir.Node) map[*ir.Value]bool {
	if shared, known := b.shared[n]; known {
		return shared
	}
	attr := n.Attr.(*ir.RepeatAttr)
	seen, shared := make(map[any]bool), make(map[*ir.Value]bool)
	for _, v := range n.Args[attr.Carried+attr.Invariant:] {
		o := flow.Origin(v)
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

// Record is what was done to bytes since they were written last.
type Record struct {
	Written int32   // the place of the last write; none
	Reads   []int32 // since then, the last of each queue; the host's are left out, as nobody waits for him
}

// Read notes a read, and finds the write before it.
func (h *Record) Read(at int32, needs *Demands) {
	if h.Written != flow.None {
		needs.follow(h.Written, pass.RuleSyncRAW, at)
	}
	q := needs.places[at].Queue
	if q == 0 {
		return
	}
	for i, r := range h.Reads {
		if needs.places[r].Queue == q {
			h.Reads[i] = at
			return
		}
	}
	h.Reads = append(h.Reads, at)
}

// Overwrite finds what was done to the bytes since the write before.
func (h *Record) Overwrite(at int32, needs *Demands) {
	if h.Written != flow.None {
		needs.follow(h.Written, pass.RuleSyncWAW, at)
	}
	for _, r := range h.Reads {
		needs.follow(r, pass.RuleSyncWAR, at)
	}
}

// ledger is memory in which ranges remember who touched them. The segments are disjoint and
// in order; what lies between them was never touched.
type ledger struct {
	segments []segment
}

// segment is bytes [lo, hi) that have the same record.
type segment struct {
	lo, hi int64
	Record
}

// read notes a read, and finds the writes before it.
func (a *ledger) read(lo, hi int64, at int32, needs *Demands) {
	from, to := a.cut(lo, hi)
	for i := from; i < to; i++ {
		a.segments[i].Read(at, needs)
	}
}

// write notes a write, and finds what was done to the bytes before.
func (a *ledger) write(lo, hi int64, at int32, needs *Demands) {
	from, to := a.cut(lo, hi)
	if from == to {
		return
	}
	for i := from; i < to; i++ {
		a.segments[i].Overwrite(at, needs)
	}
	reads := a.segments[from].Reads[:0]
	a.segments = slices.Replace(a.segments, from, to, segment{lo, hi, Record{at, reads}})
}

// cut makes [lo, hi) whole segments and returns which.
func (a *ledger) cut(lo, hi int64) (from, to int) {
	from = a.find(lo)
	if from < len(a.segments) && a.segments[from].lo < lo {
		a.split(from, lo)
		from++
	}
	at := lo
	for to = from; at < hi; to++ {
		switch {
		case to == len(a.segments) || a.segments[to].lo >= hi:
			a.segments = slices.Insert(a.segments, to, segment{at, hi, Record{Written: flow.None}})
		case a.segments[to].lo > at:
			a.segments = slices.Insert(a.segments, to, segment{at, a.segments[to].lo, Record{Written: flow.None}})
		case a.segments[to].hi > hi:
			a.split(to, hi)
		}
		at = a.segments[to].hi
	}
	return from, to
}

// find returns the first segment that ends behind lo.
func (a *ledger) find(lo int64) int {
	from, to := 0, len(a.segments)
	for from < to {
		if mid := int(uint(from+to) / 2); a.segments[mid].hi > lo {
			to = mid
		} else {
			from = mid + 1
		}
	}
	return from
}

// split cuts segment i in two.
func (a *ledger) split(i int, at int64) {
	s := a.segments[i]
	a.segments[i].hi = at
	s.lo, s.Reads = at, slices.Clone(s.Reads)
	a.segments = slices.Insert(a.segments, i+1, s)
}

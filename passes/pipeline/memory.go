package pipeline

import (
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// memory is the Bytes of pass sync: two nodes touch the same bytes if the addresses of their values overlap.
type memory struct {
	m      *ir.Module
	layout *Layout
	areas  map[area]*ledger
	shared map[*ir.Node]map[*ir.Value]bool // by repeat: leaves that are several entries of its tables
}

// area is a chunk of an arena. If the arena exists once for each step, so does the area.
type area struct{ arena, chunk, step int }

// byteRange is bytes [lo, hi) of an area.
type byteRange struct {
	area   area
	lo, hi int64
}

func newMemory(m *ir.Module, l *Layout) *memory {
	return &memory{m: m, layout: l, areas: make(map[area]*ledger), shared: make(map[*ir.Node]map[*ir.Value]bool)}
}

// Touch implements Bytes.
func (y *memory) Touch(at int, d *Demands) {
	p := &y.layout.Places[at]
	var one [1]byteRange // most values have one
	for _, v := range p.Node.Sources() {
		if v == nil {
			continue
		}
		for _, r := range y.appendRanges(one[:0], v, p.In, p.step) {
			y.ledger(r.area).read(r, at, d)
		}
	}
	for _, v := range p.Node.Results {
		for _, r := range y.appendRanges(one[:0], v, p.In, p.step) {
			y.ledger(r.area).write(r, at, d)
		}
	}
}

// ledger returns the records of an area.
func (y *memory) ledger(a area) *ledger {
	if y.areas[a] == nil {
		y.areas[a] = &ledger{}
	}
	return y.areas[a]
}

// appendRanges appends to list the bytes of v in an iteration and a step; none for weights and constants, which nothing
// writes.
func (y *memory) appendRanges(list []byteRange, v *ir.Value, in *Iteration, step int) []byteRange {
	o := flow.Origin(v)
	for in != nil && in.Repeat.Body != o.Func {
		in = in.Outer
	}
	if kind, first := flow.ParamKind(o); kind == flow.ParamTable {
		return y.appendEntries(list, o, first, in, step)
	}
	if flow.IsFixed(o) {
		return list
	}
	addr := o.Place
	if o.Def != nil && o.Def.Op == ir.OpState {
		addr = y.m.State(o.Def.Attr.(*ir.StateAttr).Name).Place
	}
	if addr.Bytes == 0 {
		return list
	}
	r := byteRange{area{addr.Arena, addr.Chunk, 0}, addr.Offset, addr.Offset + addr.Bytes}
	arena := &y.m.Plan.Arenas[addr.Arena]
	switch {
	case arena.Class == ir.ClassIO && y.m.Plan.Pipeline > 1:
		r.area.step = step
	case o.Slots() > 1:
		instance := int64(step) * arena.Stride(addr)
		r.lo, r.hi = r.lo+instance, r.hi+instance
	}
	return append(list, r)
}

// appendEntries appends to list the bytes of the entries of a table that an iteration may read: in the first iteration
// the first one, in a later iteration all others. A leaf that is several entries is read in any iteration.
func (y *memory) appendEntries(list []byteRange, param *ir.Value, first int, in *Iteration, step int) []byteRange {
	n := param.Func.Owner
	for i, v := range n.Args[first : first+int(n.Attr.(*ir.RepeatAttr).Count)] {
		notRead := in.Which == FirstIteration && i > 0 || in.Which == LaterIteration && i == 0
		if !notRead || y.sharedEntries(n)[flow.Origin(v)] {
			list = y.appendRanges(list, v, in.Outer, step)
		}
	}
	return list
}

// sharedEntries returns the leaves that are several entries of the tables of a repeat.
func (y *memory) sharedEntries(n *ir.Node) map[*ir.Value]bool {
	if shared, known := y.shared[n]; known {
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
	y.shared[n] = shared
	return shared
}

// Record is who touched bytes since they were written last, and who wrote them. The zero value is that of bytes that
// nothing has touched.
type Record struct {
	written bool
	writer  int   // the place of the last write
	readers []int // since then: the last place of each queue that read; not of the host, for which nothing waits
}

// Read demands the write before a read at a place, and records the read.
func (r *Record) Read(at int, d *Demands) {
	if r.written {
		d.add(r.writer, pass.RuleSyncRAW, at)
	}
	q := d.places[at].Queue
	if q == host {
		return
	}
	i := slices.IndexFunc(r.readers, func(before int) bool { return d.places[before].Queue == q })
	if i >= 0 {
		r.readers[i] = at
		return
	}
	r.readers = append(r.readers, at)
}

// Write demands all before a write at a place, and records the write.
func (r *Record) Write(at int, d *Demands) {
	if r.written {
		d.add(r.writer, pass.RuleSyncWAW, at)
	}
	for _, before := range r.readers {
		d.add(before, pass.RuleSyncWAR, at)
	}
	*r = Record{written: true, writer: at}
}

// ledger has the records of the bytes of an area. Its segments are disjoint and in order; bytes between them were never
// touched.
//
// For example, after a write of [0,64) at place 3 and a read of [32,96) at place 5 there are three segments: [0,32)
// written at 3, [32,64) written at 3 and read at 5, and [64,96) read at 5.
type ledger struct {
	segments []segment
}

// segment is bytes [lo, hi) that have the same record.
type segment struct {
	lo, hi int64
	Record
}

// read demands the writes before a read of a range, and records it.
func (l *ledger) read(r byteRange, at int, d *Demands) {
	from, to := l.cut(r.lo, r.hi)
	for i := from; i < to; i++ {
		l.segments[i].Read(at, d)
	}
}

// write demands all before a write of a range, and records it.
func (l *ledger) write(r byteRange, at int, d *Demands) {
	from, to := l.cut(r.lo, r.hi)
	if from == to {
		return
	}
	for i := from; i < to; i++ {
		l.segments[i].Write(at, d)
	}
	l.segments = slices.Replace(l.segments, from, to, segment{r.lo, r.hi, Record{written: true, writer: at}})
}

// cut makes [lo, hi) whole segments and returns which.
func (l *ledger) cut(lo, hi int64) (from, to int) {
	from = sort.Search(len(l.segments), func(i int) bool { return l.segments[i].hi > lo })
	if from < len(l.segments) && l.segments[from].lo < lo {
		l.split(from, lo)
		from++
	}
	at := lo
	for to = from; at < hi; to++ {
		switch {
		case to == len(l.segments) || l.segments[to].lo >= hi:
			l.segments = slices.Insert(l.segments, to, segment{lo: at, hi: hi})
		case l.segments[to].lo > at:
			l.segments = slices.Insert(l.segments, to, segment{lo: at, hi: l.segments[to].lo})
		case l.segments[to].hi > hi:
			l.split(to, hi)
		}
		at = l.segments[to].hi
	}
	return from, to
}

// split cuts segment i in two.
func (l *ledger) split(i int, at int64) {
	s := l.segments[i]
	l.segments[i].hi = at
	s.lo, s.readers = at, slices.Clone(s.readers)
	l.segments = slices.Insert(l.segments, i+1, s)
}

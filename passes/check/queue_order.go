package check

import (
	"github.com/ggmlc/ggmlc/ir"
)

// order knows what is over when a node begins. The host and every queue are a thread; all
// that one thread does happens in order. A node on a queue begins after whatever worker 0
// had done when it was submitted, and after the events that it waits for.
//
// The workers of the host are one thread here: what happens between barriers is not for
// this file, but for regions.
type order struct {
	s       *sim
	history *history
	idle    bool // there are no queues: the host runs all, call after call

	names  []string // of threads; the host is the first
	now    []clock  // by thread: what is over for its next node
	met    clock    // what is over for workers but the first: what was when they met last
	events map[int]*event
	ends   []clock // by call: when all its nodes have ended
	call   int32
}

// clock says for each thread how many of its nodes are over.
type clock []int32

// join adds what is over by another clock.
func (c clock) join(o clock) {
	for i, t := range o {
		c[i] = max(c[i], t)
	}
}

// event is what was over when an event was recorded last, in this call and in the one
// before; nil where it was not recorded.
type event struct {
	thread   int32
	now, old clock
}

// stamp says who touched some bytes when.
type stamp struct {
	thread, time int32
	call, step   int32
}

func newOrder(s *sim) *order {
	o := &order{s: s, names: s.t.threads, events: make(map[int]*event)}
	o.idle = len(o.names) == 1
	for range o.names {
		o.now = append(o.now, make(clock, len(o.names)))
	}
	o.history = newHistory(s.layout, len(s.t.steps))
	return o
}

// begin begins a call: the runtime has waited until the one ended which is so many before
// as may be under way. All workers meet.
func (o *order) begin(call int) {
	o.call = int32(call)
	if before := call - o.s.c.underWay(); before >= 0 {
		o.now[0].join(o.ends[before])
	}
	o.met = append(o.met[:0], o.now[0]...)
	for _, e := range o.events {
		e.now, e.old = e.old[:0], e.now
	}
}

// end ends a call.
func (o *order) end() {
	all := make(clock, len(o.names))
	for _, c := range o.now {
		all.join(c)
	}
	o.ends = append(o.ends, all)
}

// step claims: any earlier access to bytes that the step touches, where one of the two
// writes, is over when the step begins.
func (o *order) step(at int) {
	if o.idle {
		return
	}
	st := &o.s.t.steps[at]
	thread := st.thread
	o.wait(0, o.s.t.earlier(st))
	if thread == 0 {
		o.host(at, st)
	}
	if st.barrier {
		copy(o.met, o.now[0])
	}
	if thread != 0 {
		o.submit(thread, st.waits())
	}
	o.now[thread][thread]++
	o.accesses(at, st, stamp{thread, o.now[thread][thread], o.call, int32(at)})
	if st.submit != nil && st.submit.Event != 0 {
		o.record(thread, st.submit.Event)
	}
}

// host makes worker 0 wait before a node of the host. Without a barrier there, only worker 0
// would have waited.
func (o *order) host(at int, st *step) {
	waits := st.waits()
	o.wait(0, waits)
	if len(waits)+int(st.before) > 0 && !st.barrier {
		o.s.fail(RuleQueue, at, none, nil, "worker 0 waits for events, and no barrier stands there: the others do not wait")
	}
}

// submit makes a queue wait. Where events cannot do it, worker 0 waits before it submits.
func (o *order) submit(thread int32, waits []ir.Wait) {
	for i, w := range waits {
		if e := o.events[w.Event]; e != nil && !(o.hasEvents(thread) && o.hasEvents(e.thread)) {
			o.wait(0, waits[i:i+1])
		}
	}
	o.now[thread].join(o.now[0])
	o.wait(thread, waits)
}

// waitsOf returns what a node waits for.
func waitsOf(n *ir.Node) []ir.Wait {
	if n.Submit == nil {
		return nil
	}
	return n.Submit.Waits
}

// wait makes a thread wait for events: as they were recorded last. What was not recorded is
// not waited for. A queue without events is waited for until it is empty.
func (o *order) wait(thread int32, waits []ir.Wait) {
	for _, w := range waits {
		e := o.events[w.Event]
		if e == nil {
			continue
		}
		seen := e.now
		if w.Prev {
			seen = e.old
		}
		if len(seen) > 0 && !o.hasEvents(e.thread) {
			seen = o.now[e.thread]
		}
		o.now[thread].join(seen)
	}
}

// hasEvents reports whether the target of a queue has events; the host has.
func (o *order) hasEvents(thread int32) bool {
	q, isQueue := o.s.c.queues[o.names[thread]]
	return !isQueue || q.of.Events
}

// record notes what is over now.
func (o *order) record(thread int32, number int) {
	e := o.events[number]
	if e == nil {
		e = &event{thread: thread}
		o.events[number] = e
	}
	e.now = append(e.now[:0], o.now[thread]...)
}

// accesses notes what a step touches. Weights, and what each worker has for itself, are
// left out: nothing of different threads writes there.
func (o *order) accesses(at int, st *step, now stamp) {
	for i, id := range o.s.t.args(st) {
		if by := st.own.read(i).by; id != none && by != byNone {
			o.touch(id, now, by, false)
		}
	}
	for i, id := range o.s.t.results(st) {
		if id != none {
			o.touch(id, now, st.own.write(i).by, true)
		}
	}
}

func (o *order) touch(id int32, now stamp, by by, write bool) {
	spot := &o.s.t.spots[id]
	if spot.class == ir.ClassScratch || spot.class == ir.ClassWeights {
		return
	}
	over := o.now[now.thread]
	if now.thread == 0 && by != byFirst {
		over = o.met
	}
	o.history.touch(spot.at, now, write, func(before stamp, wrote bool) {
		if before.thread != now.thread && before.time > over[before.thread] {
			o.conflict(&o.s.t.objects[id], before, now, wrote, write)
		}
	})
}

// history knows of all bytes who touched them last.
type history struct {
	chunks  []*cover // the number of a record
	records []record
	reads   []read
	found   []piece
}

// record is the last accesses to some cells: the last write, and the last read of each
// thread since.
type record struct {
	lo, hi  int32 // the cells for which it was made; it may have lost some since
	written bool
	write   stamp
	first   int32 // of the reads, counted from 1; 0 if there are none
}

// read is in a list of reads.
type read struct {
	stamp
	next int32 // counted from 1; 0 is the end
}

// piece is cells that have one record.
type piece struct{ record, lo, hi int32 }

// newHistory returns one with room for what so many steps do.
func newHistory(l *layout, steps int) *history {
	return &history{chunks: l.covers(), records: make([]record, 1, steps+1), reads: make([]read, 0, steps)}
}

// touch calls before for the accesses that have to be over, and notes a new one. Of what
// has to be over nothing needs to be known any longer once there is a write.
func (h *history) touch(at cells, now stamp, write bool, before func(s stamp, wrote bool)) {
	h.pieces(at)
	for _, p := range h.found {
		r := &h.records[p.record]
		if r.written {
			before(r.write, true)
		}
		if !write {
			h.read(at, p, now)
			continue
		}
		for i := r.first; i > 0; i = h.reads[i-1].next {
			before(h.reads[i-1].stamp, false)
		}
	}
	if write {
		h.assign(at.chunk, at.lo, at.hi, record{written: true, write: now})
	}
}

// pieces finds the pieces of some cells.
func (h *history) pieces(at cells) {
	h.found = h.found[:0]
	h.chunks[at.chunk].visit(at.lo, at.hi, func(id, lo, hi int32) bool {
		if n := len(h.found); n > 0 && h.found[n-1].record == id {
			h.found[n-1].hi = hi
		} else {
			h.found = append(h.found, piece{id, lo, hi})
		}
		return true
	})
}

// read adds a read of some cells to one of their records, or to a copy of it if other
// cells have the record too.
func (h *history) read(at cells, p piece, now stamp) {
	r := h.records[p.record]
	if p.record > 0 && at.lo <= r.lo && r.hi <= at.hi {
		h.put(&h.records[p.record].first, now)
		return
	}
	list := r.first
	r.first = 0
	for i := list; i > 0; i = h.reads[i-1].next {
		h.put(&r.first, h.reads[i-1].stamp)
	}
	h.put(&r.first, now)
	h.assign(at.chunk, p.lo, p.hi, r)
}

// put replaces a thread's read in a list, or appends it.
func (h *history) put(first *int32, now stamp) {
	last := int32(0)
	for i := *first; i > 0; i = h.reads[i-1].next {
		if h.reads[i-1].thread == now.thread {
			h.reads[i-1].stamp = now
			return
		}
		last = i
	}
	h.reads = append(h.reads, read{stamp: now})
	if at := int32(len(h.reads)); last > 0 {
		h.reads[last-1].next = at
	} else {
		*first = at
	}
}

// assign gives cells a record of their own.
func (h *history) assign(chunk, lo, hi int32, r record) {
	r.lo, r.hi = lo, hi
	h.records = append(h.records, r)
	h.chunks[chunk].assign(lo, hi, int32(len(h.records)-1))
}

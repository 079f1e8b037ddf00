package plan

import (
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pipeline"
)

// horizon says until when queues may still be at work on bytes. Whoever takes them over
// before would have to wait, though data flow does not ask for it.
//
// It runs sync's clocks over buffers instead of addresses: that is what data flow orders
// in any case. A queue's access ends where everybody else who uses the arena knows that it has
// ended; of what lies between, nobody may be given the bytes.
type horizon struct {
	w    *pipeline.Clockwork
	time *Timeline

	last    []int32     // by buffer: the last one in touches, counted from 1
	touches []touchedAt // by queues
	users   [][][]int32 // by arena and queue: places that touch it, in order
}

// touchedAt is the place of a node on a queue that touches a buffer. Those of one buffer are a
// list.
type touchedAt struct{ place, before int32 }

// newHorizon returns the horizon of an entry point whose queues are laid out and whose buffers go
// to so many arenas.
func newHorizon(p *planner, arenas int) *horizon {
	h := &horizon{w: p.clocks, time: p.time, last: make([]int32, len(p.bufs.list)), users: make([][][]int32, arenas)}
	for i := range h.users {
		h.users[i] = make([][]int32, len(h.w.Queues))
	}
	h.w.Touched = newBufferBytes(h, p.bufs)
	h.w.Walk()
	return h
}

// bufferBytes takes each buffer for bytes of its own.
type bufferBytes struct {
	h       *horizon
	bufs    *buffers
	records []pipeline.Record // by buffer
}

func newBufferBytes(h *horizon, bufs *buffers) *bufferBytes {
	b := &bufferBytes{h: h, bufs: bufs, records: make([]pipeline.Record, len(bufs.list))}
	for i := range b.records {
		b.records[i].Written = flow.None
	}
	return b
}

func (b *bufferBytes) Touch(at int32, needs *pipeline.Demands) {
	node, origins := b.h.w.Layout.Places[at].Id, b.bufs.origins
	for _, o := range origins.Used.Read(node) {
		if o != flow.None && origins.Kinds[o] != flow.FixedOrigin { // nobody would wait
			b.record(at, o).Read(at, needs)
		}
	}
	for _, o := range origins.Used.Results(node) {
		h := b.record(at, o)
		h.Overwrite(at, needs)
		h.Written, h.Reads = at, h.Reads[:0]
	}
}

// record returns that of the buffer of an origin, which the node at a place touches.
func (b *bufferBytes) record(at, origin int32) *pipeline.Record {
	buf := &b.bufs.list[b.bufs.of[origin]]
	if buf.class == ir.ClassActivations {
		b.h.note(buf, at)
	}
	return &b.records[buf.id]
}

// note adds the place of an access.
func (h *horizon) note(b *buffer, at int32) {
	q := h.w.Layout.Places[at].Queue
	if last := h.last[b.id]; q != 0 && (last == 0 || h.touches[last-1].place != at) { // of the host barriers see to it
		h.touches = append(h.touches, touchedAt{at, last})
		h.last[b.id] = int32(len(h.touches))
	}
	list := &h.users[b.arena][q]
	if len(*list) == 0 || (*list)[len(*list)-1] != at {
		*list = append(*list, at)
	}
}

// extend returns the positions at which the bytes of a buffer must be left alone, as far
// as queues may be at work on them. Who knows that an access has ended knows that of those
// before it on the queue, so of accesses that follow each other in a round the last counts.
func (h *horizon) extend(live Interval, b *buffer) Interval {
	var later *pipeline.Place
	for i := h.last[b.id]; i > 0; i = h.touches[i-1].before {
		at := h.touches[i-1].place
		p := &h.w.Layout.Places[at]
		if later == nil || later.Queue != p.Queue || later.In != p.In {
			live = h.beyond(live, at, p.Queue, h.users[b.arena])
		}
		later = p
	}
	return live
}

// beyond is extend for the access of a queue at a place, where users touch the same arena.
func (h *horizon) beyond(live Interval, at, queue int32, users [][]int32) Interval {
	for q, list := range users {
		if int32(q) != queue && len(list) > 0 {
			live = h.until(live, at, list)
		}
	}
	return live
}

// until adds the last place of a list, which are those of another queue, that begins without
// knowing whether the one at a place has ended.
func (h *horizon) until(live Interval, at int32, list []int32) Interval {
	q := h.w.Layout.Places[at].Queue
	knows := sort.Search(len(list), func(i int) bool { return list[i] > at && h.w.End(list[i])[q] >= at })
	if knows == 0 || list[knows-1] < at {
		return live
	}
	last := list[knows-1]
	live = live.With(int(h.time.pos[h.w.Layout.Places[last].Id]))
	for r := h.w.Layout.Places[at].In; r != nil; r = r.Outer {
		if r.Next != nil && uses(list, r.Next.From, min(r.Next.To, last+1)) {
			live = h.whole(live, r)
		}
	}
	for r := h.w.Layout.Places[last].In; r != nil; r = r.Outer {
		if r.Which == pipeline.LaterRound && at < r.From {
			live = h.whole(live, r)
		}
	}
	return live
}

// whole adds all positions of the loop that a round belongs to.
func (h *horizon) whole(live Interval, r *pipeline.Round) Interval {
	l := h.time.loops[r.Node.Body]
	return live.With(l.first).With(l.last)
}

// uses reports whether a list has a place in [from, to).
func uses(list []int32, from, to int32) bool {
	i, _ := slices.BinarySearch(list, from)
	return i < len(list) && list[i] < to
}

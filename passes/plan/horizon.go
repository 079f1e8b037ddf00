package plan

import (
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/pipeline"
	"github.com/ggmlc/ggmlc/passes/target"
)

// horizon tells until when queues may still be at work on buffers. A node that reuses the bytes earlier would have to
// wait for a queue, although data flow does not ask for it.
//
// It runs the clocks of pass sync over buffers instead of addresses, which gives the waits that data flow needs in any
// case. The access of a queue ends at the last node on another queue, or of the host, that uses the arena and begins
// without knowing that the access has ended. For example, all buffers are in one arena:
//
//	position  queue  node
//	0         gpu    %a = silu %x
//	1         gpu    %b = gelu %a
//	2         host   %h = neg %y
//	3         gpu    %c = relu %z
//	4         host   %i = neg %c    waits for %c
//
// %b is the last node that reads %a. The gpu may use its bytes again at 3, because it works in order. But %h may run
// before %b has ended, so %a lives until 2. It need not live until 4: the host has waited for %c, which ends after %b.
type horizon struct {
	layout *pipeline.Layout
	clocks *pipeline.Clocks
	time   *Timeline

	onQueues [][]int              // by buffer: places of nodes on queues that touch it, in order
	users    map[arenaKey][][]int // by queue: places of nodes that touch the arena, in order
}

// newHorizon returns the horizon of an entry point with queues.
func newHorizon(p *planner) *horizon {
	buffers := len(p.bufs.list)
	h := &horizon{layout: pipeline.NewLayout(p.f, 1), time: p.time, onQueues: make([][]int, buffers), users: make(map[arenaKey][][]int)}
	h.clocks = pipeline.Walk(p.c.Targets, h.layout, &bufferBytes{h, p.bufs, make([]pipeline.Record, buffers)})
	return h
}

// Lives returns the time axis of an entry point, and a function that returns between which positions nothing else may
// use the bytes of a value that owns its bytes, while queues may be at work on them; Never for one that nothing uses.
// Values whose bytes a result takes over have times of their own.
func Lives(f *ir.Func, targets *target.List) (*Timeline, func(*ir.Value) Interval) {
	p := newPlanner(&pass.Context{Targets: targets}, f, nil)
	var h *horizon
	if pipeline.HasQueues(f) {
		h = newHorizon(p)
	}
	return p.time, func(o *ir.Value) Interval {
		live := p.time.Live(o)
		if b := *p.bufs.of.At(o); h != nil && live != Never && b != nil && b.class == ir.ClassActivations {
			live = h.extend(live, b)
		}
		return live
	}
}

// bufferBytes is a pipeline.Bytes in which each buffer has bytes of its own.
type bufferBytes struct {
	h       *horizon
	bufs    *buffers
	records []pipeline.Record // by buffer
}

// Touch implements pipeline.Bytes.
func (y *bufferBytes) Touch(at int, d *pipeline.Demands) {
	n := y.h.layout.Places[at].Node
	for _, v := range n.Sources() {
		if v != nil && !flow.IsFixed(flow.Origin(v)) {
			y.record(v, at).Read(at, d)
		}
	}
	for _, v := range n.Results {
		y.record(v, at).Write(at, d)
	}
}

// record returns the record of the buffer of v, which the node at a place touches.
func (y *bufferBytes) record(v *ir.Value, at int) *pipeline.Record {
	b := y.bufs.get(v)
	if b.class == ir.ClassActivations {
		y.h.note(b, at)
	}
	return &y.records[b.id]
}

// note notes that the node at a place touches a buffer. For nodes of the host, barriers order what touches the buffer.
func (h *horizon) note(b *buffer, at int) {
	q := h.layout.Places[at].Queue
	if h.layout.Queues[q] != "" {
		h.onQueues[b.id] = appendNew(h.onQueues[b.id], at)
	}
	key := arenaKey{b.space(), b.class}
	if h.users[key] == nil {
		h.users[key] = make([][]int, len(h.layout.Queues))
	}
	h.users[key][q] = appendNew(h.users[key][q], at)
}

// appendNew appends a place that is not the last one already.
func appendNew(list []int, at int) []int {
	if n := len(list); n > 0 && list[n-1] == at {
		return list
	}
	return append(list, at)
}

// extend returns the positions between which nothing else may use the bytes of a buffer, while queues may be at work on
// them. Of a queue's accesses in one iteration the last counts: a node that knows that it has ended knows that of those
// before it.
func (h *horizon) extend(live Interval, b *buffer) Interval {
	var later *pipeline.Place
	for _, at := range slices.Backward(h.onQueues[b.id]) {
		p := &h.layout.Places[at]
		if later == nil || later.Queue != p.Queue || later.In != p.In {
			for q, users := range h.users[arenaKey{b.space(), b.class}] {
				if q != p.Queue && len(users) > 0 {
					live = h.extendBy(live, at, users)
				}
			}
		}
		later = p
	}
	return live
}

// extendBy adds the last of a queue's users that begins without knowing whether the place at has ended.
func (h *horizon) extendBy(live Interval, at int, users []int) Interval {
	q := h.layout.Places[at].Queue
	knows := sort.Search(len(users), func(i int) bool { return users[i] > at && h.clocks.Ended(users[i])[q] >= at })
	if knows == 0 || users[knows-1] < at {
		return live
	}
	last := users[knows-1]
	live = live.With(*h.time.position.At(h.layout.Places[last].Node))
	// Where that is in a later iteration than the access, the bytes are in use throughout the loop.
	for in := h.layout.Places[at].In; in != nil; in = in.Outer {
		if in.Next != nil && hasPlace(users, in.Next.From, min(in.Next.To, last+1)) {
			live = h.addLoop(live, in)
		}
	}
	for in := h.layout.Places[last].In; in != nil; in = in.Outer {
		if in.Which == pipeline.LaterIteration && at < in.From {
			live = h.addLoop(live, in)
		}
	}
	return live
}

// addLoop adds all positions of the loop of an iteration.
func (h *horizon) addLoop(live Interval, in *pipeline.Iteration) Interval {
	l := h.time.loopOf[in.Repeat.Body]
	return live.With(l.first).With(l.last)
}

// hasPlace reports whether a list has a place in [from, to).
func hasPlace(list []int, from, to int) bool {
	i, _ := slices.BinarySearch(list, from)
	return i < len(list) && list[i] < to
}

package passes

import (
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
)

// horizon says until when queues may still be at work on bytes. Whoever takes them over
// before would have to wait, though data flow does not ask for it.
//
// It runs sync's clocks over buffers instead of addresses: that is what data flow orders
// in any case. A queue's access ends where everybody else who uses the arena knows that it has
// ended; of what lies between, nobody may be given the bytes.
type horizon struct {
	w     *clockwork
	time  *timeline
	pos   map[*ir.Node]int       // on the timeline
	of    [][]int32              // by buffer
	users map[arenaKey][][]int32 // by arena and queue: places that touch it, in order
}

// newHorizon returns the horizon of an entry point with queues. Key says where a buffer
// goes.
func newHorizon(p *planner, key func(*buffer) arenaKey) *horizon {
	h := &horizon{w: newClockwork(p.c.Targets, p.f, false), time: p.time, pos: make(map[*ir.Node]int),
		of: make([][]int32, len(p.bufs.of)), users: make(map[arenaKey][][]int32)}
	for i, s := range p.time.steps {
		h.pos[s.node] = i
	}
	b := &bufferBytes{h: h, bufs: p.bufs, keys: make([]arenaKey, len(p.bufs.of)), ledgers: make([]ledger, len(p.bufs.of))}
	for _, buf := range p.bufs.all() {
		b.keys[buf.id] = key(buf)
	}
	h.w.touched = b
	h.w.walk()
	return h
}

// bufferBytes takes each buffer for bytes of its own.
type bufferBytes struct {
	h       *horizon
	bufs    *buffers
	keys    []arenaKey // by buffer
	ledgers []ledger   // by buffer
}

func (b *bufferBytes) touch(at int32, found func(int32, string)) {
	l := b.h.w.layout
	n := l.places[at].node
	for _, v := range n.Sources() {
		if v != nil {
			b.ledger(at, v).read(0, 1, at, l, found)
		}
	}
	for _, v := range n.Results {
		b.ledger(at, v).write(0, 1, at, found)
	}
}

// ledger returns that of the buffer of v, which the node at a place touches.
func (b *bufferBytes) ledger(at int32, v *ir.Value) *ledger {
	buf := b.bufs.get(v)
	b.h.note(buf, b.keys[buf.id], at)
	return &b.ledgers[buf.id]
}

// note adds the place of an access.
func (h *horizon) note(b *buffer, key arenaKey, at int32) {
	if list := h.of[b.id]; len(list) == 0 || list[len(list)-1] != at {
		h.of[b.id] = append(list, at)
	}
	if h.users[key] == nil {
		h.users[key] = make([][]int32, len(h.w.queues))
	}
	list := &h.users[key][h.w.layout.places[at].queue]
	if len(*list) == 0 || (*list)[len(*list)-1] != at {
		*list = append(*list, at)
	}
}

// extend returns the positions at which the bytes of a buffer must be left alone, as far
// as queues may be at work on them.
func (h *horizon) extend(live interval, b *buffer, key arenaKey) interval {
	for _, at := range h.of[b.id] {
		q := h.w.layout.places[at].queue
		if q == 0 {
			continue // barriers see to it
		}
		for p, list := range h.users[key] {
			if int32(p) != q {
				live = h.until(live, at, list)
			}
		}
	}
	return live
}

// until adds the last place of a list, which are those of another queue, that begins without
// knowing whether the one at a place has ended.
func (h *horizon) until(live interval, at int32, list []int32) interval {
	q := h.w.layout.places[at].queue
	knows := sort.Search(len(list), func(i int) bool { return list[i] > at && h.w.ended[list[i]][q] >= at })
	if knows == 0 || list[knows-1] < at {
		return live
	}
	last := list[knows-1]
	live = live.with(h.pos[h.w.layout.places[last].node])
	for r := h.w.layout.places[at].in; r != nil; r = r.outer {
		if r.next != nil && uses(list, r.next.from, min(r.next.to, last+1)) {
			live = h.whole(live, r)
		}
	}
	for r := h.w.layout.places[last].in; r != nil; r = r.outer {
		if r.which == laterRound && at < r.from {
			live = h.whole(live, r)
		}
	}
	return live
}

// whole adds all positions of the loop that a round belongs to.
func (h *horizon) whole(live interval, r *round) interval {
	l := h.time.loops[r.node.Body]
	return live.with(l.first).with(l.last)
}

// uses reports whether a list has a place in [from, to).
func uses(list []int32, from, to int32) bool {
	i, _ := slices.BinarySearch(list, from)
	return i < len(list) && list[i] < to
}

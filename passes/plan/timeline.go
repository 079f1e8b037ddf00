package plan

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Timeline is the time of an entry point: its nodes one after the other, and the body of each repeat once, in its
// place.
//
// It has two scales. A position is the index of a step. A tick is what runs between two barriers. For
//
//	%a = matmul %x, %w    epoch 0
//	%b = silu %a          epoch 0
//	%r = repeat 8 (%b)    epoch 0
//	  %h = matmul %p, %u  epoch 0 of the body, whose iterations begin with a barrier
//	  %i = norm %h        epoch 1 of the body
//	%c = matmul %r, %v    epoch 1
//
// the steps are
//
//	position  0   1   2   3   4   5
//	node      %a  %b  %r  %h  %i  %c
//	tick      0   0   0   1   2   3
//
// %a, which several workers touch, is live at positions 0 to 2: another worker may be anywhere in tick 0. If only
// worker 0 touched it, it would be live at 0 and 1 only.
type Timeline struct {
	Steps    []Step
	loops    []*loop // outer ones before inner ones
	loopOf   map[*ir.Func]*loop
	position ir.NodeTable[int]
	ticks    int

	// shared has one tick for each class of ticks in which different workers may be at once: the last and the first
	// tick of a repeat without a barrier at the beginning of its iterations are one class.
	shared []int
	merged bool // some class has several ticks

	begins, ends []int // the first and the last position of each tick

	events ir.ValueTable[[]event] // by origin, in order
}

// Step is a node at its position.
type Step struct {
	Node *ir.Node
	tick int
	loop *loop // the innermost one around it, or nil
}

// Tick returns the tick of the step.
func (s Step) Tick() int { return s.tick }

// loop is a repeat on the timeline.
type loop struct {
	node                *ir.Node
	outer               *loop
	first, last         int // positions of the body
	firstTick, lastTick int
}

// NewTimeline returns the time of an entry point, with the events of its values.
func NewTimeline(f *ir.Func) *Timeline {
	t := &Timeline{loopOf: make(map[*ir.Func]*loop)}
	t.lay(f, 0, nil)
	for _, s := range t.Steps {
		t.ticks = max(t.ticks, s.tick+1)
	}
	t.mergeTicks()
	t.findBorders()
	t.addAccesses()
	t.addNeeds(f)
	return t
}

// end returns the last position: that after the last step.
func (t *Timeline) end() int { return len(t.Steps) }

// lay appends the steps of f, which begins in a tick inside of a loop, and returns the tick of the last step.
func (t *Timeline) lay(f *ir.Func, tick int, in *loop) int {
	epoch := 0
	for _, n := range f.Nodes {
		if n.Epoch > epoch {
			tick += n.Epoch - epoch
			epoch = n.Epoch
		}
		*t.position.At(n) = len(t.Steps)
		t.Steps = append(t.Steps, Step{n, tick, in})
		if n.Op != ir.OpRepeat {
			continue
		}
		if n.Body.HeadBarrier {
			tick++
		}
		l := &loop{node: n, outer: in, first: len(t.Steps), firstTick: tick}
		t.loopOf[n.Body] = l
		t.loops = append(t.loops, l)
		tick = t.lay(n.Body, tick, l)
		l.last, l.lastTick = len(t.Steps)-1, tick
	}
	return tick
}

// mergeTicks finds the classes of ticks in which different workers may be at once.
func (t *Timeline) mergeTicks() {
	t.shared = make([]int, t.ticks)
	for i := range t.shared {
		t.shared[i] = i
	}
	for _, l := range t.loops {
		if l.node.Body.HeadBarrier {
			continue
		}
		from, to := t.shared[l.lastTick], t.shared[l.firstTick]
		t.merged = t.merged || from != to
		for i, x := range t.shared {
			if x == from {
				t.shared[i] = to
			}
		}
	}
}

// findBorders finds where ticks begin and end. The caller reads the results in the last one, after the last step.
func (t *Timeline) findBorders() {
	t.begins, t.ends = make([]int, t.ticks), make([]int, t.ticks)
	for i := len(t.Steps) - 1; i >= 0; i-- {
		t.begins[t.Steps[i].tick] = i
	}
	for i, s := range t.Steps {
		t.ends[s.tick] = i
	}
	if t.ticks > 0 {
		t.ends[t.ticks-1] = t.end()
	}
}

// Interval is a range of positions or ticks, both ends included.
type Interval struct{ First, Last int }

// Never is the interval without any position.
var Never = Interval{math.MaxInt, -1}

// With returns the smallest interval with i and a position.
func (i Interval) With(at int) Interval { return Interval{min(i.First, at), max(i.Last, at)} }

// positions returns the positions between which events happen: the life of bytes that each worker has for itself.
func (t *Timeline) positions(events []event) Interval {
	live := Never
	for i := range events {
		live = live.With(events[i].Pos)
	}
	return live
}

// live returns the positions between which nothing else may use bytes with these events. What only worker 0 touches, or
// submits, happens one after the other. What other workers touch too may happen anywhere in a tick.
func (t *Timeline) live(events []event) Interval {
	live, shared := t.positions(events), false
	for i := range events {
		shared = shared || events[i].isShared()
	}
	if !shared {
		return live
	}
	for i := range events {
		if e := &events[i]; e.isShared() || e.needed {
			live = live.With(t.begins[e.Tick]).With(t.ends[e.Tick])
		}
	}
	at := t.liveTicks(events)
	for _, l := range t.loops {
		if at.First <= l.firstTick && at.Last >= l.lastTick {
			live = live.With(t.begins[l.firstTick]).With(t.ends[l.lastTick])
		}
	}
	return live
}

// Live returns the positions between which nothing else may use the bytes of an origin; Never if nothing uses them.
func (t *Timeline) Live(origin *ir.Value) Interval { return t.live(t.Of(origin)) }

// liveTicks returns the ticks between which nothing else may use bytes with these events. If iterations of a repeat run
// into each other, a worker may be in its first tick while another one is in its last: so bytes that are live in either
// are live in the whole repeat.
func (t *Timeline) liveTicks(events []event) Interval {
	live := Never
	for i := range events {
		live = live.With(events[i].Tick)
	}
	for again := len(t.loops) > 0; again; {
		again = false
		for _, l := range t.loops {
			inside := live.First <= l.lastTick && live.Last >= l.firstTick
			atEdge := live.Last >= l.lastTick || live.First <= l.firstTick
			if !l.node.Body.HeadBarrier && inside && atEdge && (live.First > l.firstTick || live.Last < l.lastTick) {
				live, again = live.With(l.firstTick).With(l.lastTick), true
			}
		}
	}
	return live
}

// version returns the value whose bytes an event's are until something overwrites them: for a carried parameter what
// the repeat starts with, for the result of a repeat what the last iteration leaves.
func version(e *event) *ir.Value {
	v := e.Value
	for {
		if kind, i := flow.ParamKind(v); kind == flow.ParamCarried {
			v = flow.Origin(v.Func.Owner.Args[i])
			continue
		}
		if v.Def == nil || v.Def.Op != ir.OpRepeat {
			return v
		}
		v = flow.Origin(v.Def.Body.Results[v.Index])
	}
}

package pipeline

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Layout is an entry point as it is submitted: its nodes with work, in order. A node in a repeat may have several
// places, for several iterations.
//
// The body of a repeat that has queues is laid out twice, for the first iteration and for a later one. This is enough.
// Iterations touch the same bytes, except entries of tables, and a queue works in order: a wait for the iteration
// before implies a wait for all earlier ones. The body of a repeat that the host runs alone is laid out once, because
// no wait is needed between its iterations. If two steps may be under way, the whole entry point is laid out twice.
//
// For example
//
//	%a = relu %x            @gpu
//	%r = repeat 8 (%a)
//	  %b = silu %h          @gpu
//	  %c = gelu %b          @cpu
//	%d = neg %r             @cpu
//
// has the places
//
//	0  %a  gpu
//	1  %b  gpu   first iteration
//	2  %c  host  first iteration; the host may wait
//	3  %b  gpu   later iteration
//	4  %c  host  later iteration; the host may wait
//	5  %d  host                   the host may wait
type Layout struct {
	Places []Place
	Queues []string // in the order of their first nodes; the first is the host, whose name is empty
	steps  int
}

// host is the number of the host among the queues.
const host = 0

// Place is a node at one place of a layout.
type Place struct {
	Node  *ir.Node
	Queue int        // its number
	In    *Iteration // nil outside of repeats
	step  int        // 0, or 1 in the second of two steps

	// waits is the node that has the waits of the host, if the host may wait before this place; otherwise nil. It is
	// the node of the place, or the repeat that begins with it. The waits are for what this place needs, and the places
	// after it up to the next one with waits. A barrier of all workers follows. It is nil for nodes of queues.
	waits *ir.Node
}

// Iteration is an iteration of a repeat for which its body is laid out.
type Iteration struct {
	Repeat   *ir.Node
	Outer    *Iteration // that the repeat is part of; nil outside of other repeats
	Which    WhichIteration
	From, To int        // its places, To not included
	Next     *Iteration // of the first iteration, the later one; otherwise nil
}

// WhichIteration tells which iterations of a repeat an Iteration represents.
type WhichIteration uint8

// The kinds of iterations.
const (
	EveryIteration WhichIteration = iota // the body is laid out once
	FirstIteration
	LaterIteration
)

// NewLayout lays out so many steps of an entry point that may be under way at once: 1, or 2 for any larger number.
func NewLayout(f *ir.Func, steps int) *Layout {
	l := &Layout{Queues: []string{""}, steps: min(max(steps, 1), 2)}
	for step := range l.steps {
		b := &layoutBuilder{Layout: l, step: step, mayWait: true}
		b.lay(f, nil)
	}
	return l
}

// layoutBuilder lays out a step.
type layoutBuilder struct {
	*Layout
	step    int
	mayWait bool     // the host may wait before its next node
	repeat  *ir.Node // around the next node: the outermost repeat that has no nodes on queues; nil if there is none
}

// lay appends the places of the nodes of f. The host may wait after a node of a queue, at the beginning of an iteration
// that has such nodes, and after its repeat.
func (b *layoutBuilder) lay(f *ir.Func, in *Iteration) {
	b.Places = slices.Grow(b.Places, len(f.Nodes))
	for _, n := range f.Nodes {
		switch {
		case !flow.DoesWork(n):
		case n.Op == ir.OpRepeat:
			b.layRepeat(n, in)
		default:
			b.layNode(n, in)
		}
	}
}

// layNode appends the place of n.
func (b *layoutBuilder) layNode(n *ir.Node, in *Iteration) {
	p := Place{Node: n, Queue: b.queue(n.Queue()), In: in, step: b.step}
	if p.Queue == host && b.mayWait {
		p.waits = n
		if b.repeat != nil {
			p.waits = b.repeat
		}
	}
	b.mayWait = p.Queue != host
	b.Places = append(b.Places, p)
}

// queue returns the number of a queue.
func (l *Layout) queue(name string) int {
	for i, q := range l.Queues {
		if q == name {
			return i
		}
	}
	l.Queues = append(l.Queues, name)
	return len(l.Queues) - 1
}

// layRepeat appends the places of the body of n: once, or for the first and a later iteration.
func (b *layoutBuilder) layRepeat(n *ir.Node, in *Iteration) {
	if !HasQueues(n.Body) {
		outermost := b.repeat == nil
		if outermost {
			b.repeat = n
		}
		b.layIteration(&Iteration{Repeat: n, Outer: in})
		if outermost {
			b.repeat = nil
		}
		return
	}
	b.mayWait = true
	if n.Attr.(*ir.RepeatAttr).Count == 1 {
		b.layIteration(&Iteration{Repeat: n, Outer: in})
	} else {
		first := &Iteration{Repeat: n, Outer: in, Which: FirstIteration}
		first.Next = &Iteration{Repeat: n, Outer: in, Which: LaterIteration}
		b.layIteration(first)
		b.mayWait = true
		b.layIteration(first.Next)
	}
	b.mayWait = true
}

// layIteration lays out an iteration.
func (b *layoutBuilder) layIteration(in *Iteration) {
	in.From = len(b.Places)
	b.lay(in.Repeat.Body, in)
	in.To = len(b.Places)
}

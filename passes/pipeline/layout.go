package pipeline

import (
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// layout is an entry point as it is submitted: bodies of repeats twice, for a round and the
// one after it, and, where two steps may be under way, all of it twice.
//
// Two rounds are enough: what a round touches the next one touches as well, but for entries
// of tables, so whoever has to wait for a round before the last waits for the last. Bodies
// that the host runs alone are laid out once, as a queue never meets another round of them.
type layout struct {
	numbers *flow.Numbering
	Places  []Place
	queues  []string // in the order of their first nodes; the host is the first
	again   bool     // some node has an event or waits already
}

// Place is a node at one of its places.
type Place struct {
	node  *ir.Node
	In    *Round
	Id    int32 // the number of the node
	Queue int32
	step  int32 // 0, or 1 in the second of two steps

	// waits is where the host may wait before it runs the node, and those after it up to
	// the next such place: a barrier of all workers follows. It is the node, or a repeat
	// that begins with it. Nil where the host goes on, and for nodes of queues.
	waits *ir.Node
}

// Round is one of the rounds in which a body is laid out.
type Round struct {
	Outer *Round
	Node  *ir.Node // the repeat
	Which whichRound

	From, To int32  // its places
	Next     *Round // the one after the first
}

type whichRound uint8

const (
	anyRound whichRound = iota
	firstRound
	LaterRound
)

// newLayout lays out an entry point, whose numbers are given.
func newLayout(f *ir.Func, numbers *flow.Numbering, twice bool) *layout {
	b := &layoutBuilder{layout: &layout{numbers: numbers, queues: []string{""}}, index: map[string]int32{"": 0}, mixed: make(map[*ir.Func]bool)}
	steps := 1 + flow.BoolInt(twice)
	b.Places = make([]Place, 0, steps*b.numbers.Working)
	for step := range steps {
		b.step, b.mayWait = int32(step), true
		b.lay(f, nil)
	}
	return b.layout
}

type layoutBuilder struct {
	*layout
	index   map[string]int32 // of queues
	queue   int32            // of the place before
	step    int32
	mayWait bool // the next node of the host may wait
	waits   *ir.Node
	mixed   map[*ir.Func]bool
}

// lay appends the places of the nodes of f. The host may wait after a node with a queue, at
// the head of a round in which there are such nodes, and behind such a repeat.
func (b *layoutBuilder) lay(f *ir.Func, in *Round) {
	for _, n := range f.Nodes {
		b.again = b.again || n.Op == ir.OpCall || n.Submit != nil && (n.Submit.Event != 0 || n.Submit.Waits != nil)
		switch {
		case !flow.DoesWork(n):
		case n.Op == ir.OpRepeat:
			b.repeat(n, in)
		default:
			b.place(n, in)
		}
	}
}

// place appends a place of a node.
func (b *layoutBuilder) place(n *ir.Node, in *Round) {
	p := Place{node: n, In: in, Id: int32(b.numbers.Node(n)), Queue: b.queueOf(n), step: b.step}
	if p.Queue == 0 && b.mayWait {
		p.waits = n
		if b.waits != nil {
			p.waits = b.waits
		}
	}
	b.mayWait = p.Queue != 0
	b.Places = append(b.Places, p)
}

// QueueOf returns the number of a node's queue, mostly that of the place before.
func (b *layoutBuilder) queueOf(n *ir.Node) int32 {
	name := n.Queue()
	if b.queues[b.queue] == name {
		return b.queue
	}
	q, known := b.index[name]
	if !known {
		q = int32(len(b.queues))
		b.index[name] = q
		b.queues = append(b.queues, name)
	}
	b.queue = q
	return q
}

func (b *layoutBuilder) repeat(n *ir.Node, in *Round) {
	if !b.isMixed(n.Body) {
		if b.waits == nil {
			b.waits = n
			defer func() { b.waits = nil }()
		}
		b.round(&Round{Outer: in, Node: n}, nil)
		return
	}
	rounds := []whichRound{firstRound, LaterRound}
	if n.Attr.(*ir.RepeatAttr).Count == 1 {
		rounds = []whichRound{anyRound}
	}
	var before *Round
	for _, which := range rounds {
		b.mayWait = true
		before = b.round(&Round{Outer: in, Node: n, Which: which}, before)
	}
	b.mayWait = true
}

// round lays out r, which follows another one of the same repeat.
func (b *layoutBuilder) round(r, before *Round) *Round {
	r.From = int32(len(b.Places))
	b.lay(r.Node.Body, r)
	r.To = int32(len(b.Places))
	if before != nil {
		before.Next = r
	}
	return r
}

func (b *layoutBuilder) isMixed(f *ir.Func) bool {
	mixed, known := b.mixed[f]
	if !known {
		mixed = HasQueues(f)
		b.mixed[f] = mixed
	}
	return mixed
}

// HasEvents reports whether the target of a queue records events and waits for them.
func HasEvents(l *target.List, queue string) bool {
	d := l.Get(queue)
	if d == nil {
		d = l.Get(strings.TrimSuffix(queue, rewrite.InQueue))
	}
	return d != nil && d.Events
}

package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: if two threads touch the same bytes, one of them writing, events order the two accesses. A thread is the host
// or a queue; what one thread does happens in order.
//
// The proof runs the trace with vector clocks. The clock of a thread states, for every thread, how many of its nodes
// are over when the thread begins its next node. A node on a queue begins after everything that worker 0 had done when
// it submitted the node, after the node before it on the queue, and after the events that it waits for:
//
//	node                                 thread   clock (host, gpu.in, gpu)
//	%a    = tanh %x                      host     (0, 0, 0)
//	%up   = copy %a    event=1           gpu.in   (1, 0, 0)   submitted after %a
//	%c    = silu %up   wait=[1]          gpu      (1, 1, 0)   %up is over
//	%down = copy %c    event=2           gpu      (1, 1, 1)
//	%d    = tanh %down wait=[2]          host     (1, 1, 2)
//
// An access by the k-th node of a thread is over if the clock has at least k for that thread. Without wait=[1], the
// clock of %c would be (1, 0, 0). %up is the first node of gpu.in, and 1 > 0: it may still write what %c reads.
//
// All workers of the host are one thread here. What they do between barriers is the claim of hazard.go. But an event
// for which worker 0 waits is over for the others only after the next barrier. So the clock at the last barrier (met)
// counts for accesses of the host by other workers.

// threads runs a trace with vector clocks.
type threads struct {
	c     *checker
	t     *trace
	names []string // the host, which has no name, is the first
	index map[string]int

	now     []clock // by thread: what is over for its next node
	met     clock   // what is over for workers other than worker 0: what was over at the last barrier
	events  map[int]*event
	ends    []clock // by call: what is over when all its nodes are
	call    int
	history *history
}

// clock is the number of nodes of each thread that are over.
type clock []int

// join adds what is over by another clock.
func (c clock) join(o clock) {
	for i, n := range o {
		c[i] = max(c[i], n)
	}
}

// event is what was over when an event was recorded last, in this call and in the one before; nil where it was not
// recorded.
type event struct {
	thread   int
	now, old clock
}

// stamp identifies an access: the thread's node, counted from 1, and its step.
type stamp struct {
	thread, time int
	call         int
	st           *step
}

func newThreads(c *checker, t *trace, l *layout) *threads {
	th := &threads{
		c: c, t: t, names: []string{""}, index: map[string]int{"": 0},
		events: make(map[int]*event), history: newHistory(l),
	}
	for i := range t.steps {
		queue := t.steps[i].node.Queue()
		if _, known := th.index[queue]; !known {
			th.index[queue] = len(th.names)
			th.names = append(th.names, queue)
		}
	}
	for range th.names {
		th.now = append(th.now, make(clock, len(th.names)))
	}
	return th
}

// begin begins a call. The runtime has waited until the call ended that is as many calls before as may be under way.
// All workers meet.
func (th *threads) begin(call int) {
	th.call = call
	if before := call - th.c.underWay(); before >= 0 {
		th.now[0].join(th.ends[before])
	}
	th.meet()
	for _, e := range th.events {
		e.now, e.old = nil, e.now
	}
}

// end ends a call.
func (th *threads) end() {
	all := make(clock, len(th.names))
	for _, c := range th.now {
		all.join(c)
	}
	th.ends = append(th.ends, all)
}

// meet makes all workers know what worker 0 knows.
func (th *threads) meet() { th.met = slices.Clone(th.now[0]) }

// step claims: an earlier access to bytes that a step touches, one of the two writing, is over when the step begins.
func (th *threads) step(st *step) {
	if len(th.names) == 1 {
		return // the host runs everything
	}
	thread, waits := th.index[st.node.Queue()], waitsOf(st.node)
	th.wait(0, st.waits)
	if thread == 0 {
		th.wait(0, waits)
		if len(st.waits)+len(waits) > 0 && !st.barrier {
			th.noBarrier(st)
		}
	}
	if st.barrier {
		th.meet()
	}
	if thread != 0 {
		th.submit(thread, waits)
	}
	th.now[thread][thread]++
	th.accesses(st, stamp{thread, th.now[thread][thread], th.call, st})
	if s := st.node.Submit; s != nil && s.Event != 0 {
		th.record(thread, s.Event)
	}
}

// noBarrier reports a step before which worker 0 alone waits.
func (th *threads) noBarrier(st *step) {
	th.c.report(fmt.Sprintf("no barrier %p", st.node), &Violation{
		Rule: RuleQueue, Func: st.frame.String(), Nodes: []string{st.node.String()},
		What: "thread 0 waits for events, and there is no barrier: the others do not wait",
	})
}

// submit makes a queue wait for worker 0, which submits, and for events. Where the target of one of the queues has no
// events, worker 0 waits instead before it submits.
func (th *threads) submit(thread int, waits []ir.Wait) {
	for _, w := range waits {
		if e := th.events[w.Event]; e != nil && !(th.hasEvents(thread) && th.hasEvents(e.thread)) {
			th.wait(0, []ir.Wait{w})
		}
	}
	th.now[thread].join(th.now[0])
	th.wait(thread, waits)
}

// wait makes a thread wait for events, as they were recorded last. An event that was not recorded is no reason to wait.
// Of a queue without events a thread waits until it is empty.
func (th *threads) wait(thread int, waits []ir.Wait) {
	for _, w := range waits {
		e := th.events[w.Event]
		if e == nil {
			continue
		}
		over := e.now
		if w.Prev {
			over = e.old
		}
		if over != nil && !th.hasEvents(e.thread) {
			over = th.now[e.thread]
		}
		th.now[thread].join(over)
	}
}

// hasEvents reports whether the target of a queue has events. The host has.
func (th *threads) hasEvents(thread int) bool {
	q, isQueue := th.c.queues[th.names[thread]]
	return !isQueue || q.of.Events
}

// record records an event: it covers everything that is over for its thread now.
func (th *threads) record(thread, number int) {
	e := th.events[number]
	if e == nil {
		e = &event{thread: thread}
		th.events[number] = e
	}
	e.now = slices.Clone(th.now[thread])
}

// accesses checks and notes what a step touches. Left out are weights, which nothing writes, and what each worker has
// for itself.
func (th *threads) accesses(st *step, now stamp) {
	for i, o := range st.args {
		if by := st.own.reads[i].by; o != nil && by != byNone {
			th.touch(o, now, by, reading)
		}
	}
	for i, o := range st.results {
		if o != nil {
			th.touch(o, now, st.own.writes[i].by, writing)
		}
	}
}

// touch checks and notes an access to an object.
func (th *threads) touch(o *object, now stamp, by by, kind accessKind) {
	if o.class == ir.ClassScratch || o.class == ir.ClassWeights {
		return
	}
	over := th.now[now.thread]
	if now.thread == 0 && by != byFirst {
		over = th.met
	}
	for _, e := range th.history.touch(o.cells, now, kind) {
		if e.thread != now.thread && e.time > over[e.thread] {
			th.conflict(o, e, now, kind)
		}
	}
}

// conflict reports two accesses to common bytes that no event orders.
func (th *threads) conflict(o *object, before earlier, now stamp, kind accessKind) {
	first, second := before.st, now.st
	th.c.report(fmt.Sprintf("race %p %p %v %v", first.node, second.node, before.kind, kind), &Violation{
		Rule:  RuleRace,
		Func:  second.frame.String(),
		Nodes: []string{first.describe(), second.describe()},
		Range: th.c.inRange(o.place),
		What: fmt.Sprintf("%s what %s %s%s, and no event orders them",
			kind, th.name(before.thread), before.kind, ago(now.call-before.call)),
	})
}

// name returns the name of a thread in messages.
func (th *threads) name(thread int) string {
	if thread == 0 {
		return "the host"
	}
	return th.names[thread]
}

// ago describes how many calls before another access an access is made.
func ago(calls int) string {
	switch calls {
	case 0:
		return ""
	case 1:
		return " in the step before"
	}
	return fmt.Sprintf(" %d steps before", calls)
}

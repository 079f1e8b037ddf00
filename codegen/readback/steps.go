package readback

import (
	"fmt"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
)

// walker walks the plan of an entry point in the order in which check expands it, with one iteration of
// a repeat after another, and demands the events of the emitted step function one by one.
type walker struct {
	c     *checker
	p     *program
	entry *ir.Func

	events []event
	at     int

	// What has to happen before the next node that does work.
	due   int       // barriers
	heads int       // heads of iterations at which the workers ask whether to stop
	waits []ir.Wait // of the host, of repeats that begin there
	loops []int64   // numbers of iterations of repeats that begin there
	depth int       // of the repeats around it

	busy     map[int]bool // queues that the host has to wait for before anything but the next node on them
	region   *shareLoop   // the loop over shares between the last barrier and the next
	barriers int64        // so far
	marks    []string     // what marks of the profile are called
	skipped  bool         // some iterations are not run, as others are like them

	numbers map[*ir.Node]int64 // of the nodes that hand values out; nil until the first one
}

// steps compares the step function of an entry point with its plan.
func (c *checker) steps(p *program, f *ir.Func) {
	id := c.stepFunction(p, f)
	w := &walker{c: c, p: p, entry: f, events: c.run(p, id), busy: make(map[int]bool), marks: c.marks(p)}
	top := newFrame(f, ir.Const(0))
	for _, v := range f.Params {
		top.places[v.ID] = c.placed(v.Place, nil)
	}
	w.walk(top)
	w.end()
}

// does reports whether a node has an effect when it runs.
func does(n *ir.Node) bool { return !n.Is(ir.Leaf) && !n.Is(ir.View) }

// walk demands the events of the nodes of a frame.
func (w *walker) walk(fr *frame) {
	epoch := 0
	for _, n := range fr.f.Nodes {
		if n.Op == ir.OpRepeat {
			w.enter(n, &epoch)
			w.repeat(fr, n)
			continue
		}
		w.c.define(fr, n)
		if !does(n) {
			continue
		}
		w.enter(n, &epoch)
		w.node(fr, n)
	}
}

// enter demands a barrier where an epoch begins.
func (w *walker) enter(n *ir.Node, epoch *int) {
	if n.Epoch > *epoch {
		*epoch = n.Epoch
		w.due++
	}
}

// repeat demands the events of the iterations.
func (w *walker) repeat(fr *frame, n *ir.Node) {
	attr := n.Attr.(*ir.RepeatAttr)
	fixed := attr.Carried + attr.Invariant
	if n.Submit != nil {
		w.waits = append(w.waits, n.Submit.Waits...)
	}
	w.loops = append(w.loops, attr.Count)
	carried := make([]*place, attr.Carried)
	for i := range carried {
		carried[i] = fr.of(n.Args[i])
	}
	run := w.c.iterations(attr.Count, w.depth)
	w.depth++
	w.skipped = w.skipped || int64(len(run)) < attr.Count
	for k, iteration := range run {
		in := newFrame(n.Body, iteration)
		for i, p := range n.Body.Params {
			switch {
			case i < attr.Carried:
				in.places[p.ID] = carried[i]
			case i < fixed:
				in.places[p.ID] = fr.of(n.Args[i])
			default:
				in.places[p.ID] = fr.of(n.Args[fixed+(i-fixed)*int(attr.Count)+k])
			}
		}
		if n.Body.HeadBarrier {
			w.due++
			w.heads++
		}
		w.walk(in)
		for i := range carried {
			carried[i] = in.of(n.Body.Results[i])
		}
	}
	w.depth--
	for i, r := range n.Results {
		fr.places[r.ID] = carried[i]
	}
}

// node demands what comes before a node, its call or transfer, and its record.
func (w *walker) node(fr *frame, n *ir.Node) {
	at := w.c.where(n)
	w.gap(n, at)
	if w.at == len(w.events) {
		w.fail(n, "nothing runs it")
	}
	e := &w.events[w.at]
	w.at++
	if wrong := w.match(fr, n, e, at.queue); wrong != nil {
		fail("%s: %s: %w", w.p.at(e.pos), w.name(n), wrong)
	}
	w.commented(n, e)
	if at.waits {
		w.busy[at.queue] = true
	}
	if n.Submit != nil && n.Submit.Event > 0 && at.queue >= 0 && w.c.hasEvents(at.queue) {
		w.record(n, at.queue)
	}
}

// name returns how differences name a node.
func (w *walker) name(n *ir.Node) string {
	if n.Pos != "" {
		return fmt.Sprintf("@%s: %v = %v (%s)", n.Func.Name, n, n.Op, n.Pos)
	}
	return fmt.Sprintf("@%s: %v = %v", n.Func.Name, n, n.Op)
}

func (w *walker) fail(n *ir.Node, format string, args ...any) {
	where := "at its end"
	if w.at < len(w.events) {
		where = w.p.at(w.events[w.at].pos)
	}
	fail("%s: %s: %s", where, w.name(n), fmt.Sprintf(format, args...))
}

// match compares an event with the node that has to be run there.
func (w *walker) match(fr *frame, n *ir.Node, e *event, queue int) error {
	a := &arguments{c: w.c, p: w.p, fr: fr, n: n, e: e, part: n.Part}
	if queue >= 0 && copies(n) {
		return w.transfer(a, queue)
	}
	if queue >= 0 && isGPU(w.c.devices[w.c.queues[queue].device].Kind) {
		return w.dispatch(a, queue)
	}
	if queue >= 0 && backend.Get(w.c.devices[w.c.queues[queue].device].Kind) != nil {
		return w.foreign(a, queue)
	}
	if n.Op == ir.OpObserve {
		return w.observe(a)
	}
	a.kernel = kernels[n.Op]
	if a.kernel == nil {
		return fmt.Errorf("no kernel computes a %v", n.Op)
	}
	if e.kind != kernelEvent {
		return fmt.Errorf("%s, where %s is due", e, a.kernel.name(n))
	}
	if want := a.kernel.name(n); e.what != want {
		return fmt.Errorf("%s, where %s is due", e, want)
	}
	if queue >= 0 {
		a.part = ir.Partition{} // the host's workers share nothing that a device runs
		a.on = &w.c.devices[w.c.queues[queue].device]
		w.command(a, queue)
		w.within(a)
	} else {
		w.worker(a)
	}
	if a.bind() {
		a.kernel.check(a, n)
		for id := range a.byName {
			panic("readback: internal error: " + e.what + ": nothing compares " + id)
		}
	}
	return a.result()
}

// result returns the differences.
func (a *arguments) result() error {
	if len(a.wrong) == 0 {
		return nil
	}
	err := fmt.Errorf("%s: %s", a.e.what, a.wrong[0])
	for _, also := range a.wrong[1:] {
		err = fmt.Errorf("%w; %s", err, also)
	}
	return err
}

// worker demands that a node runs on the workers that its partition names, each with its
// own range.
func (w *walker) worker(a *arguments) {
	e, p := a.e, a.n.Part
	if e.on != nil {
		a.differ("a device runs it")
	}
	if one := p.Mode == ir.PartOne; e.first != one {
		a.differ("worker 0 alone: %v, not %v", e.first, one)
	}
	if p.Dynamic != (e.share != nil) {
		a.differ("shares taken as workers come to them: %v, not %v", e.share != nil, p.Dynamic)
		return
	}
	if p.Mode != ir.PartSplit {
		return
	}
	if e.share == nil {
		a.lo, a.hi = borders(p.N, p.Granule)
		return
	}
	if w.region != nil && w.region != e.share {
		a.differ("a second loop over shares between two barriers")
	}
	w.region = e.share
	var err error
	if a.lo, a.hi, err = shareBorders(e.share, p); err != nil {
		a.differ("%v", err)
	}
}

// within demands that the threads of a group compute a node as the plan divides it, and meet before it unless it is
// concurrent. On other devices no kernel is one thread's alone.
func (w *walker) within(a *arguments) {
	e := a.e
	if !a.on.IsGroup() {
		if e.one {
			a.differ("a condition is on it, and the device has one thread")
		}
		return
	}
	concurrent := a.n.Submit != nil && a.n.Submit.Concurrent
	switch {
	case e.after == besideDispatch && !concurrent:
		a.differ("the threads of %s do not meet before it", a.on.Name)
	case e.after == afterBarrier && concurrent:
		a.differ("the threads of %s meet before it, and it is concurrent", a.on.Name)
	}
	if a.n.Submit == nil {
		a.differ("the plan does not divide it")
		return
	}
	a.part = a.n.Submit.Within
	if one := a.part.Mode != ir.PartSplit; e.one != one {
		a.differ("one thread of %s alone: %v, not %v", a.on.Name, e.one, one)
	}
	if a.part.Mode == ir.PartSplit {
		a.lo, a.hi = borders(a.part.N, a.part.Granule)
	}
}

// command demands that a kernel is part of a command on the node's queue, with its iteration
// and its label.
func (w *walker) command(a *arguments, queue int) {
	on := a.e.on
	if on == nil || !a.e.first {
		a.differ("no command of worker 0 runs it")
		return
	}
	if on.queue != int64(queue) {
		a.differ("it is on queue %d, not %d", on.queue, queue)
	}
	w.inIteration(a, on.iteration)
	w.label(a, on.label, "")
}

func (w *walker) inIteration(a *arguments, got ir.Dim) {
	want := ir.Const(0)
	if a.n.Func.Owner != nil {
		want = a.fr.iteration
	}
	if !got.Equal(want) {
		a.differ("its iteration is %s, not %s", readable(got), readable(want))
	}
}

// label demands the label by which the runtime names a command or a transfer.
func (w *walker) label(a *arguments, got value, what string) {
	want := record{"Func": w.entry.Name, "Split": int64(a.n.Split), "Repeated": a.n.Func.Owner != nil, "What": what}
	for _, wrong := range want.compare("Label", got) {
		a.differ("%s", wrong)
	}
}

// transfer compares a copy that a queue does.
func (w *walker) transfer(a *arguments, queue int) error {
	params, known := transfers[a.e.what]
	if a.e.kind != queueEvent || !known {
		return fmt.Errorf("%s, where a transfer is due", a.e)
	}
	if picked := a.n.Op == ir.OpCopyExperts; picked != (a.e.what == "CopyPicked") {
		return fmt.Errorf("%s, where all or some of the elements are due", a.e)
	}
	a.kernel = &kernel{params: params}
	if !a.bind() {
		return a.result()
	}
	if !a.e.first {
		a.differ("all workers submit it")
	}
	a.dim("queue", ir.Const(int64(queue)))
	label := a.take("label")
	if label.kind != name || !label.addr {
		a.differ("its label is %v", label)
	} else {
		x := &runner{c: w.c, p: w.p}
		w.label(a, x.variable(label.text), fmt.Sprintf("%v = %v %v", a.n, a.n.Op, a.n.Args[0]))
	}
	w.inIteration(a, a.number("iteration"))
	a.transfer(a.n)
	return a.result()
}

// record demands the record of a node's event.
func (w *walker) record(n *ir.Node, queue int) {
	if w.at == len(w.events) {
		w.fail(n, "its event is not recorded")
	}
	e := &w.events[w.at]
	if want := fmt.Sprintf("Record(%d, %d)", queue, n.Submit.Event); e.kind != queueEvent || !e.first || e.String() != want {
		w.fail(n, "%s, where %s is due", e, want)
	}
	w.at++
}

// String returns an event as differences name it.
func (e *event) String() string {
	switch e.kind {
	case barrierEvent:
		return "a barrier"
	case stopEvent:
		return "the question whether to stop"
	case markEvent:
		return "a mark"
	case iterationsEvent:
		return fmt.Sprintf("a loop of %d iterations", e.count)
	case kernelEvent:
		return e.what
	}
	text := e.what + "("
	for i, a := range e.args {
		if i > 0 {
			text += ", "
		}
		text += a.String()
	}
	return text + ")"
}

// end demands that after the last node only that happens which the plan has there.
func (w *walker) end() {
	w.gapEnd()
	if plan := w.c.funcPlan(w.entry); !w.skipped && plan.Barriers != w.barriers {
		fail("%d barriers, and the plan has %d", w.barriers, plan.Barriers)
	}
}

package runtime

// Queues are the queues of a program's devices as one session uses them. In a step worker
// 0, and no other, submits to them; the numbers of queues are those of Layout.Queues, and
// those of events those of the function's plan.
//
// An event is waited for as it was recorded last in the same step, or, with the methods
// that end in Prev, in the step before. What was not recorded then is not waited for.
type Queues struct {
	set    *openDevices
	block  *Block   // of the step that is being submitted
	events []point  // by number
	ends   []Event  // by queue: the last step whose work there has ended
	drains []finish // by queue: for Finish
}

// point is an event and how often it was recorded.
type point struct {
	event Event
	count uint64 // records submitted so far
	step  uint64 // of the last one

	before     uint64 // count at the end of beforeStep, the step with a record before that
	beforeStep uint64
}

// finish is the event that Finish records, and how often it has.
type finish struct {
	event Event
	count uint64
}

// Run submits command c, with the round of the repeat around it.
func (q *Queues) Run(queue int, c *Command, round int) {
	at := &q.set.queues[queue]
	at.device.Run(at.local, c, q.block, round)
}

// Copy submits a transfer of bytes that lie side by side, from an offset in one memory to
// one in another, both by their numbers in Layout.Memory.
func (q *Queues) Copy(queue int, what *Label, round, dst, dstOffset, src, srcOffset, bytes int) {
	q.CopyBox(queue, what, round, dst, dstOffset, src, srcOffset, 1, [4]int{1, 1, 1, bytes}, [4]int{0, 0, 0, 1})
}

// CopyBox submits a transfer of elements of elem bytes that lie stride bytes apart in the
// source, outermost dimension first, and side by side in the destination.
func (q *Queues) CopyBox(queue int, what *Label, round, dst, dstOffset, src, srcOffset, elem int, shape, stride [4]int) {
	at := &q.set.queues[queue]
	at.device.Copy(at.local, Transfer{
		Label: what, Round: round, Dst: Span{dst, dstOffset}, Src: Span{src, srcOffset}, Elem: elem, Shape: shape, Stride: stride,
	}, q.block)
}

// CopyPicked submits a transfer of those of n elements of elem bytes whose numbers are among
// the count i32 at an offset in a memory; they keep their places.
func (q *Queues) CopyPicked(queue int, what *Label, round, dst, dstOffset, src, srcOffset, elem, n, index, indexOffset, count int) {
	if count == 0 {
		return
	}
	at := &q.set.queues[queue]
	at.device.Copy(at.local, Transfer{
		Label: what, Round: round, Dst: Span{dst, dstOffset}, Src: Span{src, srcOffset}, Elem: elem, Shape: [4]int{1, 1, 1, n}, Stride: [4]int{0, 0, 0, elem},
		Index: Span{index, indexOffset}, Picks: count,
	}, q.block)
}

// Record submits a record of the event behind what was submitted to the queue before.
func (q *Queues) Record(queue, event int) {
	at := &q.set.queues[queue]
	p := &q.events[event]
	at.device.Record(at.local, &p.event, p.next(q.block.Step))
}

// Wait lets what is submitted to the queue from now on begin after the event.
func (q *Queues) Wait(queue, event int) {
	q.wait(queue, &q.events[event], q.events[event].inStep(q.block.Step))
}

// WaitPrev is Wait for the event of the step before.
func (q *Queues) WaitPrev(queue, event int) {
	q.wait(queue, &q.events[event], q.events[event].inStep(q.block.Step-1))
}

func (q *Queues) wait(queue int, p *point, n uint64) {
	if n > 0 {
		at := &q.set.queues[queue]
		at.device.Wait(at.local, &p.event, n)
	}
}

// Await returns after the event.
func (q *Queues) Await(event int) {
	p := &q.events[event]
	p.event.Await(p.inStep(q.block.Step))
}

// AwaitPrev is Await for the event of the step before.
func (q *Queues) AwaitPrev(event int) {
	p := &q.events[event]
	p.event.Await(p.inStep(q.block.Step - 1))
}

// Finish returns when the queue has done all that was submitted to it.
func (q *Queues) Finish(queue int) {
	at, m := &q.set.queues[queue], &q.drains[queue]
	m.count++
	at.device.Record(at.local, &m.event, m.count)
	m.event.Await(m.count)
}

// next counts a record in that step.
func (p *point) next(step uint64) uint64 {
	if p.step != step {
		p.before, p.beforeStep = p.count, p.step
		p.step = step
	}
	p.count++
	return p.count
}

// inStep returns the count after the last record of that step, which is the present one or
// the one before; 0 if there was none.
func (p *point) inStep(step uint64) uint64 {
	switch {
	case p.step == step:
		return p.count
	case p.beforeStep == step:
		return p.before
	}
	return 0
}

// Slot returns which instance the step uses of what exists once for each step under way.
func (q *Queues) Slot() int { return q.block.Slot }

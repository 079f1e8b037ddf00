package runtime

import "errors"

// Queues holds the queues of a program's devices as one session uses them. During a step only worker 0 submits to
// them. Queues are numbered as in Layout.Queues, events as in the plan of the function.
//
// A wait for an event waits for its last record in the same step, or, by the methods whose names end in Prev, in the
// step before. If there was no such record, it does not wait.
type Queues struct {
	set    *openDevices
	block  *Block   // of the step being submitted
	events []point  // by number
	ends   []Event  // indexed by queue: the last step whose work there has ended
	drains []finish // indexed by queue: for Finish
}

// point is an event with the number of its records.
//
// For example, an event is recorded twice in step 4 and once in step 6, and neither in step 5 nor in step 7:
//
//	after step 4   count=2 step=4
//	after step 6   count=3 step=6 before=2 beforeStep=4
//
// In step 7, a wait for the same step does not wait, as there is no record in it, and a wait for the step before waits
// until the event has reached 3. Two steps are enough, since no wait looks further back.
type point struct {
	event Event
	count uint64 // records submitted so far
	step  uint64 // of the last record

	before     uint64 // count at the end of beforeStep, the last earlier step with a record
	beforeStep uint64
}

// finish is the event that Finish records, with the number of its records.
type finish struct {
	event Event
	count uint64
}

// Run submits command c with the given iteration of the repeat around it.
func (q *Queues) Run(queue int, c *Command, iteration int) {
	at := &q.set.queues[queue]
	at.device.Run(at.local, c, q.block, iteration)
}

// Copy submits a transfer of contiguous bytes from an offset in one memory to an offset in another. Memories are
// numbered as in Layout.Memory.
func (q *Queues) Copy(queue int, what *Label, iteration, dst, dstOffset, src, srcOffset, bytes int) {
	q.CopyBox(queue, what, iteration, dst, dstOffset, src, srcOffset, 1, [4]int{1, 1, 1, bytes}, [4]int{0, 0, 0, 1})
}

// CopyBox submits a transfer of elements of elem bytes that have the given strides in bytes in the source, outermost
// dimension first, and are dense in the destination.
func (q *Queues) CopyBox(queue int, what *Label, iteration, dst, dstOffset, src, srcOffset, elem int, shape, stride [4]int) {
	at := &q.set.queues[queue]
	at.device.Copy(at.local, Transfer{
		Label: what, Iteration: iteration, Dst: Span{dst, dstOffset}, Src: Span{src, srcOffset}, Elem: elem, Shape: shape, Stride: stride,
	}, q.block)
}

// CopyPicked submits a transfer of some of n elements of elem bytes: those whose numbers are among the count i32
// values at an offset in a memory. They keep their places.
func (q *Queues) CopyPicked(queue int, what *Label, iteration, dst, dstOffset, src, srcOffset, elem, n, index, indexOffset, count int) {
	if count == 0 {
		return
	}
	at := &q.set.queues[queue]
	at.device.Copy(at.local, Transfer{
		Label: what, Iteration: iteration, Dst: Span{dst, dstOffset}, Src: Span{src, srcOffset}, Elem: elem, Shape: [4]int{1, 1, 1, n}, Stride: [4]int{0, 0, 0, elem},
		Index: Span{index, indexOffset}, Picks: count,
	}, q.block)
}

// Record submits a record of the event, after all work that was submitted to the queue earlier.
func (q *Queues) Record(queue, event int) {
	at := &q.set.queues[queue]
	p := &q.events[event]
	at.device.Record(at.local, &p.event, p.next(q.block.Step))
}

// Wait delays the work that is submitted to the queue later until the event.
func (q *Queues) Wait(queue, event int) {
	q.wait(queue, &q.events[event], q.events[event].inStep(q.block.Step))
}

// WaitPrev is Wait for the event's record in the step before.
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
	p.event.AwaitSpinning(p.inStep(q.block.Step), q.set.spin)
	q.stop()
}

// AwaitPrev is Await for the event's record in the step before.
func (q *Queues) AwaitPrev(event int) {
	p := &q.events[event]
	p.event.AwaitSpinning(p.inStep(q.block.Step-1), q.set.spin)
	q.stop()
}

// Finish returns when the queue has completed all work that was submitted to it.
func (q *Queues) Finish(queue int) {
	at, m := &q.set.queues[queue], &q.drains[queue]
	m.count++
	at.device.Record(at.local, &m.event, m.count)
	m.event.Await(m.count)
	q.stop()
}

// stop ends the step if a device has failed: what the host would read was not computed. The other workers leave at the
// next barrier, which this one does not reach.
func (q *Queues) stop() {
	if q.set.Failed() {
		panic(errStopped)
	}
}

// errStopped is the failure of a worker that did not continue since a device had failed.
var errStopped = errors.New("a device has failed")

// next counts a record in the given step.
func (p *point) next(step uint64) uint64 {
	if p.step != step {
		p.before, p.beforeStep = p.count, p.step
		p.step = step
	}
	p.count++
	return p.count
}

// inStep returns the count after the last record of the given step, which is the present one or the one before, or 0
// if it has no record.
func (p *point) inStep(step uint64) uint64 {
	switch {
	case p.step == step:
		return p.count
	case p.beforeStep == step:
		return p.before
	}
	return 0
}

// Slot returns the instance that the step uses of values that exist once per step in flight.
func (q *Queues) Slot() int { return q.block.Slot }

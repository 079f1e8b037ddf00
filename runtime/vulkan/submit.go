package vulkan

import "unsafe"

// batch is the submission that a queue collects.
type batch struct {
	buffers []handle
	waits   []handle // semaphores, with the values and stages that wait
	values  []uint64
	stages  []uint32
	signal  handle
	value   uint64 // that signal gets
	times   vkTimelineSemaphoreSubmitInfo
	info    vkSubmitInfo
	args    [4]uintptr // of vkQueueSubmit
}

// batchSize is the number of commands after which a batch is submitted, so that the device begins.
const batchSize = 64

func (b *batch) init(semaphore handle) {
	b.signal = semaphore
	b.times = vkTimelineSemaphoreSubmitInfo{sType: typeTimelineSemaphoreSubmitInfo, signalSemaphoreValueCount: 1, pSignalSemaphoreValues: unsafe.Pointer(&b.value)}
	b.info = vkSubmitInfo{sType: typeSubmitInfo, pNext: unsafe.Pointer(&b.times), signalSemaphoreCount: 1, pSignalSemaphores: unsafe.Pointer(&b.signal)}
}

func (b *batch) empty() bool { return len(b.buffers) == 0 && len(b.waits) == 0 }

// after makes the batch wait until a semaphore has a value.
func (b *batch) after(semaphore handle, value uint64) {
	for i, s := range b.waits {
		if s == semaphore {
			b.values[i] = max(b.values[i], value)
			return
		}
	}
	b.waits, b.values, b.stages = append(b.waits, semaphore), append(b.values, value), append(b.stages, stageAllCommands)
}

// submit passes the batch to the driver and empties it. The semaphore gets the given value after it.
func (b *batch) submit(d *device, h *hardwareQueue, value uint64) result {
	b.value = value
	b.times.waitSemaphoreValueCount, b.times.pWaitSemaphoreValues = uint32(len(b.values)), address(b.values)
	b.info.waitSemaphoreCount, b.info.pWaitSemaphores, b.info.pWaitDstStageMask = uint32(len(b.waits)), address(b.waits), address(b.stages)
	b.info.commandBufferCount, b.info.pCommandBuffers = uint32(len(b.buffers)), address(b.buffers)
	h.mu.Lock()
	b.args = [4]uintptr{uintptr(h.handle), 1, uintptr(unsafe.Pointer(&b.info)), 0}
	r := d.queueSubmit.with(b.args[:])
	h.mu.Unlock()
	b.drop()
	return r
}

// drop empties the batch.
func (b *batch) drop() {
	b.buffers, b.waits, b.values, b.stages = b.buffers[:0], b.waits[:0], b.values[:0], b.stages[:0]
}

// work takes entries until the queue is closed and empty.
func (q *queue) work() {
	var e entry
	for q.first(&e) {
		switch e.kind {
		case wait:
			q.wait(&e)
		case run, transfer:
			q.begin(&e)
		}
		q.taken(&e)
		if e.kind == record || len(q.batch.buffers) >= batchSize || e.works() && q.device.times() {
			q.flush()
		}
	}
	q.flush()
	d := q.device
	d.mu.Lock()
	q.drained = true
	d.changed.Broadcast()
	d.mu.Unlock()
}

// first waits for the next entry and copies it. It returns false if the queue is closed and empty.
func (q *queue) first(e *entry) bool {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	for q.next == q.tail {
		if q.closed {
			return false
		}
		d.changed.Wait()
	}
	*e = *q.at(q.next)
	return true
}

// taken notes that an entry is done or in the batch.
func (q *queue) taken(e *entry) {
	q.device.mu.Lock()
	*q.at(q.next) = *e
	q.next++
	q.device.mu.Unlock()
}

// begin adds a command or a transfer to the batch, unless some device has failed already.
func (q *queue) begin(e *entry) {
	if q.device.supervisor.Failed() {
		return
	}
	var err error
	if e.ran = true; e.kind == transfer {
		err = q.copy(e)
	} else {
		var h handle
		if h, err = q.device.bound(e.block).run(e); err == nil {
			q.batch.buffers = append(q.batch.buffers, h)
		}
	}
	if err != nil {
		e.ran, e.copy = false, nil
		q.device.fail(e, err)
	}
}

// wait delays what is taken later.
func (q *queue) wait(e *entry) {
	switch {
	case e.from == q: // in order anyway
	case e.from != nil:
		if value := q.submitted(e.from, e.seq); value > 0 {
			q.batch.after(e.from.semaphore, value)
		}
	case !e.event.Reached(e.count):
		q.flush()
		e.event.Await(e.count)
	}
}

// submitted waits until an entry of another queue is submitted, so that queues of the plan that share one of the
// driver never wait for something that comes after them. It returns the value of the other queue's semaphore after the
// entry, or 0 if the entry is done.
func (q *queue) submitted(other *queue, seq uint64) uint64 {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if other.flushed <= seq {
		d.mu.Unlock()
		q.flush()
		d.mu.Lock()
	}
	for other.flushed <= seq {
		d.changed.Wait()
	}
	if other.done > seq {
		return 0
	}
	return other.at(seq).value
}

// flush submits the batch, and with it all entries that were taken.
func (q *queue) flush() {
	d := q.device
	value := q.signalled
	begin := d.supervisor.Timeline.Now()
	if !q.batch.empty() {
		value++
		q.send(value)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	q.signalled = value
	for ; q.flushed < q.next; q.flushed++ {
		e := q.at(q.flushed)
		if e.value = value; e.works() {
			e.begin = begin
		}
	}
	d.changed.Broadcast()
}

// send submits the batch, unless the device is dead.
func (q *queue) send(value uint64) {
	d := q.device
	if d.dead.Load() {
		q.batch.drop()
		return
	}
	d.touch()
	if err := q.batch.submit(d, q.hardware, value).failed("vkQueueSubmit"); err != nil {
		d.mu.Lock()
		e := q.working(q.flushed, q.next)
		d.mu.Unlock()
		d.fail(&e, err)
		d.die()
	}
}

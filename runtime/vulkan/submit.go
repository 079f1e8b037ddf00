package vulkan

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

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
	for q.First(&e) {
		switch e.Kind {
		case gpu.WaitEntry:
			q.wait(&e)
		case gpu.RunEntry, gpu.TransferEntry:
			q.begin(&e)
		}
		q.Take(&e)
		if e.Kind == gpu.RecordEntry || len(q.batch.buffers) >= batchSize || e.Works() && q.device.times() {
			q.flush()
		}
	}
	q.flush()
	q.Drain()
}

// begin adds a command or a transfer to the batch, unless some device has failed already.
func (q *queue) begin(e *entry) {
	if q.device.supervisor.Failed() {
		return
	}
	var err error
	if e.Ran = true; e.Kind == gpu.TransferEntry {
		err = q.copy(e)
	} else {
		var h handle
		if h, err = q.device.bound(e.Block).run(e); err == nil {
			q.batch.buffers = append(q.batch.buffers, h)
		}
	}
	if err != nil {
		e.Ran, e.Own.copy = false, nil
		q.device.fail(e, err)
	}
}

// wait delays what is taken later.
func (q *queue) wait(e *entry) {
	switch {
	case e.From == q.Queue: // in order anyway
	case e.From != nil:
		if value := q.submitted(e.From, e.Seq); value > 0 {
			q.batch.after(q.device.queues[e.From.Number].semaphore, value)
		}
	case !e.Event.Reached(e.Count):
		q.flush()
		e.Event.Await(e.Count)
	}
}

// submitted waits until an entry of another queue is submitted, so that queues of the plan that share one of the
// driver never wait for something that comes after them. It returns the value of the other queue's semaphore after the
// entry, or 0 if the entry is done.
func (q *queue) submitted(other *gpu.Queue[own], seq uint64) uint64 {
	d := q.device
	d.Lock()
	defer d.Unlock()
	if other.Issued <= seq {
		d.Unlock()
		q.flush()
		d.Lock()
	}
	for other.Issued <= seq {
		d.Changed.Wait()
	}
	if other.Done > seq {
		return 0
	}
	return other.At(seq).Own.value
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
	d.Lock()
	defer d.Unlock()
	q.signalled = value
	q.Issue(func(_ uint64, e *entry) {
		if e.Own.value = value; e.Works() {
			e.Begin = begin
		}
	})
}

// send submits the batch, unless the device is dead.
func (q *queue) send(value uint64) {
	d := q.device
	if d.Dead() {
		q.batch.drop()
		return
	}
	d.touch()
	if err := q.batch.submit(d, q.hardware, value).failed("vkQueueSubmit"); err != nil {
		e := q.Waiting()
		d.fail(&e, err)
		d.Die()
	}
}

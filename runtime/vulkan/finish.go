package vulkan

import (
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// waiter waits for values of one semaphore.
type waiter struct {
	reached   uint64 // the value that the semaphore is known to have
	semaphore handle
	value     uint64
	info      vkSemaphoreWaitInfo
	args      [3]uintptr // of vkWaitSemaphores
}

func (w *waiter) init(semaphore handle) {
	w.semaphore = semaphore
	w.info = vkSemaphoreWaitInfo{
		sType: typeSemaphoreWaitInfo, semaphoreCount: 1, pSemaphores: unsafe.Pointer(&w.semaphore), pValues: unsafe.Pointer(&w.value),
	}
}

// wait waits for a value for at most the given time.
func (w *waiter) wait(d *device, value uint64, most time.Duration) result {
	w.value = value
	w.args = [3]uintptr{uintptr(d.handle), uintptr(unsafe.Pointer(&w.info)), uintptr(max(most, 0))}
	return d.waitSemaphores.with(w.args[:])
}

// slice is the time after which a waiter looks whether another one has found the device dead.
const slice = 50 * time.Millisecond

// reach waits for a value while the device makes progress. It returns at once if the device is dead. Time is counted in
// waits: a process that is stopped, or gets no processor, does not take the device for one that hangs.
func (w *waiter) reach(d *device, value uint64) error {
	seen, quiet := d.progress.Load(), time.Duration(0)
	for w.reached < value && !d.Dead() {
		most := min(slice, d.limit)
		r := w.wait(d, value, most)
		now := d.progress.Load()
		switch {
		case r == success:
			d.touch()
			w.reached = value
		case r != timeout:
			return r.failed("vkWaitSemaphores")
		case now != seen:
			seen, quiet = now, 0
		case quiet+most >= d.limit:
			d.stuck.Store(true)
			return &gpu.NoProgress{Limit: d.limit, Flag: "--vulkan-timeout"}
		default:
			quiet += most
		}
	}
	return nil
}

// finish waits for entries in order, and does what the host does after them.
func (q *queue) finish() {
	defer q.End()
	var e entry
	for q.Oldest(&e) {
		q.complete(&e)
		q.Pop()
	}
}

// complete waits until an entry is done and does what the host does after it.
func (q *queue) complete(e *entry) {
	d := q.device
	q.Follow(e)
	if err := q.finishing.reach(d, e.Own.value); err != nil {
		first := q.Working()
		d.fail(&first, err)
		d.Die()
	}
	if e.Own.copy != nil && !d.Dead() {
		e.Own.copy.scatter(e.Block)
	}
	if e.Ran && d.supervisor.Timeline != nil && !q.timed(e) {
		q.Span(e)
	}
	if e.Kind == gpu.RecordEntry {
		e.Event.Signal(e.Count)
	}
}

package vulkan

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
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
	for w.reached < value && !d.dead.Load() {
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
			return fmt.Errorf("%w for %v: the device hangs or is slow (--vulkan-timeout waits longer)", errNoProgress, d.limit)
		default:
			quiet += most
		}
	}
	return nil
}

// errNoProgress is the error of a wait that was cut.
var errNoProgress = errors.New("neither this command nor one submitted with it was done")

// finish waits for entries in order, and does what the host does after them.
func (q *queue) finish() {
	defer close(q.ended)
	var e entry
	for q.oldest(&e) {
		q.complete(&e)
		q.device.mu.Lock()
		*q.at(q.done) = entry{}
		q.done++
		q.device.changed.Broadcast()
		q.device.mu.Unlock()
	}
}

// oldest waits until the oldest entry is submitted and copies it. It returns false if the queue is closed and empty.
func (q *queue) oldest(e *entry) bool {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	for q.done == q.flushed {
		if q.drained {
			return false
		}
		d.changed.Wait()
	}
	*e = *q.at(q.done)
	return true
}

// complete waits until an entry is done and does what the host does after it. Waits for other queues are repeated here,
// since what these queues copy to the host has to be there before later events of this queue are signalled.
func (q *queue) complete(e *entry) {
	d := q.device
	if e.kind == wait && e.from != nil && e.from != q {
		q.follow(e.from, e.seq)
	}
	if err := q.finishing.reach(d, e.value); err != nil {
		d.mu.Lock()
		first := q.working(q.done, q.flushed)
		d.mu.Unlock()
		d.fail(&first, err)
		d.die()
	}
	if e.copy != nil && !d.dead.Load() {
		e.copy.scatter(e.block)
	}
	if e.ran && d.supervisor.Timeline != nil && !q.timed(e) {
		q.span(e)
	}
	if e.kind == record {
		e.event.Signal(e.count)
	}
}

// follow waits until an entry of another queue is done.
func (q *queue) follow(other *queue, seq uint64) {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	for other.done <= seq {
		d.changed.Wait()
	}
}

// span adds an entry to the timeline. It begins when it was submitted or when the one before ended.
func (q *queue) span(e *entry) {
	if e.begin.Before(q.last) {
		e.begin = q.last
	}
	what, iteration := e.label()
	q.device.supervisor.Timeline.Add(q.id, what, iteration, e.block.Step, e.begin)
	q.last = time.Now()
}

// noWork is what errors name if a failed submission had neither commands nor transfers.
var noWork = entry{kind: transfer, transfer: runtime.Transfer{Label: &runtime.Label{What: "events"}}, block: new(runtime.Block)}

// working returns the first command or transfer from entry i to before entry end. With device.mu.
func (q *queue) working(i, end uint64) entry {
	for ; i < end; i++ {
		if e := q.at(i); e.works() {
			return *e
		}
	}
	return noWork
}

package vulkan

import (
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// kind is the kind of an entry of a queue.
type kind uint8

const (
	run kind = iota
	transfer
	record
	wait
)

// entry is one command, transfer, record or wait in a queue.
type entry struct {
	kind      kind
	command   *runtime.Command
	transfer  runtime.Transfer
	block     *runtime.Block
	iteration int
	event     *runtime.Event
	count     uint64

	// Of a wait for a record of the same device that is not done yet: the queue and the number of that entry there.
	from *queue
	seq  uint64

	// Set when the entry is taken: whether it does anything on the device, and of a transfer to the host what it does.
	ran  bool
	copy *copying

	times *times    // of the commands that it ran; nil if they write none
	value uint64    // of the queue's semaphore once the entry is done; set when it is flushed
	begin time.Time // when it was flushed
}

// label returns the label of a command or a transfer, and the iteration of the repeat around it.
func (e *entry) label() (*runtime.Label, int) {
	if e.kind == run {
		return &e.command.Label, e.iteration
	}
	return e.transfer.Label, e.transfer.Iteration
}

// works reports whether the entry is a command or a transfer.
func (e *entry) works() bool { return e.kind == run || e.kind == transfer }

// queue is a queue of the plan. Its entries are numbered from 0. The device and the host are done with those before
// done. Those before flushed were submitted to the driver, those before next were taken for the next submission.
type queue struct {
	device   *device
	id       int // in the timeline
	hardware *hardwareQueue

	// With device.mu.
	ring                      []entry // entry i is ring[i%len(ring)]
	done, flushed, next, tail uint64  // done ≤ flushed ≤ next ≤ tail
	closed                    bool
	drained                   bool // closed, and all entries are flushed

	semaphore handle
	batch     batch         // of the goroutine that submits
	signalled uint64        // the value that the last submission gives the semaphore; of the same goroutine
	fetching  waiter        // of the same goroutine
	finishing waiter        // of the goroutine that finishes entries
	last      time.Time     // when that has finished the entry before
	ended     chan struct{} // closed when both goroutines have ended
}

// ringSize is the number of entries that a queue holds before it has to grow.
const ringSize = 64

func (d *device) newQueue(h *hardwareQueue, id int) (*queue, error) {
	q := &queue{device: d, id: id, hardware: h, ring: make([]entry, ringSize), ended: make(chan struct{})}
	var err error
	q.semaphore, err = d.newSemaphore()
	q.batch.init(q.semaphore)
	q.fetching.init(q.semaphore)
	q.finishing.init(q.semaphore)
	return q, err
}

func (d *device) newSemaphore() (handle, error) {
	kind := &vkSemaphoreTypeCreateInfo{sType: typeSemaphoreTypeCreateInfo, semaphoreType: semaphoreTimeline}
	info := &vkSemaphoreCreateInfo{sType: typeSemaphoreCreateInfo, pNext: unsafe.Pointer(kind)}
	h := new(handle)
	err := d.createSemaphore.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h))).failed("vkCreateSemaphore")
	return *h, err
}

// at returns entry i, which is in the ring. With device.mu.
func (q *queue) at(i uint64) *entry { return &q.ring[i%uint64(len(q.ring))] }

// submit appends an entry. It returns false if the queue is closed.
func (q *queue) submit(e *entry) bool {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.closed {
		return false
	}
	if e.kind == wait {
		e.from, e.seq = d.find(e.event, e.count)
	}
	if q.tail-q.done == uint64(len(q.ring)) {
		q.grow()
	}
	*q.at(q.tail) = *e
	q.tail++
	d.changed.Broadcast()
	return true
}

func (q *queue) grow() {
	old := q.ring
	q.ring = make([]entry, 2*len(old))
	for i := q.done; i < q.tail; i++ {
		*q.at(i) = old[i%uint64(len(old))]
	}
}

// find returns the entry of this device that records n to an event and is not done. With d.mu. A wait is submitted after
// its record, so that a record that is not found is done, or another device's.
func (d *device) find(event *runtime.Event, n uint64) (*queue, uint64) {
	for _, q := range d.queues {
		for i := q.done; i < q.tail; i++ {
			if e := q.at(i); e.kind == record && e.event == event && e.count == n {
				return q, i
			}
		}
	}
	return nil, 0
}

package cuda

import (
	"time"

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

	times *times // nil if it has none

	after mark      // when the entry is done; set when it is issued. Entries that are issued together share it
	frees bool      // it is the last one that has the mark
	begin time.Time // of the submission, if there is a timeline
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
// done. Those before issued were given to the driver, those before next were taken. Those from issued to next are commands
// that wait to be launched together.
type queue struct {
	device *device
	id     int // in the timeline
	stream handle

	// With device.mu.
	ring                     []entry // entry i is ring[i%len(ring)]
	done, issued, next, tail uint64  // done ≤ issued ≤ next ≤ tail
	closed                   bool
	drained                  bool   // closed, and all entries are issued
	free                     []mark // that no entry has

	// Of the goroutine that submits.
	batch    []entry
	strands  strands
	began    time.Time // when the last submission began, if there is a timeline
	fetching mark
	args     [6]uintptr

	last  time.Time     // when the goroutine that finishes entries finished the one before
	ended chan struct{} // closed when both goroutines have ended
}

// ringSize is the number of entries that a queue holds before it has to grow.
const ringSize = 64

// newQueue returns a queue. The context is current.
func (d *device) newQueue(id int) (*queue, error) {
	stream, err := d.newStream()
	return &queue{device: d, id: id, stream: stream, strands: strands{device: d, origin: stream}, ring: make([]entry, ringSize), ended: make(chan struct{})}, err
}

// call calls a function of the driver with arguments that are no addresses of Go's.
func (q *queue) call(f fn, args ...uintptr) result { return f.with(q.args[:copy(q.args[:], args)]) }

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

// newMark returns a mark that no entry has. The context is current.
func (q *queue) newMark() (mark, error) {
	d := q.device
	d.mu.Lock()
	if n := len(q.free); n > 0 {
		m := q.free[n-1]
		q.free = q.free[:n-1]
		d.mu.Unlock()
		return m, nil
	}
	d.mu.Unlock()
	event, err := d.newEvent()
	return mark{event}, err
}

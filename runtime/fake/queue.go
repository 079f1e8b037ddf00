package fake

import (
	"math/rand/v2"
	goruntime "runtime"
	"runtime/debug"
	"sync"
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
}

// queue processes the submitted entries in order, on a goroutine of its own.
type queue struct {
	device *device
	id     int // in the timeline
	mood   mood

	mu     sync.Mutex
	change sync.Cond
	ring   []entry // waiting entries are ring[head], ring[head+1], … modulo its length
	head   int
	size   int
	closed bool
	ended  chan struct{}
}

// ringSize is the number of entries that a queue holds before it has to grow, a power of two.
const ringSize = 64

func newQueue(d *device, id int, m mood) *queue {
	q := &queue{device: d, id: id, mood: m, ring: make([]entry, ringSize), ended: make(chan struct{})}
	q.change.L = &q.mu
	return q
}

// submit appends an entry. It returns false if the queue is closed.
func (q *queue) submit(e entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.size == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.size)%len(q.ring)] = e
	q.size++
	q.change.Signal()
	return true
}

func (q *queue) grow() {
	bigger := make([]entry, 2*len(q.ring))
	n := copy(bigger, q.ring[q.head:])
	copy(bigger[n:], q.ring[:q.head])
	q.ring, q.head = bigger, 0
}

// next waits for the first entry and removes it. It returns false if the queue is closed and empty.
func (q *queue) next(e *entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size == 0 {
		if q.closed {
			return false
		}
		q.change.Wait()
	}
	*e, q.ring[q.head] = q.ring[q.head], entry{}
	q.head = (q.head + 1) % len(q.ring)
	q.size--
	return true
}

// work processes entries until the queue is closed and empty.
func (q *queue) work() {
	debug.SetPanicOnFault(true)
	defer close(q.ended)
	var e entry
	for q.next(&e) {
		switch e.kind {
		case record:
			e.event.Signal(e.count)
		case wait:
			e.event.Await(e.count)
		default:
			q.mood.linger()
			q.do(&e)
		}
	}
}

// do runs a command or a transfer, unless some device has failed already.
func (q *queue) do(e *entry) {
	if q.device.supervisor.Failed() {
		return
	}
	defer q.failure(e)
	begin := time.Now()
	if e.kind == run {
		e.command.Kernel.(Kernel)(e.block.Bound[q.device.index].(*Env), e.iteration)
	} else {
		move(&e.transfer, e.block)
	}
	what, iteration := e.label()
	q.device.supervisor.Timeline.Add(q.id, what, iteration, e.block.Step, begin)
}

// label returns the label of a command or a transfer, and the iteration of the repeat around it.
func (e *entry) label() (*runtime.Label, int) {
	if e.kind == run {
		return &e.command.Label, e.iteration
	}
	return e.transfer.Label, e.transfer.Iteration
}

// failure is deferred. It turns a panic into the failure of the device.
func (q *queue) failure(e *entry) {
	v := recover()
	if v == nil {
		return
	}
	what, iteration := e.label()
	err := &runtime.FaultError{Device: q.device.info.Name, Command: what.At(iteration), Value: v}
	if at, ok := v.(interface{ Addr() uintptr }); ok {
		err.Addr = at.Addr()
	}
	q.device.supervisor.Fail(err)
}

// close ends the goroutine once the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.change.Broadcast()
	q.mu.Unlock()
	<-q.ended
}

// mood determines the delays of a queue. A queue remains quick or slow for several entries, so that other queues get
// far ahead of it.
type mood struct {
	random *rand.Rand
	delay  time.Duration
	slow   bool
	left   int // entries before the mood changes
}

func newMood(seed uint64, device, queue int, delay time.Duration) mood {
	return mood{random: rand.New(rand.NewPCG(seed, uint64(device)<<8|uint64(queue))), delay: delay}
}

// moodLength is the largest number of entries between two changes of mood.
const moodLength = 8

func (m *mood) linger() {
	if m.delay <= 0 {
		return
	}
	if m.left == 0 {
		m.left, m.slow = 1+m.random.IntN(moodLength), !m.slow
	}
	m.left--
	switch {
	case m.slow:
		wait := time.Duration(m.random.Int64N(int64(m.delay)))
		for begin := time.Now(); time.Since(begin) < wait; { // a sleep would last a millisecond
			goruntime.Gosched()
		}
	case m.random.IntN(2) == 0:
		goruntime.Gosched()
	}
}

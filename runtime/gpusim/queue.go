package gpusim

import (
	"fmt"
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

// label returns the label of a command or a transfer, and the iteration of the repeat around it.
func (e *entry) label() (*runtime.Label, int) {
	if e.kind == run {
		return &e.command.Label, e.iteration
	}
	return e.transfer.Label, e.transfer.Iteration
}

// queue processes the submitted entries in order, on a goroutine of its own.
type queue struct {
	device *device
	id     int // in the timeline
	ended  chan struct{}

	mu      sync.Mutex
	change  sync.Cond
	waiting []entry
	closed  bool
}

func newQueue(d *device, id int) *queue {
	q := &queue{device: d, id: id, ended: make(chan struct{})}
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
	q.waiting = append(q.waiting, e)
	q.change.Signal()
	return true
}

// next waits for entries and returns all of them. The slice of earlier ones is used again. None are left once the queue
// is closed and empty.
func (q *queue) next(done []entry) []entry {
	clear(done)
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.closed {
		q.change.Wait()
	}
	list := q.waiting
	q.waiting = done[:0]
	return list
}

// work processes entries until the queue is closed and empty.
func (q *queue) work() {
	debug.SetPanicOnFault(true)
	defer close(q.ended)
	for list := q.next(nil); len(list) > 0; list = q.next(list) {
		for i := range list {
			q.process(&list[i])
		}
	}
}

func (q *queue) process(e *entry) {
	switch e.kind {
	case record:
		e.event.Signal(e.count)
	case wait:
		e.event.Await(e.count)
	default:
		q.do(e)
	}
}

// do runs a command or a transfer, unless some device has failed already.
func (q *queue) do(e *entry) {
	d := q.device
	if d.supervisor.Failed() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	begin := time.Now()
	defer func() {
		if v := recover(); v != nil {
			d.fail(e, v)
		}
	}()
	var err error
	if e.kind == run {
		err = d.run(e)
	} else {
		err = d.move(&e.transfer, e.block)
	}
	if err != nil {
		d.fail(e, err)
		return
	}
	what, iteration := e.label()
	d.supervisor.Timeline.Add(q.id, what, iteration, e.block.Step, begin)
}

// fail reports the failure of an entry, with an error or the value of a panic.
func (d *device) fail(e *entry, v any) {
	what, iteration := e.label()
	err := &runtime.FaultError{Device: d.info.Name, Command: what.At(iteration), Value: &failure{e.block.Step, v}}
	if at, ok := v.(interface{ Addr() uintptr }); ok {
		err.Addr = at.Addr()
	}
	d.supervisor.Fail(err)
}

// failure is the value of a device's FaultError.
type failure struct {
	step  uint64
	value any
}

func (f *failure) Error() string { return fmt.Sprintf("step %d: %v", f.step, f.value) }

// Unwrap returns the fault, or nil.
func (f *failure) Unwrap() error {
	err, _ := f.value.(error)
	return err
}

// close ends the goroutine once the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.change.Broadcast()
	q.mu.Unlock()
	<-q.ended
}

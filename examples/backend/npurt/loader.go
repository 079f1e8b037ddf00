// Package npurt is linked by programs that have the backend npu: its loader and its kernels.
package npurt

import (
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// Version is raised by each change of this package that breaks emitted code.
const Version = 1

// Generation is that of package runtime, for which this package is written.
const Generation = 5

// Loader opens devices.
type Loader struct{}

// Open implements runtime.Loader. Each queue is a goroutine.
func (*Loader) Open(info *runtime.DeviceInfo, index int, s *runtime.Supervisor) (runtime.Device, error) {
	d := &device{info: info, index: index, supervisor: s}
	for _, name := range info.Queues {
		q := &queue{device: d, id: s.Timeline.Queue(name), work: make(chan entry, pending), ended: make(chan struct{})}
		d.queues = append(d.queues, q)
		go q.run()
	}
	return d, nil
}

// device implements runtime.Device in the memory of the processor.
type device struct {
	info       *runtime.DeviceInfo
	index      int
	supervisor *runtime.Supervisor
	queues     []*queue
}

// errNoMemory is returned where a plan gives the device memory of its own, as with a target file that writes
// space=vram.
var errNoMemory = errors.New("the device has no memory of its own: write space=host")

func (d *device) Alloc(runtime.Class, int64) (runtime.Memory, error) { return nil, errNoMemory }
func (d *device) Load(runtime.Memory, []byte) error                  { return errNoMemory }
func (d *device) Clear(runtime.Memory) error                         { return errNoMemory }

// Bind returns the environment of the commands of a step.
func (d *device) Bind(b *runtime.Block) (any, error) { return &Env{b}, nil }

func (d *device) Run(q int, c *runtime.Command, b *runtime.Block, iteration int) {
	d.queues[q].submit(entry{command: c, block: b, iteration: iteration})
}

// Copy fails: all memory is in one space, so plans have no copies.
func (d *device) Copy(q int, t runtime.Transfer, b *runtime.Block) {
	d.supervisor.Fail(&runtime.FaultError{Device: d.info.Name, Command: t.Label.At(t.Iteration), Value: errNoMemory})
}

func (d *device) Record(q int, e *runtime.Event, n uint64) {
	if !d.queues[q].submit(entry{event: e, count: n, records: true}) {
		<-d.queues[q].ended // earlier records come first
		e.Signal(n)
	}
}

func (d *device) Wait(q int, e *runtime.Event, n uint64) {
	d.queues[q].submit(entry{event: e, count: n})
}

// Close waits until the queues are empty.
func (d *device) Close() error {
	for _, q := range d.queues {
		q.close()
	}
	return nil
}

// entry is a command, or a record of an event, or a wait for one.
type entry struct {
	command   *runtime.Command
	block     *runtime.Block
	iteration int

	event   *runtime.Event
	count   uint64
	records bool
}

// pending is the number of entries that a queue holds. The host waits where there are more.
const pending = 256

// queue processes its entries in order.
type queue struct {
	device *device
	id     int // in the timeline
	work   chan entry
	ended  chan struct{}

	mu     sync.Mutex // for closed, and for sends to work
	closed bool
}

// submit appends an entry. It returns false if the queue is closed.
func (q *queue) submit(e entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.work <- e
	}
	return !q.closed
}

// close ends the goroutine once the queue is empty.
func (q *queue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.work)
	}
	q.mu.Unlock()
	<-q.ended
}

func (q *queue) run() {
	debug.SetPanicOnFault(true) // a page of the weights may be gone
	defer close(q.ended)
	for e := range q.work {
		switch {
		case e.command != nil:
			q.compute(&e)
		case e.records:
			e.event.Signal(e.count)
		default:
			e.event.Await(e.count)
		}
	}
}

// compute runs a command, unless some device has failed. A panic becomes the failure of the device.
func (q *queue) compute(e *entry) {
	if q.device.supervisor.Failed() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			q.device.supervisor.Fail(&runtime.FaultError{Device: q.device.info.Name, Command: e.command.At(e.iteration), Value: v})
		}
	}()
	begin := time.Now()
	e.command.Kernel.(Kernel)(e.block.Bound[q.device.index].(*Env), e.iteration)
	q.device.supervisor.Timeline.Add(q.id, &e.command.Label, e.iteration, e.block.Step, begin)
}

package fake

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"runtime/debug"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// queue processes the submitted entries in order, on a goroutine of its own.
type queue struct {
	device  *device
	id      int // in the timeline
	mood    mood
	entries *runtime.Entries
	ended   chan struct{}
}

func newQueue(d *device, id int, m mood) *queue {
	return &queue{device: d, id: id, mood: m, entries: runtime.NewEntries(), ended: make(chan struct{})}
}

// work processes entries until the queue is closed and empty.
func (q *queue) work() {
	debug.SetPanicOnFault(true)
	defer close(q.ended)
	var e runtime.QueueEntry
	for q.entries.Next(&e, 0) {
		switch e.Kind {
		case runtime.RecordEntry:
			e.Event.Signal(e.Count)
		case runtime.WaitEntry:
			e.Event.Await(e.Count)
		default:
			q.mood.linger()
			q.do(&e)
		}
	}
}

// do runs a command or a transfer, unless some device has failed already.
func (q *queue) do(e *runtime.QueueEntry) {
	if q.device.supervisor.Failed() {
		return
	}
	defer q.failure(e)
	begin := time.Now()
	if e.Kind == runtime.RunEntry {
		if q.device.commands.Add(1) == q.device.failAt {
			panic(asked(q.device.failAt))
		}
		e.Command.Kernel.(Kernel)(e.Block.Bound[q.device.index].(*Env), e.Iteration)
	} else {
		e.Transfer.Move(e.Block)
	}
	what, iteration := e.Label()
	q.device.supervisor.Timeline.Add(q.id, what, iteration, e.Block.Step, begin)
}

// asked is the number of a command that fails because Options.FailAt asks for it.
type asked int64

func (n asked) String() string {
	return fmt.Sprintf("command %d fails because --fake-fail asks for it", int64(n))
}

// Surroundings tells runtime.FaultError that the reason is not in the program.
func (asked) Surroundings() bool { return true }

// failure is deferred. It turns a panic into the failure of the device.
func (q *queue) failure(e *runtime.QueueEntry) {
	v := recover()
	if v == nil {
		return
	}
	what, iteration := e.Label()
	err := &runtime.FaultError{Device: q.device.info.Name, Command: what.At(iteration), Value: v}
	if at, ok := v.(interface{ Addr() uintptr }); ok {
		err.Addr = at.Addr()
	}
	q.device.supervisor.Fail(err)
}

// close ends the goroutine once the queue is empty.
func (q *queue) close() {
	q.entries.Close()
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

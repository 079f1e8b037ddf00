package gpu

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// Queues are the queues of a device. Two goroutines of its driver work on each: one takes entries and gives them to the
// driver, the other waits until they are done and does what the host does after them. X is what the driver keeps with
// an entry.
//
// A device that embeds Queues has the methods Run, Copy, Record and Wait of runtime.Device.
type Queues[X any] struct {
	// The lock guards the rings of all queues. Changed is signalled at every change of them, and when the device dies.
	sync.Mutex
	Changed sync.Cond

	supervisor *runtime.Supervisor
	list       []*Queue[X]
	dead       atomic.Bool
}

// NewQueues returns queues of the given names.
func NewQueues[X any](s *runtime.Supervisor, names []string) *Queues[X] {
	a := &Queues[X]{supervisor: s}
	a.Changed.L = &a.Mutex
	for i, name := range names {
		a.list = append(a.list, &Queue[X]{
			all: a, Number: i, timeline: s.Timeline.Queue(name), ring: make([]Entry[X], ringSize), ended: make(chan struct{}),
		})
	}
	return a
}

// Queue returns a queue by its number.
func (a *Queues[X]) Queue(i int) *Queue[X] { return a.list[i] }

// Run implements runtime.Device.
func (a *Queues[X]) Run(queue int, c *runtime.Command, b *runtime.Block, iteration int) {
	a.list[queue].submit(&Entry[X]{Kind: RunEntry, Command: c, Block: b, Iteration: iteration})
}

// Copy implements runtime.Device.
func (a *Queues[X]) Copy(queue int, t runtime.Transfer, b *runtime.Block) {
	a.list[queue].submit(&Entry[X]{Kind: TransferEntry, Transfer: t, Block: b})
}

// Record implements runtime.Device.
func (a *Queues[X]) Record(queue int, e *runtime.Event, n uint64) {
	if q := a.list[queue]; !q.submit(&Entry[X]{Kind: RecordEntry, Event: e, Count: n}) {
		<-q.ended // earlier records come first
		e.Signal(n)
	}
}

// Wait implements runtime.Device. If the record is one of this device that is not done yet, the device waits, else the
// host does.
func (a *Queues[X]) Wait(queue int, e *runtime.Event, n uint64) {
	a.list[queue].submit(&Entry[X]{Kind: WaitEntry, Event: e, Count: n})
}

// End closes the queues and waits until their goroutines have ended. Entries that were submitted before are completed.
func (a *Queues[X]) End() {
	a.Lock()
	for _, q := range a.list {
		q.closed = true
	}
	a.Changed.Broadcast()
	a.Unlock()
	for _, q := range a.list {
		<-q.ended
	}
}

// Die makes the device dead: nothing is submitted nor waited for any more.
func (a *Queues[X]) Die() {
	a.dead.Store(true)
	a.Lock()
	a.Changed.Broadcast()
	a.Unlock()
}

// Dead reports whether the device is dead.
func (a *Queues[X]) Dead() bool { return a.dead.Load() }

// Working returns a command or a transfer of some queue that was taken and is not done.
func (a *Queues[X]) Working() Entry[X] {
	a.Lock()
	defer a.Unlock()
	for _, q := range a.list {
		if e := q.working(q.Done, q.Next); e != nil {
			return *e
		}
	}
	return noWork[X]()
}

// Pending returns the queue and the number of an entry that is taken, not done and meets a condition, or nil. Entries
// of queues other than own are considered once they are issued. With the lock.
func (a *Queues[X]) Pending(own *Queue[X], met func(*Entry[X]) bool) (*Queue[X], uint64) {
	for _, q := range a.list {
		end := q.Issued
		if q == own {
			end = q.Next
		}
		for i := q.Done; i < end; i++ {
			if met(q.At(i)) {
				return q, i
			}
		}
	}
	return nil, 0
}

// find returns the entry that records n to an event and is not done. With the lock. A wait is submitted after its
// record, so that a record that is not found is done, or another device's.
func (a *Queues[X]) find(event *runtime.Event, n uint64) (*Queue[X], uint64) {
	for _, q := range a.list {
		for i := q.Done; i < q.tail; i++ {
			if e := q.At(i); e.Kind == RecordEntry && e.Event == event && e.Count == n {
				return q, i
			}
		}
	}
	return nil, 0
}

// Queue is a queue of the plan. Its entries are numbered from 0. The device and the host are done with those before
// Done. Those before Issued were given to the driver, those before Next were taken.
type Queue[X any] struct {
	all      *Queues[X]
	Number   int // on the device
	timeline int // the number of its lane

	// With the lock of Queues.
	ring               []Entry[X] // entry i is ring[i%len(ring)]
	Done, Issued, Next uint64
	tail               uint64 // Done ≤ Issued ≤ Next ≤ tail
	closed             bool
	drained            bool // closed, and all entries are issued

	Last  time.Time     // when the entry before was finished; of the goroutine that finishes entries
	ended chan struct{} // closed when both goroutines have ended
}

// ringSize is the number of entries that a queue holds before it has to grow.
const ringSize = 64

// At returns entry i, which is in the ring. With the lock.
func (q *Queue[X]) At(i uint64) *Entry[X] { return &q.ring[i%uint64(len(q.ring))] }

// submit appends an entry. It returns false if the queue is closed.
func (q *Queue[X]) submit(e *Entry[X]) bool {
	a := q.all
	a.Lock()
	defer a.Unlock()
	if q.closed {
		return false
	}
	if e.Kind == WaitEntry {
		e.From, e.Seq = a.find(e.Event, e.Count)
	}
	if q.tail-q.Done == uint64(len(q.ring)) {
		q.grow()
	}
	*q.At(q.tail) = *e
	q.tail++
	a.Changed.Broadcast()
	return true
}

func (q *Queue[X]) grow() {
	old := q.ring
	q.ring = make([]Entry[X], 2*len(old))
	for i := q.Done; i < q.tail; i++ {
		*q.At(i) = old[i%uint64(len(old))]
	}
}

// First waits for the next entry to take and copies it. It returns false if the queue is closed and empty.
func (q *Queue[X]) First(e *Entry[X]) bool {
	a := q.all
	a.Lock()
	defer a.Unlock()
	for q.Next == q.tail {
		if q.closed {
			return false
		}
		a.Changed.Wait()
	}
	*e = *q.At(q.Next)
	return true
}

// Take notes what is known about the next entry, which is not issued yet.
func (q *Queue[X]) Take(e *Entry[X]) {
	q.all.Lock()
	*q.At(q.Next) = *e
	q.Next++
	q.all.Unlock()
}

// Taken calls f for each entry that was taken and is not issued. With the lock.
func (q *Queue[X]) Taken(f func(i uint64, e *Entry[X])) {
	for i := q.Issued; i < q.Next; i++ {
		f(i, q.At(i))
	}
}

// Issue marks entries that were taken as issued, after f has noted something about each. With the lock.
func (q *Queue[X]) Issue(f func(i uint64, e *Entry[X])) {
	q.Taken(f)
	q.Issued = q.Next
	q.all.Changed.Broadcast()
}

// Drain tells the goroutine that finishes entries that no more are issued.
func (q *Queue[X]) Drain() {
	q.all.Lock()
	q.drained = true
	q.all.Changed.Broadcast()
	q.all.Unlock()
}

// Oldest waits until the oldest entry is issued and copies it. It returns false if no more are issued.
func (q *Queue[X]) Oldest(e *Entry[X]) bool {
	a := q.all
	a.Lock()
	defer a.Unlock()
	for q.Done == q.Issued {
		if q.drained {
			return false
		}
		a.Changed.Wait()
	}
	*e = *q.At(q.Done)
	return true
}

// Follow waits until the record that an entry waits for is done, if it is in another queue of the device. A wait is
// repeated when it is finished: what the other queue copies to the host has to be there before later events of this
// queue are signalled.
func (q *Queue[X]) Follow(e *Entry[X]) {
	if e.Kind != WaitEntry || e.From == nil || e.From == q {
		return
	}
	q.all.Lock()
	defer q.all.Unlock()
	for e.From.Done <= e.Seq {
		q.all.Changed.Wait()
	}
}

// Pop removes the oldest entry, which is done.
func (q *Queue[X]) Pop() {
	q.all.Lock()
	*q.At(q.Done) = Entry[X]{}
	q.Done++
	q.all.Changed.Broadcast()
	q.all.Unlock()
}

// End tells that both goroutines have ended.
func (q *Queue[X]) End() { close(q.ended) }

// Working returns the first command or transfer that was taken and is not done.
func (q *Queue[X]) Working() Entry[X] {
	q.all.Lock()
	defer q.all.Unlock()
	if e := q.working(q.Done, q.Next); e != nil {
		return *e
	}
	return noWork[X]()
}

// Waiting returns the first command or transfer that was taken and is not issued.
func (q *Queue[X]) Waiting() Entry[X] {
	q.all.Lock()
	defer q.all.Unlock()
	if e := q.working(q.Issued, q.Next); e != nil {
		return *e
	}
	return noWork[X]()
}

// working returns the first command or transfer from entry i to before entry end, or nil. With the lock.
func (q *Queue[X]) working(i, end uint64) *Entry[X] {
	for ; i < end; i++ {
		if e := q.At(i); e.Works() {
			return e
		}
	}
	return nil
}

// Span adds an entry to the timeline. It begins when it was issued or when the one before ended.
func (q *Queue[X]) Span(e *Entry[X]) {
	if e.Begin.Before(q.Last) {
		e.Begin = q.Last
	}
	what, iteration := e.Label()
	q.all.supervisor.Timeline.Add(q.timeline, what, iteration, e.Block.Step, e.Begin)
	q.Last = time.Now()
}

// Timed adds an entry to the timeline that the device has timed, with its kernels.
func (q *Queue[X]) Timed(e *Entry[X], begin, end time.Time, kernels []runtime.Timed) {
	q.Last = end
	what, iteration := e.Label()
	q.all.supervisor.Timeline.AddTimed(q.timeline, what, iteration, e.Block.Step, begin, end, kernels)
}

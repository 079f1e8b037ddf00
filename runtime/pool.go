package runtime

import (
	"context"
	goruntime "runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Worker is one of the goroutines that run a step together. Emitted code reads Part and Parts, which are constant
// during a step, and calls Barrier and Stop.
type Worker struct {
	Part, Parts int // this worker does part Part of Parts

	pool  *pool
	phase uint32 // of the barrier, as last seen by this worker
	stops uint32 // calls of Stop in this step
	steps uint32 // started by this worker
	wake  chan struct{}
	marks marks

	handing bool // worker 0 is in the observer

	waited time.Duration // in this step, without waits too short to measure
	_      [64]byte
	start  word // counts the steps that this worker has been told to run
}

// Barrier returns once all workers of the step have called it. What they wrote before is visible to all of them
// afterwards. It does not return if another worker has failed: it then unwinds this worker to abandon the step.
func (w *Worker) Barrier() {
	if w.Parts > 1 {
		w.meet()
	}
}

func (w *Worker) meet() {
	if !w.pool.barrier.wait(w, w.pool.spin) {
		panic(errLeave)
	}
}

// Stop reports whether the caller of the step has cancelled it; the emitted function then returns. All workers get
// the same answer if they call it equally often and with at least one Barrier between two calls: worker 0 reads the
// context for the next call, and the barrier publishes what it has read.
func (w *Worker) Stop() bool {
	p, slot := w.pool, w.stops&1
	w.stops++
	if w.Part == 0 {
		p.look(slot ^ 1)
	}
	return p.stop[slot]
}

// look stores the answer of the next call of Stop. It costs a few nanoseconds, as receiving from an open channel
// takes no lock.
func (p *pool) look(slot uint32) {
	select {
	case <-p.done: // nil, hence never, for a context that cannot end
		p.stop[slot] = true
	default:
	}
}

// pool runs steps, one at a time, on a fixed set of workers. Worker 0 is the goroutine that calls run, so that a step
// of one part needs no other goroutine. The other workers spin for a while after a step (calmSpin), then park.
type pool struct {
	workers []*Worker
	limit   atomic.Int32 // workers that steps may use
	started int          // workers that have a goroutine, including the caller
	scratch arena
	each    int64 // bytes of scratch of a worker
	queue   queue
	masks   []coreMask  // the cores of workers, indexed by worker; empty for any
	caller  coreMask    // where the caller of a step ran before it
	crowded atomic.Bool // the program has more threads, in all pools, than processors

	// The step in progress.
	barrier barrier
	fn      func(*Worker, *Args)
	args    *Args
	done    <-chan struct{} // of the context
	stop    [2]bool         // the answers of Stop at its even and its odd calls
	spin    time.Duration   // before parking, in this step
	fault   fault
	pending atomic.Int32 // workers other than 0 that are still in it
	_       [60]byte
	taken   atomic.Int32 // pieces of the dynamic share begun since the last barrier
	_       [60]byte
	join    word // counts the steps that all workers have left
	closed  bool
}

// newPool returns a pool of n workers with scratch bytes each. Goroutines are started by the first step that needs
// them: a model too small for several workers never makes the system create threads.
func newPool(n int, scratch int64) *pool {
	p := &pool{scratch: newArena(int64(n) * scratch), each: scratch, workers: make([]*Worker, n), started: 1}
	for i := range p.workers {
		p.workers[i] = newWorker(p, i)
	}
	p.limit.Store(int32(n))
	return p
}

func newWorker(p *pool, part int) *Worker {
	return &Worker{Part: part, pool: p, wake: make(chan struct{}, 1)}
}

// work runs the steps of a worker other than 0 until the pool is closed.
func (w *Worker) work() {
	debug.SetPanicOnFault(true)
	w.pool.bind(w.Part)
	for spin := spinTime; ; {
		w.start.await(w, w.steps, spin)
		w.steps++
		if w.pool.closed {
			return
		}
		w.waited = 0 // time between steps does not count
		w.pool.part(w)
		spin = w.pool.spin // the next step changes it only after all have left this one
		w.pool.finish()
	}
}

// finish tells worker 0 once the last of the others has left the step.
func (p *pool) finish() {
	if p.pending.Add(-1) == 0 {
		p.join.set(p.workers[0].steps, p.workers)
	}
}

// run waits for its turn, then runs one step on as many workers as f allows, or on fewer if c has measured that to be
// faster. It returns nil only if every worker has completed its part.
func (p *pool) run(ctx context.Context, t *ticket, f *Func, a *Args, c *pace) error {
	if err := p.queue.enter(ctx, t); err != nil {
		return err
	}
	defer p.queue.leave()
	p.bindCaller()
	defer p.releaseCaller()

	if n := p.parts(f); n == 1 || c == nil {
		p.prepare(n, ctx, f, a, spinTime)
		p.dispatch()
	} else {
		p.paced(n, ctx, f, a, c)
	}
	if p.fault.failed.Load() {
		return p.fault.err(f.Name)
	}
	if p.stopped() {
		return cancelled(ctx)
	}
	return nil
}

// paced runs a step on at most n workers, as c decides, and records its duration in c.
func (p *pool) paced(n int, ctx context.Context, f *Func, a *Args, c *pace) {
	begin := time.Since(processStart)
	parts := c.parts(n, begin)
	p.prepare(parts, ctx, f, a, c.spin())
	p.dispatch()
	end := time.Since(processStart)
	c.note(parts, end-begin, p.waited(), end)
}

// waited returns the total time that the workers of the last step waited for each other.
func (p *pool) waited() (sum time.Duration) {
	for _, w := range p.workers[:p.workers[0].Parts] {
		sum += w.waited
	}
	return sum
}

// stopped reports the answer of the last call of Stop. A context that ended later did not stop the step.
func (p *pool) stopped() bool { return p.stop[(p.workers[0].stops-1)&1] }

// parts returns how many workers run f. GOMAXPROCS may have become less since the start.
func (p *pool) parts(f *Func) int {
	n := int(p.limit.Load())
	if f.MaxParts > 0 {
		n = min(n, f.MaxParts)
	}
	if n > 1 {
		n = min(n, goruntime.GOMAXPROCS(0))
	}
	return n
}

// prepare describes the step before any other worker can see it. Workers that wait in it park after spin.
func (p *pool) prepare(parts int, ctx context.Context, f *Func, a *Args, spin time.Duration) {
	a.Scratch = p.scratch.base()
	p.fn, p.args, p.done = f.Run, a, ctx.Done()
	p.stop = [2]bool{}
	p.fault.reset()
	p.spin = spin
	if parts > numCPU || p.crowded.Load() {
		p.spin = 0 // a spinning worker would occupy the processor that the last one needs
	}
	for _, w := range p.workers[:parts] {
		w.Parts, w.phase, w.stops = parts, 0, 0
	}
	p.workers[0].waited = 0
	if parts > 1 {
		p.barrier.reset()
		p.taken.Store(0)
		p.pending.Store(int32(parts - 1))
	}
}

var numCPU = goruntime.NumCPU()

// dispatch runs the prepared step: it wakes the others, runs part 0 and waits for the others.
func (p *pool) dispatch() {
	w0 := p.workers[0]
	w0.steps++
	for ; p.started < w0.Parts; p.started++ {
		go p.workers[p.started].work()
	}
	others := p.workers[1:w0.Parts]
	for _, w := range others {
		w.start.set(w.steps+1, p.workers)
	}
	p.partOfCaller(w0)
	p.awaitOthers()
}

// awaitOthers returns when the workers other than 0 have left the step.
func (p *pool) awaitOthers() {
	w0 := p.workers[0]
	if w0.Parts == 1 {
		p.join.value.Store(w0.steps)
		return
	}
	p.join.await(w0, w0.steps-1, p.spin)
}

// partOfCaller is part on the caller's goroutine, whose SetPanicOnFault it restores.
func (p *pool) partOfCaller(w *Worker) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	p.part(w)
}

// part runs one worker's part and turns its failure into a poisoned barrier.
func (p *pool) part(w *Worker) {
	defer p.leave(w)
	p.fn(w, p.args)
}

// close waits for the step in progress and ends the workers. It returns false if the pool was closed before.
func (p *pool) close() bool {
	if !p.queue.close() {
		return false
	}
	defer p.queue.leave() // to the waiting callers, each of which learns that it is closed
	p.closed = true
	for _, w := range p.workers[1:] {
		w.start.set(w.steps+1, p.workers)
	}
	return true
}

// queue admits one step at a time to the pool, in the order of arrival.
type queue struct {
	mu          sync.Mutex
	busy        bool
	closed      bool
	first, last *ticket
}

// ticket is a place in the queue. A session keeps one, so that queueing allocates nothing.
type ticket struct {
	turn chan struct{} // holds a token once it is this ticket's turn
	next *ticket
}

func newTicket() *ticket { return &ticket{turn: make(chan struct{}, 1)} }

// enter returns nil once it is t's turn; leave must follow.
func (q *queue) enter(ctx context.Context, t *ticket) error {
	if ctx.Err() != nil {
		return cancelled(ctx)
	}
	admitted, err := q.join(t)
	if admitted || err != nil {
		return err
	}
	select {
	case <-t.turn:
		return q.stillOpen()
	case <-ctx.Done():
		q.abandon(t)
		return cancelled(ctx)
	}
}

// join takes the pool if it is free, else a place in the queue.
func (q *queue) join(t *ticket) (admitted bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, ErrClosed
	}
	if !q.busy {
		q.busy = true
		return true, nil
	}
	t.next = nil
	if q.last == nil {
		q.first = t
	} else {
		q.last.next = t
	}
	q.last = t
	return false, nil
}

// stillOpen passes the turn on if the model was closed while this caller waited.
func (q *queue) stillOpen() error {
	q.mu.Lock()
	closed := q.closed
	q.mu.Unlock()
	if !closed {
		return nil
	}
	q.leave()
	return ErrClosed
}

// abandon gives up t's place, or its turn if that has come in the meantime.
func (q *queue) abandon(t *ticket) {
	if !q.remove(t) {
		<-t.turn
		q.leave()
	}
}

// remove takes t out of the queue. It returns false if t is not in it any more.
func (q *queue) remove(t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	var prev *ticket
	for at := q.first; at != nil; prev, at = at, at.next {
		if at != t {
			continue
		}
		if prev == nil {
			q.first = t.next
		} else {
			prev.next = t.next
		}
		if q.last == t {
			q.last = prev
		}
		return true
	}
	return false
}

// leave passes the turn to the next ticket.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.first
	if t == nil {
		q.busy = false
		return
	}
	q.first = t.next
	if q.first == nil {
		q.last = nil
	}
	t.turn <- struct{}{}
}

// close refuses all further steps and waits for the one in progress. If it returns true, it has the turn. It returns
// false if the queue was closed before.
func (q *queue) close() bool {
	t := newTicket()
	first, wait := q.shut(t)
	if wait {
		<-t.turn
	}
	return first
}

// shut marks the queue closed and puts t first in it: the others will only learn that it is closed.
func (q *queue) shut(t *ticket) (first, wait bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, false
	}
	q.closed = true
	if !q.busy {
		q.busy = true
		return true, false
	}
	t.next, q.first = q.first, t
	if q.last == nil {
		q.last = t
	}
	return true, true
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

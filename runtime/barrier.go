package runtime

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// spinPolls is how often a waiter looks at the word before it parks. A poll takes 10 to
// 50 ns (one PAUSE), so this is about 50 µs: longer than the usual difference between
// two workers' shares of an epoch, and about what a park and its wake-up cost together,
// which is where waiting longer stops to pay.
const spinPolls = 2500

// quickPolls are those before a wait is long enough to look at the clock, about 1 µs.
const quickPolls = 50

// word is what workers wait on: they spin for a while, then park until it changes.
//
// A worker that parks first sets its bit in asleep and then looks at the word once more;
// whoever changes the word does that first and then looks at asleep. One of the two sees
// the other (Go's atomics are sequentially consistent), so no wake-up is lost. Taking
// the bit is taking the duty to send, or not to receive, one token.
type word struct {
	value  atomic.Uint32
	_      [60]byte      // the sleepers' word would slow down those who poll
	asleep atomic.Uint64 // bit i: worker i is parked here or about to be
	_      [56]byte
}

// set changes the word and wakes those who sleep on it.
func (d *word) set(v uint32, workers []*Worker) {
	d.value.Store(v)
	if d.asleep.Load() == 0 {
		return
	}
	for m := d.asleep.Swap(0); m != 0; m &= m - 1 {
		workers[bits.TrailingZeros64(m)].wake <- struct{}{}
	}
}

// await returns the word's value once it is no longer old.
func (d *word) await(w *Worker, old uint32, polls int) uint32 {
	for range min(polls, quickPolls) {
		if v := d.value.Load(); v != old {
			return v
		}
		pause()
	}
	begin := time.Since(processStart)
	v := d.awaitLong(w, old, polls)
	w.waited += time.Since(processStart) - begin
	return v
}

// awaitLong is await for a wait that has lasted long enough to be measured.
func (d *word) awaitLong(w *Worker, old uint32, polls int) uint32 {
	for range polls {
		if v := d.value.Load(); v != old {
			return v
		}
		pause()
	}
	for {
		if v, changed := d.park(w, old); changed {
			return v
		}
	}
}

// park sleeps until somebody sets the word, unless it has changed already.
func (d *word) park(w *Worker, old uint32) (uint32, bool) {
	bit := uint64(1) << w.Part
	d.asleep.Or(bit)
	if v := d.value.Load(); v != old {
		if d.asleep.And(^bit)&bit == 0 {
			<-w.wake // the bit was taken: a token is on its way
		}
		return v, true
	}
	<-w.wake
	v := d.value.Load()
	return v, v != old
}

// barrier is where the workers of a step meet. Its phase counts up from 0 in every step.
type barrier struct {
	arrived atomic.Int32
	_       [60]byte
	phase   word
}

// poisoned is a phase that no count reaches: somebody will never arrive.
const poisoned = 1 << 31

// reset makes the barrier ready for a step; nobody may be in it.
func (b *barrier) reset() {
	b.arrived.Store(0)
	b.phase.value.Store(0)
}

// wait returns false when the barrier is poisoned, and otherwise true once all have
// arrived.
func (b *barrier) wait(w *Worker, polls int) bool {
	old := w.phase
	w.phase++
	if b.arrived.Add(1) == int32(w.Parts) {
		b.arrived.Store(0) // nobody arrives again before the phase changes
		w.pool.taken.Store(0)
		b.phase.set(w.phase, w.pool.workers)
		return true
	}
	return b.phase.await(w, old, polls) != poisoned
}

// poison makes all who wait, or will, leave. Only a worker that has not arrived may call
// it, so that it never races with a last arrival.
func (b *barrier) poison(workers []*Worker) { b.phase.set(poisoned, workers) }

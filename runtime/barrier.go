package runtime

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// calmSpin and spinTime are how long a worker polls a word before it parks. Both exceed the usual difference between
// two workers' shares of an epoch, and the time to choose and print a token.
//
// Parking and waking take 100 to 220 µs in a virtual machine. Workers that wait for one that is being woken would
// park too, and would have to be woken in turn, epoch after epoch. Workers that have their processors to themselves
// therefore use the longer time.
//
// Workers that share a processor with a busy process use the shorter one: the system soon gives a processor on which
// a worker has parked to the worker that shares its own. A worker without work burns at most this time once.
const (
	calmSpin = 300 * time.Microsecond
	spinTime = 100 * time.Microsecond
)

// clockPolls is how often the word is polled between two reads of the clock: 0.5 to 2 µs, as a PAUSE takes 10 to 40
// ns.
const clockPolls = 50

// word is a value that workers wait on: they spin for a while, then park until it changes.
//
// A worker that parks first sets its bit in asleep and then polls the word once more. A goroutine that changes the
// word first stores it and then reads asleep. As Go's atomics are sequentially consistent, at least one of the two
// sees the other's write, so no wake-up is lost. Clearing a bit of asleep obliges the setter to send one token; a
// worker that clears its own bit will not receive one.
type word struct {
	value  atomic.Uint32
	_      [60]byte      // keeps asleep in a cache line of its own, away from pollers
	asleep atomic.Uint64 // bit i: worker i is parked here or about to be
	_      [56]byte
}

// set changes the word and wakes the workers that are parked on it.
func (d *word) set(v uint32, workers []*Worker) {
	d.value.Store(v)
	if d.asleep.Load() == 0 {
		return
	}
	for m := d.asleep.Swap(0); m != 0; m &= m - 1 {
		workers[bits.TrailingZeros64(m)].wake <- struct{}{}
	}
}

// await returns the word's value once it differs from old. It polls for the time spin, which may be 0, before it
// parks.
func (d *word) await(w *Worker, old uint32, spin time.Duration) uint32 {
	if spin > 0 {
		if v, changed := d.poll(old); changed {
			return v
		}
	}
	begin := time.Since(processStart)
	v := d.awaitLong(w, old, begin+spin)
	w.waited += time.Since(processStart) - begin
	return v
}

// poll polls the word for a time that is too short to be worth measuring.
func (d *word) poll(old uint32) (v uint32, changed bool) {
	for range clockPolls {
		if v = d.value.Load(); v != old {
			return v, true
		}
		pause()
	}
	return v, false
}

// awaitLong continues await after poll: it measures the wait, and parks at the time parkAt (since processStart).
func (d *word) awaitLong(w *Worker, old uint32, parkAt time.Duration) uint32 {
	for time.Since(processStart) < parkAt {
		if v, changed := d.poll(old); changed {
			return v
		}
	}
	for {
		if v, changed := d.park(w, old); changed {
			return v
		}
	}
}

// park sleeps until the word is set, unless it has changed already.
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

// barrier is a barrier for the workers of a step. Its phase counts up from 0 in each step.
type barrier struct {
	arrived atomic.Int32
	_       [60]byte
	phase   word
}

// poisoned is a phase that no count reaches. It means that some worker will never arrive.
const poisoned = 1 << 31

// reset prepares the barrier for a step. No worker may be in it.
func (b *barrier) reset() {
	b.arrived.Store(0)
	b.phase.value.Store(0)
}

// wait returns true once all workers have arrived, or false if the barrier is poisoned.
func (b *barrier) wait(w *Worker, spin time.Duration) bool {
	old := w.phase
	w.phase++
	if b.arrived.Add(1) == int32(w.Parts) {
		b.arrived.Store(0) // no worker arrives again before the phase changes
		w.pool.taken.Store(0)
		b.phase.set(w.phase, w.pool.workers)
		return true
	}
	return b.phase.await(w, old, spin) != poisoned
}

// poison makes all workers that wait, now or later, leave. Only a worker that has not arrived may call it; it
// therefore never races with the last arrival.
func (b *barrier) poison(workers []*Worker) { b.phase.set(poisoned, workers) }

package runtime

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// calmSpin and spinTime are how long a worker looks at a word before it parks: longer than the
// usual difference between two workers' shares of an epoch, and than choosing and printing a
// token take. Parking and waking take 100 to 220 µs in a virtual machine, and who waits for one
// that is being woken would park meanwhile and had to be woken in turn, epoch after epoch. So
// workers that have their processors to themselves wait longer than that. Beside a busy process
// it would cost a tenth of generation: the system soon gives a processor that is left to a
// worker that has to share the other one. Who has nothing to do burns no more than this once.
const (
	calmSpin = 300 * time.Microsecond
	spinTime = 100 * time.Microsecond
)

// clockPolls is how often the word is looked at between two looks at the clock: 0.5 to 2 µs,
// as a PAUSE takes 10 to 40 ns.
const clockPolls = 50

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

// await returns the word's value once it is no longer old. It spins for a while, if at all,
// before it parks.
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

// poll looks at the word for a time that is too short to be measured.
func (d *word) poll(old uint32) (v uint32, changed bool) {
	for range clockPolls {
		if v = d.value.Load(); v != old {
			return v, true
		}
		pause()
	}
	return v, false
}

// awaitLong is await for a wait that has lasted long enough to be measured. It parks at the time
// given, since processStart.
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
func (b *barrier) wait(w *Worker, spin time.Duration) bool {
	old := w.phase
	w.phase++
	if b.arrived.Add(1) == int32(w.Parts) {
		b.arrived.Store(0) // nobody arrives again before the phase changes
		w.pool.taken.Store(0)
		b.phase.set(w.phase, w.pool.workers)
		return true
	}
	return b.phase.await(w, old, spin) != poisoned
}

// poison makes all who wait, or will, leave. Only a worker that has not arrived may call
// it, so that it never races with a last arrival.
func (b *barrier) poison(workers []*Worker) { b.phase.set(poisoned, workers) }

package runtime

import (
	"sync"
	"sync/atomic"
	"time"
)

// Event is a counter on which queues and goroutines wait. Signal raises it to a given count, Await waits for a given
// count. Only one queue records an event, so it never counts down. The zero Event is ready for use.
type Event struct {
	reached atomic.Uint64
	mu      sync.Mutex
	changed sync.Cond // with mu; set by the first goroutine that waits
}

// Signal raises the event to n.
func (e *Event) Signal(n uint64) {
	e.mu.Lock()
	e.reached.Store(n)
	if e.changed.L != nil {
		e.changed.Broadcast()
	}
	e.mu.Unlock()
}

// AwaitSpinning is Await that polls for the time spin before it parks.
func (e *Event) AwaitSpinning(n uint64, spin time.Duration) {
	if !spinUntil(spin, func() bool { return e.Reached(n) }) {
		e.Await(n)
	}
}

// Await returns when the event has reached n.
func (e *Event) Await(n uint64) {
	if e.Reached(n) {
		return
	}
	e.mu.Lock()
	e.changed.L = &e.mu
	for e.reached.Load() < n {
		e.changed.Wait()
	}
	e.mu.Unlock()
}

// Reached reports whether the event has reached n.
func (e *Event) Reached(n uint64) bool { return e.reached.Load() >= n }

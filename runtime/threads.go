package runtime

import (
	"context"
	"slices"
	"strconv"
)

// threadsInUse returns the numbers of threads of all groups and of the host, in the order of targets, such as 8+8.
func (m *Model) threadsInUse() string {
	text := ""
	if m.devices != nil {
		for _, n := range m.devices.groups() {
			text += strconv.Itoa(n) + "+"
		}
	}
	return text + strconv.Itoa(m.Threads())
}

// SetThreads changes the number of workers for later steps of all sessions, with the meaning and the limits of
// Options.Threads; Threads returns the result. It waits for the step in progress. Results do not depend on the number.
func (m *Model) SetThreads(n int) error {
	if n < 0 {
		return inputError("%d threads: at least 1, or 0 for one per core", n)
	}
	if m.devices != nil {
		m.devices.setThreads(n)
	}
	return m.pool.resize(m.workers(n))
}

// resize changes the number of workers between two steps. Workers that are not needed stay parked.
func (p *pool) resize(n int) error {
	if err := p.queue.enter(context.Background(), newTicket()); err != nil {
		return err
	}
	defer p.queue.leave()
	if n > len(p.workers) {
		p.grow(n)
	}
	p.limit.Store(int32(n))
	return nil
}

// grow adds workers. The caller has the turn. Parked workers do not look at the slice, and the goroutines of the new
// workers are started by the first step that needs them.
func (p *pool) grow(n int) {
	workers := slices.Clone(p.workers)
	for i := len(workers); i < n; i++ {
		workers = append(workers, newWorker(p, i))
	}
	p.workers, p.scratch = workers, newArena(int64(n)*p.each)
}

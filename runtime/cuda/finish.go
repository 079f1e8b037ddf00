package cuda

import "github.com/ggmlc/ggmlc/runtime/gpu"

// finish waits for entries in order, and does what the host does after them.
func (q *queue) finish() {
	defer q.End()
	var e entry
	var reached mark
	for q.Oldest(&e) {
		q.complete(&e, reached)
		q.Pop()
		reached = e.Own.after
		if e.Own.frees {
			q.reuse(reached)
			reached = mark{}
		}
	}
}

// complete waits until an entry is done and does what the host does after it. reached is a mark that is known to be.
func (q *queue) complete(e *entry, reached mark) {
	d := q.device
	q.Follow(e)
	if e.Own.after != reached {
		if err := e.Own.after.reach(d); err != nil {
			first := q.Working()
			d.fail(&first, err)
			d.Die()
		}
	}
	if e.Own.copy != nil && !d.Dead() {
		gpu.Scatter(e.HostBytes(), e.Own.copy.pieces, e.Own.copy.staging.bytes)
	}
	if e.Ran && e.Works() && d.supervisor.Timeline != nil && !q.timed(e) {
		q.Span(e)
	}
	if e.Kind == gpu.RecordEntry {
		e.Event.Signal(e.Count)
	}
}

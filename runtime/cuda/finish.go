package cuda

import (
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// finish waits for entries in order, and does what the host does after them.
func (q *queue) finish() {
	defer close(q.ended)
	var e entry
	var reached mark
	for q.oldest(&e) {
		q.complete(&e, reached)
		reached = e.after
		d := q.device
		d.mu.Lock()
		if e.frees {
			reached = mark{}
			if e.after.event != nil {
				q.free = append(q.free, e.after)
			}
		}
		*q.at(q.done) = entry{}
		q.done++
		d.changed.Broadcast()
		d.mu.Unlock()
	}
}

// oldest waits until the oldest entry is issued and copies it. It returns false if the queue is closed and empty.
func (q *queue) oldest(e *entry) bool {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	for q.done == q.issued {
		if q.drained {
			return false
		}
		d.changed.Wait()
	}
	*e = *q.at(q.done)
	return true
}

// complete waits until an entry is done and does what the host does after it. reached is a mark that is known to be.
// Waits for other queues are repeated here, since what these queues copy to the host has to be there before later events of
// this queue are signalled.
func (q *queue) complete(e *entry, reached mark) {
	d := q.device
	if e.kind == wait && e.from != nil && e.from != q {
		q.follow(e.from, e.seq)
	}
	if e.after != reached {
		if err := e.after.reach(d); err != nil {
			d.mu.Lock()
			first := q.working(q.done, q.issued)
			d.mu.Unlock()
			d.fail(&first, err)
			d.die()
		}
	}
	if e.copy != nil && !d.dead.Load() {
		gpu.Scatter(gpu.HostBytes(e.block, e.transfer.Dst, e.transfer.Len()), e.copy.pieces, e.copy.staging.bytes)
	}
	if e.ran && e.works() && d.supervisor.Timeline != nil && !q.timed(e) {
		q.span(e)
	}
	if e.kind == record {
		e.event.Signal(e.count)
	}
}

// follow waits until an entry of another queue is done.
func (q *queue) follow(other *queue, seq uint64) {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	for other.done <= seq {
		d.changed.Wait()
	}
}

// span adds an entry to the timeline. It begins when it was issued or when the one before ended.
func (q *queue) span(e *entry) {
	if e.begin.Before(q.last) {
		e.begin = q.last
	}
	what, iteration := e.label()
	q.device.supervisor.Timeline.Add(q.id, what, iteration, e.block.Step, e.begin)
	q.last = time.Now()
}

// noWork is what errors name if a failed submission had neither commands nor transfers.
var noWork = entry{kind: transfer, transfer: runtime.Transfer{Label: &runtime.Label{What: "events"}}, block: new(runtime.Block)}

// working returns the first command or transfer from entry i to before entry end. With device.mu.
func (q *queue) working(i, end uint64) entry {
	for ; i < end; i++ {
		if e := q.at(i); e.works() {
			return *e
		}
	}
	return noWork
}

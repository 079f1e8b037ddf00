package cuda

import (
	"time"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// entry is an entry of a queue.
type entry = gpu.Entry[own]

// own is what the driver keeps with an entry.
type own struct {
	copy  *copying // of a transfer to the host; set when it is taken
	times *times   // nil if it has none
	after mark     // when the entry is done; set when it is issued. Entries that are issued together share it
	frees bool     // it is the last one that has the mark
}

// queue is a queue of the plan. Entries that were taken and are not issued are commands that wait to be launched
// together.
type queue struct {
	*gpu.Queue[own]
	device *device
	stream handle

	free []mark // that no entry has; with the lock of the device

	// Of the goroutine that submits.
	batch    []entry
	strands  strands
	began    time.Time // when the last submission began, if there is a timeline
	fetching mark
	args     [6]uintptr
}

// newQueue returns a queue. The context is current.
func (d *device) newQueue(q *gpu.Queue[own]) (*queue, error) {
	stream, err := d.newStream()
	return &queue{Queue: q, device: d, stream: stream, strands: strands{device: d, origin: stream}}, err
}

// call calls a function of the driver with arguments that are no addresses of Go's.
func (q *queue) call(f fn, args ...uintptr) result { return f.with(q.args[:copy(q.args[:], args)]) }

// newMark returns a mark that no entry has. The context is current.
func (q *queue) newMark() (mark, error) {
	d := q.device
	d.Lock()
	if n := len(q.free); n > 0 {
		m := q.free[n-1]
		q.free = q.free[:n-1]
		d.Unlock()
		return m, nil
	}
	d.Unlock()
	event, err := d.newEvent()
	return mark{event}, err
}

// reuse keeps a mark that no entry has any more for later ones.
func (q *queue) reuse(m mark) {
	if m.event == nil {
		return
	}
	q.device.Lock()
	q.free = append(q.free, m)
	q.device.Unlock()
}

package cuda

import (
	goruntime "runtime"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// Times of the device, for timelines. A graph that is captured while a timeline is wanted records an event before its
// first kernel and one after each kernel, on the strand of the kernel. They are nodes of the graph
// (CU_EVENT_RECORD_EXTERNAL). A transfer has an event before it and one after it. Events give the time from one to
// another, so that of the host is found from an event whose record the host waits for, the anchor.

// times are the events of a graph or a transfer. A nil times records nothing.
type times struct {
	device *device
	events []*event // the first one is before the work
	groups []group  // of kernels that may run at the same time; none for a transfer
}

// group is the names of kernels. Kernel i of all is done at event i+1.
type group []string

// recordExternal makes the record of an event a node of the graph that is captured. It is invalid elsewhere.
const recordExternal = 1

// newTimes returns the events of n kernels or transfers, or nil if there is no timeline. The context is current.
func (d *device) newTimes(n int) (*times, error) {
	if d.supervisor.Timeline == nil {
		return nil, nil
	}
	t := &times{device: d}
	for range 1 + n {
		e, err := d.makeEvent(withTimes)
		if err != nil {
			destroyEvents(d, t.events)
			return nil, err
		}
		t.events = append(t.events, e)
	}
	list := t.events
	goruntime.AddCleanup(t, release, d.own(func() { destroyEvents(d, list) }))
	return t, nil
}

func destroyEvents(d *device, list []*event) {
	for _, e := range list {
		d.eventDestroy.call(uintptr(e.handle))
	}
}

// capture records event i where a stream is captured.
func (t *times) capture(i int, stream handle) error {
	if t == nil {
		return nil
	}
	return t.device.eventRecordWithFlags.call(uintptr(t.events[i].handle), uintptr(stream), recordExternal).failed("cuEventRecordWithFlags")
}

// group notes a group of dispatches.
func (t *times) group(list []gpu.Dispatch) {
	if t == nil {
		return
	}
	var g group
	for i := range list {
		g = append(g, list[i].Kernel.Name)
	}
	t.groups = append(t.groups, g)
}

// record records event i after what a queue has submitted.
func (t *times) record(q *queue, i int) error {
	if t == nil {
		return nil
	}
	return q.call(q.device.eventRecord, uintptr(t.events[i].handle), uintptr(q.stream)).failed("cuEventRecord")
}

// elapsed returns the time from one event to a later one.
func (d *device) elapsed(from, to *event) (time.Duration, error) {
	ms := new(float32)
	r := d.eventElapsedTime.call(uintptr(unsafe.Pointer(ms)), uintptr(from.handle), uintptr(to.handle))
	return time.Duration(float64(*ms) * 1e6), r.failed("cuEventElapsedTime")
}

// read returns the times of all events, of which the first is at begin.
func (t *times) read(begin time.Time) ([]time.Time, error) {
	at := []time.Time{begin}
	for _, e := range t.events[1:] {
		since, err := t.device.elapsed(t.events[0], e)
		if err != nil {
			return nil, err
		}
		at = append(at, begin.Add(since))
	}
	return at, nil
}

// kernels returns the kernels with their times. A group begins when the one before it has ended.
func (t *times) kernels(at []time.Time, c *runtime.Command) (list []runtime.Timed) {
	begin, end := at[0], at[0]
	for _, g := range t.groups {
		for _, name := range g {
			k := runtime.Timed{Kernel: name, Begin: begin, End: at[1+len(list)]}
			if len(list) < len(c.Nodes) {
				k.Node = c.Nodes[len(list)]
			}
			end = latest(end, k.End)
			list = append(list, k)
		}
		begin = end
	}
	return list
}

func latest(list ...time.Time) (last time.Time) {
	for _, t := range list {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// timed adds an entry that has ended to the timeline, with the times of the device. It returns false if there are none.
func (q *queue) timed(e *entry) bool {
	d, t := q.device, e.Own.times
	if t == nil || d.Dead() {
		return false
	}
	defer d.enter()()
	begin, err := d.clock.time(d, t.events[0], e.Begin)
	if err != nil {
		return false
	}
	at, err := t.read(begin)
	if err != nil {
		return false
	}
	d.clock.shift(q.Fit(e, at))
	var kernels []runtime.Timed
	if e.Kind == gpu.RunEntry {
		kernels = t.kernels(at, e.Command)
	}
	q.Timed(e, at[0], latest(at...), kernels)
	return true
}

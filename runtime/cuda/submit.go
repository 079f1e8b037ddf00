package cuda

import "github.com/ggmlc/ggmlc/runtime/gpu"

// maxBatch is the number of commands that become one graph. The commands of a step without a copy among them are one.
const maxBatch = 1024

// work takes entries until the queue is closed and empty.
func (q *queue) work() {
	var e entry
	for q.First(&e) {
		if e.Kind == gpu.RunEntry {
			q.collect(&e)
			continue
		}
		q.launch()
		switch e.Kind {
		case gpu.TransferEntry:
			q.begin(&e)
		case gpu.WaitEntry:
			q.wait(&e)
		case gpu.RecordEntry:
			e.Ran = true
		}
		q.Take(&e)
		q.issue()
	}
	q.launch()
	q.Drain()
}

// collect adds a command to the batch. It is launched at once for a timeline, and where the block changes.
func (q *queue) collect(e *entry) {
	if len(q.batch) > 0 && q.batch[0].Block != e.Block {
		q.launch()
	}
	q.batch = append(q.batch, *e)
	q.Take(e)
	if len(q.batch) == maxBatch || q.device.supervisor.Timeline != nil {
		q.launch()
	}
}

// launch submits the batch and issues its entries.
func (q *queue) launch() {
	if len(q.batch) == 0 {
		return
	}
	d := q.device
	q.began = d.supervisor.Timeline.Now()
	if !d.supervisor.Failed() && !d.Dead() {
		leave := d.enter()
		times, err := d.bound(q.batch[0].Block).launch(q, q.batch)
		leave()
		if err != nil {
			d.fail(&q.batch[0], err)
		}
		q.ran(err == nil, times)
	}
	clear(q.batch)
	q.batch = q.batch[:0]
	q.issue()
}

// ran notes whether the entries that are not issued do anything, and the times of their graph, which is of one entry
// then.
func (q *queue) ran(on bool, t *times) {
	q.device.Lock()
	defer q.device.Unlock()
	q.Taken(func(_ uint64, e *entry) { e.Ran, e.Own.times = on, t })
}

// begin submits a transfer, unless some device has failed already.
func (q *queue) begin(e *entry) {
	d := q.device
	if d.supervisor.Failed() || d.Dead() {
		return
	}
	e.Ran, q.began = true, d.supervisor.Timeline.Now()
	if err := q.copy(e); err != nil {
		e.Ran, e.Own.copy, e.Own.times = false, nil, nil
		d.fail(e, err)
	}
}

// issue marks the entries that were taken.
func (q *queue) issue() {
	d := q.device
	m := q.mark()
	d.Lock()
	defer d.Unlock()
	q.Issue(func(i uint64, e *entry) {
		e.Own.after, e.Own.frees = m, i+1 == q.Next
		if e.Works() {
			e.Begin = q.began
		}
	})
}

// mark records an event after what was submitted, if any of the entries that were taken needs one.
func (q *queue) mark() mark {
	d := q.device
	if d.Dead() || !q.needsMark() {
		return mark{}
	}
	defer d.enter()()
	m, err := q.newMark()
	if err == nil {
		d.touch()
		err = q.call(d.eventRecord, uintptr(m.event.handle), uintptr(q.stream)).failed("cuEventRecord")
	}
	if err != nil {
		e := q.Working()
		d.fail(&e, err)
		d.Die()
		return mark{}
	}
	return m
}

func (q *queue) needsMark() (needs bool) {
	q.device.Lock()
	defer q.device.Unlock()
	q.Taken(func(_ uint64, e *entry) { needs = needs || e.Ran })
	return needs
}

// wait delays what is taken later.
func (q *queue) wait(e *entry) {
	switch {
	case e.From == q.Queue: // in order anyway
	case e.From != nil:
		if err := q.follows(e.From, e.Seq); err != nil {
			q.device.failSomewhere(err)
		}
	default:
		e.Event.Await(e.Count)
	}
}

// follows makes the stream wait for an entry of another queue, once that is issued.
func (q *queue) follows(other *gpu.Queue[own], seq uint64) error {
	d := q.device
	defer d.enter()()
	d.Lock()
	defer d.Unlock()
	for other.Issued <= seq {
		d.Changed.Wait()
	}
	if other.Done > seq || d.Dead() {
		return nil
	}
	m := other.At(seq).Own.after
	if m.event == nil {
		return nil
	}
	return q.call(d.streamWaitEvent, uintptr(q.stream), uintptr(m.event.handle), 0).failed("cuStreamWaitEvent")
}

package cuda

// maxBatch is the number of commands that become one graph. The commands of a step without a copy among them are one.
const maxBatch = 1024

// work takes entries until the queue is closed and empty.
func (q *queue) work() {
	var e entry
	for q.first(&e) {
		if e.kind == run {
			q.collect(&e)
			continue
		}
		q.launch()
		switch e.kind {
		case transfer:
			q.begin(&e)
		case wait:
			q.wait(&e)
		case record:
			e.ran = true
		}
		q.take(&e)
		q.issue()
	}
	q.launch()
	d := q.device
	d.mu.Lock()
	q.drained = true
	d.changed.Broadcast()
	d.mu.Unlock()
}

// first waits for the next entry and copies it. It returns false if the queue is closed and empty.
func (q *queue) first(e *entry) bool {
	d := q.device
	d.mu.Lock()
	defer d.mu.Unlock()
	for q.next == q.tail {
		if q.closed {
			return false
		}
		d.changed.Wait()
	}
	*e = *q.at(q.next)
	return true
}

// take notes what is known about the next entry, which is not issued yet.
func (q *queue) take(e *entry) {
	q.device.mu.Lock()
	*q.at(q.next) = *e
	q.next++
	q.device.mu.Unlock()
}

// collect adds a command to the batch. It is launched at once for a timeline, and where the block changes.
func (q *queue) collect(e *entry) {
	if len(q.batch) > 0 && q.batch[0].block != e.block {
		q.launch()
	}
	q.batch = append(q.batch, *e)
	q.take(e)
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
	if !d.supervisor.Failed() && !d.dead.Load() {
		leave := d.enter()
		times, err := d.bound(q.batch[0].block).launch(q, q.batch)
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

// ran notes whether the entries that are not issued do anything, and the times of their graph, which is of one entry then.
func (q *queue) ran(on bool, t *times) {
	q.device.mu.Lock()
	defer q.device.mu.Unlock()
	for i := q.issued; i < q.next; i++ {
		e := q.at(i)
		e.ran, e.times = on, t
	}
}

// begin submits a transfer, unless some device has failed already.
func (q *queue) begin(e *entry) {
	d := q.device
	if d.supervisor.Failed() || d.dead.Load() {
		return
	}
	e.ran, q.began = true, d.supervisor.Timeline.Now()
	if err := q.copy(e); err != nil {
		e.ran, e.copy, e.times = false, nil, nil
		d.fail(e, err)
	}
}

// issue marks the entries that were taken.
func (q *queue) issue() {
	d := q.device
	m := q.mark()
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; q.issued < q.next; q.issued++ {
		e := q.at(q.issued)
		e.after, e.frees = m, q.issued+1 == q.next
		if e.works() {
			e.begin = q.began
		}
	}
	d.changed.Broadcast()
}

// mark records an event after what was submitted, if any of the entries that were taken needs one.
func (q *queue) mark() mark {
	d := q.device
	if d.dead.Load() || !q.needsMark() {
		return mark{}
	}
	defer d.enter()()
	m, err := q.newMark()
	if err == nil {
		d.touch()
		err = q.call(d.eventRecord, uintptr(m.event.handle), uintptr(q.stream)).failed("cuEventRecord")
	}
	if err != nil {
		d.mu.Lock()
		e := q.working(q.done, q.next)
		d.mu.Unlock()
		d.fail(&e, err)
		d.die()
		return mark{}
	}
	return m
}

func (q *queue) needsMark() bool {
	q.device.mu.Lock()
	defer q.device.mu.Unlock()
	for i := q.issued; i < q.next; i++ {
		if q.at(i).ran {
			return true
		}
	}
	return false
}

// wait delays what is taken later.
func (q *queue) wait(e *entry) {
	switch {
	case e.from == q: // in order anyway
	case e.from != nil:
		if err := q.follows(e.from, e.seq); err != nil {
			q.device.failSomewhere(err)
		}
	default:
		e.event.Await(e.count)
	}
}

// follows makes the stream wait for an entry of another queue, once that is issued.
func (q *queue) follows(other *queue, seq uint64) error {
	d := q.device
	defer d.enter()()
	d.mu.Lock()
	defer d.mu.Unlock()
	for other.issued <= seq {
		d.changed.Wait()
	}
	if other.done > seq || d.dead.Load() {
		return nil
	}
	m := other.at(seq).after
	if m.event == nil {
		return nil
	}
	return q.call(d.streamWaitEvent, uintptr(q.stream), uintptr(m.event.handle), 0).failed("cuStreamWaitEvent")
}

package cuda

import (
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// copyKey is a transfer by what does not change from step to step.
type copyKey struct {
	queue     *queue
	label     *runtime.Label
	iteration int
	dst, src  int // numbers of memories
}

// copying is what is kept for a transfer. Bytes from or to the host go through pinned memory of its own, in which the
// pieces are contiguous.
type copying struct {
	cut     runtime.Transfer // into pieces; zero before the first time
	pieces  []gpu.Piece
	staging *pinned
	index   *pinned // of picks whose index is on the device
	times   *times  // nil without a timeline
	seq     uint64  // one more than the number of the last entry that used it
}

// copy submits a transfer.
func (q *queue) copy(e *entry) error {
	t := &e.Transfer
	if t.Len() == 0 {
		return nil
	}
	if err := gpu.CheckSpans(t, e.Block); err != nil {
		return err
	}
	c := q.copying(e)
	if err := q.cut(c, e); err != nil || len(c.pieces) == 0 {
		return err
	}
	c.seq = q.Next + 1
	o := q.device.bound(e.Block)
	from, to := o.staged(e.Block, t.Src, t.Reach()), o.staged(e.Block, t.Dst, t.Len())
	if from != nil && to != nil {
		return errors.New("a transfer within the memory of the host, which is no work for the device")
	}
	if from != nil {
		q.settle(from)
	}
	q.device.touch()
	defer q.device.enter()()
	if from != nil || to != nil {
		if err := c.stage(q.device, gpu.Total(c.pieces)); err != nil {
			return err
		}
	}
	if from != nil {
		gpu.Gather(c.staging.bytes, c.pieces, from)
	}
	if to != nil {
		e.Own.copy = c
	}
	return q.timeCopy(c, e, q.direction(from != nil, to != nil))
}

// direction returns the function that submits the copies of a transfer.
func (q *queue) direction(fromHost, toHost bool) func(*copying, *entry) error {
	switch {
	case fromHost:
		return q.toDevice
	case toHost:
		return q.toHost
	}
	return q.within
}

// timeCopy submits copies, between two events if there is a timeline.
func (q *queue) timeCopy(c *copying, e *entry, submit func(*copying, *entry) error) (err error) {
	if c.times == nil {
		if c.times, err = q.device.newTimes(1); err != nil {
			return err
		}
	}
	if err := c.times.record(q, 0); err != nil {
		return err
	}
	if err := submit(c, e); err != nil {
		return err
	}
	e.Own.times = c.times
	return c.times.record(q, 1)
}

// copying returns what the queue keeps for a transfer, when its last use is over.
func (q *queue) copying(e *entry) *copying {
	o, t := q.device.bound(e.Block), &e.Transfer
	key := copyKey{q, t.Label, t.Iteration, t.Dst.Memory, t.Src.Memory}
	o.lock.Lock()
	c := o.copies[key]
	if c == nil {
		c = new(copying)
		o.copies[key] = c
	}
	o.lock.Unlock()
	d := q.device
	d.Lock()
	defer d.Unlock()
	for q.Done < c.seq {
		d.Changed.Wait()
	}
	return c
}

// cut cuts a transfer into pieces, unless that was done before with the same parameters.
func (q *queue) cut(c *copying, e *entry) (err error) {
	t := &e.Transfer
	if t.Picks == 0 {
		if c.cut != *t {
			c.cut, c.pieces = *t, gpu.Box(c.pieces[:0], t)
		}
		return nil
	}
	c.cut = runtime.Transfer{}
	index, err := q.fetch(c, e)
	if err == nil {
		c.pieces, err = gpu.Picked(c.pieces[:0], t, index)
	}
	return err
}

// stage makes the pinned memory at least n bytes large. The context is current.
func (c *copying) stage(d *device, n int) (err error) {
	if c.staging == nil || len(c.staging.bytes) < n {
		c.staging, err = d.pin(n + n/4) // sizes often grow by a little from step to step
	}
	return err
}

// staged returns the n bytes at a span if they are memory of the host that the device does not address, and nil
// otherwise.
func (o *bound) staged(b *runtime.Block, s runtime.Span, n int) []byte {
	if o.shared[s.Memory] != nil {
		return nil
	}
	return gpu.HostBytes(b, s, n)
}

// side returns the address of one side of a transfer on the device.
func (o *bound) side(b *runtime.Block, s runtime.Span) (uintptr, error) {
	m := o.shared[s.Memory]
	if m == nil {
		m, _ = b.Memory[s.Memory].(*memory)
	}
	if m != nil && m.owner == o.device {
		return uintptr(m.address) + uintptr(s.Offset), nil
	}
	return 0, fmt.Errorf("memory %d is of another device: copy through the memory of the host", s.Memory)
}

// toDevice copies the pieces from the pinned memory. Successive ones that are contiguous on the device are one copy.
func (q *queue) toDevice(c *copying, e *entry) error {
	dst, err := q.device.bound(e.Block).side(e.Block, e.Transfer.Dst)
	at, from := 0, 0
	for i, p := range c.pieces {
		if at += p.N; err != nil || i+1 < len(c.pieces) && c.pieces[i+1].Dst == p.Dst+p.N {
			continue
		}
		first := p.Dst + p.N - (at - from)
		err = q.call(q.device.copyToDevice, dst+uintptr(first), c.staging.address+uintptr(from), uintptr(at-from), uintptr(q.stream)).failed("cuMemcpyHtoDAsync")
		from = at
	}
	return err
}

// toHost copies the pieces to the pinned memory. Successive ones that are contiguous on the device are one copy.
func (q *queue) toHost(c *copying, e *entry) error {
	src, err := q.device.bound(e.Block).side(e.Block, e.Transfer.Src)
	at, from := 0, 0
	for i, p := range c.pieces {
		if at += p.N; err != nil || i+1 < len(c.pieces) && c.pieces[i+1].Src == p.Src+p.N {
			continue
		}
		first := p.Src + p.N - (at - from)
		err = q.call(q.device.copyToHost, c.staging.address+uintptr(from), src+uintptr(first), uintptr(at-from), uintptr(q.stream)).failed("cuMemcpyDtoHAsync")
		from = at
	}
	return err
}

// within copies the pieces between memories of the device.
func (q *queue) within(c *copying, e *entry) error {
	o := q.device.bound(e.Block)
	dst, err := o.side(e.Block, e.Transfer.Dst)
	if err != nil {
		return err
	}
	src, err := o.side(e.Block, e.Transfer.Src)
	for _, p := range c.pieces {
		if err == nil {
			err = q.call(q.device.copyWithin, dst+uintptr(p.Dst), src+uintptr(p.Src), uintptr(p.N), uintptr(q.stream)).failed("cuMemcpyDtoDAsync")
		}
	}
	return err
}

// settle waits until no transfer that is issued to any queue still has to write to the bytes, which are of the host.
// Transfers of other queues that are not issued come later by the plan.
func (q *queue) settle(bytes []byte) {
	d := q.device
	d.Lock()
	defer d.Unlock()
	for {
		other, seq := d.Pending(nil, func(e *entry) bool { return e.Own.copy != nil && gpu.Overlap(bytes, e.HostBytes()) })
		if other == nil {
			return
		}
		for other.Done <= seq {
			d.Changed.Wait()
		}
	}
}

// fetch returns the index of a transfer's picks. If it is on the device, that takes a copy and a wait.
func (q *queue) fetch(c *copying, e *entry) ([]byte, error) {
	d, t := q.device, &e.Transfer
	o, n := d.bound(e.Block), gpu.IndexBytes*t.Picks
	if index := o.staged(e.Block, t.Index, n); index != nil {
		q.settle(index)
		return index, nil
	}
	src, err := o.side(e.Block, t.Index)
	if err != nil {
		return nil, err
	}
	if err := q.fetched(c, src, n); err != nil {
		return nil, err
	}
	err = q.fetching.reach(d)
	switch {
	case err != nil:
		d.Die()
		return nil, err
	case d.Dead():
		return nil, errDead // the copy may still be under way
	}
	return c.index.bytes[:n], nil
}

// fetched submits the copy of an index, and marks its end.
func (q *queue) fetched(c *copying, src uintptr, n int) (err error) {
	d := q.device
	defer d.enter()()
	if c.index == nil || len(c.index.bytes) < n {
		if c.index, err = d.pin(n); err != nil {
			return err
		}
	}
	if q.fetching.event == nil {
		if q.fetching.event, err = d.newEvent(); err != nil {
			return err
		}
	}
	if err := q.call(d.copyToHost, c.index.address, src, uintptr(n), uintptr(q.stream)).failed("cuMemcpyDtoHAsync"); err != nil {
		return err
	}
	return q.call(d.eventRecord, uintptr(q.fetching.event.handle), uintptr(q.stream)).failed("cuEventRecord")
}

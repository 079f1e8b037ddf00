package vulkan

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

// copying is a recorded transfer. Bytes from or to the host go through staging memory of its own, in which the pieces
// are contiguous.
type copying struct {
	recorded runtime.Transfer // zero before the first
	buffer   handle
	times    *times
	pieces   []gpu.Piece
	regions  []vkBufferCopy
	staging  *memory
	index    *copying // of picks whose index is on the device
	seq      uint64   // one more than the number of the last entry that used it
}

// copy adds a transfer to the batch.
func (q *queue) copy(e *entry) error {
	t := &e.Transfer
	if t.Len() == 0 {
		return nil
	}
	if err := gpu.CheckSpans(t, e.Block); err != nil {
		return err
	}
	c := q.copying(e)
	if err := q.cut(c, e); err != nil {
		return err
	}
	if len(c.pieces) == 0 {
		return nil
	}
	o := q.device.bound(e.Block)
	if from := o.staged(e.Block, t.Src, t.Reach()); from != nil {
		q.settle(from)
		gpu.Gather(c.staging.mapped, c.pieces, from)
	}
	if o.staged(e.Block, t.Dst, t.Len()) != nil {
		e.Own.copy = c
	}
	c.seq = q.Next + 1
	e.Own.times = c.times
	q.batch.buffers = append(q.batch.buffers, c.buffer)
	return nil
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
	q.until(c.seq)
	return c
}

// until waits until the entries of the queue before seq are done.
func (q *queue) until(seq uint64) {
	d := q.device
	d.Lock()
	defer d.Unlock()
	if q.Issued < seq {
		d.Unlock()
		q.flush()
		d.Lock()
	}
	for q.Done < seq {
		d.Changed.Wait()
	}
}

// cut cuts a transfer into pieces and records it, unless that was done before with the same parameters.
func (q *queue) cut(c *copying, e *entry) error {
	t := &e.Transfer
	if t.Picks == 0 && c.recorded == *t {
		return nil
	}
	c.recorded = runtime.Transfer{}
	var err error
	if t.Picks == 0 {
		c.pieces = gpu.Box(c.pieces[:0], t)
	} else {
		var index []byte
		if index, err = q.fetch(c, e); err == nil {
			c.pieces, err = gpu.Picked(c.pieces[:0], t, index)
		}
	}
	if err == nil {
		err = q.record(c, e)
	}
	if err == nil {
		c.recorded = *t
	}
	return err
}

// record records a transfer that is cut into pieces.
func (q *queue) record(c *copying, e *entry) error {
	d, t := q.device, &e.Transfer
	o := d.bound(e.Block)
	dst, dstHost, err := o.side(e.Block, t.Dst)
	if err != nil {
		return err
	}
	src, srcHost, err := o.side(e.Block, t.Src)
	if err != nil {
		return err
	}
	if dstHost && srcHost {
		return errors.New("a transfer within the memory of the host, which is no work for the device")
	}
	if dstHost || srcHost {
		if err := c.stage(d, gpu.Total(c.pieces)); err != nil {
			return err
		}
	}
	c.place(t, dst, src)
	switch {
	case dstHost:
		dst = c.staging
	case srcHost:
		src = c.staging
	}
	return c.commands(o, dst, src, dstHost || o.shared[t.Dst.Memory] != nil)
}

// place makes the regions of all pieces. In the staging memory, which takes the place of a side that is nil, they are
// contiguous.
func (c *copying) place(t *runtime.Transfer, dst, src *memory) {
	c.regions = c.regions[:0]
	at := 0
	for _, p := range c.pieces {
		c.regions = append(c.regions, vkBufferCopy{srcOffset: src.offset(t.Src.Offset+p.Src, at), dstOffset: dst.offset(t.Dst.Offset+p.Dst, at), size: uint64(p.N)})
		at += p.N
	}
}

// offset returns the offset in its buffer of byte i of a memory, or of byte staged of the staging memory if m is nil.
func (m *memory) offset(i, staged int) uint64 {
	if m == nil {
		return uint64(staged)
	}
	return m.skip + uint64(i)
}

// side returns the memory of one side of a transfer, or true if it is of the host and the device does not address it.
func (o *bound) side(b *runtime.Block, s runtime.Span) (*memory, bool, error) {
	if m := o.shared[s.Memory]; m != nil {
		return m, false, nil
	}
	switch m := b.Memory[s.Memory].(type) {
	case runtime.HostMemory:
		return nil, true, nil
	case *memory:
		if m.owner == o.device {
			return m, false, nil
		}
	}
	return nil, false, fmt.Errorf("memory %d is of another device: copy through the memory of the host", s.Memory)
}

// staged returns the n bytes at a span if they are memory of the host that the device does not address, and nil
// otherwise.
func (o *bound) staged(b *runtime.Block, s runtime.Span, n int) []byte {
	if o.shared[s.Memory] != nil {
		return nil
	}
	return gpu.HostBytes(b, s, n)
}

// stage makes the staging memory at least n bytes large.
func (c *copying) stage(d *device, n int) (err error) {
	if c.staging == nil || c.staging.size < int64(n) {
		c.staging, err = d.staging(int64(n + n/4)) // sizes often grow by a little from step to step
	}
	return err
}

// commands records the copies of all regions.
func (c *copying) commands(o *bound, dst, src *memory, toHost bool) error {
	d := o.device
	o.lock.Lock()
	defer o.lock.Unlock()
	if c.buffer == 0 {
		h, err := d.newCommandBuffer(o.pool)
		if err != nil {
			return err
		}
		c.buffer = h
	}
	if err := d.begin(c.buffer); err != nil {
		return err
	}
	if err := c.time(o); err != nil {
		return err
	}
	c.regions = mergeRegions(c.regions)
	d.cmdCopyBuffer.call(uintptr(c.buffer), uintptr(src.buffer), uintptr(dst.buffer), uintptr(len(c.regions)), uintptr(address(c.regions)))
	c.times.after(c.buffer)
	if toHost {
		d.barrier(c.buffer, stageTransfer, accessTransferWrite, stageHost, accessHostRead)
	}
	return d.end(c.buffer)
}

// mergeRegions joins successive regions that are contiguous on both sides.
func mergeRegions(list []vkBufferCopy) []vkBufferCopy {
	out := list[:1]
	for _, r := range list[1:] {
		if l := &out[len(out)-1]; l.srcOffset+l.size == r.srcOffset && l.dstOffset+l.size == r.dstOffset {
			l.size += r.size
			continue
		}
		out = append(out, r)
	}
	return out
}

// scatter copies the pieces from the staging memory to memory of the host.
func (c *copying) scatter(b *runtime.Block) {
	t := &c.recorded
	gpu.Scatter(gpu.HostBytes(b, t.Dst, t.Len()), c.pieces, c.staging.mapped)
}

// settle waits until no transfer that is submitted to any queue still has to write to the bytes, which are of the host.
// Transfers of other queues that are not submitted come later by the plan.
func (q *queue) settle(bytes []byte) {
	d := q.device
	d.Lock()
	defer d.Unlock()
	for {
		other, seq := d.Pending(q.Queue, func(e *entry) bool { return e.Own.copy != nil && gpu.Overlap(bytes, e.HostBytes()) })
		if other == nil {
			return
		}
		if other == q.Queue && q.Issued <= seq {
			d.Unlock()
			q.flush()
			d.Lock()
		}
		for other.Done <= seq {
			d.Changed.Wait()
		}
	}
}

// fetch returns the index of a transfer's picks. If it is on the device, that takes a submission and a wait.
func (q *queue) fetch(c *copying, e *entry) ([]byte, error) {
	d, t := q.device, &e.Transfer
	o := d.bound(e.Block)
	n := gpu.IndexBytes * t.Picks
	if index := o.staged(e.Block, t.Index, n); index != nil {
		q.settle(index)
		return index, nil
	}
	src, _, err := o.side(e.Block, t.Index)
	if err != nil {
		return nil, err
	}
	if c.index == nil {
		c.index = new(copying)
	}
	x := c.index
	if err := x.stage(d, n); err != nil {
		return nil, err
	}
	x.regions = append(x.regions[:0], vkBufferCopy{srcOffset: src.offset(t.Index.Offset, 0), size: uint64(n)})
	if err := x.commands(o, x.staging, src, true); err != nil {
		return nil, err
	}
	q.batch.buffers = append(q.batch.buffers, x.buffer)
	q.flush()
	if err := q.fetching.reach(d, q.signalled); err != nil {
		d.Die()
		return nil, err
	}
	return x.staging.mapped[:n], nil
}

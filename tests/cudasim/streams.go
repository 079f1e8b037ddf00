//go:build linux

package cudasim

import "slices"

// stream runs operations in order.
type stream struct {
	queue   []operation
	running int // operations that are not done
	closed  bool
	capture *graph // that gets the operations in place of the stream
}

// operation is work of a stream. It returns the failure of the device.
type operation func() uint32

// graph is a list of operations.
type graph struct{ list []operation }

// executable is a graph that can be launched.
type executable struct {
	list    []operation
	running int
}

// event counts its records, and those that are done.
type event struct{ recorded, done int }

func (d *Driver) StreamCreate(to *uintptr, _ uint32) uintptr {
	r := d.beginIn("cuStreamCreate")
	if r == success {
		s := new(stream)
		*to = uintptr(d.add(s))
		go d.run(s)
	}
	return d.end(r)
}

// run runs the operations of a stream.
func (d *Driver) run(s *stream) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		for len(s.queue) == 0 {
			if s.closed {
				return
			}
			d.changed.Wait()
		}
		op := s.queue[0]
		s.queue = s.queue[1:]
		if d.sticky == success {
			d.mu.Unlock()
			r := op()
			d.mu.Lock()
			if d.sticky == success {
				d.sticky = r
			}
		}
		d.running--
		s.running--
		d.changed.Broadcast()
	}
}

// submit appends an operation to a stream, or to the graph that it captures. With mu.
func (d *Driver) submit(call string, h uintptr, op operation) uint32 {
	s, ok := object[*stream](d, call, h)
	if d.Hang != nil && d.Hang(call) {
		op = d.forever
	}
	switch {
	case !ok:
		return invalidHandle
	case s.capture != nil:
		s.capture.list = append(s.capture.list, op)
	default:
		s.queue = append(s.queue, op)
		d.running++
		s.running++
		d.changed.Broadcast()
	}
	return success
}

// forever is work that has no end.
func (d *Driver) forever() uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.stop.Load() {
		d.changed.Wait()
	}
	return success
}

func (d *Driver) StreamDestroy(h uintptr) uintptr {
	r := d.beginIn("cuStreamDestroy")
	if r == success {
		if s, ok := object[*stream](d, "cuStreamDestroy", h); ok {
			s.closed = true
			d.changed.Broadcast()
			delete(d.objects, uint64(h))
		}
	}
	return d.end(r)
}

func (d *Driver) StreamQuery(h uintptr) uintptr {
	r := d.beginIn("cuStreamQuery")
	if r == success {
		s, ok := object[*stream](d, "cuStreamQuery", h)
		switch {
		case !ok:
			r = invalidHandle
		case s.running > 0:
			r = notReady
		}
	}
	return d.end(r)
}

func (d *Driver) EventCreate(to *uintptr, _ uint32) uintptr {
	r := d.beginIn("cuEventCreate")
	if r == success {
		*to = uintptr(d.add(new(event)))
	}
	return d.end(r)
}

func (d *Driver) EventDestroy(h uintptr) uintptr {
	r := d.beginIn("cuEventDestroy")
	if r == success {
		if _, ok := object[*event](d, "cuEventDestroy", h); !ok {
			r = invalidHandle
		}
		delete(d.objects, uint64(h))
	}
	return d.end(r)
}

func (d *Driver) EventRecord(h, on uintptr) uintptr {
	r := d.beginIn("cuEventRecord")
	if r != success {
		return d.end(r)
	}
	e, ok := object[*event](d, "cuEventRecord", h)
	if !ok {
		return d.end(invalidHandle)
	}
	e.recorded++
	n := e.recorded
	return d.end(d.submit("cuEventRecord", on, func() uint32 {
		d.mu.Lock()
		defer d.mu.Unlock()
		e.done = n
		return success
	}))
}

func (d *Driver) EventQuery(h uintptr) uintptr {
	r := d.beginIn("cuEventQuery")
	if r != success {
		return d.end(r)
	}
	e, ok := object[*event](d, "cuEventQuery", h)
	switch {
	case !ok:
		r = invalidHandle
	case e.recorded == 0:
		d.problem("cuEventQuery of an event that was not recorded")
	case e.done < e.recorded:
		r = notReady
	}
	return d.end(r)
}

func (d *Driver) StreamWaitEvent(on, h uintptr, _ uint32) uintptr {
	r := d.beginIn("cuStreamWaitEvent")
	if r != success {
		return d.end(r)
	}
	e, ok := object[*event](d, "cuStreamWaitEvent", h)
	if !ok {
		return d.end(invalidHandle)
	}
	if e.recorded == 0 {
		d.problem("cuStreamWaitEvent for an event that was not recorded")
	}
	n := e.recorded
	return d.end(d.submit("cuStreamWaitEvent", on, func() uint32 {
		d.mu.Lock()
		defer d.mu.Unlock()
		for e.done < n && d.sticky == success {
			d.changed.Wait()
		}
		return success
	}))
}

func (d *Driver) StreamBeginCapture(h uintptr, _ uint32) uintptr {
	r := d.beginIn("cuStreamBeginCapture")
	if r != success {
		return d.end(r)
	}
	s, ok := object[*stream](d, "cuStreamBeginCapture", h)
	switch {
	case !ok:
		r = invalidHandle
	case s.capture != nil:
		d.problem("a stream is captured twice")
		r = captureInvalidated
	default:
		s.capture = new(graph)
	}
	return d.end(r)
}

func (d *Driver) StreamEndCapture(h uintptr, to *uintptr) uintptr {
	r := d.beginIn("cuStreamEndCapture")
	s, ok := object[*stream](d, "cuStreamEndCapture", h)
	switch {
	case r != success:
		if ok {
			s.capture = nil // it ends even so
		}
	case !ok:
		r = invalidHandle
	case s.capture == nil:
		d.problem("cuStreamEndCapture without a begin")
		r = captureInvalidated
	default:
		*to = uintptr(d.add(s.capture))
		s.capture = nil
	}
	return d.end(r)
}

func (d *Driver) GraphInstantiateWithFlags(to *uintptr, h uintptr, _ uint64) uintptr {
	r := d.beginIn("cuGraphInstantiateWithFlags")
	if r != success {
		return d.end(r)
	}
	g, ok := object[*graph](d, "cuGraphInstantiateWithFlags", h)
	if !ok {
		return d.end(invalidHandle)
	}
	*to = uintptr(d.add(&executable{list: slices.Clone(g.list)}))
	return d.end(success)
}

func (d *Driver) GraphDestroy(h uintptr) uintptr {
	r := d.beginIn("cuGraphDestroy")
	if r == success {
		if _, ok := object[*graph](d, "cuGraphDestroy", h); !ok {
			r = invalidHandle
		}
		delete(d.objects, uint64(h))
	}
	return d.end(r)
}

func (d *Driver) GraphExecDestroy(h uintptr) uintptr {
	r := d.beginIn("cuGraphExecDestroy")
	if r == success {
		x, ok := object[*executable](d, "cuGraphExecDestroy", h)
		if !ok {
			r = invalidHandle
		} else if x.running > 0 {
			d.problem("cuGraphExecDestroy of a graph that runs")
		}
		delete(d.objects, uint64(h))
	}
	return d.end(r)
}

func (d *Driver) GraphLaunch(h, on uintptr) uintptr {
	r := d.beginIn("cuGraphLaunch")
	if r != success {
		return d.end(r)
	}
	x, ok := object[*executable](d, "cuGraphLaunch", h)
	if !ok {
		return d.end(invalidHandle)
	}
	x.running++
	return d.end(d.submit("cuGraphLaunch", on, func() uint32 {
		r := uint32(success)
		for _, op := range x.list {
			if r == success {
				r = op()
			}
		}
		d.mu.Lock()
		x.running--
		d.mu.Unlock()
		return r
	}))
}

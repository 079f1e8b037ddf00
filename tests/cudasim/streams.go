//go:build linux

package cudasim

import (
	"slices"
	"time"
)

// stream runs operations in order.
type stream struct {
	queue   []operation
	running int // operations that are not done
	closed  bool

	capture *capture // that gets the operations in place of the stream
	after   []int    // nodes of the capture that the next one follows
}

// operation is work of a stream. It returns the failure of the device.
type operation func() uint32

// event counts its records, and the records that are done. An event that was last recorded in a capture represents
// nodes of the capture.
type event struct {
	recorded, done int
	timing         bool
	at             time.Time // of the last record that is done
	capture        *capture
	after          []int
}

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
		return s.capture.add(s, op)
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
			if s.capture != nil {
				d.problem("cuStreamDestroy of a stream that is captured")
			}
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
		case s.capture != nil:
			d.problem("cuStreamQuery of a stream that is captured")
			s.capture.invalid = true
			r = captureUnsupported
		case s.running > 0:
			r = notReady
		}
	}
	return d.end(r)
}

// withoutTiming is CU_EVENT_DISABLE_TIMING.
const withoutTiming = 2

func (d *Driver) EventCreate(to *uintptr, flags uint32) uintptr {
	r := d.beginIn("cuEventCreate")
	if r == success {
		*to = uintptr(d.add(&event{timing: flags&withoutTiming == 0}))
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
	return d.end(d.record("cuEventRecord", h, on, false))
}

// recordExternal is CU_EVENT_RECORD_EXTERNAL.
const recordExternal = 1

// EventRecordWithFlags with the flag for external records makes a node of a capture, and is invalid outside of one.
func (d *Driver) EventRecordWithFlags(h, on uintptr, flags uint32) uintptr {
	r := d.beginIn("cuEventRecordWithFlags")
	if r != success {
		return d.end(r)
	}
	external := flags&recordExternal != 0
	if s, ok := object[*stream](d, "cuEventRecordWithFlags", on); ok && external && s.capture == nil {
		d.problem("cuEventRecordWithFlags: an external record outside of a capture")
		return d.end(invalidValue)
	}
	return d.end(d.record("cuEventRecordWithFlags", h, on, external))
}

// record records an event in a stream. With mu.
func (d *Driver) record(call string, h, on uintptr, node bool) uint32 {
	e, ok := object[*event](d, call, h)
	if !ok {
		return invalidHandle
	}
	if s, ok := object[*stream](d, call, on); ok && s.capture != nil && !node {
		if s.capture.invalid {
			return captureInvalidated
		}
		e.capture, e.after = s.capture, slices.Clone(s.after)
		return success
	}
	if node {
		return d.submit(call, on, func() uint32 {
			d.mu.Lock()
			defer d.mu.Unlock()
			e.capture = nil
			e.recorded++
			e.done, e.at = e.recorded, time.Now()
			return success
		})
	}
	e.capture = nil
	e.recorded++
	n := e.recorded
	return d.submit(call, on, func() uint32 {
		d.mu.Lock()
		defer d.mu.Unlock()
		e.done, e.at = n, time.Now()
		return success
	})
}

// resolution is that of the times of events, as the driver's documentation gives it.
const resolution = 500 * time.Nanosecond

// EventElapsedTime fails for events without timing, without a record, or whose record is not done.
func (d *Driver) EventElapsedTime(ms *float32, begin, end uintptr) uintptr {
	r := d.beginIn("cuEventElapsedTime")
	if r != success {
		return d.end(r)
	}
	a, ok := object[*event](d, "cuEventElapsedTime", begin)
	b, also := object[*event](d, "cuEventElapsedTime", end)
	switch {
	case !ok || !also:
		r = invalidHandle
	case a.capture != nil || b.capture != nil:
		d.problem("cuEventElapsedTime of an event that was recorded in a capture")
		r = capturedEvent
	case !a.timing || !b.timing || a.recorded == 0 || b.recorded == 0:
		d.problem("cuEventElapsedTime of an event without a time")
		r = invalidHandle
	case a.done < a.recorded || b.done < b.recorded:
		r = notReady
	default:
		*ms = float32(b.at.Sub(a.at).Round(resolution).Seconds() * 1e3)
	}
	return d.end(r)
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
	case e.capture != nil:
		d.problem("cuEventQuery of an event that was recorded in a capture")
		r = capturedEvent
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
	s, also := object[*stream](d, "cuStreamWaitEvent", on)
	switch {
	case !ok || !also:
		return d.end(invalidHandle)
	case e.capture != nil:
		return d.end(d.join(s, e))
	case s.capture != nil:
		d.problem("cuStreamWaitEvent: a capture would depend on work outside of it")
		s.capture.invalid = true
		return d.end(captureIsolation)
	case e.recorded == 0:
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

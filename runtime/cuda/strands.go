package cuda

import "unsafe"

// strands are the streams of a queue from which graphs are captured: its own, the origin, and sides for dispatches that
// may run at the same time as those of the origin. A side becomes a part of the capture when it waits for an event of
// the origin, and the origin has to wait for the side's last work before the capture ends:
//
//	origin  a ─┬─ b ─┬─ e     b, c and d follow a
//	side 0     ├─ c ─┤        e follows b, c and d
//	side 1     └─ d ─┘
//
// So the graph has the edges that the barriers ask for. It may have one more from a side's last work to its next, which
// those imply. Nothing is launched to the sides.
type strands struct {
	device *device
	origin handle
	forked *event
	sides  []side
}

// side is a stream with the event after its last work.
type side struct {
	stream handle
	end    *event
}

// maxSides bounds the streams. Dispatches that exceed it follow others of their strand, which is slower and not wrong.
const maxSides = 15

// widen makes the strands for groups of n dispatches. The context is current.
func (s *strands) widen(n int) (err error) {
	d := s.device
	for len(s.sides) < min(n-1, maxSides) {
		if s.forked == nil {
			if s.forked, err = d.newEvent(); err != nil {
				return err
			}
		}
		var add side
		if add.stream, err = d.makeStream(); err != nil {
			return err
		}
		if add.end, err = d.newEvent(); err != nil {
			return err
		}
		s.sides = append(s.sides, add)
	}
	return nil
}

// of returns the sides for a group of n dispatches.
func (s *strands) of(n int) []side { return s.sides[:min(n-1, len(s.sides))] }

// stream returns the stream of dispatch i of a group of n.
func (s *strands) stream(i, n int) handle {
	if i %= 1 + len(s.of(n)); i > 0 {
		return s.sides[i-1].stream
	}
	return s.origin
}

// fork makes the sides for a group of n follow what the origin has.
func (s *strands) fork(n int) error {
	sides := s.of(n)
	if len(sides) == 0 {
		return nil
	}
	if err := s.record(s.forked, s.origin); err != nil {
		return err
	}
	for _, o := range sides {
		if err := s.follow(o.stream, s.forked); err != nil {
			return err
		}
	}
	return nil
}

// join makes the origin follow what the sides for a group of n have.
func (s *strands) join(n int) error {
	for _, o := range s.of(n) {
		if err := s.record(o.end, o.stream); err != nil {
			return err
		}
		if err := s.follow(s.origin, o.end); err != nil {
			return err
		}
	}
	return nil
}

func (s *strands) record(e *event, stream handle) error {
	return s.device.eventRecord.call(uintptr(e.handle), uintptr(stream)).failed("cuEventRecord")
}

func (s *strands) follow(stream handle, e *event) error {
	return s.device.streamWaitEvent.call(uintptr(stream), uintptr(e.handle), 0).failed("cuStreamWaitEvent")
}

// makeStream returns a stream that destroy frees. The context is current.
func (d *device) makeStream() (handle, error) {
	h := new(handle)
	if err := d.streamCreate.call(uintptr(unsafe.Pointer(h)), nonBlocking).failed("cuStreamCreate"); err != nil {
		return 0, err
	}
	stream := *h
	d.own(func() { d.streamDestroy.call(uintptr(stream)) })
	return stream, nil
}

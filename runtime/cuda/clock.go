package cuda

import (
	"sync"
	"time"
)

// clock relates times of the device to those of the host. The nil clock relates none.
type clock struct {
	lock    sync.Mutex
	stream  handle
	anchors [2]anchor // the newest first
}

// anchor is an event whose time on the host is known.
type anchor struct {
	event *event
	host  time.Time
}

// reanchored is the age at which the clock is related anew: clocks drift, and the times between events are float32.
const reanchored = time.Second

// Anchors are tried so often, until the host knows the time so exactly.
const (
	anchorTries = 8
	anchorExact = 20 * time.Microsecond
)

// newClock returns a clock if a timeline is wanted. The context is current.
func (d *device) newClock() (c *clock, err error) {
	if d.supervisor.Timeline == nil {
		return nil, nil
	}
	c = new(clock)
	if c.stream, err = d.newStream(); err != nil {
		return nil, err
	}
	for i := range c.anchors {
		if c.anchors[i].event, err = d.newEventWith(withTimes); err != nil {
			return nil, err
		}
	}
	return c, c.anchor(d)
}

// anchor makes a new anchor of the oldest one.
func (c *clock) anchor(d *device) error {
	a := c.anchors[1]
	for range anchorTries {
		begin := time.Now()
		r := d.eventRecord.call(uintptr(a.event.handle), uintptr(c.stream))
		if err := r.failed("cuEventRecord"); err != nil {
			return err
		}
		if err := (mark{a.event}).reach(d); err != nil {
			return err
		}
		took := time.Since(begin)
		if a.host = begin.Add(took / 2); took < anchorExact {
			break
		}
	}
	c.anchors = [2]anchor{a, c.anchors[0]}
	return nil
}

// time returns the time of an event that was submitted at a known time.
func (c *clock) time(d *device, e *event, submitted time.Time) (time.Time, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	a := c.anchors[0]
	if old := c.anchors[1]; submitted.Before(a.host) && !old.host.IsZero() {
		a = old
	}
	since, err := d.elapsed(a.event, e)
	at := a.host.Add(since)
	if err == nil && time.Since(c.anchors[0].host) > reanchored {
		err = c.anchor(d)
	}
	return at, err
}

// shift moves the times of the host.
func (c *clock) shift(by time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for i := range c.anchors {
		if a := &c.anchors[i]; !a.host.IsZero() {
			a.host = a.host.Add(by)
		}
	}
}

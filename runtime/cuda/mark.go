package cuda

import (
	"fmt"
	goruntime "runtime"
	"time"
)

// mark is an event of the driver, recorded after some work. The zero mark is after nothing.
type mark struct{ event handle }

// Times of polling an event.
const (
	polls     = time.Millisecond // a decode step of a small model is over by then
	pollPause = 50 * time.Microsecond
	longWait  = 100 * time.Millisecond
	longPause = time.Millisecond
)

// errNoProgress is the error of a wait that was cut.
type errNoProgress struct{ limit time.Duration }

func (e errNoProgress) Error() string {
	return fmt.Sprintf("neither this command nor one submitted with it was done for %v: the device hangs or is slow (--cuda-timeout waits longer)", e.limit)
}

// Surroundings tells gpu.Failure that the device failed.
func (errNoProgress) Surroundings() bool { return true }

// query reports whether the work is done.
func (m mark) query(d *device) result {
	if m.event == 0 {
		return success
	}
	defer d.enter()()
	args := [1]uintptr{uintptr(m.event)}
	return d.eventQuery.with(args[:])
}

// reach waits for the work while the device makes progress. It returns at once if the device is dead.
func (m mark) reach(d *device) error {
	began := time.Now()
	for !d.dead.Load() {
		switch r := m.query(d); {
		case r == success:
			d.touch()
			return nil
		case r != notReady:
			return r.failed("cuEventQuery")
		case d.idle() > d.limit:
			d.stuck.Store(true)
			return errNoProgress{d.limit}
		}
		pause(time.Since(began))
	}
	return nil
}

// settled waits for the work until a time, and reports whether it ended, in whatever way.
func (m mark) settled(d *device, end time.Time) bool {
	for m.query(d) == notReady {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(longPause)
	}
	return true
}

// pause waits before the next look at an event, longer after a long time.
func pause(waited time.Duration) {
	switch {
	case waited < polls:
		goruntime.Gosched()
	case waited < longWait:
		time.Sleep(pollPause)
	default:
		time.Sleep(longPause)
	}
}

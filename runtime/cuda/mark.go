package cuda

import (
	goruntime "runtime"
	"time"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// mark is an event of the driver, recorded after some work. The zero mark is after nothing.
type mark struct{ event *event }

// Times of polling an event.
const (
	polls     = time.Millisecond // a decode step of a small model is over by then
	pollPause = 50 * time.Microsecond
	longWait  = 100 * time.Millisecond
	longPause = time.Millisecond
)

// query reports whether the work is done.
func (m mark) query(d *device) result {
	if m.event == nil {
		return success
	}
	defer d.enter()()
	return d.eventQuery.with(m.event.query[:])
}

// reach waits for the work while the device makes progress. It returns at once if the device is dead.
func (m mark) reach(d *device) error {
	began := time.Now()
	for !d.Dead() {
		switch r := m.query(d); {
		case r == success:
			d.touch()
			return nil
		case r != notReady:
			return r.failed("cuEventQuery")
		case d.idle() > d.limit:
			return &gpu.NoProgress{Limit: d.limit, Flag: "--cuda-timeout"}
		}
		pause(time.Since(began))
	}
	return nil
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

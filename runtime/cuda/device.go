package cuda

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// device implements runtime.Device.
type device struct {
	*driver
	physical   *physical
	context    handle
	entering   [1]uintptr // the arguments of cuCtxSetCurrent
	info       *runtime.DeviceInfo
	index      int
	supervisor *runtime.Supervisor
	limit      time.Duration
	report     func(done, total int64)
	registered *registrations

	*gpu.Queues[own]
	queues  []*queue // indexed by number
	streams []handle // of the queues and of uploads
	uploads uploader
	clock   *clock
	imports imports
	modules
	objects

	progress atomic.Int64 // when anything was last submitted or done, in nanoseconds since start
	start    time.Time
}

// open makes the context and the queues.
func (d *device) open() error {
	d.Queues = gpu.NewQueues[own](d.supervisor, d.info.Queues)
	d.start = time.Now()
	switch r := d.primaryRetain.call(uintptr(unsafe.Pointer(&d.context)), uintptr(d.physical.device)); r {
	case success:
	case unavailable:
		return fmt.Errorf("%v: another process has the GPU to itself: end it, or set the compute mode to default (nvidia-smi -c 0) (%w)", d.physical, r)
	case outOfMemory:
		return fmt.Errorf("%v has no memory left: end other programs (%w)", d.physical, r)
	default:
		return fmt.Errorf("%v: %w", d.physical, r.failed("cuDevicePrimaryCtxRetain"))
	}
	d.entering[0] = uintptr(d.context)
	defer d.enter()()
	for i := range d.info.Queues {
		q, err := d.newQueue(d.Queue(i))
		if err != nil {
			return err
		}
		d.queues = append(d.queues, q)
	}
	d.uploads.device = d
	var err error
	if d.clock, err = d.newClock(); err != nil {
		return err
	}
	for _, q := range d.queues {
		go q.work()
		go q.finish()
	}
	return nil
}

// enter makes the context current for the calls that follow on this goroutine, which stays on its thread until the
// function that enter returns is called.
func (d *device) enter() (leave func()) {
	goruntime.LockOSThread()
	if err := d.ctxSetCurrent.with(d.entering[:]).failed("cuCtxSetCurrent"); err != nil {
		d.failSomewhere(err)
	}
	return goruntime.UnlockOSThread
}

// nonBlocking streams do not wait for the default stream (CU_STREAM_NON_BLOCKING).
const nonBlocking = 1

// newStream returns a stream for work, which destroy frees. The context is current.
func (d *device) newStream() (handle, error) {
	stream, err := d.makeStream()
	if err == nil {
		d.streams = append(d.streams, stream) // by open and by the first upload, which nothing else is done besides
	}
	return stream, err
}

// Flags of events. Those without times are cheaper.
const (
	withTimes    = 0 // CU_EVENT_DEFAULT
	withoutTimes = 2 // CU_EVENT_DISABLE_TIMING
)

// event is an event of the driver.
type event struct {
	handle handle
	query  [1]uintptr // the arguments of cuEventQuery
}

// newEvent returns an event without times, which destroy frees. The context is current.
func (d *device) newEvent() (*event, error) { return d.newEventWith(withoutTimes) }

// newEventWith returns an event with flags, which destroy frees. The context is current.
func (d *device) newEventWith(flags uintptr) (*event, error) {
	e, err := d.makeEvent(flags)
	if err == nil {
		d.own(func() { d.eventDestroy.call(uintptr(e.handle)) })
	}
	return e, err
}

// makeEvent returns an event with flags. The context is current.
func (d *device) makeEvent(flags uintptr) (*event, error) {
	e := new(event)
	if err := d.eventCreate.call(uintptr(unsafe.Pointer(&e.handle)), flags).failed("cuEventCreate"); err != nil {
		return nil, err
	}
	e.query[0] = uintptr(e.handle)
	return e, nil
}

// Close implements runtime.Device.
func (d *device) Close() error {
	d.End()
	return d.destroy()
}

// errStillBusy is the error of a Close that leaves what the driver still uses.
var errStillBusy = errors.New("it still works on a command that has no end: its memory is not freed")

// destroy frees everything, unless the device may still use it. The driver would wait for its work without a limit.
func (d *device) destroy() error {
	if d.context == 0 {
		return nil
	}
	if d.Dead() && !d.settled() {
		return fmt.Errorf("%v: %w", d.physical, errStillBusy)
	}
	defer d.enter()()
	d.objects.destroy()
	d.modules.destroy(d)
	d.primaryRelease.call(uintptr(d.physical.device))
	d.context = 0
	return nil
}

// settled waits until no stream works any more, at most for the limit, and reports whether that was so. A stream whose
// device is lost has an error.
func (d *device) settled() bool {
	defer d.enter()()
	end := time.Now().Add(d.limit)
	for _, s := range d.streams {
		for d.streamQuery.call(uintptr(s)) == notReady {
			if time.Now().After(end) {
				return false
			}
			time.Sleep(longPause)
		}
	}
	return true
}

// fail reports the failure of an entry. The first failure of any device counts.
func (d *device) fail(e *entry, err error) {
	d.supervisor.Fail(e.Fault(d.info.Name, d.physical.String(), err))
}

// failSomewhere reports an error that is of no entry, names the first one that is under way, and ends the device.
func (d *device) failSomewhere(err error) {
	e := d.Working()
	d.fail(&e, err)
	d.Die()
}

// touch notes progress.
func (d *device) touch() { d.progress.Store(int64(time.Since(d.start))) }

// idle returns the time since the last progress.
func (d *device) idle() time.Duration { return time.Since(d.start) - time.Duration(d.progress.Load()) }

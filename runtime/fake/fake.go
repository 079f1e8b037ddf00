package fake

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// Options control the delays of queues. The zero Options delay entries by up to 100 µs.
type Options struct {
	Seed  uint64        // of the delays; one seed gives similar orders, not equal ones
	Delay time.Duration // the longest; negative means none

	// The command number FailAt, counted from 1, of the device Fail fails. 0 is none.
	Fail   string
	FailAt int64
}

// defaultDelay is longer than most commands take, so that queues overtake each other.
const defaultDelay = 100 * time.Microsecond

// Loader opens simulated devices.
type Loader struct {
	Options
	names []string // of the devices; nil if they are not known
}

// SetNames implements runtime.Named.
func (l *Loader) SetNames(names []string) { l.names = names }

// Flags adds --fake-seed, --fake-delay and --fake-fail to a program's command line.
func (l *Loader) Flags(add func(name, value, help string, set func(string) error)) {
	add("fake-seed", "N", "of the delays of simulated backends (default: 0)", func(s string) error {
		n, err := strconv.ParseUint(s, 0, 64)
		if err != nil {
			return errors.New("it must be a whole number from 0 to 2^64-1")
		}
		l.Seed = n
		return nil
	})
	add("fake-delay", "D", "the longest delay of simulated backends, such as 1ms (default: 100µs; 0s: none)", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return errors.New("it must be a time, such as 50µs")
		}
		l.Delay = d
		if d == 0 {
			l.Delay = -1
		}
		return nil
	})
	add("fake-fail", "BACKEND=N", "command number N of this simulated backend fails", func(s string) error {
		at := strings.LastIndexByte(s, '=')
		n, err := strconv.ParseInt(s[at+1:], 10, 64)
		if at <= 0 || err != nil || n < 1 {
			return errors.New("it must be a backend and a number from 1 on, such as fake:1=20")
		}
		if l.names != nil && !slices.Contains(l.names, s[:at]) {
			return fmt.Errorf("no simulated backend has this name: there are %s", strings.Join(l.names, ", "))
		}
		l.Fail, l.FailAt = s[:at], n
		return nil
	})
}

// Open implements runtime.Loader.
func (l *Loader) Open(info *runtime.DeviceInfo, index int, s *runtime.Supervisor) (runtime.Device, error) {
	d := &device{info: info, index: index, supervisor: s}
	if l.Fail == info.Name {
		d.failAt = l.FailAt
	}
	delay := l.Delay
	if delay == 0 {
		delay = defaultDelay
	}
	for i, name := range info.Queues {
		q := newQueue(d, s.Timeline.Queue(name), newMood(l.Seed, index, i, delay))
		d.queues = append(d.queues, q)
		go q.work()
	}
	return d, nil
}

// device is one simulated backend.
type device struct {
	info       *runtime.DeviceInfo
	index      int
	supervisor *runtime.Supervisor
	queues     []*queue

	failAt   int64        // the number of the command that fails; 0 for none
	commands atomic.Int64 // that ran
}

// Kernel is the type of Command.Kernel for simulated devices. It calls kernels of the CPU on the memory of e.
// iteration is that of the repeat around the command.
type Kernel func(e *Env, iteration int)

// Env is the environment of a Kernel.
type Env struct {
	*runtime.Block

	// Mem holds the addresses of the memory that the device can address, indexed by the numbers of
	// runtime.Layout.Memory, and nil for all other memory.
	Mem []unsafe.Pointer
}

// Bind implements runtime.Device.
func (d *device) Bind(b *runtime.Block) (any, error) {
	e := &Env{Block: b, Mem: make([]unsafe.Pointer, len(b.Memory))}
	for _, i := range d.info.Memory {
		e.Mem[i] = address(b.Memory[i])
	}
	return e, nil
}

// Idle implements runtime.Idler. It fills with NaN the memory that a step must write before it reads.
func (d *device) Idle(b *runtime.Block) {
	for _, m := range b.Memory {
		if m, ok := m.(*memory); ok && m.owner == d {
			m.forget()
		}
	}
}

// Run implements runtime.Device.
func (d *device) Run(queue int, c *runtime.Command, b *runtime.Block, iteration int) {
	d.queues[queue].entries.Submit(runtime.QueueEntry{Kind: runtime.RunEntry, Command: c, Block: b, Iteration: iteration})
}

// Copy implements runtime.Device.
func (d *device) Copy(queue int, t runtime.Transfer, b *runtime.Block) {
	d.queues[queue].entries.Submit(runtime.QueueEntry{Kind: runtime.CopyEntry, Transfer: t, Block: b})
}

// Record implements runtime.Device.
func (d *device) Record(queue int, e *runtime.Event, n uint64) {
	if q := d.queues[queue]; !q.entries.Submit(runtime.QueueEntry{Kind: runtime.RecordEntry, Event: e, Count: n}) {
		<-q.ended // earlier records come first
		e.Signal(n)
	}
}

// Wait implements runtime.Device.
func (d *device) Wait(queue int, e *runtime.Event, n uint64) {
	d.queues[queue].entries.Submit(runtime.QueueEntry{Kind: runtime.WaitEntry, Event: e, Count: n})
}

// Close implements runtime.Device.
func (d *device) Close() error {
	for _, q := range d.queues {
		q.close()
	}
	return nil
}

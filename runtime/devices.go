package runtime

import (
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"time"
)

// Devices is the value of Program.Devices in a program that has backends besides the CPU, made by NewDevices. Other
// programs do not refer to NewDevices, so the linker leaves its code out.
type Devices interface {
	flags(f *flags)
	pipeline() int
	names() []string
	stateBytes(memory int) int64 // the size of a chunk of states; -1 for a number of none
	open(m *Model) (opened, error)
}

// opened is the set of open devices of a model.
type opened interface {
	session(s *Session) (stepper, error)
	close() error
	notes() []string              // for the user, about how the devices run on this machine
	share(host *pool)             // tells all pools of threads of each other
	groups() []int                // numbers of threads of groups
	setThreads(n int)             // limits the threads of groups; 0 is no limit
	trace(e *events, process int) // prints what the queues have done, after close
}

// stepper is the part of a session that drives devices.
type stepper interface {
	// begin prepares the next step. An overlapping step gets the next instance of inputs and outputs. A step that
	// runs alone gets the instance of the step before.
	begin(order stepOrder)

	// submit is called before the function of the step runs, and fixes the sizes. submitted is called after it, even
	// if it failed.
	submit()
	submitted()

	finish() error // returns when all steps have ended
	clear()        // zeros the state

	// flying returns the instance and the number of the last step that was submitted, landed waits until the step of a
	// number has ended, and upcoming returns the instance that the next overlapping step will get.
	flying() (slot int, number uint64)
	landed(number uint64) error
	upcoming() int

	place(all arena) error // moves inputs and outputs

	ferries
}

// Layout describes what a compiled module needs of devices.
type Layout struct {
	Pipeline int // steps that may be in flight at once, at least 1
	Devices  []DeviceInfo
	Queues   []QueueInfo
	Memory   []Chunk // host memory included
	Events   int     // one more than the largest number of an event
	Kernels  []KernelFile
}

// KernelFile is a file with the kernels of devices, which the program embeds.
type KernelFile struct {
	Name   string
	Text   string // its bytes
	SHA256 string // of the bytes that were generated, in lower-case hex
}

// DeviceInfo is one backend.
type DeviceInfo struct {
	Name   string // of the target
	Cores  []int  // of a group of the processor's threads
	Loader Loader
	Queues []string // names, indexed by the device's own numbers
	Memory []int    // the numbers of Layout.Memory that its commands use
}

// QueueInfo maps the number of a queue to its device.
type QueueInfo struct {
	Device int // index of Layout.Devices
	Local  int // number of the queue there
}

// Chunk is one allocation of a memory space.
type Chunk struct {
	Space  string
	Class  Class
	Device int   // index of Layout.Devices whose loader allocates it; -1 is host memory
	Bytes  int64 // at the bounds of all symbols
	Offset int64 // for Weights: where the chunk begins in the weights
}

// Loader opens the devices of one kind.
type Loader interface {
	// Open returns device d, whose index in Block.Bound is index.
	Open(d *DeviceInfo, index int, s *Supervisor) (Device, error)
}

// Configurable is a Loader with flags of the program's command line.
type Configurable interface {
	Flags(add func(name, value, help string, set func(string) error))
}

// Named is a Configurable with flags that name devices.
type Named interface {
	SetNames(names []string) // of the devices of this kind of loader; called before Flags
}

// NewDevices returns the Devices of a program.
func NewDevices(l Layout) Devices { return &l }

func (l *Layout) pipeline() int { return max(l.Pipeline, 1) }

func (l *Layout) stateBytes(memory int) int64 {
	if uint(memory) >= uint(len(l.Memory)) || l.Memory[memory].Class != State {
		return -1
	}
	return l.Memory[memory].Bytes
}

// names returns the names of the devices.
func (l *Layout) names() []string {
	names := make([]string, len(l.Devices))
	for i := range l.Devices {
		names[i] = l.Devices[i].Name
	}
	return names
}

// flags adds the flags of all loaders, once per kind of loader.
func (l *Layout) flags(f *flags) {
	for i := range l.Devices {
		c, ok := l.Devices[i].Loader.(Configurable)
		if !ok || f.find(firstFlag(c)) != nil {
			continue
		}
		if n, ok := c.(Named); ok {
			n.SetNames(l.namesFor(firstFlag(c)))
		}
		c.Flags(f.add)
	}
}

// namesFor returns the names of the devices whose loaders have this first flag.
func (l *Layout) namesFor(flag string) (names []string) {
	for i := range l.Devices {
		if c, ok := l.Devices[i].Loader.(Configurable); ok && firstFlag(c) == flag {
			names = append(names, l.Devices[i].Name)
		}
	}
	return names
}

// firstFlag returns the name of the first flag of a loader.
func firstFlag(c Configurable) (first string) {
	c.Flags(func(name, _, _ string, _ func(string) error) {
		if first == "" {
			first = name
		}
	})
	return first
}

// openDevices is the set of devices of one model, with the weights in their memories.
type openDevices struct {
	layout  *Layout
	model   *Model
	devices []Device
	queues  []deviceQueue // indexed by number
	weights []Memory      // indexed by number of Layout.Memory; nil for chunks that are not weights
	Supervisor
	out  io.Writer     // for the timeline
	spin time.Duration // that the host polls for an event before it parks
}

// deviceQueue is a queue with its number on its device.
type deviceQueue struct {
	device Device
	local  int
}

func (l *Layout) open(m *Model) (opened, error) {
	if err := l.checkKernels(); err != nil {
		return nil, err
	}
	o := &openDevices{layout: l, model: m, weights: make([]Memory, len(l.Memory)), out: m.options.Timeline}
	if o.out != nil || m.options.profiled {
		o.Timeline = newTimeline()
	}
	o.setThreads(m.options.Threads)
	for i := range l.Devices {
		d, err := l.Devices[i].Loader.Open(&l.Devices[i], i, &o.Supervisor)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", l.Devices[i].Name, err), o.closeDevices())
		}
		o.devices = append(o.devices, d)
	}
	for _, q := range l.Queues {
		o.queues = append(o.queues, deviceQueue{o.devices[q.Device], q.Local})
	}
	err := o.survey()
	if err == nil {
		err = o.surveyTogether()
	}
	if err == nil {
		err = o.loadWeights()
	}
	if err != nil {
		return nil, errors.Join(err, o.closeDevices())
	}
	return o, nil
}

// survey tells the devices what memory they will need.
func (o *openDevices) survey() error {
	for i, d := range o.devices {
		s, ok := d.(Surveyor)
		if !ok {
			continue
		}
		var chunks []Chunk
		for _, k := range o.layout.Devices[i].Memory {
			chunks = append(chunks, o.layout.Memory[k])
		}
		if err := s.Survey(chunks); err != nil {
			return fmt.Errorf("%s: %w", o.layout.Devices[i].Name, err)
		}
	}
	return nil
}

// loadWeights copies the weights of each device into its memory.
func (o *openDevices) loadWeights() error {
	for i := range o.layout.Memory {
		c := &o.layout.Memory[i]
		if c.Class != Weights {
			continue
		}
		from := o.model.weights.bytes[c.Offset : c.Offset+c.Bytes]
		if c.Device < 0 {
			o.weights[i] = hostMemory(from)
			if err := o.shareWeights(i); err != nil {
				return err
			}
			continue
		}
		d := o.devices[c.Device]
		if _, isGroup := d.(*group); isGroup {
			o.weights[i] = hostMemory(from)
			continue
		}
		m, err := d.Alloc(Weights, c.Bytes)
		if err == nil {
			err = o.model.weights.readable(func() error { return d.Load(m, from) })
		}
		if err != nil {
			return fmt.Errorf("%s: weights of %d bytes: %w", c.Space, c.Bytes, err)
		}
		o.weights[i] = m
	}
	return nil
}

// shareWeights lets the devices that use the host's weights, which are in memory i, address them.
func (o *openDevices) shareWeights(i int) error {
	for k, d := range o.devices {
		s, ok := d.(Sharer)
		if !ok || !slices.Contains(o.layout.Devices[k].Memory, i) {
			continue
		}
		err := o.model.weights.readable(func() error { return s.Share(o.weights[i].(HostMemory)) })
		if err != nil {
			return fmt.Errorf("%s: weights of %d bytes in memory of the host: %w", o.layout.Devices[k].Name, o.weights[i].Bytes(), err)
		}
	}
	return nil
}

func hostMemory(b []byte) HostMemory { return HostMemory{arena{b}.base(), int64(len(b))} }

func (o *openDevices) close() error {
	err := o.closeDevices()
	if o.out != nil {
		err = errors.Join(err, o.Timeline.write(o.out))
	}
	return err
}

func (o *openDevices) notes() []string { return o.Supervisor.notes }

// groups returns the numbers of threads of groups.
func (o *openDevices) groups() (threads []int) {
	for _, d := range o.devices {
		if g, ok := d.(*group); ok {
			threads = append(threads, g.threads())
		}
	}
	return threads
}

func (o *openDevices) setThreads(n int) { o.most.Store(int32(n)) }

// share makes the pools of groups, and that of the host, know whether there are more threads than processors, and the
// host poll for events of groups, which are soon there.
func (o *openDevices) share(host *pool) {
	pools := []*pool{host}
	for _, d := range o.devices {
		if g, ok := d.(*group); ok {
			pools = append(pools, g.pool)
		}
	}
	total, procs := 0, min(numCPU, goruntime.GOMAXPROCS(0))
	for _, p := range pools[1:] {
		total += len(p.workers)
	}
	host.crowded.Store(total+len(host.workers) > procs)
	for _, p := range pools[1:] { // a host without cores waits while groups work
		p.crowded.Store(total > procs || len(host.masks) > 0 && host.crowded.Load())
	}
	if len(pools) > 1 {
		o.spin = host.usualSpin()
	}
}

func (o *openDevices) trace(e *events, process int) { o.Timeline.events(e, process) }

func (o *openDevices) closeDevices() error {
	var errs []error
	for i, d := range o.devices {
		if err := d.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.layout.Devices[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

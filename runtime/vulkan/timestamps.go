package vulkan

import (
	goruntime "runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// Times of the device, for timelines. A command buffer that is recorded while a timeline is wanted writes the device's
// clock to queries of its own: at its beginning and after each dispatch. A device whose queues have no clock has no
// timestamps: then its spans have the times at which the host submitted the work and knew its end.

// timestamps are what a device needs for them; nil if there is no timeline, or no clock.
type timestamps struct {
	createQueryPool, destroyQueryPool     fn
	resetQueryPool, writeTimestamp        fn
	queryPoolResults, calibratedTimestamp fn // the last one only if the device has the extension

	clock clock
}

// clock relates the clock of the device to that of the program.
type clock struct {
	lock    sync.Mutex
	period  float64 // nanoseconds of a tick
	mask    uint64  // the bits that count
	ticks   uint64  // at the time host
	host    time.Time
	related time.Time // when they were related
}

// shift moves the times of all ticks.
func (c *clock) shift(by time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.host = c.host.Add(by)
}

// set relates a number of ticks to a time.
func (c *clock) set(ticks uint64, host time.Time) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.ticks, c.host, c.related = ticks&c.mask, host, host
}

// time returns the time of a number of ticks, which is less than half of the counter's range from the last set one.
func (c *clock) time(ticks uint64) time.Time {
	c.lock.Lock()
	defer c.lock.Unlock()
	since := (ticks - c.ticks) & c.mask
	signed := float64(since)
	if since > c.mask/2 {
		signed = -float64((c.ticks - ticks) & c.mask)
	}
	return c.host.Add(time.Duration(signed * c.period))
}

// age returns the time since the clocks were related.
func (c *clock) age() time.Duration {
	c.lock.Lock()
	defer c.lock.Unlock()
	return time.Since(c.related)
}

const (
	typeQueryPoolCreateInfo     structureType = 11
	typeCalibratedTimestampInfo structureType = 1000184000

	extCalibrated = "VK_EXT_calibrated_timestamps"

	queueClock = "the clock of the queues" // for device.hidden

	queryTimestamp   = 2
	queryResult64    = 1
	stageBottom      = 8192 // VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
	timeDomainDevice = 0
)

type vkQueryPoolCreateInfo struct {
	sType              structureType
	pNext              unsafe.Pointer
	flags              uint32
	queryType          int32
	queryCount         uint32
	pipelineStatistics uint32
}

type vkCalibratedTimestampInfoEXT struct {
	sType      structureType
	pNext      unsafe.Pointer
	timeDomain int32
}

// extensions returns the names of the extensions to enable where the device has them.
func (d *device) extensions() []string {
	list := []string{extMemoryBudget, extPortable, extHostMemory}
	if d.supervisor.Timeline != nil && !slices.Contains(d.hidden, extCalibrated) {
		list = append(list, extCalibrated)
	}
	return list
}

// openTimestamps prepares timestamps if a timeline is wanted and the queues have a clock.
func (d *device) openTimestamps() error {
	if d.supervisor.Timeline == nil || d.clockBits == 0 || slices.Contains(d.hidden, queueClock) {
		return nil
	}
	s := new(timestamps)
	s.clock.period = float64(d.physical.properties.properties.limits.timestampPeriod)
	s.clock.mask = ^uint64(0) >> (64 - min(d.clockBits, 64))
	list := []function{
		{"vkCreateQueryPool", &s.createQueryPool}, {"vkDestroyQueryPool", &s.destroyQueryPool},
		{"vkCmdResetQueryPool", &s.resetQueryPool}, {"vkCmdWriteTimestamp", &s.writeTimestamp},
		{"vkGetQueryPoolResults", &s.queryPoolResults},
	}
	if slices.Contains(d.physical.having(d.extensions()...), extCalibrated) && d.calibrates() {
		list = append(list, function{"vkGetCalibratedTimestampsEXT", &s.calibratedTimestamp})
	}
	get := new(fn)
	if err := d.instance.load(d.instance.handle, []function{{"vkGetDeviceProcAddr", get}}); err != nil {
		return err
	}
	if err := (&global{getInstanceProcAddr: *get}).load(d.handle, list); err != nil {
		return err
	}
	d.stamps = s
	return nil
}

// calibrates reports whether the device's clock can be read at any time.
func (d *device) calibrates() bool {
	var domains fn
	if d.instance.load(d.instance.handle, []function{{"vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", &domains}}) != nil {
		return false
	}
	all, err := list("vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", func(n *uint32, p *int32) result {
		return domains.call(uintptr(d.physical.handle), uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(p)))
	})
	return err == nil && slices.Contains(all, timeDomainDevice)
}

// samples is how often the clocks are read together. The time of the device is between those of the host before and
// after, and the shortest interval is taken.
const samples = 8

// calibrate relates the clocks. Without the extension, a submission of the queue reads that of the device.
func (d *device) calibrate() error {
	s := d.stamps
	if s == nil {
		return nil
	}
	read := s.read
	if s.calibratedTimestamp == 0 {
		p, err := d.newProbe()
		if err != nil {
			return err
		}
		defer p.close()
		read = p.read
	}
	shortest := time.Duration(1 << 62)
	for range samples {
		begin := time.Now()
		ticks, err := read(d)
		if err != nil {
			return err
		}
		if took := time.Since(begin); took < shortest {
			shortest = took
			s.clock.set(ticks, begin.Add(took/2))
		}
	}
	return nil
}

// read reads the clock of the device.
func (s *timestamps) read(d *device) (uint64, error) {
	info := &vkCalibratedTimestampInfoEXT{sType: typeCalibratedTimestampInfo, timeDomain: timeDomainDevice}
	out := make([]uint64, 2) // the ticks, and by how much they may be wrong
	r := s.calibratedTimestamp.call(uintptr(d.handle), 1, uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&out[0])), uintptr(unsafe.Pointer(&out[1])))
	return out[0], r.failed("vkGetCalibratedTimestampsEXT")
}

// probe is a submission that reads the clock.
type probe struct {
	device  *device
	pool    handle
	queries handle
	buffer  handle
	batch   batch
	waiter  waiter
	value   uint64
}

func (d *device) newProbe() (*probe, error) {
	p := &probe{device: d}
	semaphore, err := d.newSemaphore()
	if err != nil {
		return nil, err
	}
	p.batch.init(semaphore)
	p.waiter.init(semaphore)
	if p.pool, err = d.newPool(); err == nil {
		p.buffer, err = d.newCommandBuffer(p.pool)
	}
	if err == nil {
		p.queries, err = d.stamps.newQueries(d, 1)
	}
	if err == nil {
		err = d.begin(p.buffer)
	}
	if err == nil {
		d.stamps.start(p.buffer, p.queries, 1)
		err = d.end(p.buffer)
	}
	if err != nil {
		p.close()
	}
	return p, err
}

func (p *probe) read(d *device) (uint64, error) {
	p.value++
	p.batch.buffers = append(p.batch.buffers, p.buffer)
	if err := p.batch.submit(d, d.hardware[0], p.value).failed("vkQueueSubmit"); err != nil {
		return 0, err
	}
	if err := p.waiter.wait(d, p.value, d.limit).failed("vkWaitSemaphores"); err != nil {
		return 0, err
	}
	out := make([]uint64, 1)
	_, err := d.stamps.results(d, p.queries, out)
	return out[0], err
}

func (p *probe) close() {
	d := p.device
	d.stamps.destroyQueryPool.call(uintptr(d.handle), uintptr(p.queries), 0)
	d.destroyCommandPool.call(uintptr(d.handle), uintptr(p.pool), 0)
	d.destroySemaphore.call(uintptr(d.handle), uintptr(p.batch.signal), 0)
}

// newQueries makes queries that hold n times.
func (s *timestamps) newQueries(d *device, n int) (handle, error) {
	info := &vkQueryPoolCreateInfo{sType: typeQueryPoolCreateInfo, queryType: queryTimestamp, queryCount: uint32(n)}
	h := new(handle)
	err := s.createQueryPool.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h))).failed("vkCreateQueryPool")
	return *h, err
}

// start records that the first of n queries gets the time at which all earlier work of the queue has ended.
func (s *timestamps) start(buffer, queries handle, n int) {
	s.resetQueryPool.call(uintptr(buffer), uintptr(queries), 0, uintptr(n))
	s.writeTimestamp.call(uintptr(buffer), stageBottom, uintptr(queries), 0)
}

// results reads the ticks of queries. It returns false if one of them has none.
func (s *timestamps) results(d *device, queries handle, to []uint64) (bool, error) {
	r := s.queryPoolResults.call(uintptr(d.handle), uintptr(queries), 0, uintptr(len(to)), uintptr(8*len(to)), uintptr(address(to)), 8, queryResult64)
	return r == success, r.failed("vkGetQueryPoolResults")
}

// times reports whether the host takes the times of the work, and so submits one command at a time.
func (d *device) times() bool { return d.supervisor.Timeline != nil && d.stamps == nil }

// times are the queries of a command buffer. A nil times records nothing.
type times struct {
	device  *device
	queries handle
	count   int
	ticks   []uint64
	kernels []stamped
}

// stamped is a kernel between two timestamps: one at the barrier before it, and one when it and all before it have
// ended.
type stamped struct {
	name       string
	begin, end int
}

// times begins a command buffer with a timestamp, which n others follow. The queries are freed with the block.
func (o *bound) times(buffer handle, n int) (*times, error) {
	d := o.device
	if d.stamps == nil {
		return nil, nil
	}
	queries, err := d.stamps.newQueries(d, 1+n)
	if err != nil {
		return nil, err
	}
	goruntime.AddCleanup(o, release, d.own(func() { d.stamps.destroyQueryPool.call(uintptr(d.handle), uintptr(queries), 0) }))
	t := &times{device: d, queries: queries, ticks: make([]uint64, 1+n)}
	t.begin(buffer)
	return t, nil
}

// begin begins a command buffer that is recorded again.
func (t *times) begin(buffer handle) {
	if t == nil {
		return
	}
	t.count, t.kernels = 1, t.kernels[:0]
	t.device.stamps.start(buffer, t.queries, len(t.ticks))
}

// time begins the command buffer of a transfer with a timestamp, which another one follows.
func (c *copying) time(o *bound) (err error) {
	if c.times == nil {
		c.times, err = o.times(c.buffer, 1)
		return err
	}
	c.times.begin(c.buffer)
	return nil
}

// after records the time at which all earlier commands have ended.
func (t *times) after(buffer handle) {
	if t == nil {
		return
	}
	t.device.stamps.writeTimestamp.call(uintptr(buffer), stageBottom, uintptr(t.queries), uintptr(t.count))
	t.count++
}

// dispatched records the time at which a dispatch, which was the last command, and all before it have ended.
func (t *times) dispatched(buffer handle, s *gpu.Dispatch) {
	if t == nil {
		return
	}
	t.after(buffer)
	t.note(s)
}

// note notes a dispatch, whose end is the last timestamp. It began at the one before, or where that one began if there
// is no barrier between them.
func (t *times) note(s *gpu.Dispatch) {
	k := stamped{s.Kernel.Name, t.count - 2, t.count - 1}
	if n := len(t.kernels); n > 0 && !s.Barrier {
		k.begin = t.kernels[n-1].begin
	}
	t.kernels = append(t.kernels, k)
}

// recalibrated is the age at which clocks, which drift, are related anew.
const recalibrated = time.Second

// timed adds an entry that has ended to the timeline, with the times of the device. It returns false if there are none.
func (q *queue) timed(e *entry) bool {
	d, t := q.device, e.Own.times
	if t == nil || d.Dead() {
		return false
	}
	if ok, err := d.stamps.results(d, t.queries, t.ticks[:t.count]); !ok || err != nil {
		return false
	}
	if d.stamps.calibratedTimestamp != 0 && d.stamps.clock.age() > recalibrated {
		_ = d.calibrate() // the clocks stay related as before
	}
	at := make([]time.Time, t.count)
	for i := range at {
		at[i] = d.stamps.clock.time(t.ticks[i])
	}
	d.stamps.clock.shift(q.Fit(e, at))
	kernels := make([]runtime.Timed, len(t.kernels))
	for i, k := range t.kernels {
		kernels[i] = runtime.Timed{Kernel: k.name, Begin: at[k.begin], End: at[k.end]}
		if i < len(e.Command.Nodes) {
			kernels[i].Node = e.Command.Nodes[i]
		}
	}
	q.Timed(e, at[0], at[len(at)-1], kernels)
	return true
}

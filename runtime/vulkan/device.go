package vulkan

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// device implements runtime.Device.
type device struct {
	functions
	instance   *instance
	physical   *physical
	handle     handle
	info       *runtime.DeviceInfo
	index      int
	supervisor *runtime.Supervisor
	limit      time.Duration
	report     func(done, total int64)
	unmapped   bool
	limits     gpu.Limits
	full       bool     // subgroups can be required to be full
	hidden     []string // what tests hide: extensions, or queueClock
	clockBits  uint32   // of the timestamps of its queues; 0 if they have none

	family   uint32
	hardware []*hardwareQueue
	*gpu.Queues[own]
	queues  []*queue // indexed by number on the device
	uploads *uploader
	stamps  *timestamps // nil if there is no timeline
	pipelines
	objects
	imports imports

	stuck    atomic.Bool   // it is dead with work that may never end
	progress atomic.Uint64 // how often anything was submitted or done
}

// hardwareQueue is a queue of the driver, which queues of the plan share if there are not enough.
type hardwareQueue struct {
	mu     sync.Mutex // held during submissions
	handle handle
}

// open creates the device and its queues.
func (d *device) open(needs []string) error {
	d.Queues = gpu.NewQueues[own](d.supervisor, d.info.Queues)
	d.limits = d.physical.limits()
	if err := d.create(needs); err != nil {
		return err
	}
	if err := d.functions.loadFor(d.instance, d.handle); err != nil {
		return err
	}
	if d.canImport() == nil {
		if err := d.loadHostPointers(d.instance, d.handle); err != nil {
			return err
		}
	}
	d.pipelines.made = map[*gpu.Kernel]handle{}
	info := &vkPipelineCacheCreateInfo{sType: typePipelineCacheCreateInfo}
	if err := d.createPipelineCache.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&d.pipelines.cache))).failed("vkCreatePipelineCache"); err != nil {
		return err
	}
	return d.openQueues()
}

// create makes the VkDevice.
func (d *device) create(needs []string) error {
	version := min(d.instance.version, d.physical.properties.properties.apiVersion)
	have := newFeatures(version)
	d.instance.getPhysicalDeviceFeatures2.call(uintptr(d.physical.handle), uintptr(unsafe.Pointer(&have.all)))
	on, err := have.enable(version, needs, d.physical)
	if err != nil {
		return err
	}
	d.full = on.sub.computeFullSubgroups != 0
	queues, err := d.chooseFamily()
	if err != nil {
		return err
	}
	priorities := make([]float32, queues)
	for i := range priorities {
		priorities[i] = 1
	}
	queue := &vkDeviceQueueCreateInfo{
		sType: typeDeviceQueueCreateInfo, queueFamilyIndex: d.family, queueCount: uint32(queues), pQueuePriorities: unsafe.Pointer(unsafe.SliceData(priorities)),
	}
	extensions := d.physical.having(d.extensions()...)
	info := &vkDeviceCreateInfo{
		sType: typeDeviceCreateInfo, pNext: unsafe.Pointer(&on.all), queueCreateInfoCount: 1, pQueueCreateInfos: unsafe.Pointer(queue),
		enabledExtensionCount: uint32(len(extensions)), ppEnabledExtensionNames: cStrings(extensions),
	}
	if err := d.instance.createDevice.call(uintptr(d.physical.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&d.handle))).failed("vkCreateDevice"); err != nil {
		return fmt.Errorf("%v: %w: choose another device (--vulkan-device), or install a newer driver", d.physical, err)
	}
	d.hardware = make([]*hardwareQueue, queues)
	return nil
}

// having returns those of the given extensions that the device has.
func (p *physical) having(names ...string) (list []string) {
	for _, want := range names {
		for _, name := range p.extensions {
			if name == want {
				list = append(list, name)
			}
		}
	}
	return list
}

// chooseFamily chooses the queue family that computes and has the most queues, up to the number that the plan needs. It
// returns how many to open.
func (d *device) chooseFamily() (queues int, err error) {
	families, _ := list("vkGetPhysicalDeviceQueueFamilyProperties", func(n *uint32, p *vkQueueFamilyProperties) result {
		d.instance.getPhysicalDeviceQueueFamilies.call(uintptr(d.physical.handle), uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(p)))
		return success // the function returns nothing
	})
	for i, f := range families {
		n := min(int(f.queueCount), max(len(d.info.Queues), 1))
		if f.queueFlags&queueCompute != 0 && n > queues {
			d.family, queues, d.clockBits = uint32(i), n, f.timestampValidBits
		}
	}
	if queues == 0 {
		return 0, fmt.Errorf("%v has no queue that computes: choose another device (--vulkan-device)", d.physical)
	}
	return queues, nil
}

// openQueues starts the queues of the plan, and the one for uploads.
func (d *device) openQueues() error {
	for i := range d.hardware {
		d.hardware[i] = new(hardwareQueue)
		d.getDeviceQueue.call(uintptr(d.handle), uintptr(d.family), uintptr(i), uintptr(unsafe.Pointer(&d.hardware[i].handle)))
	}
	for i := range d.info.Queues {
		q, err := d.newQueue(d.Queue(i), d.hardware[i%len(d.hardware)])
		if err != nil {
			return err
		}
		d.queues = append(d.queues, q)
	}
	d.uploads = &uploader{device: d}
	if err := errors.Join(d.openTimestamps(), d.calibrate()); err != nil {
		return err
	}
	for _, q := range d.queues {
		go q.work()
		go q.finish()
	}
	return nil
}

// Close implements runtime.Device.
func (d *device) Close() error {
	d.End()
	return d.destroy()
}

// errStillBusy is the error of a Close that leaves what the driver still uses.
var errStillBusy = errors.New("it still works on a command that has no end: its memory is not freed")

// destroy frees everything, unless the device may still use it.
func (d *device) destroy() error {
	if d.stuck.Load() && !d.settled() {
		go d.keep()
		return fmt.Errorf("%v: %w", d.physical, errStillBusy)
	}
	if d.handle != 0 && d.functions.destroyDevice != 0 {
		d.deviceWaitIdle.call(uintptr(d.handle))
		d.objects.destroy()
		d.uploads.destroy()
		for _, q := range d.queues {
			d.destroySemaphore.call(uintptr(d.handle), uintptr(q.semaphore), 0)
		}
		d.pipelines.destroy(d)
		d.functions.destroyDevice.call(uintptr(d.handle), 0)
		d.handle = 0
	}
	d.instance.close()
	return nil
}

// keep holds what the driver still uses until it is done, such as imported memory of the host.
func (d *device) keep() {
	for !d.settled() {
	}
	goruntime.KeepAlive(d)
}

// settled waits for all submissions, at most for the limit, and reports whether they ended.
func (d *device) settled() bool {
	end := time.Now().Add(d.limit)
	for _, q := range d.queues {
		if q.finishing.wait(d, q.signalled, time.Until(end)) == timeout {
			return false
		}
	}
	return d.uploads == nil || !d.uploads.opened || d.uploads.failed != nil || d.uploads.waiter.wait(d, d.uploads.value, time.Until(end)) != timeout
}

// fail reports the failure of an entry. The first failure of any device counts.
func (d *device) fail(e *entry, err error) {
	d.supervisor.Fail(e.Fault(d.info.Name, d.physical.String(), err))
}

// touch notes progress.
func (d *device) touch() { d.progress.Add(1) }

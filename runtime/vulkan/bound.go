package vulkan

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// bound is what a device keeps for a block: the recorded commands.
type bound struct {
	device *device
	lock   sync.Mutex // queues of the device record and write arguments in turn
	pool   handle     // of command buffers
	env    gpu.Env
	shared []*memory // the memory of the host that commands address; indexed by number
	runs   map[runKey]recorded
	copies map[copyKey]*copying
}

// recorded is a command that was recorded: its dispatches read their arguments from words.
type recorded struct {
	buffer handle
	words  *memory // nil if there are none
	times  *times
}

// runKey is a command in an iteration.
type runKey struct {
	command   *runtime.Command
	iteration int
}

// Bind implements runtime.Device.
func (d *device) Bind(b *runtime.Block) (any, error) {
	o := &bound{device: d, env: gpu.Env{Block: b, Mem: make([]uint64, len(b.Memory))}, runs: map[runKey]recorded{}, copies: map[copyKey]*copying{}}
	for i, m := range b.Memory {
		if m, ok := m.(*memory); ok && m.owner == d {
			o.env.Mem[i] = m.address
		}
	}
	if err := o.share(); err != nil {
		return nil, err
	}
	pool, err := d.newPool()
	if err != nil {
		return nil, err
	}
	o.pool = pool
	goruntime.AddCleanup(o, release, d.own(func() { d.destroyCommandPool.call(uintptr(d.handle), uintptr(pool), 0) }))
	return o, nil
}

// share imports the memory of the host that the commands address.
func (o *bound) share() error {
	o.shared = make([]*memory, len(o.env.Memory))
	for i, m := range o.env.Memory {
		h, ok := m.(runtime.HostMemory)
		if !ok || h.Size == 0 || !slices.Contains(o.device.info.Memory, i) {
			continue
		}
		m, err := o.device.addressed(h)
		if err != nil {
			return err
		}
		o.shared[i], o.env.Mem[i] = m, m.address
	}
	return nil
}

// sharesAny reports whether commands address memory of the host.
func (o *bound) sharesAny() bool {
	return slices.ContainsFunc(o.shared, func(m *memory) bool { return m != nil })
}

func (d *device) newPool() (handle, error) {
	info := &vkCommandPoolCreateInfo{sType: typeCommandPoolCreateInfo, flags: poolResetCommandBuffer, queueFamilyIndex: d.family}
	pool := new(handle)
	err := d.createCommandPool.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(pool))).failed("vkCreateCommandPool")
	return *pool, err
}

// bound returns what this device keeps for a block.
func (d *device) bound(b *runtime.Block) *bound { return b.Bound[d.index].(*bound) }

// run returns the recorded command of an entry, after it has written the arguments for the entry's step. The step
// before that had this block has ended, so nothing reads them.
func (o *bound) run(e *entry) (handle, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	c, ok := e.Command.Kernel.(gpu.Command)
	if !ok {
		return 0, fmt.Errorf("a command of another kind of device: %T", e.Command.Kernel)
	}
	o.env.Run(c, e.Iteration)
	key := runKey{e.Command, e.Iteration}
	r, ok := o.runs[key]
	if !ok {
		var err error
		if r, err = o.record(); err != nil {
			return 0, err
		}
		o.runs[key] = r
	}
	if r.words != nil {
		copy(unsafe.Slice((*uint64)(address(r.words.mapped)), len(o.env.Words)), o.env.Words)
	}
	e.Own.times = r.times
	return r.buffer, nil
}

func (d *device) newCommandBuffer(pool handle) (handle, error) {
	info := &vkCommandBufferAllocateInfo{sType: typeCommandBufferAllocateInfo, commandPool: pool, commandBufferCount: 1}
	h := new(handle)
	err := d.allocateCommandBuffers.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(h))).failed("vkAllocateCommandBuffers")
	return *h, err
}

// record records the dispatches of the environment.
func (o *bound) record() (r recorded, err error) {
	if err := o.env.Check(o.device.limits); err != nil {
		return r, err
	}
	if n := len(o.env.Words); n > 0 {
		if r.words, err = o.device.visible(int64(wordBytes * n)); err != nil {
			return r, err
		}
	}
	if r.buffer, err = o.device.newCommandBuffer(o.pool); err != nil {
		return r, err
	}
	if err := o.device.begin(r.buffer); err != nil {
		return r, err
	}
	if r.times, err = o.times(r.buffer, len(o.env.Dispatches)); err != nil {
		return r, err
	}
	for i := range o.env.Dispatches {
		if err := o.dispatch(r, &o.env.Dispatches[i]); err != nil {
			return r, err
		}
		r.times.dispatched(r.buffer, &o.env.Dispatches[i])
	}
	if o.sharesAny() {
		o.device.barrier(r.buffer, stageCompute, accessShaderWrite, stageHost, accessHostRead)
	}
	return r, o.device.end(r.buffer)
}

// begin begins a command buffer. Its commands see what all earlier commands of the queue wrote.
func (d *device) begin(h handle) error {
	info := &vkCommandBufferBeginInfo{sType: typeCommandBufferBeginInfo, flags: usageSimultaneous}
	if err := d.beginCommandBuffer.call(uintptr(h), uintptr(unsafe.Pointer(info))).failed("vkBeginCommandBuffer"); err != nil {
		return err
	}
	d.barrier(h, stageCompute|stageTransfer, accessShaderWrite|accessTransferWrite, stageCompute|stageTransfer,
		accessShaderRead|accessShaderWrite|accessTransferRead|accessTransferWrite)
	return nil
}

func (d *device) end(h handle) error {
	return d.endCommandBuffer.call(uintptr(h)).failed("vkEndCommandBuffer")
}

// barrier records that later accesses of some stages come after earlier ones.
func (d *device) barrier(h handle, from, fromAccess, to, toAccess uint32) {
	m := &vkMemoryBarrier{sType: typeMemoryBarrier, srcAccessMask: fromAccess, dstAccessMask: toAccess}
	d.cmdPipelineBarrier.call(uintptr(h), uintptr(from), uintptr(to), 0, 1, uintptr(unsafe.Pointer(m)), 0, 0, 0, 0)
}

// dispatch records a dispatch.
func (o *bound) dispatch(r recorded, s *gpu.Dispatch) error {
	d, h := o.device, r.buffer
	if s.Barrier {
		d.barrier(h, stageCompute, accessShaderWrite, stageCompute, accessShaderRead|accessShaderWrite)
	}
	p, err := d.pipeline(s.Kernel)
	if err != nil {
		return err
	}
	d.cmdBindPipeline.call(uintptr(h), bindPointCompute, uintptr(p))
	if s.Kernel.Args > 0 {
		at := []uint64{r.words.address + uint64(wordBytes*s.First)}
		d.cmdPushConstants.call(uintptr(h), uintptr(d.pipelines.layout), shaderCompute, 0, wordBytes, uintptr(address(at)))
	}
	d.cmdDispatch.call(uintptr(h), uintptr(s.Groups), 1, 1)
	return nil
}

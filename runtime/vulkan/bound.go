package vulkan

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// bound is what a device keeps for a block: the recorded commands and the sizes of the step.
type bound struct {
	device *device
	lock   sync.Mutex // queues of the device record and write sizes in turn
	pool   handle     // of command buffers
	step   uint64     // whose sizes are written
	sizes  *memory
	runs   map[runKey]handle
	copies map[copyKey]*copying
	words  []uint64 // of the dispatch that is being recorded
}

// runKey is a command in an iteration.
type runKey struct {
	command   *runtime.Command
	iteration int
}

// noStep is no number of a step.
const noStep = ^uint64(0)

// Bind implements runtime.Device.
func (d *device) Bind(b *runtime.Block) (any, error) {
	sizes, err := d.visible(gpu.SizeBytes * runtime.MaxSymbols)
	if err != nil {
		return nil, err
	}
	pool, err := d.newPool()
	if err != nil {
		return nil, err
	}
	o := &bound{device: d, pool: pool, step: noStep, sizes: sizes, runs: map[runKey]handle{}, copies: map[copyKey]*copying{}}
	goruntime.AddCleanup(o, release, d.own(func() { d.destroyCommandPool.call(uintptr(d.handle), uintptr(pool), 0) }))
	return o, nil
}

func (d *device) newPool() (handle, error) {
	info := &vkCommandPoolCreateInfo{sType: typeCommandPoolCreateInfo, flags: poolResetCommandBuffer, queueFamilyIndex: d.family}
	pool := new(handle)
	err := d.createCommandPool.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(pool))).failed("vkCreateCommandPool")
	return *pool, err
}

// bound returns what this device keeps for a block.
func (d *device) bound(b *runtime.Block) *bound { return b.Bound[d.index].(*bound) }

// run returns the recorded command of an entry, after it has written the sizes of the entry's step.
func (o *bound) run(e *entry) (handle, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.step != e.block.Step {
		gpu.PutSizes((*[runtime.MaxSymbols]int32)(address(o.sizes.mapped)), e.block)
		o.step = e.block.Step
	}
	key := runKey{e.command, e.iteration}
	if h, ok := o.runs[key]; ok {
		return h, nil
	}
	h, err := o.device.newCommandBuffer(o.pool)
	if err == nil {
		err = o.record(h, e)
	}
	if err == nil {
		o.runs[key] = h
	}
	return h, err
}

func (d *device) newCommandBuffer(pool handle) (handle, error) {
	info := &vkCommandBufferAllocateInfo{sType: typeCommandBufferAllocateInfo, commandPool: pool, commandBufferCount: 1}
	h := new(handle)
	err := d.allocateCommandBuffers.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(h))).failed("vkAllocateCommandBuffers")
	return *h, err
}

// record records the dispatches of a command.
func (o *bound) record(h handle, e *entry) error {
	dispatches, ok := e.command.Kernel.(gpu.Command)
	if !ok {
		return fmt.Errorf("a command of another kind of device: %T", e.command.Kernel)
	}
	if err := o.device.begin(h); err != nil {
		return err
	}
	for i := range dispatches {
		if err := o.dispatch(h, &dispatches[i], e); err != nil {
			return err
		}
	}
	return o.device.end(h)
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

// dispatch records a dispatch, and that what it writes is visible to the ones after it.
func (o *bound) dispatch(h handle, s *gpu.Dispatch, e *entry) error {
	d := o.device
	if err := s.Check(d.limits, e.iteration); err != nil {
		return err
	}
	p, err := d.pipeline(s.Kernel)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Node, err)
	}
	o.words = o.words[:0]
	for i := range s.Args {
		w, err := o.word(&s.Args[i], e)
		if err != nil {
			return fmt.Errorf("%s: argument %d: %w", s.Node, i, err)
		}
		o.words = append(o.words, w)
	}
	d.cmdBindPipeline.call(uintptr(h), bindPointCompute, uintptr(p.handle))
	if len(o.words) > 0 {
		d.cmdPushConstants.call(uintptr(h), uintptr(p.layout), shaderCompute, 0, uintptr(wordBytes*len(o.words)), uintptr(address(o.words)))
	}
	d.cmdDispatch.call(uintptr(h), uintptr(s.Groups), 1, 1)
	d.barrier(h, stageCompute, accessShaderWrite, stageCompute|stageTransfer, accessShaderRead|accessShaderWrite|accessTransferRead|accessTransferWrite)
	return nil
}

// word returns the value of an argument.
func (o *bound) word(a *gpu.Arg, e *entry) (uint64, error) {
	at := a.Word(e.iteration, e.block.Slot)
	switch a.Memory {
	case gpu.Number:
		return uint64(at), nil
	case gpu.Sizes:
		return o.sizes.address + uint64(at), nil
	}
	m, ok := e.block.Memory[a.Memory].(*memory)
	if !ok || m.owner != o.device {
		return 0, fmt.Errorf("memory %d is not on the device", a.Memory)
	}
	if at < 0 || int64(at) > m.size {
		return 0, fmt.Errorf("byte %d of %d of memory %d", at, m.size, a.Memory)
	}
	return m.address + uint64(at), nil
}

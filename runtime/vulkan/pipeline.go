package vulkan

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// wordBytes is the size of an argument of a kernel.
const wordBytes = 8

// pipelines are the compiled kernels of a device, made when they are first recorded.
type pipelines struct {
	lock   sync.Mutex
	made   map[*gpu.Kernel]handle
	layout handle // of all kernels: one word of push constants, the address of the arguments; made with the first kernel
	cache  handle
}

// pipeline returns the pipeline of a kernel.
func (d *device) pipeline(k *gpu.Kernel) (handle, error) {
	d.pipelines.lock.Lock()
	defer d.pipelines.lock.Unlock()
	if h, ok := d.pipelines.made[k]; ok {
		return h, nil
	}
	if d.pipelines.layout == 0 {
		layout, err := d.newLayout()
		if err != nil {
			return 0, err
		}
		d.pipelines.layout = layout
	}
	h, err := d.compile(k, d.pipelines.layout)
	if err != nil {
		return 0, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	d.pipelines.made[k] = h
	return h, nil
}

func (d *device) newLayout() (handle, error) {
	word := &vkPushConstantRange{stageFlags: shaderCompute, size: wordBytes}
	info := &vkPipelineLayoutCreateInfo{sType: typePipelineLayoutCreateInfo, pushConstantRangeCount: 1, pPushConstantRanges: unsafe.Pointer(word)}
	h := new(handle)
	err := d.createPipelineLayout.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h))).failed("vkCreatePipelineLayout")
	return *h, err
}

// compile gives the code of a kernel to the driver.
func (d *device) compile(k *gpu.Kernel, layout handle) (handle, error) {
	words, err := spirvWords(k.Code)
	if err != nil {
		return 0, err
	}
	code := &vkShaderModuleCreateInfo{sType: typeShaderModuleCreateInfo, codeSize: uintptr(4 * len(words)), pCode: address(words)}
	module := new(handle)
	if err := d.createShaderModule.call(uintptr(d.handle), uintptr(unsafe.Pointer(code)), 0, uintptr(unsafe.Pointer(module))).failed("vkCreateShaderModule"); err != nil {
		return 0, err
	}
	defer d.destroyShaderModule.call(uintptr(d.handle), uintptr(*module), 0)
	info := &vkComputePipelineCreateInfo{sType: typeComputePipelineCreateInfo, layout: layout, basePipelineIndex: -1, stage: vkPipelineShaderStageCreateInfo{
		sType: typeShaderStageCreateInfo, stage: shaderCompute, module: *module, pName: unsafe.Pointer(cString("main")),
	}}
	if d.full && k.Threads > 0 && k.Threads%int(d.physical.subgroups.subgroupSize) == 0 {
		info.stage.flags = requireFullSubgroups
	}
	h := new(handle)
	r := d.createComputePipelines.call(uintptr(d.handle), uintptr(d.pipelines.cache), 1, uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h)))
	err = r.failed("vkCreateComputePipelines")
	if err != nil && r != deviceLost && r != outOfHost && r != outOfDevice {
		err = fmt.Errorf("the driver refuses the SPIR-V: %w: install a newer driver, or report it", err)
	}
	return *h, err
}

// spirvMagic is the first word of every module.
const spirvMagic = 0x07230203

// spirvWords returns the words of a module that is stored as little-endian bytes.
func spirvWords(code string) ([]uint32, error) {
	words := make([]uint32, len(code)/4)
	for i := range words {
		c := code[4*i : 4*i+4]
		words[i] = uint32(c[0]) | uint32(c[1])<<8 | uint32(c[2])<<16 | uint32(c[3])<<24
	}
	if len(code)%4 != 0 || len(words) < 5 || words[0] != spirvMagic {
		return nil, fmt.Errorf("%d bytes that are no SPIR-V", len(code))
	}
	return words, nil
}

func (p *pipelines) destroy(d *device) {
	for _, h := range p.made {
		d.destroyPipeline.call(uintptr(d.handle), uintptr(h), 0)
	}
	if p.layout != 0 {
		d.destroyPipelineLayout.call(uintptr(d.handle), uintptr(p.layout), 0)
	}
	if p.cache != 0 {
		d.destroyPipelineCache.call(uintptr(d.handle), uintptr(p.cache), 0)
	}
}

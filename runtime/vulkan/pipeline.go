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
	lock    sync.Mutex
	made    map[*gpu.Kernel]pipeline
	layouts map[int]handle // indexed by the number of arguments
	cache   handle
}

// pipeline is a compiled kernel with the layout of its arguments.
type pipeline struct{ handle, layout handle }

// pipeline returns the pipeline of a kernel.
func (d *device) pipeline(k *gpu.Kernel) (pipeline, error) {
	d.pipelines.lock.Lock()
	defer d.pipelines.lock.Unlock()
	if p, ok := d.pipelines.made[k]; ok {
		return p, nil
	}
	layout, err := d.layout(k.Args)
	if err != nil {
		return pipeline{}, err
	}
	p := pipeline{layout: layout}
	if p.handle, err = d.compile(k, layout); err != nil {
		return pipeline{}, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	d.pipelines.made[k] = p
	return p, nil
}

// layout returns the layout of a number of arguments, which are push constants.
func (d *device) layout(args int) (handle, error) {
	if h, ok := d.pipelines.layouts[args]; ok {
		return h, nil
	}
	words := &vkPushConstantRange{stageFlags: shaderCompute, size: uint32(wordBytes * args)}
	info := &vkPipelineLayoutCreateInfo{sType: typePipelineLayoutCreateInfo}
	if args > 0 {
		info.pushConstantRangeCount, info.pPushConstantRanges = 1, unsafe.Pointer(words)
	}
	h := new(handle)
	err := d.createPipelineLayout.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h))).failed("vkCreatePipelineLayout")
	if err == nil {
		d.pipelines.layouts[args] = *h
	}
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
	h := new(handle)
	err = d.createComputePipelines.call(uintptr(d.handle), uintptr(d.pipelines.cache), 1, uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h))).failed("vkCreateComputePipelines")
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
	for _, m := range p.made {
		d.destroyPipeline.call(uintptr(d.handle), uintptr(m.handle), 0)
	}
	for _, h := range p.layouts {
		d.destroyPipelineLayout.call(uintptr(d.handle), uintptr(h), 0)
	}
	if p.cache != 0 {
		d.destroyPipelineCache.call(uintptr(d.handle), uintptr(p.cache), 0)
	}
}

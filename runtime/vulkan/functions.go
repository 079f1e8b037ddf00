package vulkan

import "unsafe"

// functions are those of a device.
type functions struct {
	destroyDevice, deviceWaitIdle, getDeviceQueue                     fn
	createBuffer, destroyBuffer, bufferRequirements, bufferAddress    fn
	allocateMemory, freeMemory, bindBufferMemory, mapMemory           fn
	createShaderModule, destroyShaderModule                           fn
	createPipelineLayout, destroyPipelineLayout                       fn
	createPipelineCache, destroyPipelineCache                         fn
	createComputePipelines, destroyPipeline                           fn
	createCommandPool, destroyCommandPool, allocateCommandBuffers     fn
	beginCommandBuffer, endCommandBuffer                              fn
	cmdBindPipeline, cmdPushConstants, cmdDispatch                    fn
	cmdPipelineBarrier, cmdCopyBuffer, cmdFillBuffer                  fn
	createSemaphore, destroySemaphore, semaphoreValue, waitSemaphores fn
	queueSubmit                                                       fn

	hostPointerProperties fn // only with extHostMemory
}

// loadFor looks the functions up in the driver of a device.
func (f *functions) loadFor(in *instance, device handle) error {
	get := new(fn)
	if err := in.load(in.handle, []function{{"vkGetDeviceProcAddr", get}}); err != nil {
		return err
	}
	all := f
	f = new(functions)                           // *all is set when none is missing
	direct := &global{getInstanceProcAddr: *get} // with the same parameters
	err := direct.load(device, []function{
		{"vkDestroyDevice", &f.destroyDevice}, {"vkDeviceWaitIdle", &f.deviceWaitIdle}, {"vkGetDeviceQueue", &f.getDeviceQueue},
		{"vkCreateBuffer", &f.createBuffer}, {"vkDestroyBuffer", &f.destroyBuffer},
		{"vkGetBufferMemoryRequirements", &f.bufferRequirements}, {"vkGetBufferDeviceAddress", &f.bufferAddress},
		{"vkAllocateMemory", &f.allocateMemory}, {"vkFreeMemory", &f.freeMemory},
		{"vkBindBufferMemory", &f.bindBufferMemory}, {"vkMapMemory", &f.mapMemory},
		{"vkCreateShaderModule", &f.createShaderModule}, {"vkDestroyShaderModule", &f.destroyShaderModule},
		{"vkCreatePipelineLayout", &f.createPipelineLayout}, {"vkDestroyPipelineLayout", &f.destroyPipelineLayout},
		{"vkCreatePipelineCache", &f.createPipelineCache}, {"vkDestroyPipelineCache", &f.destroyPipelineCache},
		{"vkCreateComputePipelines", &f.createComputePipelines}, {"vkDestroyPipeline", &f.destroyPipeline},
		{"vkCreateCommandPool", &f.createCommandPool}, {"vkDestroyCommandPool", &f.destroyCommandPool},
		{"vkAllocateCommandBuffers", &f.allocateCommandBuffers},
		{"vkBeginCommandBuffer", &f.beginCommandBuffer}, {"vkEndCommandBuffer", &f.endCommandBuffer},
		{"vkCmdBindPipeline", &f.cmdBindPipeline}, {"vkCmdPushConstants", &f.cmdPushConstants}, {"vkCmdDispatch", &f.cmdDispatch},
		{"vkCmdPipelineBarrier", &f.cmdPipelineBarrier}, {"vkCmdCopyBuffer", &f.cmdCopyBuffer}, {"vkCmdFillBuffer", &f.cmdFillBuffer},
		{"vkCreateSemaphore", &f.createSemaphore}, {"vkDestroySemaphore", &f.destroySemaphore},
		{"vkGetSemaphoreCounterValue", &f.semaphoreValue}, {"vkWaitSemaphores", &f.waitSemaphores},
		{"vkQueueSubmit", &f.queueSubmit},
	})
	if err == nil {
		*all = *f
	}
	return err
}

// loadHostPointers looks up the function of extHostMemory.
func (f *functions) loadHostPointers(in *instance, device handle) error {
	get := new(fn)
	if err := in.load(in.handle, []function{{"vkGetDeviceProcAddr", get}}); err != nil {
		return err
	}
	direct := &global{getInstanceProcAddr: *get}
	return direct.load(device, []function{{"vkGetMemoryHostPointerPropertiesEXT", &f.hostPointerProperties}})
}

// address returns the address of the first element of a slice.
func address[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

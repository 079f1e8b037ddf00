package vulkan

import (
	"reflect"
	"testing"
	"unsafe"
)

// TestStructuresHaveTheLayoutOfC compares sizes and offsets with the numbers that gcc 12 gives on x86-64 for the
// vulkan_core.h of Vulkan 1.3.239, printed by a C program with sizeof and offsetof.
func TestStructuresHaveTheLayoutOfC(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("skip: structures have the layout of 64-bit systems")
	}
	for _, c := range []struct {
		typ     reflect.Type
		size    uintptr
		offsets []uintptr // of the named fields
	}{
		{reflect.TypeFor[vkApplicationInfo](), 48, []uintptr{0, 8, 16, 24, 32, 40, 44}},
		{reflect.TypeFor[vkInstanceCreateInfo](), 64, []uintptr{0, 8, 16, 24, 32, 40, 48, 56}},
		{reflect.TypeFor[vkDebugUtilsMessengerCreateInfoEXT](), 48, []uintptr{0, 8, 16, 20, 24, 32, 40}},
		{reflect.TypeFor[vkDebugUtilsMessengerCallbackDataEXT](), 96, []uintptr{40}},
		{reflect.TypeFor[vkPhysicalDeviceLimits](), 504, []uintptr{32, 36, 216, 220, 232, 236, 424}},
		{reflect.TypeFor[vkPhysicalDeviceSparseProperties](), 20, []uintptr{}},
		{reflect.TypeFor[vkPhysicalDeviceProperties](), 824, []uintptr{0, 4, 8, 12, 16, 20, 276, 296, 800}},
		{reflect.TypeFor[vkPhysicalDeviceProperties2](), 840, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkPhysicalDeviceMaintenance3Properties](), 32, []uintptr{0, 8, 16, 24}},
		{reflect.TypeFor[vkPhysicalDeviceDriverProperties](), 536, []uintptr{0, 8, 16, 20, 276, 532}},
		{reflect.TypeFor[vkMemoryType](), 8, []uintptr{0, 4}},
		{reflect.TypeFor[vkMemoryHeap](), 16, []uintptr{0, 8}},
		{reflect.TypeFor[vkPhysicalDeviceMemoryProperties](), 520, []uintptr{0, 4, 260, 264}},
		{reflect.TypeFor[vkPhysicalDeviceMemoryProperties2](), 536, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkPhysicalDeviceMemoryBudgetPropertiesEXT](), 272, []uintptr{0, 8, 16, 144}},
		{reflect.TypeFor[vkExtent3D](), 12, []uintptr{0, 4, 8}},
		{reflect.TypeFor[vkQueueFamilyProperties](), 24, []uintptr{0, 4, 8, 12}},
		{reflect.TypeFor[vkPhysicalDeviceFeatures](), 220, []uintptr{160, 164}},
		{reflect.TypeFor[vkPhysicalDeviceFeatures2](), 240, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkPhysicalDeviceVulkan11Features](), 64, []uintptr{0, 8, 16, 20}},
		{reflect.TypeFor[vkPhysicalDeviceVulkan12Features](), 208, []uintptr{0, 8, 24, 28, 44, 48, 140, 152, 164, 168, 180, 184}},
		{reflect.TypeFor[vkPhysicalDeviceShaderIntegerDotProductFeatures](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkDeviceQueueCreateInfo](), 40, []uintptr{0, 8, 16, 20, 24, 32}},
		{reflect.TypeFor[vkDeviceCreateInfo](), 72, []uintptr{0, 8, 16, 20, 24, 32, 40, 48, 56, 64}},
		{reflect.TypeFor[vkExtensionProperties](), 260, []uintptr{0, 256}},
		{reflect.TypeFor[vkBufferCreateInfo](), 56, []uintptr{0, 8, 16, 24, 32, 36, 40, 48}},
		{reflect.TypeFor[vkMemoryRequirements](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkMemoryAllocateInfo](), 32, []uintptr{0, 8, 16, 24}},
		{reflect.TypeFor[vkMemoryAllocateFlagsInfo](), 24, []uintptr{0, 8, 16, 20}},
		{reflect.TypeFor[vkExternalMemoryBufferCreateInfo](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkImportMemoryHostPointerInfoEXT](), 32, []uintptr{0, 8, 16, 24}},
		{reflect.TypeFor[vkMemoryHostPointerPropertiesEXT](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkPhysicalDeviceExternalMemoryHostPropertiesEXT](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkBufferDeviceAddressInfo](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkShaderModuleCreateInfo](), 40, []uintptr{0, 8, 16, 24, 32}},
		{reflect.TypeFor[vkPipelineShaderStageCreateInfo](), 48, []uintptr{0, 8, 16, 20, 24, 32, 40}},
		{reflect.TypeFor[vkComputePipelineCreateInfo](), 96, []uintptr{0, 8, 16, 24, 72, 80, 88}},
		{reflect.TypeFor[vkPushConstantRange](), 12, []uintptr{0, 4, 8}},
		{reflect.TypeFor[vkPipelineLayoutCreateInfo](), 48, []uintptr{0, 8, 16, 20, 24, 32, 40}},
		{reflect.TypeFor[vkPipelineCacheCreateInfo](), 40, []uintptr{0, 8, 16, 24, 32}},
		{reflect.TypeFor[vkCommandPoolCreateInfo](), 24, []uintptr{0, 8, 16, 20}},
		{reflect.TypeFor[vkCommandBufferAllocateInfo](), 32, []uintptr{0, 8, 16, 24, 28}},
		{reflect.TypeFor[vkCommandBufferBeginInfo](), 32, []uintptr{0, 8, 16, 24}},
		{reflect.TypeFor[vkMemoryBarrier](), 24, []uintptr{0, 8, 16, 20}},
		{reflect.TypeFor[vkBufferCopy](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkSemaphoreCreateInfo](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkSemaphoreTypeCreateInfo](), 32, []uintptr{0, 8, 16, 24}},
		{reflect.TypeFor[vkSubmitInfo](), 72, []uintptr{0, 8, 16, 24, 32, 40, 48, 56, 64}},
		{reflect.TypeFor[vkTimelineSemaphoreSubmitInfo](), 48, []uintptr{0, 8, 16, 24, 32, 40}},
		{reflect.TypeFor[vkSemaphoreWaitInfo](), 40, []uintptr{0, 8, 16, 20, 24, 32}},
		{reflect.TypeFor[vkQueryPoolCreateInfo](), 32, []uintptr{0, 8, 16, 20, 24, 28}},
		{reflect.TypeFor[vkCalibratedTimestampInfoEXT](), 24, []uintptr{0, 8, 16}},
		{reflect.TypeFor[vkPhysicalDeviceFloatControlsProperties](), 88, []uintptr{0, 8, 20, 24, 28, 60}},
		{reflect.TypeFor[vkPhysicalDeviceSubgroupProperties](), 32, []uintptr{0, 8, 16, 20, 24}},
		{reflect.TypeFor[vkPhysicalDeviceSubgroupSizeControlFeatures](), 24, []uintptr{0, 8, 16, 20}},
	} {
		if got := c.typ.Size(); got != c.size {
			t.Errorf("%v has %d bytes, in C %d", c.typ, got, c.size)
		}
		n := 0
		for i := range c.typ.NumField() {
			f := c.typ.Field(i)
			if f.Name == "_" {
				continue
			}
			if f.Offset != c.offsets[n] {
				t.Errorf("%v.%s is at %d, in C at %d", c.typ, f.Name, f.Offset, c.offsets[n])
			}
			n++
		}
		if n != len(c.offsets) {
			t.Errorf("%v has %d fields, %d offsets are known", c.typ, n, len(c.offsets))
		}
	}
}

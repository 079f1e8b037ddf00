package vulkan

import (
	"fmt"
	"slices"
	"unsafe"
)

// features are the structures of features, chained as calls want them.
type features struct {
	all vkPhysicalDeviceFeatures2
	v11 vkPhysicalDeviceVulkan11Features
	v12 vkPhysicalDeviceVulkan12Features
	dot vkPhysicalDeviceShaderIntegerDotProductFeatures
}

// newFeatures returns features that are all off, for a device of the given version.
func newFeatures(version uint32) *features {
	f := new(features)
	f.all.sType, f.all.pNext = typeFeatures2, unsafe.Pointer(&f.v11)
	f.v11.sType, f.v11.pNext = typeVulkan11Features, unsafe.Pointer(&f.v12)
	f.v12.sType = typeVulkan12Features
	if f.dot.sType = typeDotProductFeatures; version >= version13 {
		f.v12.pNext = unsafe.Pointer(&f.dot)
	}
	return f
}

// feature is a feature by its name in the specification.
type feature struct {
	name string
	at   func(*features) *uint32
}

// basic are the features that all kernels may use.
var basic = []feature{
	{"shaderInt64", func(f *features) *uint32 { return &f.all.features.shaderInt64 }},
	{"storageBuffer16BitAccess", func(f *features) *uint32 { return &f.v11.storageBuffer16BitAccess }},
	{"storageBuffer8BitAccess", func(f *features) *uint32 { return &f.v12.storageBuffer8BitAccess }},
	{"shaderInt8", func(f *features) *uint32 { return &f.v12.shaderInt8 }},
	{"timelineSemaphore", func(f *features) *uint32 { return &f.v12.timelineSemaphore }},
	{"bufferDeviceAddress", func(f *features) *uint32 { return &f.v12.bufferDeviceAddress }},
}

// further are the features that are enabled where the device has them.
var further = []feature{
	{"shaderInt16", func(f *features) *uint32 { return &f.all.features.shaderInt16 }},
	{"uniformAndStorageBuffer16BitAccess", func(f *features) *uint32 { return &f.v11.uniformAndStorageBuffer16BitAccess }},
	{"uniformAndStorageBuffer8BitAccess", func(f *features) *uint32 { return &f.v12.uniformAndStorageBuffer8BitAccess }},
	{"shaderFloat16", func(f *features) *uint32 { return &f.v12.shaderFloat16 }},
	{"scalarBlockLayout", func(f *features) *uint32 { return &f.v12.scalarBlockLayout }},
	{"shaderSubgroupExtendedTypes", func(f *features) *uint32 { return &f.v12.shaderSubgroupExtendedTypes }},
	{"vulkanMemoryModel", func(f *features) *uint32 { return &f.v12.vulkanMemoryModel }},
	{"vulkanMemoryModelDeviceScope", func(f *features) *uint32 { return &f.v12.vulkanMemoryModelDeviceScope }},
	{"shaderIntegerDotProduct", func(f *features) *uint32 { return &f.dot.shaderIntegerDotProduct }},
}

// enable returns the features to enable of those that a device has, which p names. Those of needs must be among them.
func (have *features) enable(version uint32, needs []string, p fmt.Stringer) (*features, error) {
	on := newFeatures(version)
	for _, f := range basic {
		if *f.at(have) == 0 {
			return nil, missing(p, f.name)
		}
		*f.at(on) = 1
	}
	known := slices.Concat(basic, further)
	for _, f := range further {
		*f.at(on) = *f.at(have)
	}
	for _, name := range needs {
		i := slices.IndexFunc(known, func(f feature) bool { return f.name == name })
		if i < 0 || *known[i].at(have) == 0 {
			return nil, missing(p, name)
		}
	}
	return on, nil
}

func missing(p fmt.Stringer, feature string) error {
	return fmt.Errorf("%v lacks the feature %s: choose another device (--vulkan-device), install a newer driver, or build for the CPU", p, feature)
}

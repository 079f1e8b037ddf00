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
	dot vkPhysicalDeviceShaderIntegerDotProductFeatures // these two from 1.3 on
	sub vkPhysicalDeviceSubgroupSizeControlFeatures
}

// newFeatures returns features that are all off, for a device of the given version.
func newFeatures(version uint32) *features {
	f := new(features)
	f.all.sType, f.all.pNext = typeFeatures2, unsafe.Pointer(&f.v11)
	f.v11.sType, f.v11.pNext = typeVulkan11Features, unsafe.Pointer(&f.v12)
	f.v12.sType = typeVulkan12Features
	f.dot.sType, f.dot.pNext = typeDotProductFeatures, unsafe.Pointer(&f.sub)
	if f.sub.sType = typeSubgroupSizeFeatures; version >= version13 {
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
	{"vulkanMemoryModel", func(f *features) *uint32 { return &f.v12.vulkanMemoryModel }},
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
	{"vulkanMemoryModelDeviceScope", func(f *features) *uint32 { return &f.v12.vulkanMemoryModelDeviceScope }},
	{"shaderIntegerDotProduct", func(f *features) *uint32 { return &f.dot.shaderIntegerDotProduct }},
	{"computeFullSubgroups", func(f *features) *uint32 { return &f.sub.computeFullSubgroups }},
}

// property is a property of devices that kernels may need, with the name of the specification.
type property struct {
	name string
	has  func(*physical) bool
}

var properties = []property{
	{"shaderSignedZeroInfNanPreserveFloat32", func(p *physical) bool { return p.floats.shaderSignedZeroInfNanPreserveFloat32 != 0 }},
	{"shaderSignedZeroInfNanPreserveFloat16", func(p *physical) bool { return p.floats.shaderSignedZeroInfNanPreserveFloat16 != 0 }},
	{"shaderRoundingModeRTEFloat16", func(p *physical) bool {
		return p.floats.shaderRoundingModeRTEFloat16 != 0 && p.floats.roundingModeIndependence != independenceNone
	}},
	{"VK_SUBGROUP_FEATURE_ARITHMETIC_BIT", func(p *physical) bool { return p.subgroup(subgroupArithmetic) }},
	{"VK_SUBGROUP_FEATURE_SHUFFLE_BIT", func(p *physical) bool { return p.subgroup(subgroupShuffle) }},
	{"subgroupSize from 4 to 128", func(p *physical) bool { return p.subgroups.subgroupSize >= 4 && p.subgroups.subgroupSize <= 128 }},
}

// independenceNone is VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE: all widths round alike.
const independenceNone = 2

// subgroup reports whether compute shaders have an operation of subgroups.
func (p *physical) subgroup(operation uint32) bool {
	return p.subgroups.supportedStages&shaderCompute != 0 && p.subgroups.supportedOperations&operation != 0
}

// basicProperties are the properties that kernels may need of any device: what package kernels/gpu assumes of the
// target, and computation with floating-point numbers.
var basicProperties = []string{"shaderSignedZeroInfNanPreserveFloat32", "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT", "subgroupSize from 4 to 128"}

// enable returns which of a device's features to enable. The device must have the features and properties of needs.
func (have *features) enable(version uint32, needs []string, p *physical) (*features, error) {
	on := newFeatures(version)
	for _, f := range further {
		*f.at(on) = *f.at(have)
	}
	required := slices.Clone(basicProperties)
	for _, f := range basic {
		*f.at(on) = 1
		required = append(required, f.name)
	}
	for _, name := range append(required, needs...) {
		if !have.has(name, p) {
			return nil, missing(p, name)
		}
	}
	return on, nil
}

// has reports whether a device with the given features and properties has the one of the given name.
func (have *features) has(name string, p *physical) bool {
	for _, f := range slices.Concat(basic, further) {
		if f.name == name {
			return *f.at(have) != 0
		}
	}
	for _, q := range properties {
		if q.name == name {
			return q.has(p)
		}
	}
	return false
}

func missing(p *physical, feature string) error {
	return fmt.Errorf("%v lacks the feature %s: choose another device (--vulkan-device), install a newer driver, or build for the CPU", p, feature)
}

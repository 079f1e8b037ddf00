package spirv

import "slices"

// features are the names of the features of Vulkan that capabilities belong to.
var features = map[capability]string{
	capFloat16:                        "shaderFloat16",
	capInt64:                          "shaderInt64",
	capInt16:                          "shaderInt16",
	capInt8:                           "shaderInt8",
	capStorageBuffer16BitAccess:       "storageBuffer16BitAccess",
	capStorageBuffer8BitAccess:        "storageBuffer8BitAccess",
	capVulkanMemoryModel:              "vulkanMemoryModel",
	capPhysicalStorageBufferAddresses: "bufferDeviceAddress",
	capDotProductInput4x8BitPacked:    "shaderIntegerDotProduct",
	capCooperativeMatrixKHR:           "cooperativeMatrix",
	capBFloat16TypeKHR:                "shaderBFloat16Type",
	capBFloat16CooperativeMatrixKHR:   "shaderBFloat16CooperativeMatrix",
}

// Features returns the names of the features of Vulkan that a module needs, sorted. They have to be enabled. It may
// also need properties of the device, which the package comment lists.
func Features(module []uint32) []string {
	var out []string
	for at := headerWords; opcode(module[at]) == opCapability; at += 2 {
		if name := features[capability(module[at+1])]; name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

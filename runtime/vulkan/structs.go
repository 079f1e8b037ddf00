package vulkan

import "unsafe"

// The structures of the specification that calls need, with its names and the layout of C on 64-bit systems. Fields
// that nothing reads or writes are left out where there are many; a blank array takes their place.

type vkApplicationInfo struct {
	sType              structureType
	pNext              unsafe.Pointer
	pApplicationName   unsafe.Pointer
	applicationVersion uint32
	pEngineName        unsafe.Pointer
	engineVersion      uint32
	apiVersion         uint32
}

type vkInstanceCreateInfo struct {
	sType                   structureType
	pNext                   unsafe.Pointer
	flags                   uint32
	pApplicationInfo        unsafe.Pointer
	enabledLayerCount       uint32
	ppEnabledLayerNames     unsafe.Pointer
	enabledExtensionCount   uint32
	ppEnabledExtensionNames unsafe.Pointer
}

type vkDebugUtilsMessengerCreateInfoEXT struct {
	sType           structureType
	pNext           unsafe.Pointer
	flags           int32
	messageSeverity int32
	messageType     int32
	pfnUserCallback uintptr
	pUserData       unsafe.Pointer
}

type vkDebugUtilsMessengerCallbackDataEXT struct {
	_        [40]byte
	pMessage unsafe.Pointer
	_        [48]byte
}

type vkPhysicalDeviceLimits struct {
	_                              [32]byte
	maxPushConstantsSize           uint32
	maxMemoryAllocationCount       uint32
	_                              [176]byte
	maxComputeSharedMemorySize     uint32
	maxComputeWorkGroupCount       [3]uint32
	maxComputeWorkGroupInvocations uint32
	maxComputeWorkGroupSize        [3]uint32
	_                              [176]byte
	timestampPeriod                float32
	_                              [4]byte
	_                              [9]uint64
}

type vkPhysicalDeviceSparseProperties struct {
	_ [20]byte
}

type vkPhysicalDeviceProperties struct {
	apiVersion        uint32
	driverVersion     uint32
	vendorID          uint32
	deviceID          uint32
	deviceType        int32
	deviceName        [256]byte
	pipelineCacheUUID [16]byte
	limits            vkPhysicalDeviceLimits
	sparseProperties  vkPhysicalDeviceSparseProperties
}

type vkPhysicalDeviceProperties2 struct {
	sType      structureType
	pNext      unsafe.Pointer
	properties vkPhysicalDeviceProperties
}

type vkPhysicalDeviceMaintenance3Properties struct {
	sType                   structureType
	pNext                   unsafe.Pointer
	maxPerSetDescriptors    uint32
	maxMemoryAllocationSize uint64
}

type vkPhysicalDeviceDriverProperties struct {
	sType              structureType
	pNext              unsafe.Pointer
	driverID           int32
	driverName         [256]byte
	driverInfo         [256]byte
	conformanceVersion [4]byte
}

type vkMemoryType struct {
	propertyFlags uint32
	heapIndex     uint32
}

type vkMemoryHeap struct {
	size  uint64
	flags uint32
}

type vkPhysicalDeviceMemoryProperties struct {
	memoryTypeCount uint32
	memoryTypes     [32]vkMemoryType
	memoryHeapCount uint32
	memoryHeaps     [16]vkMemoryHeap
}

type vkPhysicalDeviceMemoryProperties2 struct {
	sType            structureType
	pNext            unsafe.Pointer
	memoryProperties vkPhysicalDeviceMemoryProperties
}

type vkPhysicalDeviceMemoryBudgetPropertiesEXT struct {
	sType      structureType
	pNext      unsafe.Pointer
	heapBudget [16]uint64
	heapUsage  [16]uint64
}

type vkExtent3D struct {
	width  uint32
	height uint32
	depth  uint32
}

type vkQueueFamilyProperties struct {
	queueFlags                  uint32
	queueCount                  uint32
	timestampValidBits          uint32
	minImageTransferGranularity vkExtent3D
}

type vkPhysicalDeviceFeatures struct {
	_           [160]byte
	shaderInt64 uint32
	shaderInt16 uint32
	_           [52]byte
}

type vkPhysicalDeviceFeatures2 struct {
	sType    structureType
	pNext    unsafe.Pointer
	features vkPhysicalDeviceFeatures
}

type vkPhysicalDeviceVulkan11Features struct {
	sType                              structureType
	_                                  [4]byte
	pNext                              unsafe.Pointer
	storageBuffer16BitAccess           uint32
	uniformAndStorageBuffer16BitAccess uint32
	_                                  [40]byte
}

type vkPhysicalDeviceVulkan12Features struct {
	sType                             structureType
	_                                 [4]byte
	pNext                             unsafe.Pointer
	_                                 [8]byte
	storageBuffer8BitAccess           uint32
	uniformAndStorageBuffer8BitAccess uint32
	_                                 [12]byte
	shaderFloat16                     uint32
	shaderInt8                        uint32
	_                                 [88]byte
	scalarBlockLayout                 uint32
	_                                 [8]byte
	shaderSubgroupExtendedTypes       uint32
	_                                 [8]byte
	timelineSemaphore                 uint32
	bufferDeviceAddress               uint32
	_                                 [8]byte
	vulkanMemoryModel                 uint32
	vulkanMemoryModelDeviceScope      uint32
	_                                 [20]byte
}

type vkPhysicalDeviceShaderIntegerDotProductFeatures struct {
	sType                   structureType
	pNext                   unsafe.Pointer
	shaderIntegerDotProduct uint32
}

type vkDeviceQueueCreateInfo struct {
	sType            structureType
	pNext            unsafe.Pointer
	flags            uint32
	queueFamilyIndex uint32
	queueCount       uint32
	pQueuePriorities unsafe.Pointer
}

type vkDeviceCreateInfo struct {
	sType                   structureType
	pNext                   unsafe.Pointer
	flags                   uint32
	queueCreateInfoCount    uint32
	pQueueCreateInfos       unsafe.Pointer
	enabledLayerCount       uint32
	ppEnabledLayerNames     unsafe.Pointer
	enabledExtensionCount   uint32
	ppEnabledExtensionNames unsafe.Pointer
	pEnabledFeatures        unsafe.Pointer
}

type vkExtensionProperties struct {
	extensionName [256]byte
	specVersion   uint32
}

type vkBufferCreateInfo struct {
	sType                 structureType
	pNext                 unsafe.Pointer
	flags                 uint32
	size                  uint64
	usage                 uint32
	sharingMode           int32
	queueFamilyIndexCount uint32
	pQueueFamilyIndices   unsafe.Pointer
}

type vkMemoryRequirements struct {
	size           uint64
	alignment      uint64
	memoryTypeBits uint32
}

type vkMemoryAllocateInfo struct {
	sType           structureType
	pNext           unsafe.Pointer
	allocationSize  uint64
	memoryTypeIndex uint32
}

type vkMemoryAllocateFlagsInfo struct {
	sType      structureType
	pNext      unsafe.Pointer
	flags      uint32
	deviceMask uint32
}

type vkExternalMemoryBufferCreateInfo struct {
	sType       structureType
	pNext       unsafe.Pointer
	handleTypes uint32
}

type vkImportMemoryHostPointerInfoEXT struct {
	sType        structureType
	pNext        unsafe.Pointer
	handleType   uint32
	pHostPointer unsafe.Pointer
}

type vkMemoryHostPointerPropertiesEXT struct {
	sType          structureType
	pNext          unsafe.Pointer
	memoryTypeBits uint32
}

type vkPhysicalDeviceExternalMemoryHostPropertiesEXT struct {
	sType                           structureType
	pNext                           unsafe.Pointer
	minImportedHostPointerAlignment uint64
}

type vkBufferDeviceAddressInfo struct {
	sType  structureType
	pNext  unsafe.Pointer
	buffer handle
}

type vkShaderModuleCreateInfo struct {
	sType    structureType
	pNext    unsafe.Pointer
	flags    uint32
	codeSize uintptr
	pCode    unsafe.Pointer
}

type vkPipelineShaderStageCreateInfo struct {
	sType               structureType
	pNext               unsafe.Pointer
	flags               uint32
	stage               int32
	module              handle
	pName               unsafe.Pointer
	pSpecializationInfo unsafe.Pointer
}

type vkComputePipelineCreateInfo struct {
	sType              structureType
	pNext              unsafe.Pointer
	flags              uint32
	stage              vkPipelineShaderStageCreateInfo
	layout             handle
	basePipelineHandle handle
	basePipelineIndex  int32
}

type vkPushConstantRange struct {
	stageFlags uint32
	offset     uint32
	size       uint32
}

type vkPipelineLayoutCreateInfo struct {
	sType                  structureType
	pNext                  unsafe.Pointer
	flags                  uint32
	setLayoutCount         uint32
	pSetLayouts            unsafe.Pointer
	pushConstantRangeCount uint32
	pPushConstantRanges    unsafe.Pointer
}

type vkPipelineCacheCreateInfo struct {
	sType           structureType
	pNext           unsafe.Pointer
	flags           uint32
	initialDataSize uintptr
	pInitialData    unsafe.Pointer
}

type vkCommandPoolCreateInfo struct {
	sType            structureType
	pNext            unsafe.Pointer
	flags            uint32
	queueFamilyIndex uint32
}

type vkCommandBufferAllocateInfo struct {
	sType              structureType
	pNext              unsafe.Pointer
	commandPool        handle
	level              int32
	commandBufferCount uint32
}

type vkCommandBufferBeginInfo struct {
	sType            structureType
	pNext            unsafe.Pointer
	flags            uint32
	pInheritanceInfo unsafe.Pointer
}

type vkMemoryBarrier struct {
	sType         structureType
	pNext         unsafe.Pointer
	srcAccessMask uint32
	dstAccessMask uint32
}

type vkBufferCopy struct {
	srcOffset uint64
	dstOffset uint64
	size      uint64
}

type vkSemaphoreCreateInfo struct {
	sType structureType
	pNext unsafe.Pointer
	flags uint32
}

type vkSemaphoreTypeCreateInfo struct {
	sType         structureType
	pNext         unsafe.Pointer
	semaphoreType int32
	initialValue  uint64
}

type vkSubmitInfo struct {
	sType                structureType
	pNext                unsafe.Pointer
	waitSemaphoreCount   uint32
	pWaitSemaphores      unsafe.Pointer
	pWaitDstStageMask    unsafe.Pointer
	commandBufferCount   uint32
	pCommandBuffers      unsafe.Pointer
	signalSemaphoreCount uint32
	pSignalSemaphores    unsafe.Pointer
}

type vkTimelineSemaphoreSubmitInfo struct {
	sType                     structureType
	pNext                     unsafe.Pointer
	waitSemaphoreValueCount   uint32
	pWaitSemaphoreValues      unsafe.Pointer
	signalSemaphoreValueCount uint32
	pSignalSemaphoreValues    unsafe.Pointer
}

type vkSemaphoreWaitInfo struct {
	sType          structureType
	pNext          unsafe.Pointer
	flags          uint32
	semaphoreCount uint32
	pSemaphores    unsafe.Pointer
	pValues        unsafe.Pointer
}

type vkPhysicalDeviceFloatControlsProperties struct {
	sType                                 structureType
	_                                     [4]byte
	pNext                                 unsafe.Pointer
	_                                     [4]byte
	roundingModeIndependence              int32
	shaderSignedZeroInfNanPreserveFloat16 uint32
	shaderSignedZeroInfNanPreserveFloat32 uint32
	_                                     [28]byte
	shaderRoundingModeRTEFloat16          uint32
	_                                     [24]byte
}

type vkPhysicalDeviceSubgroupProperties struct {
	sType               structureType
	_                   [4]byte
	pNext               unsafe.Pointer
	subgroupSize        uint32
	supportedStages     uint32
	supportedOperations uint32
	_                   [4]byte
}

type vkPhysicalDeviceSubgroupSizeControlFeatures struct {
	sType                structureType
	pNext                unsafe.Pointer
	subgroupSizeControl  uint32
	computeFullSubgroups uint32
}

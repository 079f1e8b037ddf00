package vulkan

// structureType is a VkStructureType.
type structureType int32

const (
	typeApplicationInfo             structureType = 0
	typeInstanceCreateInfo          structureType = 1
	typeDeviceQueueCreateInfo       structureType = 2
	typeDeviceCreateInfo            structureType = 3
	typeSubmitInfo                  structureType = 4
	typeMemoryAllocateInfo          structureType = 5
	typeSemaphoreCreateInfo         structureType = 9
	typeBufferCreateInfo            structureType = 12
	typeShaderModuleCreateInfo      structureType = 16
	typePipelineCacheCreateInfo     structureType = 17
	typeShaderStageCreateInfo       structureType = 18
	typeComputePipelineCreateInfo   structureType = 29
	typePipelineLayoutCreateInfo    structureType = 30
	typeCommandPoolCreateInfo       structureType = 39
	typeCommandBufferAllocateInfo   structureType = 40
	typeCommandBufferBeginInfo      structureType = 42
	typeMemoryBarrier               structureType = 46
	typeVulkan11Features            structureType = 49
	typeVulkan12Features            structureType = 51
	typeFeatures2                   structureType = 1000059000
	typeProperties2                 structureType = 1000059001
	typeMemoryProperties2           structureType = 1000059006
	typeMemoryAllocateFlagsInfo     structureType = 1000060000
	typeDebugMessengerCreateInfo    structureType = 1000128004
	typeMaintenance3Properties      structureType = 1000168000
	typeSubgroupProperties          structureType = 1000094000
	typeFloatControlsProperties     structureType = 1000197000
	typeSubgroupSizeFeatures        structureType = 1000225002
	typeDriverProperties            structureType = 1000196000
	typeSemaphoreTypeCreateInfo     structureType = 1000207002
	typeTimelineSemaphoreSubmitInfo structureType = 1000207003
	typeSemaphoreWaitInfo           structureType = 1000207004
	typeMemoryBudgetProperties      structureType = 1000237000
	typeBufferDeviceAddressInfo     structureType = 1000244001
	typeDotProductFeatures          structureType = 1000280000

	typeExternalMemoryBufferCreateInfo structureType = 1000072000
	typeImportMemoryHostPointerInfo    structureType = 1000178000
	typeMemoryHostPointerProperties    structureType = 1000178001
	typeHostMemoryProperties           structureType = 1000178002
)

// Versions of the API.
const (
	version12 = 1<<22 | 2<<12
	version13 = 1<<22 | 3<<12
)

// Kinds of physical devices.
const (
	kindIntegrated = 1
	kindDiscrete   = 2
	kindVirtual    = 3
	kindCPU        = 4
)

// Flags, with the names of the specification.
const (
	queueCompute = 2

	memoryDeviceLocal  = 1
	memoryHostVisible  = 2
	memoryHostCoherent = 4
	memoryHostCached   = 8

	memoryAllocateDeviceAddress = 2

	bufferTransferSrc   = 1
	bufferTransferDst   = 2
	bufferStorage       = 32
	bufferDeviceAddress = 131072

	poolResetCommandBuffer = 2
	usageSimultaneous      = 4

	stageCompute     = 2048
	stageTransfer    = 4096
	stageHost        = 16384
	stageAllCommands = 65536

	accessShaderRead    = 32
	accessShaderWrite   = 64
	accessTransferRead  = 2048
	accessTransferWrite = 4096
	accessHostRead      = 8192

	subgroupArithmetic   = 4
	subgroupShuffle      = 16
	requireFullSubgroups = 2

	shaderCompute    = 32
	bindPointCompute = 1

	semaphoreTimeline = 1

	wholeSize = ^uint64(0)
)

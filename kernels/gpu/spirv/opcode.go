package spirv

// Numbers of the SPIR-V specification, unified version 1.6, section 3 ("Binary Form"): the tables of enumerations come
// first, the instructions are in the subsection "Instructions". SPIRV-Headers has the same numbers in
// spirv.core.grammar.json.

const (
	magic   = 0x07230203
	version = 0x00010500 // 1.5, the newest of Vulkan 1.2

	headerWords = 5 // magic, version, generator, bound of ids, 0
)

type opcode uint16

const (
	opName          opcode = 5
	opExtension     opcode = 10
	opExtInstImport opcode = 11
	opExtInst       opcode = 12
	opMemoryModel   opcode = 14
	opEntryPoint    opcode = 15
	opExecutionMode opcode = 16
	opCapability    opcode = 17

	opTypeVoid         opcode = 19
	opTypeBool         opcode = 20
	opTypeInt          opcode = 21
	opTypeFloat        opcode = 22
	opTypeVector       opcode = 23
	opTypeArray        opcode = 28
	opTypeRuntimeArray opcode = 29
	opTypeStruct       opcode = 30
	opTypePointer      opcode = 32
	opTypeFunction     opcode = 33

	opConstantTrue      opcode = 41
	opConstantFalse     opcode = 42
	opConstant          opcode = 43
	opConstantComposite opcode = 44

	opFunction       opcode = 54
	opFunctionEnd    opcode = 56
	opVariable       opcode = 59
	opLoad           opcode = 61
	opStore          opcode = 62
	opAccessChain    opcode = 65
	opDecorate       opcode = 71
	opMemberDecorate opcode = 72

	opCompositeConstruct opcode = 80
	opCompositeExtract   opcode = 81

	opConvertFToU   opcode = 109
	opConvertFToS   opcode = 110
	opConvertSToF   opcode = 111
	opConvertUToF   opcode = 112
	opUConvert      opcode = 113
	opSConvert      opcode = 114
	opFConvert      opcode = 115
	opConvertUToPtr opcode = 120
	opBitcast       opcode = 124

	opSNegate opcode = 126
	opFNegate opcode = 127
	opIAdd    opcode = 128
	opFAdd    opcode = 129
	opISub    opcode = 130
	opFSub    opcode = 131
	opIMul    opcode = 132
	opFMul    opcode = 133
	opUDiv    opcode = 134
	opSDiv    opcode = 135
	opFDiv    opcode = 136
	opUMod    opcode = 137

	opLogicalNotEqual      opcode = 165
	opLogicalOr            opcode = 166
	opLogicalAnd           opcode = 167
	opLogicalNot           opcode = 168
	opSelect               opcode = 169
	opIEqual               opcode = 170
	opINotEqual            opcode = 171
	opUGreaterThan         opcode = 172
	opULessThan            opcode = 176
	opSLessThan            opcode = 177
	opULessThanEqual       opcode = 178
	opSLessThanEqual       opcode = 179
	opFOrdEqual            opcode = 180
	opFUnordNotEqual       opcode = 183
	opFOrdLessThan         opcode = 184
	opFOrdGreaterThan      opcode = 186
	opFOrdLessThanEqual    opcode = 188
	opShiftRightLogical    opcode = 194
	opShiftRightArithmetic opcode = 195
	opShiftLeftLogical     opcode = 196
	opBitwiseOr            opcode = 197
	opBitwiseXor           opcode = 198
	opBitwiseAnd           opcode = 199
	opBitFieldInsert       opcode = 201
	opBitFieldSExtract     opcode = 202
	opBitFieldUExtract     opcode = 203

	opControlBarrier    opcode = 224
	opAtomicIAdd        opcode = 234
	opPhi               opcode = 245
	opLoopMerge         opcode = 246
	opSelectionMerge    opcode = 247
	opLabel             opcode = 248
	opBranch            opcode = 249
	opBranchConditional opcode = 250
	opReturn            opcode = 253

	opGroupNonUniformShuffleXor opcode = 346
	opGroupNonUniformIAdd       opcode = 349
	opGroupNonUniformFAdd       opcode = 350
	opGroupNonUniformSMax       opcode = 356
	opGroupNonUniformUMax       opcode = 357
	opGroupNonUniformFMax       opcode = 358
	opSDot                      opcode = 4450

	// SPV_KHR_cooperative_matrix
	opTypeCooperativeMatrixKHR   opcode = 4456
	opCooperativeMatrixLoadKHR   opcode = 4457
	opCooperativeMatrixStoreKHR  opcode = 4458
	opCooperativeMatrixMulAddKHR opcode = 4459
)

type capability uint32

const (
	capShader                         capability = 1
	capFloat16                        capability = 9
	capInt64                          capability = 11
	capInt16                          capability = 22
	capInt8                           capability = 39
	capGroupNonUniform                capability = 61
	capGroupNonUniformArithmetic      capability = 63
	capGroupNonUniformShuffle         capability = 65
	capStorageBuffer16BitAccess       capability = 4433
	capStorageBuffer8BitAccess        capability = 4448
	capSignedZeroInfNanPreserve       capability = 4466
	capRoundingModeRTE                capability = 4467
	capVulkanMemoryModel              capability = 5345
	capPhysicalStorageBufferAddresses capability = 5347
	capDotProductInput4x8BitPacked    capability = 6018
	capDotProduct                     capability = 6019
	capBFloat16TypeKHR                capability = 5116
	capBFloat16CooperativeMatrixKHR   capability = 5118
	capCooperativeMatrixKHR           capability = 6022
)

const (
	addressingLogical                 = 0
	addressingPhysicalStorageBuffer64 = 5348
	memoryModelVulkan                 = 3
	executionModelGLCompute           = 5

	modeLocalSize                = 17
	modeSignedZeroInfNanPreserve = 4461
	modeRoundingModeRTE          = 4462

	storageInput                 = 1
	storageWorkgroup             = 4
	storagePushConstant          = 9
	storagePhysicalStorageBuffer = 5349

	decorationBlock         = 2
	decorationArrayStride   = 6
	decorationBuiltIn       = 11
	decorationNonWritable   = 24
	decorationOffset        = 35
	decorationNoContraction = 42

	builtInNumWorkgroups             = 24
	builtInWorkgroupID               = 26
	builtInLocalInvocationIndex      = 29
	builtInSubgroupSize              = 36
	builtInSubgroupID                = 40
	builtInSubgroupLocalInvocationID = 41

	accessAligned           = 0x02
	accessNonPrivatePointer = 0x20

	scopeWorkgroup   = 2
	scopeSubgroup    = 3
	scopeQueueFamily = 5

	semanticsRelaxed         = 0
	semanticsAcquireRelease  = 0x0008
	semanticsUniformMemory   = 0x0040 // includes PhysicalStorageBuffer
	semanticsWorkgroupMemory = 0x0100
	semanticsMakeAvailable   = 0x2000
	semanticsMakeVisible     = 0x4000

	matrixA             = 0
	matrixB             = 1
	matrixAccumulator   = 2
	rowMajorKHR         = 0
	columnMajorKHR      = 1
	encodingBFloat16KHR = 0

	groupReduce        = 0
	packedFormat4x8Bit = 0
	noFunctionControl  = 0
	noLoopControl      = 0
	noSelectionControl = 0
)

// Numbers of the extended instructions "GLSL.std.450", from the specification of that name, version 1.00.
type extended uint32

const (
	glslRoundEven      extended = 2
	glslFloor          extended = 8
	glslSin            extended = 13
	glslCos            extended = 14
	glslTanh           extended = 21
	glslExp            extended = 27
	glslLog            extended = 28
	glslSqrt           extended = 31
	glslUMin           extended = 38
	glslSMin           extended = 39
	glslUMax           extended = 41
	glslSMax           extended = 42
	glslFma            extended = 50
	glslUnpackHalf2x16 extended = 62
	glslNMin           extended = 79
	glslNMax           extended = 80
)

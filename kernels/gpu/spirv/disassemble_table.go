package spirv

// instruction is how an instruction is printed.
type instruction struct {
	name     string
	result   resultKind
	operands string // kinds of the operands after the type and the result
}

type resultKind uint8

const (
	none        resultKind = iota
	result                 // the first operand is the result
	typedResult            // the first operand is the type of the result, which follows
)

// operandKind is a letter in instruction.operands.
type operandKind byte

const (
	anID         operandKind = 'i'
	ids          operandKind = '*' // all that are left
	aNumber      operandKind = 'n'
	numbers      operandKind = 'N' // all that are left
	aString      operandKind = 's'
	literalOf    operandKind = 'l' // of the type of the result
	memoryAccess operandKind = 'M' // a mask, and an alignment
	decoration   operandKind = 'd' // with the name of a built-in variable
	mask         operandKind = 'k' // of which no bit has a name here

	addressingModel   operandKind = 'a'
	memoryModel       operandKind = 'm'
	executionModel    operandKind = 'e'
	executionMode     operandKind = 'o'
	aCapability       operandKind = 'c'
	storageClass      operandKind = 't'
	groupOperation    operandKind = 'g'
	packedFormat      operandKind = 'p'
	floatEncoding     operandKind = 'f'
	extendedOperation operandKind = 'x'
)

// grammar has the instructions of Emit.
var grammar = map[opcode]instruction{
	opName:                      {"OpName", none, "is"},
	opExtension:                 {"OpExtension", none, "s"},
	opExtInstImport:             {"OpExtInstImport", result, "s"},
	opExtInst:                   {"OpExtInst", typedResult, "ix*"},
	opMemoryModel:               {"OpMemoryModel", none, "am"},
	opEntryPoint:                {"OpEntryPoint", none, "eis*"},
	opExecutionMode:             {"OpExecutionMode", none, "ioN"},
	opCapability:                {"OpCapability", none, "c"},
	opTypeVoid:                  {"OpTypeVoid", result, ""},
	opTypeBool:                  {"OpTypeBool", result, ""},
	opTypeInt:                   {"OpTypeInt", result, "nn"},
	opTypeFloat:                 {"OpTypeFloat", result, "nf"},
	opTypeVector:                {"OpTypeVector", result, "in"},
	opTypeArray:                 {"OpTypeArray", result, "ii"},
	opTypeRuntimeArray:          {"OpTypeRuntimeArray", result, "i"},
	opTypeStruct:                {"OpTypeStruct", result, "*"},
	opTypePointer:               {"OpTypePointer", result, "ti"},
	opTypeFunction:              {"OpTypeFunction", result, "*"},
	opConstantTrue:              {"OpConstantTrue", typedResult, ""},
	opConstantFalse:             {"OpConstantFalse", typedResult, ""},
	opConstant:                  {"OpConstant", typedResult, "l"},
	opConstantComposite:         {"OpConstantComposite", typedResult, "*"},
	opFunction:                  {"OpFunction", typedResult, "ki"},
	opFunctionEnd:               {"OpFunctionEnd", none, ""},
	opVariable:                  {"OpVariable", typedResult, "t*"},
	opLoad:                      {"OpLoad", typedResult, "iM"},
	opStore:                     {"OpStore", none, "iiM"},
	opAccessChain:               {"OpAccessChain", typedResult, "*"},
	opDecorate:                  {"OpDecorate", none, "idN"},
	opMemberDecorate:            {"OpMemberDecorate", none, "indN"},
	opCompositeConstruct:        {"OpCompositeConstruct", typedResult, "*"},
	opCompositeExtract:          {"OpCompositeExtract", typedResult, "iN"},
	opConvertFToU:               {"OpConvertFToU", typedResult, "*"},
	opConvertFToS:               {"OpConvertFToS", typedResult, "*"},
	opConvertSToF:               {"OpConvertSToF", typedResult, "*"},
	opConvertUToF:               {"OpConvertUToF", typedResult, "*"},
	opUConvert:                  {"OpUConvert", typedResult, "*"},
	opSConvert:                  {"OpSConvert", typedResult, "*"},
	opFConvert:                  {"OpFConvert", typedResult, "*"},
	opConvertUToPtr:             {"OpConvertUToPtr", typedResult, "*"},
	opBitcast:                   {"OpBitcast", typedResult, "*"},
	opSNegate:                   {"OpSNegate", typedResult, "*"},
	opFNegate:                   {"OpFNegate", typedResult, "*"},
	opIAdd:                      {"OpIAdd", typedResult, "*"},
	opFAdd:                      {"OpFAdd", typedResult, "*"},
	opISub:                      {"OpISub", typedResult, "*"},
	opFSub:                      {"OpFSub", typedResult, "*"},
	opIMul:                      {"OpIMul", typedResult, "*"},
	opFMul:                      {"OpFMul", typedResult, "*"},
	opUDiv:                      {"OpUDiv", typedResult, "*"},
	opSDiv:                      {"OpSDiv", typedResult, "*"},
	opFDiv:                      {"OpFDiv", typedResult, "*"},
	opUMod:                      {"OpUMod", typedResult, "*"},
	opLogicalNotEqual:           {"OpLogicalNotEqual", typedResult, "*"},
	opLogicalOr:                 {"OpLogicalOr", typedResult, "*"},
	opLogicalAnd:                {"OpLogicalAnd", typedResult, "*"},
	opLogicalNot:                {"OpLogicalNot", typedResult, "*"},
	opSelect:                    {"OpSelect", typedResult, "*"},
	opIEqual:                    {"OpIEqual", typedResult, "*"},
	opINotEqual:                 {"OpINotEqual", typedResult, "*"},
	opUGreaterThan:              {"OpUGreaterThan", typedResult, "*"},
	opULessThan:                 {"OpULessThan", typedResult, "*"},
	opSLessThan:                 {"OpSLessThan", typedResult, "*"},
	opULessThanEqual:            {"OpULessThanEqual", typedResult, "*"},
	opSLessThanEqual:            {"OpSLessThanEqual", typedResult, "*"},
	opFOrdEqual:                 {"OpFOrdEqual", typedResult, "*"},
	opFUnordNotEqual:            {"OpFUnordNotEqual", typedResult, "*"},
	opFOrdLessThan:              {"OpFOrdLessThan", typedResult, "*"},
	opFOrdGreaterThan:           {"OpFOrdGreaterThan", typedResult, "*"},
	opFOrdLessThanEqual:         {"OpFOrdLessThanEqual", typedResult, "*"},
	opShiftRightLogical:         {"OpShiftRightLogical", typedResult, "*"},
	opShiftRightArithmetic:      {"OpShiftRightArithmetic", typedResult, "*"},
	opShiftLeftLogical:          {"OpShiftLeftLogical", typedResult, "*"},
	opBitwiseOr:                 {"OpBitwiseOr", typedResult, "*"},
	opBitwiseXor:                {"OpBitwiseXor", typedResult, "*"},
	opBitwiseAnd:                {"OpBitwiseAnd", typedResult, "*"},
	opBitFieldInsert:            {"OpBitFieldInsert", typedResult, "*"},
	opBitFieldSExtract:          {"OpBitFieldSExtract", typedResult, "*"},
	opBitFieldUExtract:          {"OpBitFieldUExtract", typedResult, "*"},
	opControlBarrier:            {"OpControlBarrier", none, "*"},
	opAtomicIAdd:                {"OpAtomicIAdd", typedResult, "*"},
	opPhi:                       {"OpPhi", typedResult, "*"},
	opLoopMerge:                 {"OpLoopMerge", none, "iik"},
	opSelectionMerge:            {"OpSelectionMerge", none, "ik"},
	opLabel:                     {"OpLabel", result, ""},
	opBranch:                    {"OpBranch", none, "i"},
	opBranchConditional:         {"OpBranchConditional", none, "iiiN"},
	opReturn:                    {"OpReturn", none, ""},
	opGroupNonUniformShuffleXor: {"OpGroupNonUniformShuffleXor", typedResult, "*"},
	opGroupNonUniformIAdd:       {"OpGroupNonUniformIAdd", typedResult, "ig*"},
	opGroupNonUniformFAdd:       {"OpGroupNonUniformFAdd", typedResult, "ig*"},
	opGroupNonUniformSMax:       {"OpGroupNonUniformSMax", typedResult, "ig*"},
	opGroupNonUniformUMax:       {"OpGroupNonUniformUMax", typedResult, "ig*"},
	opGroupNonUniformFMax:       {"OpGroupNonUniformFMax", typedResult, "ig*"},
	opSDot:                      {"OpSDot", typedResult, "iip"},

	opTypeCooperativeMatrixKHR:   {"OpTypeCooperativeMatrixKHR", result, "*"},
	opCooperativeMatrixLoadKHR:   {"OpCooperativeMatrixLoadKHR", typedResult, "iiiM"},
	opCooperativeMatrixStoreKHR:  {"OpCooperativeMatrixStoreKHR", none, "iiiiM"},
	opCooperativeMatrixMulAddKHR: {"OpCooperativeMatrixMulAddKHR", typedResult, "iiik"},
}

// enumerations are the names of the numbers of a kind.
var enumerations = map[operandKind]map[uint32]string{
	addressingModel: {addressingLogical: "Logical", addressingPhysicalStorageBuffer64: "PhysicalStorageBuffer64"},
	memoryModel:     {memoryModelVulkan: "Vulkan"},
	executionModel:  {executionModelGLCompute: "GLCompute"},
	executionMode: {modeLocalSize: "LocalSize", modeSignedZeroInfNanPreserve: "SignedZeroInfNanPreserve",
		modeRoundingModeRTE: "RoundingModeRTE"},
	aCapability: {
		uint32(capShader): "Shader", uint32(capFloat16): "Float16", uint32(capInt64): "Int64", uint32(capInt16): "Int16", uint32(capInt8): "Int8",
		uint32(capGroupNonUniform): "GroupNonUniform", uint32(capGroupNonUniformArithmetic): "GroupNonUniformArithmetic",
		uint32(capGroupNonUniformShuffle): "GroupNonUniformShuffle", uint32(capStorageBuffer16BitAccess): "StorageBuffer16BitAccess",
		uint32(capStorageBuffer8BitAccess): "StorageBuffer8BitAccess", uint32(capSignedZeroInfNanPreserve): "SignedZeroInfNanPreserve",
		uint32(capRoundingModeRTE): "RoundingModeRTE", uint32(capVulkanMemoryModel): "VulkanMemoryModel",
		uint32(capPhysicalStorageBufferAddresses): "PhysicalStorageBufferAddresses",
		uint32(capDotProductInput4x8BitPacked):    "DotProductInput4x8BitPacked", uint32(capDotProduct): "DotProduct",
		uint32(capBFloat16TypeKHR): "BFloat16TypeKHR", uint32(capBFloat16CooperativeMatrixKHR): "BFloat16CooperativeMatrixKHR",
		uint32(capCooperativeMatrixKHR): "CooperativeMatrixKHR",
	},
	storageClass: {storageInput: "Input", storageWorkgroup: "Workgroup", storagePushConstant: "PushConstant",
		storagePhysicalStorageBuffer: "PhysicalStorageBuffer"},
	groupOperation: {groupReduce: "Reduce"},
	packedFormat:   {packedFormat4x8Bit: "PackedVectorFormat4x8Bit"},
	floatEncoding:  {encodingBFloat16KHR: "BFloat16KHR"},
	extendedOperation: {
		uint32(glslRoundEven): "RoundEven", uint32(glslFloor): "Floor", uint32(glslSin): "Sin", uint32(glslCos): "Cos", uint32(glslTanh): "Tanh",
		uint32(glslExp): "Exp", uint32(glslLog): "Log", uint32(glslSqrt): "Sqrt", uint32(glslUMin): "UMin", uint32(glslSMin): "SMin",
		uint32(glslUMax): "UMax", uint32(glslSMax): "SMax", uint32(glslFma): "Fma", uint32(glslUnpackHalf2x16): "UnpackHalf2x16",
		uint32(glslNMin): "NMin", uint32(glslNMax): "NMax",
	},
}

var decorations = map[uint32]string{decorationBlock: "Block", decorationArrayStride: "ArrayStride", decorationBuiltIn: "BuiltIn", decorationNonWritable: "NonWritable",
	decorationOffset: "Offset", decorationNoContraction: "NoContraction"}

var builtIns = map[uint32]string{builtInNumWorkgroups: "NumWorkgroups", builtInWorkgroupID: "WorkgroupId",
	builtInLocalInvocationIndex: "LocalInvocationIndex", builtInSubgroupSize: "SubgroupSize", builtInSubgroupID: "SubgroupId",
	builtInSubgroupLocalInvocationID: "SubgroupLocalInvocationId"}

var memoryAccesses = map[uint32]string{accessAligned: "Aligned", accessNonPrivatePointer: "NonPrivatePointer"}

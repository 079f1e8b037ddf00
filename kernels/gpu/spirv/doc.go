// Package spirv prints kir kernels as SPIR-V 1.5 modules for Vulkan 1.2. [Emit] makes the words of a module whose entry
// point is the compute shader "main"; package runtime/vulkan loads them.
//
// # Arguments
//
// Argument i is at byte 8*i of a block: a u64 takes 8 bytes, an i32 or u32 the first 4. Addresses are buffer device
// addresses. The block is in device memory. Its address, a multiple of 8, is the push constant, so that a command
// buffer that was recorded once reads other arguments in each step.
//
// # Registers
//
// SPIR-V integers have no sign here: i32 and u32 are both OpTypeInt 32 0, and the instruction tells what is meant. The
// kinds of memory (i8, u8, u16, bf16, and f16 without kir.CapF16) are held as their bits: up to 4 bytes in the low bits
// of a u32 with zeros above, 8 bytes in a vector of two u32. A load, a store or a bitcast of u8x4 or f16x2 is therefore
// that of a u32, without any capability; conversions take the lanes out. With kir.CapF16 an f16 is OpTypeFloat 16.
//
// # Capabilities
//
// A module declares a capability where it is used. [Features] returns the features of Vulkan that have to be enabled:
//
//	vulkanMemoryModel         always
//	bufferDeviceAddress       always, except for kernels that access no device memory
//	shaderInt64               u64, so addresses
//	storageBuffer8BitAccess   scalars of 1 byte in device memory
//	storageBuffer16BitAccess  types of 2 bytes in device memory, and f16 with kir.CapF16
//	shaderInt8, shaderInt16   types of 1 and of 2 bytes in shared memory
//	shaderFloat16             kir.CapF16
//	shaderIntegerDotProduct   kir.CapDot4
//	cooperativeMatrix         kir.CapTile, with shaderFloat16 for tiles of f16
//	shaderBFloat16Type, shaderBFloat16CooperativeMatrix  tiles of bf16
//
// SPIR-V has no asynchronous copies, and no matrices of a workgroup: kernels with kir.CapAsync or kir.CapSlab are
// refused.
//
// The following are properties of a device:
//
//	shaderSignedZeroInfNanPreserveFloat32  f32 is computed with
//	shaderSignedZeroInfNanPreserveFloat16, shaderRoundingModeRTEFloat16,
//	roundingModeIndependence not NONE      kir.CapF16
//	subgroup basic, arithmetic, shuffle    kir.CapSubgroup
//	matrices of 16 x 16 x 16 of f16 or bf16, with sums of f32, in the scope of subgroups  kir.CapTile
//
// # Memory model
//
// The memory model is Vulkan. GLSL450 makes a store to device memory visible to other threads of the workgroup only if
// the memory is declared Coherent, and a coherent access bypasses caches on some devices. Under the Vulkan model loads
// and stores are NonPrivatePointer, and the barrier makes them available and visible within the workgroup. A
// load_uniform is private, and NonWritable by way of a block of one member. Atomics have the scope QueueFamily, because
// Device needs a further capability. Threads per workgroup have to fill subgroups for subgroup operations: the pipeline
// is made with REQUIRE_FULL_SUBGROUPS.
//
// # Numbers
//
// Additions, subtractions, multiplications and divisions are decorated NoContraction: no device fuses a*b + c. Results
// of f32 additions, subtractions and multiplications are then the same everywhere, except for denormals, which a device
// may flush, and for the rounding mode. That is to nearest on every known device, but only promised where the module
// declares RoundingModeRTE. It does for f16; declaring it for f32 would exclude devices for no gain.
//
// The precision of the rest is that of the appendix "Precision and Operation of SPIR-V Instructions" of the Vulkan
// specification:
//
//	div            2.5 ULP
//	exp            3 + 2*|x| ULP
//	log            3 ULP, an absolute error of 2^-21 from 0.5 to 2
//	sqrt           that of 1/inversesqrt, of which inversesqrt has 2 ULP
//	sin, cos       an absolute error of 2^-11 from -pi to pi, none promised beyond
//	tanh           that of sinh/cosh; operands are limited to 10, because these overflow
//	fma            that of a multiplication followed by an addition
//
// An fma is GLSL.std.450 Fma with NoContraction, which makes it one operation, but does not tell how often it rounds.
// Devices with the instruction round once; lavapipe rounds twice. An exact emulation needs Float64, which is slow or
// missing, or about 45 operations, so a kernel that needs the low part of a product splits the factors instead.
//
// Conversions to f16 and bf16 are integer operations, which round to nearest even on every device. With kir.CapF16 a
// conversion to f16 is OpFConvert.
//
// SignedZeroInfNanPreserve is declared for every width that is computed with: without it a compiler may assume that
// there are no infinities, which masks are made of.
package spirv

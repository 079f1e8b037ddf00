// Package ptx prints kernels as PTX, the assembly language that NVIDIA drivers compile when a module is loaded, and checks
// PTX text. [Emit] and [Check] share no code: Check reads any PTX of the subset that it knows.
//
// Section numbers in comments are those of NVIDIA's "PTX ISA", version 7.6.
//
// # Arguments
//
// A kernel has one parameter of type .u64 for each argument, so its parameters are an array of 8-byte words (5.1.6.1: an
// entry's parameters are stored in order, each aligned to its type). An i32 or a u32 is the low half of its word; the high
// half is ignored. The same block of words serves every kernel, both as kernelParams of cuLaunchKernel, with pointers to the
// words, and as CU_LAUNCH_PARAM_BUFFER_POINTER.
//
// # Registers
//
// Each kind has its register type: pred for bool, s16 for i8, u16 for u8 and u16, b16 for bf16, f16, s32, u32, f32, u64.
// There are no 8-bit registers to compute with (5.2.2), so an i8 is kept sign-extended in 16 bits, and a u8 zero-extended. A
// vector is a register for each lane, a tile 4 b32 or 8 f32.
//
// # Floating-point numbers
//
// All arithmetic has the modifier .rn: an add or mul without one may be contracted to an fma (9.7.3.3, 9.7.3.5). Denormals
// are kept, as no instruction has .ftz. The accuracy of exp, log, sin, cos and tanh is stated where they are printed.
//
// # Memory
//
// Addresses of kir are used in the global state space as they are. A generic address outside of the windows of the other
// spaces is the global address (6.4.1.1), so no cvta is needed. A barrier is bar.sync, which also orders the accesses of
// the workgroup's threads to device and shared memory (9.7.12.1): no membar is needed beside it.
//
// # Tiles and copies
//
// A tile is the fragments of mma.sync.m16n8k16, which exists from sm_80 on, and so do asynchronous copies. Factors come from
// shared memory by ldmatrix. Products are exact in an mma; how sums are rounded is not stated (9.7.13.4).
package ptx

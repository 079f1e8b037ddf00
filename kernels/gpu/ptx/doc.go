// Package ptx prints kernels as PTX, the assembly language that NVIDIA drivers compile when a module is loaded, and
// checks PTX text. [Emit] and [Check] share no code: Check reads any PTX of the subset that it knows.
//
// Section numbers in comments are those of NVIDIA's "PTX ISA", version 7.6.
//
// # Arguments
//
// Argument i is at byte 8*i of a block in device memory: a u64 takes 8 bytes, an i32 or u32 the first 4. The only
// parameter of a kernel is the block's address, a multiple of 8, so that a launch in a graph, whose parameters are
// constant, reads other arguments each time. Blocks are the same for package spirv.
//
// # Registers
//
// Each kind has its register type: pred for bool, s16 for i8, u16 for u8 and u16, b16 for bf16, f16, s32, u32, f32,
// u64. There are no 8-bit registers to compute with (5.2.2), so an i8 is kept sign-extended in 16 bits, and a u8
// zero-extended. A vector is a register for each lane, a tile 4 b32 or 8 f32.
//
// # Floating-point numbers
//
// All arithmetic has the modifier .rn: an add or mul without one may be contracted to an fma (9.7.3.3, 9.7.3.5).
// Denormals are kept, as no instruction has .ftz. The accuracy of exp, log, sin, cos and tanh is stated where they are
// printed.
//
// # Memory
//
// Addresses of kir are used in the global state space as they are. A generic address outside of the windows of the
// other spaces is the global address (6.4.1.1), so no cvta is needed. A barrier is bar.sync, which also orders the
// accesses of the workgroup's threads to device and shared memory (9.7.12.1): no membar is needed beside it.
//
// # Tiles and copies
//
// A tile is the fragments of mma.sync.m16n8k16, which exists from sm_80 on, and so do asynchronous copies. Factors come
// from shared memory by ldmatrix. Products are exact in an mma; how sums are rounded is not stated (9.7.13.4).
//
// # Slabs
//
// A slab is the accumulators of wgmma.mma_async, which exists for sm_90a only. Its instructions are one to one those of
// kir: slab_fence is wgmma.fence, slab_commit and slab_wait are wgmma.commit_group and wgmma.wait_group, slab_publish
// is fence.proxy.async. Factors are in shared memory without swizzling, and a matrix descriptor has their strides. The
// registers of a slab are the same ones from its fill to its last product: no instruction touches them in between, so
// that the compiler of the driver has no reason to serialize products. Their sections are those of version 8.7.
package ptx

// Package kir is the IR of GPU kernels: small, typed, in SSA form with structured control flow. Kernels are built with
// a [Builder], checked by [Verify], run by package interp, and printed as SPIR-V and PTX by packages of that name.
//
// A kernel is run by workgroups, each of Threads threads. All threads run the same instructions; they differ in
// thread, lane, subgroup and group. A workgroup has shared memory and a barrier. Device memory is addressed by 64-bit
// numbers: an argument of the kernel plus bytes.
//
//	kernel scale_f32 threads=64 args=(x: u64, y: u64, n: i32) {
//	  %g = group
//	  %t = thread
//	  %w = const i32 64
//	  %b = mul %g, %w
//	  %i = add %b, %t
//	  %c = lt %i, %n
//	  if %c {
//	    %o = offset %i {4}
//	    %p = add %x, %o
//	    %v = load f32 %p
//	    %two = const f32 2
//	    %r = mul %v, %two
//	    %q = add %y, %o
//	    store %q, %r
//	  }
//	}
//
// Control flow is If and For only, each with results:
//
//	%s = for %i = %lo to %hi step %d carry (%a = %zero) {
//	  …
//	  yield %next
//	}
//
// A for runs while i < hi, as in Go; its bounds are read once. Integers wrap around. Additions, subtractions and
// multiplications of floats are those of IEEE 754 for their type, and never fused, except that a printer may flush
// denormals of f32. A fma may be rounded twice, so a kernel must not rely on its exactness. Divisions, exp, log, sqrt,
// sin, cos and tanh have the accuracy that Vulkan asks for, which package spirv lists; a kernel that needs more
// computes it from multiplications and additions.
//
// Barriers, and what a subgroup does together, are in control flow that all threads of the workgroup, or subgroup, run
// alike: [Verify] follows what depends on the thread. Numbers that threads load from one place of shared memory are
// equal, as a store by one of them between two barriers would be a race.
//
// # Tiles
//
// A tile is a matrix of 16 x 16 that belongs to a subgroup: tile_mul_add computes a*b + sum of a tile_a, a tile_b and a
// tile_sum. Factors are f16 or bf16, sums f32. In memory a tile is 16 lines of 16 adjacent elements. The stride is what
// is from one line to the next. A line is a row of a tile_a and of a tile_sum, and a column of a tile_b. So both
// factors of a product of rows are read along their lines. tile_turned reads columns of a tile_a or rows of a tile_b as
// lines.
//
//	%s0 = tile_fill %zero
//	%a = tile_shared_load tile_a_f16 xs %i {40}
//	%b = tile_shared_load tile_b_f16 ws %j {40}
//	%s1 = tile_mul_add %a, %b, %s0
//	tile_shared_store ys %k, %s1 {16}
//
// All threads of a subgroup make these operations together, with the same address, index or number; [Verify] demands
// operands and control flow that depend on nothing below the subgroup. A workgroup consists of whole subgroups.
// Addresses, indices and strides are multiples of 16 bytes. For races an access counts as one of several threads: a
// barrier is between what a thread stored and a tile that is loaded from there, also within a subgroup.
//
// The order of the additions is not defined, nor how often they round: a device may align the products to the greatest
// and cut off what is below. Package interp adds the products to the sum in the order of k, each rounded to f32. On any
// device a sum differs from the exact one by at most 2^-18 of the sum of all magnitudes. Sums of small integers are
// exact everywhere.
//
// Tiles are opaque values, which loops and branches carry, for the following reasons. A vector in each thread, as in
// PTX, would fix which thread has which element, and SPIR-V leaves that to the device. A handle to a place, as of
// CUDA's wmma, would be a variable, and kir has none. Products of a whole workgroup are slabs, see below. There is one
// shape: devices with VK_KHR_cooperative_matrix and these types have 16 x 16 x 16, and PTX makes it of two
// mma.m16n8k16. Elementwise operations on tiles are left out: SPIR-V has them, PTX would, no kernel needs them.
//
// # Slabs
//
// A slab is a matrix of sums, of f32, with 64 rows and 16 to 256 columns, which belongs to a workgroup of 128 threads:
// four subgroups of 32. A slab_mul_add adds a product a*b of two factors in shared memory, which no thread loads: a has
// 64 lines of 16 elements, its rows; b has as many lines as the slab has columns. The products of f16 or bf16 are added
// as those of tiles are.
//
//	%s0 = slab_fill slab_64 %zero
//	slab_publish
//	barrier
//	slab_fence
//	%s1 = slab_mul_add tiles %a, %b, %s0 {32, 128}
//	slab_commit
//	slab_wait {0}
//	%t = slab_tile %s1 {3}
//
// A factor consists of blocks of 8 lines of 8 elements, which follow each other: element e of line l of a block is at
// 8*l + e. The strides are those from the block with the first 8 elements of 8 lines to that with the other 8, and from
// a block to that of the next 8 lines; both count elements of the array and are multiples of 16 bytes. The indices
// of the factors are at multiples of 16 bytes, too.
//
// A product is made while the threads run on. The products since the last slab_commit become a group by the next one,
// and a slab_wait of n waits until all groups but the last n are done. What has to be done between, and what package
// interp reports otherwise:
//
//	before a product            a thread publishes what it stored in a factor, or copied there and waited for, by
//	                            slab_publish; after that there is a barrier
//	                            a slab_fence comes after the slab_fill of its slab
//	until the product is waited for
//	                            nothing is stored in the factors or copied there; only products use the slab
//	after that                  a barrier comes before a factor is overwritten
//
// A slab is changed in its place. So nothing else uses a slab that a product is added to, that a loop carries, or that
// its body yields; the body yields it in the place in which it carries it; and a product is in the block that defines
// its slab. An if passes no slabs on. A slab is read by slab_tile: each subgroup gets a tile_sum of 16 columns of its
// own 16 rows, of which the first subgroup has the first ones.
//
// All threads of the workgroup make these operations together, with the same indices and numbers, except slab_publish,
// which is each thread's own. None of them is a barrier.
//
// The order of products, fences and waits is explicit, since it is what decides the speed. A single operation that
// multiplies and waits would let nothing run beside it. An operation that loads its factors from device memory would be
// for copies by the device, and factors of blocks have to be decoded. A slab whose fragments are vectors of each thread
// would be as long as 128 numbers; as an opaque value it needs one operation to be read, and gives tiles, for which
// kernels have code. Factors have one layout, without an exchange of columns that spreads lines over the banks of
// shared memory: strides do that as well. Two arrays for the two factors would need a second name in an instruction.
//
// # Asynchronous copies
//
// A copy_async copies bytes from device memory to a shared array while the thread runs on. A thread's copies since its
// last copy_commit become a group by the next one. A copy_wait of n waits until all groups of the thread but the last n
// have arrived. Then the thread reads them; other threads read them after a barrier that follows the wait. Until the
// wait no thread may access the elements. Both places are multiples of the bytes that are copied.
//
//	copy_async tile %index, %address {16}
//	copy_commit
//	copy_wait {0}
//	barrier
//
// Nothing may write the source while the kernel runs, as with load_uniform: there is no order between a copy and the
// stores of other threads. The copies are for weights, which are such bytes. A kernel with them is for devices that
// have them: there is no substitute, because a load and a store take the registers that the copies are to save.
package kir

// Package kir is the IR of GPU kernels: small, typed, in SSA form with structured control flow. Kernels are built with a
// [Builder], checked by [Verify], run by package interp, and printed as SPIR-V and PTX by packages of that name.
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
// sin, cos and tanh have the accuracy that Vulkan asks for, which package spirv lists; a kernel that needs more computes
// it from multiplications and additions.
//
// # Asynchronous copies
//
// A copy_async copies bytes from device memory to a shared array while the thread runs on. A thread's copies since its last
// copy_commit become a group by the next one. A copy_wait of n waits until all groups of the thread but the last n have
// arrived. Then the thread reads them; other threads read them after a barrier that follows the wait. Until the wait no
// thread may access the elements. Both places are multiples of the bytes that are copied.
//
//	copy_async tile %index, %address {16}
//	copy_commit
//	copy_wait {0}
//	barrier
//
// Nothing may write the source while the kernel runs, as with load_uniform: there is no order between a copy and the stores
// of other threads. The copies are for weights, which are such bytes. A kernel with them is for devices that have them: there is no
// substitute, because a load and a store take the registers that the copies are to save.
package kir

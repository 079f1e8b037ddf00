// Package cpu holds the kernels that emitted programs call on the processor.
//
// Every kernel is a Go function that is not inlined. It takes base pointers, which may
// have constant offsets added already, sizes, and the half-open ranges of its output
// that it computes: rows [r0, r1) (tokens) and where it makes sense columns [c0, c1)
// (features) or heads [h0, h1). Strides follow from the full sizes, so several workers
// can compute disjoint ranges of one result. Empty ranges do nothing. Sizes count
// elements unless a comment says bytes.
//
// The constitution, which emitted code and the plan's proof rely on:
//   - A kernel allocates nothing, starts nothing, waits for nothing and keeps no state;
//     the one global is the choice of implementation, made once before main. Attention,
//     writes of states, swiglu whose result is bf16 and, on AVX2, products of several rows of bf16
//     take their scratch from pools, which allocate when they are empty: at first, and at the
//     latest two garbage collections after they were last used.
//   - It reads and writes only the bytes that its comment names. Pointers, offsets and
//     index operands are trusted: passes/check proves the first two, the runtime checks
//     the last. Pointers need the alignment of their element type, no more.
//   - The result does not depend on how ranges are cut at the granules that package tile
//     states: any division of the work gives the same bits. It may differ in rounding
//     between implementations.
//   - dst may be the same pointer as an input of equal shape and type where the comment
//     says so; other overlap is not allowed.
//   - One call of an assembly function lasts less than a millisecond, as it cannot be
//     preempted.
//
// Reductions run in an order that depends on the length only. NaN and infinities
// propagate as in IEEE arithmetic; denormals are not flushed, but by some processors' products of
// bf16.
package cpu

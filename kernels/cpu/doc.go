// Package cpu holds the kernels that emitted programs call on the processor, in pure Go and in assembly.
//
// Every kernel is a Go function that is not inlined. Its parameters are, in this order:
//
//   - pointers to its operands, the result first
//   - a shape, if there would be more than 8 parameters: what is the same in each call
//   - sizes and constants
//   - the half-open ranges of its output that it computes: rows [r0, r1) (tokens), and columns
//     [c0, c1) (features) or heads [h0, h1)
//
// Strides follow from the full sizes, so that several workers can compute disjoint ranges of one
// result. A kernel with an empty range does nothing. Sizes count elements unless a comment names
// bytes.
//
// The constitution, which emitted code and the plan's proof rely on:
//   - A kernel allocates nothing, starts nothing, waits for nothing and keeps no state;
//     the choice of implementation is the only global, and is made before main. Attention,
//     writes of states, swiglu whose result is bf16 or whose weights are multiplied in turn, products
//     with expanded panels or signed rows and, on AVX2, of several rows of bf16
//     take their scratch from pools. A pool allocates when it is empty: at first, and after two
//     garbage collections without a use.
//   - It reads and writes only the bytes that its comment names. Pointers, offsets and
//     index operands are trusted: passes/check proves the first two, the runtime checks
//     the last. Pointers need the alignment of their element type, no more.
//   - The result does not depend on how ranges are cut at the granules that package tile
//     states: any division of the work gives the same bits. It may differ in rounding
//     between implementations.
//   - dst may be the same pointer as an input of equal shape and type where the comment
//     allows it; other overlap is not allowed.
//   - One call of an assembly function lasts less than a millisecond, as it cannot be
//     preempted.
//
// The order of a reduction depends on its length only. NaN and infinities propagate as in IEEE
// arithmetic. Denormals are not flushed, except by some processors' products of bf16; sigmoid and silu in assembly are 0
// below -88.7, where e^-x is infinite, as in ggml.
package cpu

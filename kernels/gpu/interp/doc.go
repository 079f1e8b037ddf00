// Package interp runs GPU kernels in Go and reports what a GPU would do silently: races, reads of undefined memory,
// accesses out of bounds, barriers that not all threads reach. It defines what a kernel of package kir means, and is
// the first test of each kernel.
//
//	m := interp.NewMemory()
//	x := m.Alloc(4 * n)
//	m.Write(x, data)
//	err := interp.Run(k, interp.Launch{Groups: 4, Args: []uint64{x, n}}, m, interp.Options{Seed: 1})
//
// [Compile] returns a program that runs several times.
//
// Threads run interleaved in an order drawn from the seed. A thread runs up to a barrier, an operation of its subgroup
// or its end, or is interrupted after an access to memory. How often that happens depends on the seed as well. Groups
// begin in random order; as many are under way at once as fit 512 KiB of registers, and at least two.
//
// Races are found by the order that barriers impose, not by the outcome of the interleaving. Each access is compared
// with the earlier ones to the same bytes of the launch. Two accesses of different threads are ordered only if both
// threads are of one group and a barrier of the group is between them. So the seeds of a race differ in which of its
// two accesses is reported.
//
// An access of a tile counts as one of several threads: nothing in its subgroup orders it with another access.
//
// An element of shared memory that a copy_async names belongs to the copy until the thread has waited for it. Every
// access before that is a race, also one of the same thread.
//
// Where kir leaves a choice, the interpreter makes this one. Floating-point results are rounded to the type once per
// operation. Of zeros, -0 is the minimum and +0 the maximum. The functions exp, log, sin, cos and tanh are those of
// package math for a float64, rounded. A sum over a subgroup adds neighbours first, then pairs of neighbours, and so
// on. Products of tiles are added in the order of k. The bits of a NaN are undefined.
package interp

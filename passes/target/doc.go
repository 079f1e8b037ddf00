// Package target describes backends as passes see them: which ops a backend runs on operands of which formats, which
// memory spaces it addresses, its limits, and how long its work takes. Passes know a backend only through its
// [Descriptor].
//
// A [List] holds the targets of a compilation in order of priority. The last one has to run everything that the others
// do not run. Built-in descriptors are tables in this package ([Builtin]). Users describe other machines in a text form
// ([Parse]).
//
// # Example
//
// This text describes a graphics card and the processor:
//
//	target gpu space=vram ops=*,-rope memory=8GiB queues=2 flops=20e12 bandwidth=500e9 launch=5e-6 link=20e9
//	target cpu like=cpu
//
// The card runs every op except rope, with results in its own memory vram. The host submits work to its queue and
// continues. The rates predict times:
//
//   - A product of 2e9 operations that reads 100e6 bytes takes 5e-6 s to start, and then the larger of 2e9/20e12 =
//     100e-6 s of arithmetic and 100e6/500e9 = 200e-6 s of memory: 205e-6 s ([Descriptor.Seconds]).
//   - A copy of 1e6 bytes from host to vram takes 1e6/10e9 = 100e-6 s on the slower link, which is that of the
//     processor, and its delay of 1e-6 s ([Descriptor.TransferSeconds]).
package target

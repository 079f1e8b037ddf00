// Package target describes backends as passes see them: which ops they run on operands of
// which formats, which memory spaces they can address, their limits, and what work costs
// them. Passes know backends only through a [Descriptor].
//
// A [List] holds the targets of a compilation in order of priority; the last one has to
// run everything that the others do not. Built-in descriptors are tables ([Builtin]);
// tests and users invent others in a text form ([Parse]).
package target

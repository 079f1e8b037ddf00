// Package compare runs a model twice on the same inputs, and reports where the values differ: two programs, or a
// program and the definition of its graph in float64.
//
// Each program is built with all values observed (pass observe), and writes them to files, step by step. The values of
// the definition come from package eval, which gets the inputs that the program has written: no code knows how the
// runtime makes positions and lengths of a prompt. Values have the names that the frontend gave them. What two
// compilations of one model file call alike is the same value, as passes give the name of a value only to one that is
// equal to it.
//
// A value is compared where both sides have it in memory. For a value that one side lacks, the table gives the reason:
// a view of another value, part of a fused node, a state, or stored in blocks.
//
// # Tolerances
//
// Each op states how far a kernel may be from its definition when both get the same operands ([ir.Tolerance]). Here the
// operands differ already. The tolerance of a value is that of its node, and of all nodes before it: the roots of the
// NMSE of the longest way from the inputs add up. That holds if no op makes relative errors larger; norms and products
// of many terms do not.
//
// # Alternatives
//
// ggml computes both sides node by node, in one process that holds both backends. An emitted program has no nodes to
// stop at. To run each node alone, as package gputest does for kernels, shows a wrong kernel; a wrong plan (bytes that
// are in use twice, a missing copy, a stale state) shows only in the program. To give each node of the definition the
// program's operands would keep errors from adding up, and so hide an error that grows from node to node.
package compare

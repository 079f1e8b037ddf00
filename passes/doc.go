// Package passes turns a module as a frontend makes it into a finished plan: a backend,
// a format, a split, an order, a part of the work and an address for everything.
//
// [Passes] lists the pipeline: one table, one order, with the reasons why a pass must
// precede another ([Constraints]). [Run] is the one loop that runs it: it checks what a
// pass needs, recovers from a pass's panics with a reproducer, times, counts, verifies
// and dumps. What holds for a module after a pass is said by ir.Props.
//
// A pass may use the module, its options, the list of targets, a seeded source of random
// numbers, and the methods of [Context]. It reads no file, environment or clock and no
// global variable; no map iteration reaches its output. What it decides about a node it
// says as a cause, under a rule that it declares.
package passes

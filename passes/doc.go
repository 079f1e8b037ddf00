// Package passes turns the module of a frontend into a finished plan, in which every node has a backend, a format, a
// split, a position in the order and a partition, and every value an address.
//
//	table.go     the pipeline: which passes run, in which order, and the reasons for the order
//	run.go       the loop that runs them: Run
//	option.go    --debug and --disable
//	dump.go      a file for the module after each pass
//	prove.go     the last pass, check; all other passes have packages of their own
//
// A pass may use the module, its options, the list of targets, a seeded source of random numbers, and the methods of
// [pass.Context]. It reads no file, environment, clock or global variable, and its output does not depend on the order
// of a map. It records each decision about a node as a cause, under a rule that it declares. The properties of a module
// that hold after a pass are ir.Props.
package passes

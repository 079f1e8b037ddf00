// Command seams searches for programs whose results differ from the plan that was proved. It builds random programs
// and runs them.
//
//	go run ./tests/seams -for 1h -seed 1 -out DIR
//
// A try is determined by one number, its seed. Its subject is a model, or a random graph of ir/irtest. The subject is
// compiled for a random machine (several targets with the fields of docs/reference/targets.md), with random pins, rules
// and limits. For some tries the dump after a random pass is edited and then compiled: numbers, words and lines are
// changed, removed, doubled and swapped, and names are changed everywhere or in one place.
//
// ggmlc may refuse a try with status 1, 2 or 3. Each program that it makes is run with 1, 2, 3 and 8 threads, and
// compared with the program of the same subject for the CPU alone. That one is made with the same settings of what is
// computed: --ctx, --kv, --quantize, --cpu. The comparison covers every bit of all logits, or of all arrays of a
// graph. Nothing may differ, as simulated devices use the kernels of the CPU, and work is divided by elements of
// results.
//
// An edit affects either decisions of the compiler (backends, addresses, order, waits, names, notes), or what is
// computed (operands, attributes, types). After an edit of the second kind the results may be others, but they have
// to be the same for any number of threads and any delay of devices. An edit of a line such as "option cpu=generic"
// selects kernels that round differently: results then have to be within a bound.
//
// A find is one of these: ggmlc or a program panics or ends with status 4; a program ends otherwise than the program
// for the CPU; one of them does not end; a result differs. A find is written to a folder of -out, with all files that
// reproduce it and a README.md that describes how. The command
//
//	go run ./tests/seams -try SEED -out DIR
//
// makes that one try again.
package main

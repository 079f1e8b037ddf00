// Command seams looks for programs that compute something else than the plan that was proved: it
// builds random programs and runs them.
//
//	go run ./tests/seams -for 1h -seed 1 -out DIR
//
// A try is drawn from one number, its seed. Its subject is a model, or a random graph of
// ir/irtest. It is compiled for a random machine (several targets with fields of docs/reference/targets.md),
// with random pins, rules and limits. Of some tries the dump after a random pass is edited, and
// what came of that is compiled: numbers, words and lines are changed, removed, doubled and
// swapped, names are changed everywhere or in one place.
//
// ggmlc may refuse a try with status 1, 2 or 3. Each program that it makes is run with 1, 2, 3
// and 8 threads, beside the program of the same subject for the processor alone, made with the
// same settings of what is computed: --ctx, --kv, --quantize, --cpu. What is compared is every
// bit of all logits, or of all arrays of a graph: devices are simulated by the processor's kernels,
// and work is divided by elements of results, so nothing may differ.
//
// An edit either concerns what the compiler decided (backends, addresses, order, waits, names,
// notes), or what is computed (operands, attributes, types). After the latter results may be
// others, but they have to be the same for any number of threads and any delay of devices.
//
// A find is: ggmlc ends with status 4 or a panic; a program does so, or ends otherwise than the
// program for the processor; one of them does not end; a result differs. It is written to a folder
// of -out with all files that reproduce it and a README.md that says how. The program
//
//	go run ./tests/seams -try SEED -out DIR
//
// makes that one try again.
package main

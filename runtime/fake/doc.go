// Package fake is a simulated backend. It runs the kernels of the CPU, but in memory of its own, and on queues that
// run late and out of step with the host and with each other.
//
// It turns mistakes of a plan into wrong results or errors. Memory is filled with NaN before it is first written, and
// again whenever no step is in flight, so a missing copy shows. Queues are goroutines that wait for a random time
// before each entry, so without an event one overtakes another. Commands get the addresses of the memory that their
// target can address and no others. A command that touches anything else faults, and the step returns a
// *runtime.FaultError.
package fake

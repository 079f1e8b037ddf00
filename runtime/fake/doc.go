// Package fake is a simulated backend: it runs the processor's kernels, but in memory of
// its own and on queues that run late and out of step with the host and each other.
//
// It turns mistakes of a plan into wrong results or errors. Memory is filled with NaN
// before anything is written there, and again whenever no step is under way, so a missing
// copy shows. Queues are goroutines that linger at random before they begin something, so
// a missing event lets one overtake another. Commands get the addresses of the memory that
// their target can address and no others; a command that touches anything else faults,
// which the step returns as a *runtime.FaultError.
package fake

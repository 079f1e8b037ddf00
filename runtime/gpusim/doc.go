// Package gpusim is a GPU that is simulated: it runs the kernels of package kernels/gpu with their interpreter, in
// memory of its own. Programs need no driver for it.
//
// It reports what a GPU would do silently, as a *runtime.FaultError: races between threads, reads of bytes that were
// never written in the step, accesses outside of the device's memory, barriers that some threads miss. The error names
// the kernel, the node, the step and the split. Threads run in an order drawn from a seed.
//
// Each queue has a goroutine. One entry of a device is processed at a time.
package gpusim

// Package cuda is a backend for NVIDIA GPUs of compute capability 7.0 or later: streams, events, graphs and memory of
// the installed driver. It opens the driver, of CUDA 11.4 or later, without cgo. Nothing of the CUDA toolkit is needed.
//
// Each queue of a plan is a stream, with a goroutine that submits its entries in order and one that waits until the
// device has done them. Successive runs of kernels become a graph when they are first submitted. The graph begins with
// a copy of their arguments to the device, whose address is the parameter of every kernel, so it is launched unchanged
// in later steps. Kernels between two barriers are captured from several streams, so that they may run at the same
// time. Waits among queues of one device are left to the device. The host polls events, with a limit.
package cuda

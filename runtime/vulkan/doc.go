// Package vulkan is a backend for GPUs with a driver of Vulkan 1.2 or later: pipelines, command buffers, semaphores and
// memory of a device. It opens the library that is installed, without cgo.
//
// Each queue of a plan has a goroutine that submits its entries in order and one that waits until the device has done
// them. Runs of kernels are recorded at the first step of a block and replayed in later ones. Transfers are recorded
// again only when their parameters change. Successive entries become one submission, which ends at a record, at a wait
// for an event of the host or of another device, and at a transfer that reads memory of the host that the device is
// still going to write. Waits among queues of one device are left to the device.
package vulkan

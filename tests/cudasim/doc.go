// Package cudasim is a CUDA driver for tests, which runs PTX on the processor. It checks how the driver is used:
// contexts that are current on the thread, objects that were freed, memory of the host that is not pinned, events that
// were not recorded. It exists on Linux.
package cudasim

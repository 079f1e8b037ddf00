package vulkan

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// entry is an entry of a queue.
type entry = gpu.Entry[own]

// own is what the driver keeps with an entry.
type own struct {
	copy  *copying // of a transfer to the host; set when it is taken
	times *times   // of the commands that it ran; nil if they write none
	value uint64   // of the queue's semaphore once the entry is done; set when it is issued
}

// queue is a queue of the plan. Entries that were taken and are not issued are in the batch or do nothing.
type queue struct {
	*gpu.Queue[own]
	device   *device
	hardware *hardwareQueue

	semaphore handle
	batch     batch  // of the goroutine that submits
	signalled uint64 // the value that the last submission gives the semaphore; of the same goroutine
	fetching  waiter // of the same goroutine
	finishing waiter // of the goroutine that finishes entries
}

func (d *device) newQueue(q *gpu.Queue[own], h *hardwareQueue) (*queue, error) {
	semaphore, err := d.newSemaphore()
	n := &queue{Queue: q, device: d, hardware: h, semaphore: semaphore}
	n.batch.init(semaphore)
	n.fetching.init(semaphore)
	n.finishing.init(semaphore)
	return n, err
}

func (d *device) newSemaphore() (handle, error) {
	kind := &vkSemaphoreTypeCreateInfo{sType: typeSemaphoreTypeCreateInfo, semaphoreType: semaphoreTimeline}
	info := &vkSemaphoreCreateInfo{sType: typeSemaphoreCreateInfo, pNext: unsafe.Pointer(kind)}
	h := new(handle)
	err := d.createSemaphore.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h))).failed("vkCreateSemaphore")
	return *h, err
}

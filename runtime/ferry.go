package runtime

import "fmt"

// ferry copies between the memories of a session and other memory, outside of steps. Memories have the numbers of
// Layout.Memory; those of the other memory follow. The caller makes sure that no step of the session is in flight.
//
// A transfer runs on the first queue of the device that has one of its sides, and wait returns when all have ended.
type ferry struct {
	set   *openDevices
	block *Block   // with both memories; only the devices in use are bound
	ends  []finish // indexed by device
}

// ferries is the part of stepper that makes ferries.
type ferries interface {
	// ferry returns a ferry between the session's memory and others.
	ferry(others ...Memory) *ferry

	// memories returns the session's memories, by number.
	memories() []Memory
}

// memories returns those of the first instance, as another goroutine may be using d.block. Only inputs and outputs
// differ.
func (d *deviceSession) memories() []Memory { return d.blocks[0].Memory }

func (d *deviceSession) ferry(others ...Memory) *ferry {
	b := &Block{Memory: append(append([]Memory(nil), d.memories()...), others...), Bound: make([]any, len(d.set.devices))}
	return &ferry{set: d.set, block: b, ends: make([]finish, len(d.set.devices))}
}

// stateLabel names transfers of states in errors and timelines.
var stateLabel = Label{Func: "session", What: "a state"}

// copy begins to copy count runs of n bytes that have a stride of stride bytes in the source and are contiguous in the
// destination.
func (f *ferry) copy(dst, src Span, count, n, stride int) error {
	if count == 0 || n == 0 {
		return nil
	}
	device := f.device(dst, src)
	if device < 0 {
		return f.onHost(dst, src, count, n, stride)
	}
	queue, err := f.queue(device)
	if err != nil {
		return err
	}
	d := f.set.devices[device]
	d.Copy(queue, Transfer{
		Label: &stateLabel, Dst: dst, Src: src, Elem: 1, Shape: [4]int{1, 1, count, n}, Stride: [4]int{0, 0, stride, 1},
	}, f.block)
	end := &f.ends[device]
	end.count++
	d.Record(queue, &end.event, end.count)
	return nil
}

// device returns the device of a side that is not memory of the host; -1 if both are.
func (f *ferry) device(sides ...Span) int {
	own := f.set.layout.Memory
	for _, side := range sides {
		if _, host := f.block.Memory[side.Memory].(HostMemory); !host {
			return own[side.Memory%len(own)].Device // the memories of another session are numbered alike
		}
	}
	return -1
}

// queue returns the local number of a device's first queue, and binds the device.
func (f *ferry) queue(device int) (int, error) {
	for i, q := range f.set.layout.Queues {
		if q.Device != device {
			continue
		}
		if f.block.Bound[device] == nil {
			bound, err := f.set.devices[device].Bind(f.block)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", f.set.layout.Devices[device].Name, err)
			}
			f.block.Bound[device] = bound
		}
		return f.set.queues[i].local, nil
	}
	f.set.model.program.broken("device %d has no queue", device)
	return 0, nil
}

// onHost copies within memory of the host.
func (f *ferry) onHost(dst, src Span, count, n, stride int) error {
	to, from := f.host(dst), f.host(src)
	for i := range count {
		copy(to[i*n:i*n+n], from[i*stride:])
	}
	return nil
}

// host returns the bytes of a memory of the host from a span on.
func (f *ferry) host(s Span) []byte { return f.block.Memory[s.Memory].(HostMemory).slice()[s.Offset:] }

// wait returns when all transfers have ended.
func (f *ferry) wait() error {
	for i := range f.ends {
		f.ends[i].event.Await(f.ends[i].count)
	}
	if err := f.set.Fault(); err != nil {
		return f.set.model.blame(err)
	}
	return nil
}

package runtime

import (
	"strconv"
	"sync/atomic"
	"unsafe"
)

// Device is a backend with memory and queues of its own, opened by its Loader. It is everything that a program asks
// of a backend. The form of kernels is a matter between the compiler's emitter for a kind of device and the Loader of
// that kind.
//
// Work on one queue runs in the order of submission. It runs asynchronously, concurrently with the host and with
// other queues. Submitting allocates nothing and does not wait for the work. After Supervisor.Failed a device skips
// kernels and copies, but still processes waits and records, so that nothing blocks forever.
type Device interface {
	// Alloc returns memory of the given size for a class of values, aligned to Align. Its contents are undefined. It
	// is freed once nothing refers to it.
	Alloc(class Class, bytes int64) (Memory, error)

	// Load writes data to the beginning of m. Clear zeros m. Both return when that is done, and are called only while
	// nothing uses m.
	Load(m Memory, data []byte) error
	Clear(m Memory) error

	// Bind prepares the commands of the device to run with a block, of which only sizes and step change later. Its
	// result is stored in Block.Bound.
	Bind(b *Block) (any, error)

	// Run submits a command, Copy a transfer, to a queue of the device (numbered from 0). Both read the block when
	// they run: the caller does not change it before. A step of a block submits a command once in an iteration, and
	// the next step of the block begins when that has run: a device may keep one set of arguments for all steps.
	Run(queue int, c *Command, b *Block, iteration int)
	Copy(queue int, t Transfer, b *Block)

	// Record signals n to e once all work submitted to the queue earlier has ended. Wait delays the work that is
	// submitted to the queue later until e has reached n.
	Record(queue int, e *Event, n uint64)
	Wait(queue int, e *Event, n uint64)

	// Close ends the queues once they are empty. Later submissions only signal.
	Close() error
}

// Surveyor is a Device that checks what a model and one session need of it, before anything is allocated. The chunks
// are its own, and the chunks of the host that its commands address.
type Surveyor interface {
	Survey(chunks []Chunk) error
}

// Located is a Device of which several targets may have one instance each. These share its memory.
type Located interface {
	Locate() (Location, error)
}

// Location is the hardware of a device.
type Location struct {
	Kind   string // of the loader
	Number int    // among those of the kind
	Name   string // for errors
	Left   int64  // bytes of its memory that are not in use
}

// Sharer is a Device that has to prepare weights in memory of the host before its commands address them. The bytes do
// not change, and stay as long as the device is open.
type Sharer interface {
	Share(m HostMemory) error
}

// Memory is an allocation of a device, of a type that its Loader knows, or HostMemory.
type Memory interface {
	Bytes() int64
}

// HostMemory is memory that the processor addresses: an arena of a session, or the weights.
type HostMemory struct {
	Base unsafe.Pointer
	Size int64
}

// Bytes returns the size of the memory.
func (m HostMemory) Bytes() int64 { return m.Size }

// Class is the kind of values that an arena holds. It determines how long they live.
type Class uint8

// The classes, in the same order as in the compiler.
const (
	Weights     Class = iota // as long as the model
	State                    // as long as a session
	IO                       // inputs and outputs of a step
	Activations              // within a step
	Scratch                  // within a step, for one worker
)

// Block is the state that the commands of one step read. A session has one for each step that may be in flight.
type Block struct {
	Dims   [MaxSymbols]int // the sizes of this step
	Slot   int             // the instance of values that exist once per step in flight
	Step   uint64          // of the session, counted from 1
	Memory []Memory        // indexed by the numbers of Layout.Memory
	Bound  []any           // indexed by device: the result of its Bind
}

// Command is a run of kernels of one split.
type Command struct {
	Label
	Nodes  []string // what each kernel computes, for errors and timelines; nil if the kernels cannot be told from each other
	Kernel any      // of a type that the loader knows
}

// Label names the work of a queue as plans do, for errors and timelines.
type Label struct {
	Func     string // the entry point
	Split    int
	What     string // the node, of a transfer
	Repeated bool   // it is in the body of a repeat
}

// At returns the label with the iteration of the repeat around it, such as "@decode split 3[l=5]: %a = copy %b".
func (l *Label) At(iteration int) string {
	b := append(make([]byte, 0, 64), '@')
	b = append(b, l.Func...)
	b = strconv.AppendInt(append(b, " split "...), int64(l.Split), 10)
	if l.Repeated {
		b = append(strconv.AppendInt(append(b, "[l="...), int64(iteration), 10), ']')
	}
	if l.What != "" {
		b = append(append(b, ": "...), l.What...)
	}
	return string(b)
}

// Transfer copies a box of elements between two memories. In the destination it is dense.
type Transfer struct {
	Dst, Src  Span
	Elem      int    // bytes per element
	Shape     [4]int // elements, outermost dimension first; lower ranks have leading ones
	Stride    [4]int // bytes, in the source
	Label     *Label
	Iteration int // of the repeat around it

	// If Picks is not 0, the elements are dense in the source too. Only the elements whose numbers are among the
	// Picks i32 values at Index are copied; the others keep their contents.
	Index Span
	Picks int
}

// Span is the first byte of a transfer's source or destination.
type Span struct {
	Memory int // a number of Layout.Memory
	Offset int // bytes
}

// Len returns the bytes that t writes.
func (t *Transfer) Len() int {
	return t.Elem * t.Shape[0] * t.Shape[1] * t.Shape[2] * t.Shape[3]
}

// Reach returns the number of bytes from the first one that t reads to the last, inclusive.
func (t *Transfer) Reach() int {
	if t.Len() == 0 {
		return 0
	}
	end := t.Elem
	for i, n := range t.Shape {
		end += (n - 1) * t.Stride[i]
	}
	return end
}

// Dense reports whether the elements that t reads are contiguous.
func (t *Transfer) Dense() bool {
	next := t.Elem
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if t.Shape[i] > 1 && t.Stride[i] != next {
			return false
		}
		next *= t.Shape[i]
	}
	return true
}

// Supervisor is shared by the devices of a model.
type Supervisor struct {
	Timeline *Timeline    // nil unless one is wanted
	most     atomic.Int32 // threads of a group; 0 means one per core
	notes    []string     // for the user, about how the program runs on this machine
	fault    atomic.Pointer[FaultError]
}

// Fail reports that a command has failed. The steps in flight and all later steps return the first such error, since
// the contents of the device are unknown from then on.
func (s *Supervisor) Fail(e *FaultError) { s.fault.CompareAndSwap(nil, e) }

// Failed reports whether any device has failed.
func (s *Supervisor) Failed() bool { return s.fault.Load() != nil }

// Fault returns a copy of the failure, which the caller may change, or nil.
func (s *Supervisor) Fault() error {
	if e := s.fault.Load(); e != nil {
		own := *e
		return &own
	}
	return nil
}

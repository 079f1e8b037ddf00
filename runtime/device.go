package runtime

import (
	"strconv"
	"sync/atomic"
	"unsafe"
)

// Device is a backend with memory and queues of its own, as its loader opens it. What a
// program asks of it is all here; how a kernel looks is between the compiler's emitter for
// the device's kind and its loader.
//
// Work on one queue runs in the order of submission, later than it, beside the host and
// beside other queues. Submitting allocates nothing and does not wait for the work. After
// Supervisor.Failed a device skips kernels and copies, but still works off waits and
// records, so that nobody hangs.
type Device interface {
	// Alloc returns that many bytes, aligned to Align, for a class of values. What they hold
	// is undefined. They are given back when nothing refers to the memory any more.
	Alloc(class Class, bytes int64) (Memory, error)

	// Load writes data to the beginning of m, and Clear zeros m. Both return when it is done,
	// and are called while nothing uses m.
	Load(m Memory, data []byte) error
	Clear(m Memory) error

	// Bind prepares the commands of the device to run with a block, which stays as it is but
	// for its sizes and its step. What it returns is found in Block.Bound.
	Bind(b *Block) (any, error)

	// Run submits a command and Copy a transfer to a queue of the device, counted from 0. Both
	// see the block as it is when they run: the caller leaves it alone until then.
	Run(queue int, c *Command, b *Block, round int)
	Copy(queue int, t Transfer, b *Block)

	// Record signals n to e when all that was submitted to the queue before has ended; Wait
	// lets what is submitted to the queue after it begin when e has reached n.
	Record(queue int, e *Event, n uint64)
	Wait(queue int, e *Event, n uint64)

	// Close ends the queues once they are empty. Later submissions do nothing but signal.
	Close() error
}

// Memory is an allocation of a device, known to the loader of its kind, or HostMemory.
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

// Class is what an arena holds, and so how long.
type Class uint8

// The classes, with those of the compiler in the same order.
const (
	Weights     Class = iota // as long as the model
	State                    // as long as a session
	IO                       // inputs and outputs of a step
	Activations              // within a step
	Scratch                  // within a step, for one worker
)

// Block is what the commands of one step see. A session has one for each step that may be
// under way.
type Block struct {
	Dims   [MaxSymbols]int // the sizes of this step
	Slot   int             // which instance of what exists once per step under way
	Step   uint64          // of the session, counted from 1
	Memory []Memory        // by the numbers of Layout.Memory
	Bound  []any           // by device: what its Bind has returned
}

// Command is a run of kernels of one split.
type Command struct {
	Label
	Kernel any // what the loader takes
}

// Label says what a queue does, as plans write it, for errors and timelines.
type Label struct {
	Func   string // the entry point
	Split  int
	What   string // the node, of a transfer
	Rounds bool   // it stands in a repeat
}

// At returns the label with the round of the repeat around it, such as
// "@decode split 3[l=5]: %a = copy %b".
func (l *Label) At(round int) string {
	b := append(make([]byte, 0, 64), '@')
	b = append(b, l.Func...)
	b = strconv.AppendInt(append(b, " split "...), int64(l.Split), 10)
	if l.Rounds {
		b = append(strconv.AppendInt(append(b, "[l="...), int64(round), 10), ']')
	}
	if l.What != "" {
		b = append(append(b, ": "...), l.What...)
	}
	return string(b)
}

// Transfer copies a box of elements between two memories. In the destination it is dense.
type Transfer struct {
	Dst, Src Span
	Elem     int    // bytes of an element
	Shape    [4]int // elements, outermost dimension first; lower ranks put 1 in front
	Stride   [4]int // bytes, in the source
	Label    *Label
	Round    int // of the repeat around it

	// Where Picks is not 0, the elements are dense in the source too, and only those are copied
	// whose number is one of so many i32, which lie at Index; the others stay as they are.
	Index Span
	Picks int
}

// Span is where a transfer begins.
type Span struct {
	Memory int // a number of Layout.Memory
	Offset int // bytes
}

// Len returns the bytes that t writes.
func (t *Transfer) Len() int {
	return t.Elem * t.Shape[0] * t.Shape[1] * t.Shape[2] * t.Shape[3]
}

// Reach returns the bytes from the first that t reads to behind the last.
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

// Dense reports whether the elements that t reads lie side by side.
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

// Supervisor is what the devices of a model share.
type Supervisor struct {
	Timeline *Timeline // nil where nobody wants one
	fault    atomic.Pointer[FaultError]
}

// Fail says that a command could not be done. The first such error is returned by the steps
// that are under way and by all later ones: what a device holds then is unknown.
func (s *Supervisor) Fail(e *FaultError) { s.fault.CompareAndSwap(nil, e) }

// Failed reports whether any device has failed.
func (s *Supervisor) Failed() bool { return s.fault.Load() != nil }

// err returns the failure, the caller's to change, or nil.
func (s *Supervisor) err() error {
	if e := s.fault.Load(); e != nil {
		own := *e
		return &own
	}
	return nil
}

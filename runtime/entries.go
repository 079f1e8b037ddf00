package runtime

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// EntryKind is the kind of an entry of a queue.
type EntryKind uint8

// The kinds.
const (
	RunEntry EntryKind = iota
	CopyEntry
	RecordEntry
	WaitEntry
)

// QueueEntry is one command, transfer, record or wait in a queue that a goroutine of the program works on.
type QueueEntry struct {
	Kind      EntryKind
	Command   *Command
	Transfer  Transfer
	Block     *Block
	Iteration int
	Event     *Event
	Count     uint64
}

// Label returns the label of a command or a transfer, and the iteration of the repeat around it.
func (e *QueueEntry) Label() (*Label, int) {
	if e.Kind == RunEntry {
		return &e.Command.Label, e.Iteration
	}
	return e.Transfer.Label, e.Transfer.Iteration
}

// Entries holds the entries of a queue in the order of submission. It grows as needed.
type Entries struct {
	mu     sync.Mutex
	change sync.Cond
	ring   []QueueEntry // waiting entries are ring[head], ring[head+1], … modulo its length
	head   int
	size   int
	closed bool
	some   atomic.Bool // there are entries, or the queue is closed
}

// entriesSize is the number of entries that a queue holds before it has to grow.
const entriesSize = 64

// NewEntries returns an empty queue.
func NewEntries() *Entries {
	q := &Entries{ring: make([]QueueEntry, entriesSize)}
	q.change.L = &q.mu
	return q
}

// Submit appends an entry. It returns false if the queue is closed.
func (q *Entries) Submit(e QueueEntry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.size == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.size)%len(q.ring)] = e
	q.size++
	q.some.Store(true)
	q.change.Signal()
	return true
}

func (q *Entries) grow() {
	bigger := make([]QueueEntry, 2*len(q.ring))
	n := copy(bigger, q.ring[q.head:])
	copy(bigger[n:], q.ring[:q.head])
	q.ring, q.head = bigger, 0
}

// Next waits for the first entry and removes it. It polls for the time spin before it parks. It returns false if the
// queue is closed and empty.
func (q *Entries) Next(e *QueueEntry, spin time.Duration) bool {
	spinUntil(spin, q.some.Load)
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size == 0 {
		if q.closed {
			return false
		}
		q.change.Wait()
	}
	*e, q.ring[q.head] = q.ring[q.head], QueueEntry{}
	q.head = (q.head + 1) % len(q.ring)
	if q.size--; q.size == 0 && !q.closed {
		q.some.Store(false)
	}
	return true
}

// Close ends the queue: Next returns false once it is empty.
func (q *Entries) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.some.Store(true)
	q.change.Broadcast()
}

// spinUntil polls a condition for some time, which may be 0, and reports whether it holds.
func spinUntil(spin time.Duration, holds func() bool) bool {
	if spin == 0 {
		return holds()
	}
	for begin := time.Since(processStart); ; {
		for range clockPolls {
			if holds() {
				return true
			}
			pause()
		}
		if time.Since(processStart)-begin > spin {
			return false
		}
	}
}

// Addressable is Memory that the processor addresses.
type Addressable interface {
	Memory
	Address() unsafe.Pointer
}

// Address returns the address of the first byte.
func (m HostMemory) Address() unsafe.Pointer { return m.Base }

// Move carries out a transfer between memories that the processor addresses. It panics if any byte is outside of the
// memory.
func (t *Transfer) Move(b *Block) {
	if t.Len() == 0 {
		return
	}
	dst, src := cutMemory(b, t.Dst, t.Len()), cutMemory(b, t.Src, t.Reach())
	switch {
	case t.Picks > 0:
		t.pick(dst, src, cutMemory(b, t.Index, i32Bytes*t.Picks))
		return
	case t.Dense():
		copy(dst, src)
		return
	}
	for i := range t.Shape[0] {
		for j := range t.Shape[1] {
			for k := range t.Shape[2] {
				from := src[i*t.Stride[0]+j*t.Stride[1]+k*t.Stride[2]:]
				dst = copyLine(dst, from, t.Elem, t.Shape[3], t.Stride[3])
			}
		}
	}
}

const i32Bytes = 4

// pick copies the elements whose numbers are in index.
func (t *Transfer) pick(dst, src, index []byte) {
	for ; len(index) > 0; index = index[i32Bytes:] {
		at := t.Elem * int(int32(binary.NativeEndian.Uint32(index)))
		copy(dst[at:at+t.Elem], src[at:])
	}
}

// copyLine copies n elements at intervals of stride bytes and returns the rest of dst after them.
func copyLine(dst, src []byte, elem, n, stride int) []byte {
	for i := range n {
		copy(dst[:elem], src[i*stride:])
		dst = dst[elem:]
	}
	return dst
}

// cutMemory returns the n bytes of a memory that begin at s.
func cutMemory(b *Block, s Span, n int) []byte {
	m, ok := b.Memory[s.Memory].(Addressable)
	if !ok {
		panic(fmt.Sprintf("memory that the processor does not address: %T", b.Memory[s.Memory]))
	}
	all := unsafe.Slice((*byte)(m.Address()), m.Bytes())
	if s.Offset < 0 || s.Offset+n > len(all) {
		panic(fmt.Sprintf("bytes %d to %d of a memory of %d", s.Offset, s.Offset+n, len(all)))
	}
	return all[s.Offset : s.Offset+n]
}

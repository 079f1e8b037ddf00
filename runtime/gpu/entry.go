package gpu

import (
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

// EntryKind is the kind of an entry of a queue.
type EntryKind uint8

// The kinds of entries.
const (
	RunEntry EntryKind = iota
	TransferEntry
	RecordEntry
	WaitEntry
)

// Entry is a command, transfer, record or wait in a queue. X is what the driver keeps with it.
type Entry[X any] struct {
	Kind      EntryKind
	Command   *runtime.Command
	Transfer  runtime.Transfer
	Block     *runtime.Block
	Iteration int // of the repeat around a command
	Event     *runtime.Event
	Count     uint64 // that is recorded or waited for

	// Of a wait for a record of the same device that is not done yet: the queue and the number of that entry there.
	From *Queue[X]
	Seq  uint64

	Ran   bool      // whether it does anything on the device; set when it is taken
	Begin time.Time // when it was submitted, if there is a timeline; set when it is issued
	Own   X
}

// Label returns the label of a command or a transfer, and the iteration of the repeat around it.
func (e *Entry[X]) Label() (*runtime.Label, int) {
	if e.Kind == RunEntry {
		return &e.Command.Label, e.Iteration
	}
	return e.Transfer.Label, e.Transfer.Iteration
}

// Works reports whether the entry is a command or a transfer.
func (e *Entry[X]) Works() bool { return e.Kind == RunEntry || e.Kind == TransferEntry }

// HostBytes returns the bytes of the host to which a transfer writes, or nil.
func (e *Entry[X]) HostBytes() []byte { return HostBytes(e.Block, e.Transfer.Dst, e.Transfer.Len()) }

// Fault returns the failure of an entry on the target of the given name. device is the name of the device with its
// driver.
func (e *Entry[X]) Fault(target, device string, err error) *runtime.FaultError {
	what, iteration := e.Label()
	return &runtime.FaultError{
		Device: target, Command: what.At(iteration), Value: &Failure{Device: device, Step: e.Block.Step, Err: err},
	}
}

// noWork returns what errors name if a submission that failed had neither commands nor transfers.
func noWork[X any]() Entry[X] {
	return Entry[X]{Kind: TransferEntry, Transfer: runtime.Transfer{Label: &runtime.Label{What: "events"}}, Block: new(runtime.Block)}
}

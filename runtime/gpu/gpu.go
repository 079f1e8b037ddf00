// Package gpu holds what loaders of GPUs share: compiled kernels, and the commands that run them.
package gpu

import (
	"fmt"

	"github.com/ggmlc/ggmlc/runtime"
)

// Kernel is a compiled kernel. Programs embed its code.
type Kernel struct {
	Name    string
	Code    string // SPIR-V words, little-endian, with the entry point "main"; or PTX text, with an entry point of this name
	Threads int    // of a workgroup
	Args    int    // 8-byte words of arguments
	Shared  int    // bytes of shared memory
}

// Dispatch runs a kernel with a number of workgroups. What it writes is visible to the dispatches after it.
type Dispatch struct {
	Kernel *Kernel
	Groups int
	Args   []Arg
	Node   string // for errors and timelines
}

// Arg is one word of arguments: an address, or a number.
type Arg struct {
	Memory int   // a number of Layout.Memory, Sizes or Number
	Offset int   // bytes, or the number
	Slot   int   // bytes added for each instance (Block.Slot)
	Table  []int // offsets by iteration of the repeat around the command, in place of Offset
}

// Values of Arg.Memory that are not numbers of memories.
const (
	Sizes  = -1 // the block of sizes of the step
	Number = -2 // none: the word is a number
)

// SizeBytes is the size of one element of the block of sizes, an i32 for each symbol.
const SizeBytes = 4

// Command is the type of runtime.Command.Kernel for GPUs.
type Command []Dispatch

// Word returns the argument without the base address of its memory, for an iteration and an instance.
func (a *Arg) Word(iteration, slot int) int {
	at := a.Offset
	if a.Table != nil {
		at = a.Table[iteration]
	}
	return at + a.Slot*slot
}

// Limits are the bounds of a device for kernels and dispatches.
type Limits struct {
	Threads int // of a workgroup
	Shared  int // bytes of shared memory
	Args    int // words of arguments
	Groups  int // workgroups of a dispatch
}

// Check returns an error if a device with the given limits cannot run the dispatch in an iteration of a repeat.
func (d *Dispatch) Check(l Limits, iteration int) error {
	k := d.Kernel
	switch {
	case len(d.Args) != k.Args:
		return d.errorf("%d arguments, the kernel has %d", len(d.Args), k.Args)
	case k.Threads > l.Threads:
		return d.errorf("%d threads in a workgroup, the device allows %d", k.Threads, l.Threads)
	case k.Shared > l.Shared:
		return d.errorf("%d bytes of shared memory, the device has %d", k.Shared, l.Shared)
	case k.Args > l.Args:
		return d.errorf("%d words of arguments, the device allows %d", k.Args, l.Args)
	case d.Groups < 1 || d.Groups > l.Groups:
		return d.errorf("%d workgroups, the device allows 1 to %d", d.Groups, l.Groups)
	}
	for i := range d.Args {
		if t := d.Args[i].Table; t != nil && (iteration < 0 || iteration >= len(t)) {
			return d.errorf("argument %d has no offset for iteration %d of %d", i, iteration, len(t))
		}
	}
	return nil
}

func (d *Dispatch) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: kernel %s: %s", d.Node, d.Kernel.Name, fmt.Sprintf(format, args...))
}

// PutSizes writes the block of sizes of a step.
func PutSizes(to *[runtime.MaxSymbols]int32, b *runtime.Block) {
	for i, n := range b.Dims {
		to[i] = int32(n)
	}
}

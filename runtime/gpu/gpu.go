// Package gpu holds what loaders of GPUs share: compiled kernels, the commands that run them, and queues of entries.
package gpu

import (
	"fmt"

	"github.com/ggmlc/ggmlc/runtime"
)

// Kernel is a compiled kernel. Programs embed its code. It reads its arguments from a block of 8-byte words, whose
// address it is given.
type Kernel struct {
	Name    string // what it computes
	Code    string // SPIR-V words, little-endian, with the entry point "main"
	Threads int    // of a workgroup
	Args    int    // words of arguments
}

// Part returns bytes from to to of a file of kernels, or nothing if the file is shorter: opening the model reports
// that.
func Part(file string, from, to int) string {
	if to > len(file) {
		return ""
	}
	return file[from:to]
}

// Command is the type of runtime.Command.Kernel for GPUs: a function that dispatches kernels. Those between two calls
// of Barrier may run at the same time. iteration is that of the repeat around the command.
//
// A device calls it once for each step, to learn the arguments. Everything else has to be the same each time: what was
// recorded in the first step is run again.
type Command func(e *Env, iteration int)

// Env is the environment of a Command.
type Env struct {
	*runtime.Block

	// Mem holds the addresses of the memory that the device can address, indexed by the numbers of
	// runtime.Layout.Memory, and 0 for all other memory.
	Mem []uint64

	// Dispatches are those of the command, Words the arguments of all of them.
	Dispatches []Dispatch
	Words      []uint64

	barrier bool // before the next dispatch
}

// Dispatch runs a kernel with a number of workgroups. Its arguments are the words from First on.
type Dispatch struct {
	Kernel  *Kernel
	Groups  int
	First   int
	Barrier bool // it begins when those before it have ended, and sees what they wrote
}

// Dispatch dispatches a kernel.
func (e *Env) Dispatch(k *Kernel, groups int, args ...uint64) {
	e.Dispatches = append(e.Dispatches, Dispatch{k, groups, len(e.Words), e.barrier})
	e.Words = append(e.Words, args...)
	e.barrier = false
}

// Barrier orders the dispatches after it after those before it.
func (e *Env) Barrier() { e.barrier = true }

// Run collects the dispatches of a command.
func (e *Env) Run(c Command, iteration int) {
	e.Dispatches, e.Words, e.barrier = e.Dispatches[:0], e.Words[:0], false
	c(e, iteration)
}

// Limits are the bounds of a device for kernels and dispatches.
type Limits struct {
	Threads int // of a workgroup
	Groups  int // workgroups of a dispatch
}

// Check returns an error if a device with the given limits cannot run the dispatches.
func (e *Env) Check(l Limits) error {
	for i, d := range e.Dispatches {
		end := len(e.Words)
		if i+1 < len(e.Dispatches) {
			end = e.Dispatches[i+1].First
		}
		k := d.Kernel
		switch {
		case end-d.First != k.Args:
			return fmt.Errorf("kernel %s: %d arguments, it has %d", k.Name, end-d.First, k.Args)
		case k.Threads > l.Threads:
			return fmt.Errorf("kernel %s: %d threads in a workgroup, the device allows %d", k.Name, k.Threads, l.Threads)
		case d.Groups < 1 || d.Groups > l.Groups:
			return fmt.Errorf("kernel %s: %d workgroups, the device allows 1 to %d", k.Name, d.Groups, l.Groups)
		}
	}
	return nil
}

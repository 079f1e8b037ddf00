package drivertest

import (
	"math"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// Dispatch is a dispatch of a test, with what its arguments are made of.
type Dispatch struct {
	Kernel *gpu.Kernel
	Groups int
	Args   []Arg
	Beside bool // it may run at the same time as the one before it
}

// Arg is an address: an offset in a memory, with bytes that are added for each slot, or offsets by iteration in its
// place. Or it is the number Offset, or the size of that symbol.
type Arg struct {
	Memory, Offset, Slot int
	Table                []int
}

// Values of Arg.Memory that are not numbers of memories.
const (
	Number = -1
	Size   = -2
)

// Command returns a command that makes the dispatches, as emitted functions do.
func Command(list ...Dispatch) *runtime.Command {
	run := func(e *gpu.Env, iteration int) {
		for i := range list {
			d := &list[i]
			if i > 0 && !d.Beside {
				e.Barrier()
			}
			var buffer [mostArgs]uint64
			e.Dispatch(d.Kernel, d.Groups, d.words(buffer[:0], e, iteration)...)
		}
	}
	return &runtime.Command{Label: runtime.Label{Func: "step", Split: 2}, Kernel: gpu.Command(run)}
}

// mostArgs is the number of arguments up to which a command allocates nothing.
const mostArgs = 32

// words appends the arguments of the dispatch.
func (d *Dispatch) words(words []uint64, e *gpu.Env, iteration int) []uint64 {
	for _, a := range d.Args {
		at := a.Offset
		if a.Table != nil {
			at = a.Table[iteration]
		}
		switch a.Memory {
		case Number:
			words = append(words, uint64(at))
		case Size:
			words = append(words, uint64(e.Dims[at]))
		default:
			words = append(words, e.Mem[a.Memory]+uint64(at+a.Slot*e.Slot))
		}
	}
	return words
}

// groups returns the workgroups for n elements.
func groups(n int) int { return (n + Threads - 1) / Threads }

// Scaling returns a dispatch of Scale.
func (k *Kernels) Scaling(dst, src Arg, n int, c float32) Dispatch {
	return Dispatch{Kernel: k.Scale, Groups: groups(n),
		Args: []Arg{src, dst, {Memory: Number, Offset: n}, {Memory: Number, Offset: int(math.Float32bits(c))}}}
}

// adding returns a dispatch of Add over at most n elements; the size of symbol 1 is how many.
func (k *Kernels) adding(z, x, y Arg, n int) Dispatch {
	return Dispatch{Kernel: k.Add, Groups: groups(n), Args: []Arg{x, y, z, {Memory: Size, Offset: 1}}}
}

// Dense returns a transfer of n contiguous bytes.
func Dense(l *runtime.Label, dst, dstOffset, src, srcOffset, n int) runtime.Transfer {
	return runtime.Transfer{
		Dst: runtime.Span{Memory: dst, Offset: dstOffset}, Src: runtime.Span{Memory: src, Offset: srcOffset},
		Elem: 1, Shape: [4]int{1, 1, 1, n}, Stride: [4]int{0, 0, 0, 1}, Label: l,
	}
}

// Label is that of transfers of which a test has one only.
var Label = runtime.Label{Func: "step", Split: 3, What: "%x = copy %y"}

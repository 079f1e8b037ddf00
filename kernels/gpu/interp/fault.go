package interp

import (
	"fmt"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// The kinds of faults.
const (
	Launching     = "launch"        // the number of groups or arguments is wrong
	Bounds        = "bounds"        // an access outside of the allocations
	Alignment     = "alignment"     // an address that is no multiple of the type's size
	SharedBounds  = "shared"        // an index outside of an array in shared memory
	Uninitialised = "uninitialised" // a read of bytes that were never written
	Race          = "race"          // two accesses by different threads that no barrier orders, not both reads nor both atomic
	Uniform       = "uniform"       // bytes of a load_uniform or copy_async are written in the same launch
	Barrier       = "barrier"       // not all threads of the workgroup reach the same barrier
	Subgroup      = "subgroup"      // not all threads of the subgroup reach the same operation, or the subgroup's size does not fit
	Slab          = "slab"          // a product of slabs without the fence, the publication or the wait that has to be there
	Division      = "division"      // an integer division by 0, or whose quotient overflows
	Shift         = "shift"         // a shift by the number of bits or more
	Offset        = "offset"        // an offset of a negative index, or one that overflows
	Conversion    = "conversion"    // a floating-point number that does not fit the integer
	Loop          = "loop"          // a step that is not above 0, or an index that overflows
)

// Fault is what is wrong with a run of a kernel.
type Fault struct {
	Kernel string
	Kind   string // one of the constants above
	Text   string
	Group  int // of the thread; -1 if the fault is none of a thread
	Thread int
	Number int    // of the instruction in the text of the kernel, from 1; 0 if the fault is none of an instruction
	Instr  string // the first line of its text
}

func (f *Fault) Error() string {
	s := f.Kernel
	if f.Group >= 0 {
		s += fmt.Sprintf(": group %d thread %d", f.Group, f.Thread)
	}
	if f.Number > 0 {
		s += fmt.Sprintf(": instruction %d (%s)", f.Number, f.Instr)
	}
	return fmt.Sprintf("%s: %s: %s", s, f.Kind, f.Text)
}

// launchFault returns a fault of no thread.
func launchFault(k *kir.Kernel, kind, format string, args ...any) error {
	return &Fault{Kernel: k.Name, Kind: kind, Text: fmt.Sprintf(format, args...), Group: -1, Thread: -1}
}

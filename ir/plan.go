package ir

import "slices"

// Plan is the finished plan of a module. The text form prints it after the functions; code is generated
// from it.
type Plan struct {
	Arenas []Arena

	// Pipeline is the number of steps that may be in progress at once; 0 means 1. Each has its own
	// instance of the arenas of inputs and outputs.
	Pipeline int

	// Threads is the largest number of workers for which the plan is valid: it is proved for all
	// numbers from 1 to Threads, and the program never runs more. 0 means MaxThreads.
	Threads int

	// Cut means that the search for addresses ran out of time: another run may find others.
	Cut bool

	Funcs []FuncPlan // one per entry point, in the order of Module.Funcs
}

// MaxPipeline is the largest number of steps in progress. Each has its own buffers, and queues are
// never further ahead.
const MaxPipeline = 64

// MaxThreads is the largest number of workers of a plan and of the runtime.
const MaxThreads = 64

// Workers returns the largest number of workers for which the plan is valid.
func (p *Plan) Workers() int {
	if p.Threads == 0 {
		return MaxThreads
	}
	return p.Threads
}

// Class is the lifetime class of an arena.
type Class uint8

const (
	ClassWeights     Class = iota // as long as the program
	ClassState                    // as long as a session
	ClassIO                       // inputs and outputs of a step, written and read by the caller
	ClassActivations              // within a step
	ClassScratch                  // within a step, one instance per worker
)

var classNames = [...]string{"weights", "state", "io", "activations", "scratch"}

func (c Class) String() string { return classNames[c] }

// ParseClass returns the class of that name.
func ParseClass(name string) (Class, bool) {
	i := slices.Index(classNames[:], name)
	return Class(max(i, 0)), i >= 0
}

// Arena is the memory of one class in one space.
type Arena struct {
	Space  string
	Class  Class
	Align  int64   // of every offset, in bytes
	Chunks []int64 // bytes of each chunk; one unless the space limits the size of an allocation

	// Bound is the largest sum of bytes that are live at the same time in any function: no plan needs
	// less. Setters are the values that are live then, largest first, and BoundFunc is the function.
	Bound     int64
	BoundFunc string
	Setters   []string
}

// Bytes returns the sum of the arena's chunks.
func (a *Arena) Bytes() int64 {
	var sum int64
	for _, b := range a.Chunks {
		sum += b
	}
	return sum
}

// Stride returns the bytes from one instance of a value at p to the next.
func (a *Arena) Stride(p *Place) int64 {
	align := max(a.Align, 1)
	return (p.Bytes + align - 1) / align * align
}

// FuncPlan is the part of the plan for an entry point that is not stored at nodes and values.
type FuncPlan struct {
	Func     string
	Splits   []Split
	Barriers int64 // per call; those in a body count once for each iteration
	Nodes    int64 // per call, counted like barriers
	MaxParts int64 // more workers do not make it faster; 0 is no limit
}

// Split is a maximal run of nodes on one backend.
type Split struct {
	Backend string
	Inputs  []string // names of the values that are copied before it starts
	Cause   Cause
}

package ir

// Plan is the finished plan of a module as data: what the text form prints after the
// functions and the emitter reads.
type Plan struct {
	Arenas []Arena

	// Pipeline is how many steps may be under way at once; 0 and 1 are one. Each has an
	// instance of the arenas of inputs and outputs.
	Pipeline int

	// Threads is the most workers that the plan is for: it is proved for 1 to so many, and the
	// program never runs more. 0 is MaxThreads.
	Threads int

	// Cut says that the clock ended the search for addresses: another run may find other ones.
	Cut bool

	Funcs []FuncPlan // one per entry point, in the order of Module.Funcs
}

// MaxPipeline is the most steps that may be under way: each has buffers of its own, and no
// queue is so far ahead.
const MaxPipeline = 64

// MaxThreads is the most workers that a plan may be for: what the runtime has at most.
const MaxThreads = 64

// Workers returns the most workers that the plan is for.
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
	i := indexOf(classNames[:], name)
	return Class(max(i, 0)), i >= 0
}

// Arena is the memory of one class in one space.
type Arena struct {
	Space  string
	Class  Class
	Align  int64   // bytes; of every offset
	Chunks []int64 // bytes of each chunk; one unless the space has a largest allocation

	// Bound is the largest sum of bytes that are live at once, in any function: no plan
	// needs less. Setters are the values that are live at that time, largest first, and
	// BoundFunc the function in which it is reached.
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

// FuncPlan holds what the plan knows of an entry point besides what stands at nodes and
// values.
type FuncPlan struct {
	Func     string
	Splits   []Split
	Barriers int64 // run per call, those in repeats counted as often as they run
	Nodes    int64 // that run per call, counted likewise
	MaxParts int64 // more workers than this do not pay; 0 is no limit
}

// Split is a maximal run of nodes on one backend.
type Split struct {
	Backend string
	Inputs  []string // values that are copied in before it starts, by name
	Cause   Cause
}

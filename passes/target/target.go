package target

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Descriptor is a target: everything that passes know about a backend. Each field has a field of the text form; see
// Fields.
type Descriptor struct {
	Name string // unique in its list; ir.Node.Backend holds it
	Kind string // backend whose emitter and runtime serve it, such as cpu
	Like string // built-in descriptor that it started from; empty if there is none
	Doc  string // one line for lists of built-in targets; not part of the text form

	// Spaces are the memory spaces that the backend reads and writes. Its results go to the first one, its home.
	Spaces []string

	// Rows are the backend's kernels. Among the rows of one op, the first that fits a node is the kernel that runs it.
	Rows []Row

	// MergeMatMul asks the pass fuse to make one product of several products that read the same operand.
	MergeMatMul bool

	// Segment is the number of positions of the context that one segment of attention_segments has. 0 means that
	// attention is not cut into segments.
	Segment int

	// MMA is how a GPU of NVIDIA multiplies matrices for many rows: MMASync or MMAWgmma. It is empty for other backends.
	MMA string

	Workers bool // worker threads share each node, as partition decides
	Threads int  // largest number of threads; 1 for a device
	Hint    int  // number of workers that predictions assume

	// Cores are the numbers of the processor's cores, as the system counts them, that its threads run on, one on each.
	// Empty means any.
	Cores []int

	// Queues is the number of queues on which the backend runs work in the order of submission while the host
	// continues. With 0, a submission returns when the work is done. With 2, the second queue makes copies into the
	// backend's spaces.
	Queues int

	// Concurrent means that a queue can run nodes at the same time, where none of them needs another one. Without it,
	// each begins when the one before has ended.
	Concurrent bool

	// Staged means that the backend copies between its own memory and that of the processor only. Copies between it and
	// other devices are two: into the memory of the processor, and from there.
	Staged bool

	// Events means that queues of the backend record events and wait for events of other backends. Without it, only the
	// host waits, until a queue is empty.
	Events bool

	Align     int64        // alignment of offsets in its spaces, in bytes; a power of two
	Aligns    []SpaceAlign // the spaces with another alignment; see AlignIn
	MaxAlloc  int64        // bytes of the largest allocation; 0 is no limit
	Memory    int64        // bytes of its home; 0 is no limit
	Extra     int64        // bytes after each tensor in its spaces that its kernels may touch
	MaxInputs int          // largest number of copied inputs of a split; 0 is no limit

	// Opaque are those of its spaces in which only its own kernels can read, because the layout there is private.
	Opaque []string

	// Offload are the ops that the backend takes from the last target, although their weights are stored there, if the
	// result has at least OffloadRows rows; see Offers. Only the rules of ggml use them.
	Offload     []Offload
	OffloadRows int

	Rates Rates

	// Tiles are choices of tiles for matrix products that replace the default ones; see tile.Choice. They change speed
	// only.
	Tiles []tile.Choice

	// LayoutTimes are measured times, from which pack chooses layouts instead of predicting times.
	LayoutTimes []LayoutTime

	// Measured is the machine on which figures were measured, as GOOS/GOARCH/KERNELS; empty if it is not known.
	Measured string

	spaceGiven bool // the text that New has read names its spaces
}

// Values of Descriptor.MMA.
const (
	MMASync  = "sync"  // a warp multiplies tiles, on devices of compute capability 8.0 or later
	MMAWgmma = "wgmma" // where the capability is 9.0, four warps multiply matrices in shared memory; elsewhere as MMASync
)

// Row is one kernel: an op and the formats of the operands that it reads.
type Row struct {
	Op   ir.Op
	Name string   // of a foreign op; empty is any foreign op
	Args []Format // by operand; a node with more operands does not fit. Nil accepts any operands.

	// Check returns why the kernel cannot run a node whose operands have the formats, or an empty text if it can. Nil
	// accepts every such node.
	Check func(*ir.Node) string
}

// Format is a set of types that a kernel reads for one operand.
type Format struct {
	DTypes  []dtype.DType  // nil is any; if pack has to convert the operand, it makes the first one that it can make
	Layouts []dtype.Layout // nil is any; likewise
	Strides Strides
}

// Strides is the set of strided tensors that a kernel reads without a copy.
type Strides uint8

const (
	Dense      Strides = iota // elements follow each other without gaps
	RowStrides                // rows are dense, and the distance from each row to the next is the same
	AnyStrides
)

// Asynchronous reports whether the host continues while the backend works.
func (d *Descriptor) Asynchronous() bool { return d.Queues > 0 }

// Home returns the space that holds the backend's results.
func (d *Descriptor) Home() string { return d.Spaces[0] }

// Addresses reports whether the backend can read and write in the space.
func (d *Descriptor) Addresses(space string) bool { return slices.Contains(d.Spaces, space) }

// Has reports whether some row runs the op, with any operands.
func (d *Descriptor) Has(op ir.Op) bool {
	return slices.ContainsFunc(d.Rows, func(r Row) bool { return r.Op == op })
}

// WeightLayout returns the layout in which operand arg of op is read if its dtype is dt: that of the first row that
// reads it.
func (d *Descriptor) WeightLayout(op ir.Op, arg int, dt dtype.DType) dtype.Layout {
	for _, r := range d.Rows {
		if r.Op == op && arg < len(r.Args) && r.Args[arg].hasDType(dt) {
			return r.Args[arg].layout(dt)
		}
	}
	return dtype.Plain
}

// ActFormat returns the dtype in which a product reads its activations if its weight has dtype weight.
func (d *Descriptor) ActFormat(op ir.Op, weight dtype.DType) dtype.DType {
	for _, r := range d.Rows {
		if r.Op == op && len(r.Args) > 1 && r.Args[1].hasDType(weight) && len(r.Args[0].DTypes) > 0 {
			return r.Args[0].DTypes[0]
		}
	}
	return dtype.F32
}

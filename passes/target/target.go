package target

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Descriptor is all that passes know of a backend.
type Descriptor struct {
	Name string // unique in its list; what ir.Node.Backend holds
	Kind string // whose emitter and runtime serve it, such as cpu
	Like string // the built-in descriptor it was derived from; empty for an invented one
	Doc  string

	// Spaces are the memory spaces whose bytes the backend can read and write; it prefers
	// the first, where its results go.
	Spaces []string

	// Rows say which ops run with operands of which formats. Rows of one op are tried in
	// order: the first that fits is the kernel that will run.
	Rows []Row

	// MergeMatMul asks fuse to make one product of several that read the same operand.
	MergeMatMul bool

	Workers bool // nodes are shared by the workers of a CPU: partition applies
	Threads int  // most workers the program may use; 1 without Workers
	Hint    int  // workers that the cost model reckons with
	// Queues is how many queues the backend has on which work runs in the order of submission
	// while the host goes on: none (a submission returns when the work is done), one, or two,
	// of which the second copies into its spaces. Events says that it can record events in
	// them and wait for those of others; without, only the host waits, until a queue is empty.
	Queues int
	Events bool

	Align     int64        // bytes; of every offset in its spaces
	Aligns    []SpaceAlign // of spaces where it is another; see AlignIn
	MaxAlloc  int64        // bytes of the largest allocation; 0 is no limit
	MaxInputs int          // copied inputs of one split; 0 is no limit

	// Opaque are those of the spaces in which only kernels of the backend can read, as their
	// layout is its own, though they are no other device's memory.
	Opaque []string

	// Offload are the ops that the backend takes off the last target although their weights
	// lie there, from OffloadRows rows on; see Offers.
	Offload     []Offload
	OffloadRows int

	Rates Rates
}

// Row is one kernel: an op and the formats that it reads. Without Args, operands of any
// format will do.
type Row struct {
	Op   ir.Op
	Name string   // of a foreign op; empty is any
	Args []Format // one per operand; a node with more operands does not fit

	// Check returns why the kernel cannot run a node whose operands have the formats;
	// empty if it can. Nil is always.
	Check func(*ir.Node) string
}

// Format is a set of types that a kernel reads for one operand.
type Format struct {
	DTypes  []dtype.DType  // nil is any; the first that can be made is what pack makes
	Layouts []dtype.Layout // nil is any; likewise
	Strides Strides
}

// Strides says which views a kernel reads where they lie.
type Strides uint8

const (
	Dense      Strides = iota // elements follow each other without gaps
	RowStrides                // rows are dense, and lie at one distance from each other
	AnyStrides
)

// Home returns the space where the backend's results go.
func (d *Descriptor) Home() string { return d.Spaces[0] }

// Addresses reports whether the backend can read and write bytes of the space.
func (d *Descriptor) Addresses(space string) bool { return slices.Contains(d.Spaces, space) }

// Supports reports whether the backend runs the node once pack has brought its operands
// into the kernel's formats, and if not, why.
func (d *Descriptor) Supports(n *ir.Node) (bool, string) {
	if free(n) {
		return true, ""
	}
	_, why := d.Kernel(n)
	return why == "", why
}

// free reports whether a node needs no kernel: it does no work, or what it does is the
// work of the nodes of its body.
func free(n *ir.Node) bool {
	return n.Traits()&(ir.Leaf|ir.View|ir.HasBody) != 0 || n.Op == ir.OpCall
}

// Kernel returns the row that will run the node once pack has brought its operands into
// the row's formats. The reason is empty if there is one.
func (d *Descriptor) Kernel(n *ir.Node) (row *Row, why string) {
	why = fmt.Sprintf("%s has no kernel for %s", d.Name, opName(n))
	for i := range d.Rows {
		r := &d.Rows[i]
		if !r.names(n) {
			continue
		}
		reason := d.fits(r, n)
		if reason == "" {
			return r, ""
		}
		why = fmt.Sprintf("%s: %s: %s", d.Name, opName(n), reason)
	}
	return nil, why
}

// Reads reports whether some kernel reads the node's operands exactly as they are, which
// has to hold after pack.
func (d *Descriptor) Reads(n *ir.Node) bool {
	return free(n) || slices.ContainsFunc(d.Rows, func(r Row) bool {
		return r.names(n) && r.reads(n)
	})
}

// names reports whether the row is one of the node's op.
func (r *Row) names(n *ir.Node) bool {
	return r.Op == n.Op && (r.Name == "" || r.Name == foreignName(n))
}

// foreignName returns the name that a node has where it comes from; empty for our ops.
func foreignName(n *ir.Node) string {
	if a, ok := n.Attr.(*ir.ForeignAttr); ok {
		return a.Op
	}
	return ""
}

func (r *Row) reads(n *ir.Node) bool {
	if r.Args == nil {
		return true
	}
	sources := n.Sources()
	if len(sources) > len(r.Args) {
		return false
	}
	for i, a := range sources {
		if a != nil && !r.Args[i].Holds(a.Type) {
			return false
		}
	}
	return r.Check == nil || r.Check(n) == ""
}

// fits returns why the row cannot run the node even after packing; empty if it can.
func (d *Descriptor) fits(r *Row, n *ir.Node) string {
	if r.Args == nil {
		return ""
	}
	sources := n.Sources()
	if len(sources) > len(r.Args) {
		return fmt.Sprintf("takes %d operands, not %d", len(r.Args), len(sources))
	}
	for i, a := range sources {
		if a == nil {
			continue
		}
		if why := d.canMake(a, r.Args[i]); why != "" {
			return fmt.Sprintf("operand %d %v %s", i, a, why)
		}
	}
	if r.Check != nil {
		return r.Check(n)
	}
	return ""
}

// Has reports whether some row runs the op, whatever its operands.
func (d *Descriptor) Has(op ir.Op) bool {
	return slices.ContainsFunc(d.Rows, func(r Row) bool { return r.Op == op })
}

// WeightLayout returns the layout in which operand arg of op is read where its dtype is
// dt: that of the first row which reads it.
func (d *Descriptor) WeightLayout(op ir.Op, arg int, dt dtype.DType) dtype.Layout {
	for _, r := range d.Rows {
		if r.Op == op && arg < len(r.Args) && r.Args[arg].hasDType(dt) {
			return r.Args[arg].layout(dt)
		}
	}
	return dtype.Plain
}

// ActFormat returns the dtype in which a product reads its activations where the weight
// is of dtype weight.
func (d *Descriptor) ActFormat(op ir.Op, weight dtype.DType) dtype.DType {
	for _, r := range d.Rows {
		if r.Op == op && len(r.Args) > 1 && r.Args[1].hasDType(weight) && len(r.Args[0].DTypes) > 0 {
			return r.Args[0].DTypes[0]
		}
	}
	return dtype.F32
}

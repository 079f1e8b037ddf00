package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
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

	// Segment is the positions of a segment of the context that its attention_segments sums; 0
	// is none: attention is not cut.
	Segment int

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
	Memory    int64        // bytes of the preferred space; 0 is not known, and no limit
	Extra     int64        // bytes behind each tensor in its spaces that its kernels may touch
	MaxInputs int          // copied inputs of one split; 0 is no limit

	// Opaque are those of the spaces in which only kernels of the backend can read, as their
	// layout is its own, though they are no other device's memory.
	Opaque []string

	// Offload are the ops that the backend takes off the last target although their weights
	// lie there, from OffloadRows rows on; see Offers.
	Offload     []Offload
	OffloadRows int

	Rates Rates

	// Tiles are those that matrix products use where they are not the default; see
	// tile.Choice. They change speed and nothing else.
	Tiles []tile.Choice

	// LayoutTimes are measurements from which pack chooses layouts, instead of predictions.
	LayoutTimes []LayoutTime
	Measured    string // where figures were measured, GOOS/GOARCH/KERNELS; empty is not known
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

// Asynchronous reports whether the host goes on while the backend works.
func (d *Descriptor) Asynchronous() bool { return d.Queues > 0 }

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
	last := misfit{operand: -1}
	known := false
	for i := range d.Rows {
		r := &d.Rows[i]
		if !r.names(n) {
			continue
		}
		m := d.fits(r, n)
		if m.none() {
			return r, ""
		}
		last, known = m, true
	}
	switch {
	case !known:
		return nil, fmt.Sprintf("%s has no kernel for %s", d.Name, opName(n))
	case last.operand >= 0:
		return nil, fmt.Sprintf("%s: %s: operand %d %v %s", d.Name, opName(n), last.operand, n.Sources()[last.operand], last.why(n))
	}
	return nil, fmt.Sprintf("%s: %s: %s", d.Name, opName(n), last.text)
}

// misfit is why a row cannot run a node: an operand that is not in its format, or, with
// operand -1, something else, which text says. Most rows do not fit and another one does, so
// the words are made when they are asked for.
type misfit struct {
	operand  int
	obstacle obstacle
	text     string
}

// none reports whether the row fits.
func (m *misfit) none() bool { return m.obstacle == noObstacle && m.text == "" }

// why says what is wrong with the operand. It names no value, so that it holds for all nodes
// alike.
func (m *misfit) why(n *ir.Node) string { return m.obstacle.of(n.Sources()[m.operand]) }

// Refusal returns in a few words why the backend does not run the node, such as
// "gpu: no q4_0 x f16 matmul"; empty if it does. It names no value: nodes of one op with
// operands of the same types are refused alike.
func (d *Descriptor) Refusal(n *ir.Node) string {
	if ok, _ := d.Supports(n); ok {
		return ""
	}
	last := misfit{operand: -1}
	known := false
	for i := range d.Rows {
		if r := &d.Rows[i]; r.names(n) {
			last, known = d.fits(r, n), true
		}
	}
	switch {
	case !known:
		return fmt.Sprintf("%s: no %s", d.Name, opName(n))
	case last.operand >= 0:
		return fmt.Sprintf("%s: no %s %s (operand %d %s)", d.Name, dtypes(n), opName(n), last.operand, last.why(n))
	}
	return fmt.Sprintf("%s: no such %s: it %s", d.Name, opName(n), last.text)
}

// dtypes lists the dtypes of the node's operands as products are written: f32 x q4_0.
func dtypes(n *ir.Node) string {
	var names []string
	for _, a := range n.Sources() {
		if a != nil {
			names = append(names, a.Type.DType.String())
		}
	}
	return strings.Join(names, " x ")
}

// Reads reports whether some kernel reads the node's operands exactly as they are, which
// has to hold after pack.
func (d *Descriptor) Reads(n *ir.Node) bool {
	if free(n) {
		return true
	}
	for i := range d.Rows {
		if r := &d.Rows[i]; r.names(n) && r.reads(n) {
			return true
		}
	}
	return false
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

// fits returns why the row cannot run the node even after packing.
func (d *Descriptor) fits(r *Row, n *ir.Node) misfit {
	if r.Args == nil {
		return misfit{}
	}
	sources := n.Sources()
	if len(sources) > len(r.Args) {
		return misfit{operand: -1, text: fmt.Sprintf("takes %d operands, not %d", len(r.Args), len(sources))}
	}
	for i, a := range sources {
		if a == nil {
			continue
		}
		if o := d.canMake(a, &r.Args[i]); o != noObstacle {
			return misfit{operand: i, obstacle: o}
		}
	}
	if r.Check != nil {
		return misfit{operand: -1, text: r.Check(n)}
	}
	return misfit{}
}

// Has reports whether some row runs the op, whatever its operands.
func (d *Descriptor) Has(op ir.Op) bool {
	for i := range d.Rows {
		if d.Rows[i].Op == op {
			return true
		}
	}
	return false
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

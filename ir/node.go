package ir

import "slices"

// Node applies an op to operands and defines results. What walks over a function read of each
// node stands first, what only messages and dumps need last: there are so many nodes that
// what is not in a cache counts.
type Node struct {
	ID   int // dense within the function
	Op   Op
	Func *Func

	Args    []*Value
	Results []*Value
	Body    *Func // of ops that hold a function: call, repeat

	// Split is the number of the node's split, counted from 0 in each top-level
	// function, bodies included; -1 before the split pass.
	Split int

	// Epoch says when CPU workers run the node, Part how they share it; set by partition.
	Epoch int
	Part  Partition

	// Backend is the name of the target that runs the node; set by assign.
	Backend string

	// Submit says how the node reaches a backend with queues; nil where the host runs it, or
	// waits while its backend does, and nothing is to be waited for. See Submitted.
	Submit *Submission

	Attr any // pointer to the op's attribute struct; nil where the op has none

	// Pos names where in the model file the node comes from: a tensor or layer.
	Pos string

	causes []Cause
}

// Submission says when a node runs that has a queue, and what waits for it; see
// docs/queues.md.
type Submission struct {
	// Queue names the queue; empty for a node that the host runs. Slots is how many instances
	// the node's results have, of which steps use one after the other; 0 and 1 are one. Both
	// are set by pipeline.
	Queue string
	Slots int

	// Waits are events that have to have happened before the node begins, and Event, if it is
	// not 0, is recorded when it has ended. Events are numbered from 1 in each entry point,
	// its bodies included. Set by sync.
	Waits []Wait
	Event int
}

// Wait names an event that a node waits for: as it was recorded last in this step, or, with
// Prev, in the step before. What was never recorded is not waited for.
type Wait struct {
	Event int
	Prev  bool
}

// PartMode says how the workers of a CPU backend share a node's work.
type PartMode uint8

const (
	PartNone  PartMode = iota // not decided, or nothing to do (views, weights)
	PartOne                   // worker 0 computes all of it
	PartEach                  // every worker computes all of it, into scratch of its own
	PartSplit                 // the result's axis is divided; each worker computes its part
)

var partModeNames = [...]string{"none", "one", "each", "split"}

func (m PartMode) String() string { return partModeNames[m] }

// Partition says who computes what. With PartSplit, worker p of n computes the indices
// tile.Range(N, Granule, p, n) of axis Axis of the first result. N and Granule count
// elements of that axis.
type Partition struct {
	Mode PartMode

	// Tail, with PartSplit, leaves some units to whoever is done early: worker p computes
	// tile.Head of its indices, then pieces of tile.Tail that nobody has begun. Nodes that
	// follow each other with the same units (SameUnits) are computed together, piece by piece. Between
	// two barriers only one such run may stand.
	Tail bool

	Axis    int
	N       Dim
	Granule int64
}

// Equal reports whether p and q divide work alike; all but Mode counts only with PartSplit.
func (p Partition) Equal(q Partition) bool {
	if p.Mode != PartSplit || q.Mode != PartSplit {
		return p.Mode == q.Mode
	}
	return p.Axis == q.Axis && p.N.Equal(q.N) && p.Granule == q.Granule && p.Tail == q.Tail
}

// SameUnits reports whether p and q, both with PartSplit, have equally many units for all sizes,
// so that whoever has unit u of one has unit u of the other: N is as many times the other's as
// Granule is, a whole number. They may be of different axes.
func (p Partition) SameUnits(q Partition) bool {
	switch {
	case p.Granule == q.Granule:
		return p.N.Equal(q.N)
	case p.Granule > q.Granule:
		p, q = q, p
	}
	if p.Granule < 1 || q.Granule%p.Granule != 0 {
		return false
	}
	n, ok := q.N.divExact(q.Granule / p.Granule) // a product might overflow
	return ok && n.Equal(p.N)
}

// Submitted returns the node's submission, which is made if there is none, to be changed.
func (n *Node) Submitted() *Submission {
	if n.Submit == nil {
		n.Submit = new(Submission)
	}
	return n.Submit
}

// Queue returns the queue that the node is submitted to; empty for the host's thread.
func (n *Node) Queue() string {
	if n.Submit == nil {
		return ""
	}
	return n.Submit.Queue
}

// Result returns the first result; nil for a node that has none.
func (n *Node) Result() *Value {
	if len(n.Results) == 0 {
		return nil
	}
	return n.Results[0]
}

// Arg returns operand i, or nil where an optional one is absent.
func (n *Node) Arg(i int) *Value {
	if i >= len(n.Args) {
		return nil
	}
	return n.Args[i]
}

// foreign returns the attributes of a foreign node; nil for others. The op is asked first: it
// stands at the head of the node, where a walk has been anyway.
func (n *Node) foreign() *ForeignAttr {
	if n.Op != OpForeign {
		return nil
	}
	a, _ := n.Attr.(*ForeignAttr)
	return a
}

// Traits returns the traits of the node: those of its op, and for a foreign node View and
// Leaf as its attributes say.
func (n *Node) Traits() Traits {
	t := n.Op.Info().Traits
	if a := n.foreign(); a != nil {
		t |= a.traits()
	}
	return t
}

// Is reports whether the node has all of the traits.
func (n *Node) Is(t Traits) bool {
	if n.Op == OpForeign {
		return n.Traits()&t == t
	}
	return n.Op.Info().Traits&t == t
}

// Sources returns the operands that the node reads: all, but for the one of a foreign node
// that only says whose bytes the result has.
func (n *Node) Sources() []*Value {
	if a := n.foreign(); a != nil {
		return n.Args[:a.sources(len(n.Args))]
	}
	return n.Args
}

// InPlace returns the operands whose bytes the first result may take over: each of its
// elements is written only after the element of the operand at the same place was read.
// Foreign nodes take over no views.
func (n *Node) InPlace() []int {
	a := n.foreign()
	if a == nil {
		return n.Op.Info().InPlace
	}
	isView := func(i int) bool { return n.Args[i] == nil || n.Args[i].Source() != nil }
	return slices.DeleteFunc(slices.Clone(a.Takes), isView)
}

// SourcePos returns the position that operand i has where the node comes from.
func (n *Node) SourcePos(i int) int {
	if a := n.foreign(); a != nil && len(a.Srcs) > 0 {
		return a.Srcs[i]
	}
	return i
}

// String returns the node as messages name it: its first result, or its op.
func (n *Node) String() string {
	if r := n.Result(); r != nil {
		return r.String()
	}
	return n.Op.String()
}

package ir

import "slices"

// Node applies an op to operands and defines results. The fields that most walks read are first, so
// that they share cache lines.
type Node struct {
	ID   int // dense within the function
	Op   Op
	Func *Func

	Args    []*Value
	Results []*Value
	Body    *Func // of ops with HasBody

	// Split is the number of the node's split, counted from 0 in each top-level
	// function, bodies included; -1 before the split pass.
	Split int

	// Epoch is the epoch in which CPU workers run the node, Part how they divide its work; set by
	// partition.
	Epoch int
	Part  Partition

	// Backend is the name of the backend that runs the node; set by assign.
	Backend string

	// Submit is how the node is submitted to a backend with queues. It is nil if the host runs the
	// node, or waits for it, and no event is involved. See Submitted.
	Submit *Submission

	Attr any // pointer to the op's attribute struct; nil if the op has none

	// Pos is the part of the model file that the node comes from: a tensor or layer.
	Pos string

	causes []Cause
}

// Submission is the queue of a node and what orders it among others; see docs/explanation/queues.md.
type Submission struct {
	// Queue is the name of the queue; empty for a node that the host runs. Slots is the number of
	// instances of the node's results, which consecutive steps use in turn; 0 means 1. Both are set by
	// pipeline.
	Queue string
	Slots int

	// Waits are the events that must have happened before the node begins. Event, unless it is 0, is
	// recorded when the node has ended. Events are numbered from 1 in each entry point, including its
	// bodies. Set by sync.
	Waits []Wait
	Event int

	// Within is how the threads of the queue's target divide the node, if it is a group of the processor's threads.
	// They meet before each node that is not Concurrent. Set by partition.
	Within Partition

	// Concurrent means that the node may run at the same time as those before it on its queue, back to the last one
	// that is not Concurrent. Set by sync.
	Concurrent bool
}

// Wait is an event that a node waits for: its last record in this step or, with Prev, in the step
// before. A node does not wait for an event that was never recorded.
type Wait struct {
	Event int
	Prev  bool
}

// PartMode is how the workers of a CPU backend divide a node's work.
type PartMode uint8

const (
	PartNone       PartMode = iota // not decided, or nothing to do (views, weights)
	PartOne                        // worker 0 computes it
	PartReplicated                 // replicated: every worker computes it in its own scratch memory
	PartSplit                      // the result's axis is divided; each worker computes its part
)

var partModeNames = [...]string{"none", "one", "replicated", "split"}

func (m PartMode) String() string { return partModeNames[m] }

// Partition is how a node's work is divided. With PartSplit, worker p of n computes the indices
// tile.Range(N, Granule, p, n) of axis Axis of the first result. N and Granule are numbers of elements
// of that axis; a granule is the smallest unit that is not divided.
type Partition struct {
	Mode PartMode

	// Tail, with PartSplit, makes a share of the granules dynamic: worker p computes tile.Head of its
	// indices, then takes pieces of tile.Tail that no worker has begun. Consecutive nodes with the same
	// units (SameUnits) are computed together, piece by piece. There is at most one such run of nodes
	// between two barriers.
	Dynamic bool

	Axis    int
	N       Dim
	Granule int64
}

// Equal reports whether p and q divide work alike. Fields other than Mode are compared only with
// PartSplit.
func (p Partition) Equal(q Partition) bool {
	if p.Mode != PartSplit || q.Mode != PartSplit {
		return p.Mode == q.Mode
	}
	return p.Axis == q.Axis && p.N.Equal(q.N) && p.Granule == q.Granule && p.Dynamic == q.Dynamic
}

// SameUnits reports whether p and q, both with PartSplit, have the same number of granules for all
// sizes, so that the owner of granule u of one owns granule u of the other. The axes may differ: 2048
// columns in granules of 64 and 32 heads in granules of 1 are 32 granules each. The ratio of the
// lengths must be that of the granules, and a whole number.
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

// Submitted returns the node's submission for changes. It allocates one if there is none.
func (n *Node) Submitted() *Submission {
	if n.Submit == nil {
		n.Submit = new(Submission)
	}
	return n.Submit
}

// Queue returns the queue of the node; empty if the host's thread runs it.
func (n *Node) Queue() string {
	if n.Submit == nil {
		return ""
	}
	return n.Submit.Queue
}

// Result returns the first result; nil if there is none.
func (n *Node) Result() *Value {
	if len(n.Results) == 0 {
		return nil
	}
	return n.Results[0]
}

// Arg returns operand i; nil if it is absent.
func (n *Node) Arg(i int) *Value {
	if i >= len(n.Args) {
		return nil
	}
	return n.Args[i]
}

// foreign returns the attributes of a foreign node; nil for other nodes.
func (n *Node) foreign() *ForeignAttr {
	if n.Op != OpForeign {
		return nil
	}
	a, _ := n.Attr.(*ForeignAttr)
	return a
}

// Traits returns the traits of the node: those of its op and, for a foreign node, View and Leaf if its
// attributes have them.
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

// Sources returns the operands that the node reads: all but the operand of a foreign node that only
// determines the result's bytes.
func (n *Node) Sources() []*Value {
	if a := n.foreign(); a != nil {
		return n.Args[:a.sources(len(n.Args))]
	}
	return n.Args
}

// InPlace returns the operands whose bytes the first result may take over: each of its elements is
// written only after the operand's element at the same place has been read. A foreign node takes over
// no views.
func (n *Node) InPlace() []int {
	a := n.foreign()
	if a == nil {
		return n.Op.Info().InPlace
	}
	isView := func(i int) bool { return n.Args[i] == nil || n.Args[i].Source() != nil }
	return slices.DeleteFunc(slices.Clone(a.Takes), isView)
}

// SourcePos returns the position of operand i in the node's origin.
func (n *Node) SourcePos(i int) int {
	if a := n.foreign(); a != nil && len(a.Srcs) > 0 {
		return a.Srcs[i]
	}
	return i
}

// String returns the name of the node in messages: its first result, or its op, with the
// operand of an observe.
func (n *Node) String() string {
	if r := n.Result(); r != nil {
		return r.String()
	}
	if x := n.Arg(0); n.Op == OpObserve && x != nil {
		return n.Op.String() + " " + x.String()
	}
	return n.Op.String()
}

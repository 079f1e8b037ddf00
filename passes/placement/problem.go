// Package placement decides on which backend each node of a program runs and in which memory space each weight
// and state is stored, so that the predicted time of the program's steps is short.
//
// The package knows no tensors. A node has a number of seconds for each target, a value has a number of bytes,
// and a copy of a value takes the time of the link between two spaces.
//
// # Example
//
// Target 0 is a GPU with a space of its own, space 1. Target 1 is the CPU, whose space is 0. A copy takes 2 s.
//
//	                    GPU    CPU
//	weight w
//	node 0: a = f(w)    1 s    4 s
//	node 1: b = g(a)     -     1 s
//	node 2: c = h(b)    1 s    2 s
//
// There are four variables: the three nodes, whose labels are targets, and the weight, whose label is a space.
// These are some assignments of labels to variables:
//
//	node 0  node 1  node 2  w    seconds
//	CPU     CPU     CPU     0    4 + 1 + 2 = 7
//	GPU     CPU     CPU     0    2 (copy w) + 1 + 2 (copy a) + 1 + 2 = 8
//	GPU     CPU     CPU     1    1 + 2 (copy a) + 1 + 2 = 6
//	GPU     CPU     GPU     1    1 + 2 (copy a) + 1 + 2 (copy b) + 1 = 7
//
// [Solve] returns the third one. docs/explanation/assignment.md describes how it finds it, and why so.
package placement

import "math"

// Problem is the program and the machine. Variable i is node i for i < len(Nodes), and leaf i-len(Nodes) after
// that. The label of a node is a target, the label of a leaf is a space. An assignment is a slice with one label
// for each variable.
type Problem struct {
	Targets  []Target
	Limits   []int64  // by space: bytes that leaves may take there; negative is no limit
	Room     []int64  // by space: bytes of the largest value that may be made there; negative is no limit
	CopyRoom []int64  // by space: bytes of the largest value that may be copied there; negative is no limit
	Stay     bool     // leaves must not be copied into spaces that have limits
	UnderWay int      // number of steps that overlap in a pipeline; 0 and 1 mean that none overlap
	Links    [][]Link // by source space, then destination space
	Steps    []Step
	Nodes    []Node // in the order in which the host submits them; the nodes of a step are contiguous
	Leaves   []Leaf
	Values   []Value
}

// Target is a backend.
type Target struct {
	Home      int    // space that holds its results
	Addresses []bool // by space: its kernels can read and write there
	Queues    int    // 0: the host waits for each node; 1: nodes run on a queue; 2: copies into Home run on another one
	Events    bool   // other targets can wait for a part of its queue, not only for the end
}

// Link is the cost model of copies between two spaces: a copy of n bytes takes Delay + n*PerByte.
type Link struct{ Delay, PerByte float64 } // seconds, seconds per byte

// Step is one call of a function of the program. Its time counts Weight times in the sum that Solve minimizes.
type Step struct {
	Weight     float64
	First, End int // its nodes are First to End-1
}

// Node is a piece of work that runs on one target.
type Node struct {
	Seconds []float64 // by target; Never where it cannot run
	Reads   []int32   // values, without duplicates
	Writes  int32     // a value of Reads that it changes in place, so its target has to address it; -1 is none
	Step    int32
	Caller  bool // the work of the caller after the step, such as reading results; the next step does not wait for it
}

// Leaf is memory that outlives a step: a weight or a state. It is stored in one space.
type Leaf struct {
	Bytes  int64
	Spaces []bool // by space: it may be stored there
}

// Value is the unit of copying. A target that cannot address the space of a value reads a copy of the whole value.
//
// The owner of a value decides its space, the maker its time. They differ for a value whose bytes are not new:
//
//	value                                   Owner       Maker
//	a result of a node                      the node    the node
//	a weight, a state before it changes     the leaf    -1
//	a state after a node has changed it     the leaf    the node
//	an input of the step                    -1          -1
type Value struct {
	Step  int32
	Owner int32   // variable: a node, whose target's home is the space, or a leaf; -1 is none
	Maker int32   // node that computes it; -1 if it exists before the step
	Space int32   // its space if it has no owner
	Bytes float64 // that a copy moves
}

// Never is the time of a node on a target that cannot run it.
var Never = math.Inf(1)

// broken is the cost in seconds of a violated constraint: a node that writes to a space that its target does not
// address, or a value that is too large for its space. It is larger than the time of any step. It is finite, so that
// the search can compare two assignments that both violate constraints, and small enough that sums keep their digits.
const broken = 1e9

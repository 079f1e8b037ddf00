package ir

import (
	"fmt"
	"slices"
)

// Func is a function of a module: an entry point such as prefill, or the body of a repeat.
type Func struct {
	ID     int // dense within the module
	Name   string
	Module *Module
	Doc    string // for generated code; may be empty

	Params  []*Value
	Nodes   []*Node // in execution order
	Results []*Value

	// ResultNames are the names of the results for callers; there are as many as Results.
	ResultNames []string

	// Observed are the names under which a call of this entry point hands values out, each once; set by pass observe.
	// The nodes that do this are in the order (OpObserve). The list is what check compares them with.
	Observed []string

	// Parts are what the devices of a group have of each value; nil unless spread has written the function out for one.
	Parts []Parts

	// Owner is the node that holds this function as its body; nil for an entry point.
	Owner *Node

	// Epochs is the number of epochs, set by partition. Epochs-1 barriers separate them.
	Epochs int

	// HeadBarrier, in the body of a repeat, means that each iteration, including the first, begins with
	// a barrier; set by partition.
	HeadBarrier bool

	shards []*Sharding // states of values, by number; nil if there are none

	nextValue, nextNode int
	names               map[string]int // taken names, with the last suffix of each

	nodeSlab   slab[Node]
	valueSlab  slab[Value]
	resultSlab slab[[1]*Value]
}

// NewValue returns a new value of f without a definition. A suffix .1, .2, … makes the name unique if
// it is taken; an empty name becomes a number.
func (f *Func) NewValue(name string, t Type) *Value {
	v := f.valueSlab.next()
	v.ID, v.Type, v.Func = f.nextValue, t, f
	f.nextValue++
	v.name = f.uniqueName(name, v.ID)
	return v
}

// Entry returns the entry point that f is, or is a body in.
func (f *Func) Entry() *Func {
	for f.Owner != nil {
		f = f.Owner.Func
	}
	return f
}

// AddParam appends a parameter.
func (f *Func) AddParam(name string, t Type) *Value {
	v := f.NewValue(name, t)
	v.Index = len(f.Params)
	f.Params = append(f.Params, v)
	return v
}

// AddResult declares v as the next result, under the name for callers.
func (f *Func) AddResult(name string, v *Value) {
	f.Results = append(f.Results, v)
	f.ResultNames = append(f.ResultNames, name)
}

// Rename renames v. The name is made unique as in NewValue.
func (f *Func) Rename(v *Value, name string) {
	delete(f.names, v.name)
	v.name = f.uniqueName(name, v.ID)
}

// TakeName gives v the name of a value that is to leave the function. That one gets a new name.
func (f *Func) TakeName(v, leaving *Value) {
	delete(f.names, v.name)
	v.name = leaving.name
	leaving.name = f.uniqueName("", leaving.ID)
}

// resultName returns the name of result i; empty if it has none.
func (f *Func) resultName(i int) string {
	if i >= len(f.ResultNames) {
		return ""
	}
	return f.ResultNames[i]
}

// NewNode returns a new node of f with one result for each type. The caller has to put it into the
// order. The first result gets the name, further ones get it with suffixes.
func (f *Func) NewNode(op Op, attr any, args []*Value, name string, types ...Type) *Node {
	n := f.nodeSlab.next()
	*n = Node{ID: f.nextNode, Op: op, Func: f, Args: args, Attr: attr, Split: -1}
	f.nextNode++
	if len(types) == 1 {
		n.Results = f.resultSlab.next()[:0]
	}
	for i, t := range types {
		r := f.NewValue(name, t)
		r.Def, r.Index = n, i
		n.Results = append(n.Results, r)
	}
	return n
}

// Append appends n to the order and returns it.
func (f *Func) Append(n *Node) *Node {
	f.Nodes = append(f.Nodes, n)
	return n
}

// InsertBefore inserts n into the order before at, or at the end if at is nil.
func (f *Func) InsertBefore(at, n *Node) {
	i := len(f.Nodes)
	if at != nil {
		i = slices.Index(f.Nodes, at)
		if i < 0 {
			panic(fmt.Sprintf("ir: internal error: %v is not in @%s", at, f.Name))
		}
	}
	f.Nodes = slices.Insert(f.Nodes, i, n)
}

// NumValues returns an upper bound of the values' ids, for tables keyed by Value.ID.
func (f *Func) NumValues() int { return f.nextValue }

// NumNodes returns an upper bound of the nodes' ids, for tables keyed by Node.ID.
func (f *Func) NumNodes() int { return f.nextNode }

// Param returns the parameter of that name, or nil.
func (f *Func) Param(name string) *Value {
	i := slices.IndexFunc(f.Params, func(v *Value) bool { return v.Name() == name })
	if i < 0 {
		return nil
	}
	return f.Params[i]
}

func (f *Func) uniqueName(name string, id int) string {
	if f.names == nil {
		f.names = make(map[string]int)
	}
	if name == "" {
		name = fmt.Sprintf("v%d", id)
	}
	base := name
	for {
		_, taken := f.names[name]
		if !taken {
			f.names[name] = 0
			return name
		}
		f.names[base]++
		name = fmt.Sprintf("%s.%d", base, f.names[base])
	}
}

package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Show is a set of columns of the text form.
type Show uint32

const (
	ShowHead      Show = 1 << iota // everything outside functions: headers, weights, states, plan
	ShowTypes                      // parameters, result types, leaf nodes
	ShowBackend                    // the backend of each node
	ShowSplit                      // the split of each node
	ShowPartition                  // partition and epoch
	ShowQueue                      // queue, slots and events
	ShowPlace                      // addresses
	ShowPos                        // origins of nodes in the model file
	ShowShard                      // states of values in a group of devices
	ShowCause                      // the last cause of each node, without its pass
	ShowCauses                     // all causes

	// ShowAll is the lossless form, which Parse accepts.
	ShowAll = ShowCauses<<1 - 1

	// ShowWhy is the cause by which each node has its backend; see Node.PlacedBy. ShowCauses has it among the others.
	ShowWhy = ShowAll + 1
)

// ShowNames are the names of the columns, separated by commas.
var ShowNames = (ShowAll | ShowWhy).String()

var showNames = []string{"head", "type", "backend", "split", "partition", "queue", "place", "pos", "shard", "cause", "causes", "why"}

// String returns the names of the columns, separated by commas.
func (s Show) String() string {
	var names []string
	for i, name := range showNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseShow returns the set of columns with the given names, separated by commas, as in
// --show backend,cause; "all" is ShowAll.
func ParseShow(text string) (Show, error) {
	if text == "all" {
		return ShowAll, nil
	}
	var s Show
	for name := range strings.SplitSeq(text, ",") {
		i := slices.Index(showNames, name)
		if i < 0 {
			return 0, fmt.Errorf("unknown column %q: the known ones are all, %s", name, strings.Join(showNames, ", "))
		}
		s |= 1 << i
	}
	return s, nil
}

// PrintOptions select what Print shows. The zero value shows only nodes.
type PrintOptions struct {
	Show  Show
	Funcs []string // only these entry points; nil means all

	// Only selects nodes; nil means all. A repeat whose node is left out is left out with its body.
	Only func(*Node) bool

	// Bare omits the head that marks a narrowed text as partial, for goldens.
	Bare bool
}

// full reports whether the text is complete.
func (o PrintOptions) full() bool { return o.Show == ShowAll && o.Funcs == nil && o.Only == nil }

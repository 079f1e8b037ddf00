package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// maxPinned is how many names a suggested pin lists.
const maxPinned = 4

// anyNumber is what differs between the names of layers.
var anyNumber = regexp.MustCompile(`[0-9]+`)

// suggestion is a flag that puts nodes on a target.
type suggestion struct {
	text   string     // the flag, and what it leaves out
	caught []*ir.Node // all nodes that it puts there, other entry points included
}

// pin returns the flag that puts nodes on t; an empty one if they have no names. Names that differ only in a number
// become one pattern, because such names are those of layers. A node in a repeat has the name of its first iteration,
// so its name becomes a pattern too. If a pattern would match other nodes as well, or if there are too many names, the
// flag is for some of the nodes and states this.
//
// For example, nodes l0.up and l12.up on gpu give --pin '^l[0-9]+\.up$=gpu'.
func (x *explainer) pin(t *target.Descriptor, nodes []*ir.Node) suggestion {
	names := make(map[string][]*ir.Node) // by pattern
	var patterns []string
	for _, n := range nodes {
		p := pinPattern(n)
		if p == "" {
			continue
		}
		if names[p] == nil {
			patterns = append(patterns, p)
		}
		names[p] = append(names[p], n)
	}
	if len(patterns) == 0 {
		return suggestion{}
	}
	s := suggestion{caught: slices.Clone(nodes)}
	covered := make(map[*ir.Node]bool)
	for i, p := range patterns {
		first := names[p][0]
		matched := x.pinNames().byPattern[p]
		if len(names[p]) == 1 && first.Func.Owner == nil || x.catchesOthers(p, first) {
			patterns[i] = regexp.QuoteMeta(pinName(first))
			matched = x.namesakes(names[p])
		}
		s.caught = append(s.caught, matched...)
		for _, n := range names[p] {
			covered[n] = i < maxPinned && (patterns[i] == p || n.Func.Owner == nil && pinName(n) == pinName(first))
		}
	}
	patterns = patterns[:min(len(patterns), maxPinned)]
	text := patterns[0]
	if len(patterns) > 1 {
		text = "(" + strings.Join(patterns, "|") + ")"
	}
	s.text = fmt.Sprintf("--pin '^%s$=%s'", text, t.Name)
	if slices.ContainsFunc(nodes, func(n *ir.Node) bool { return !covered[n] }) {
		s.text += ", and a pin for each of the others"
	}
	return s
}

// nameIndex has the nodes with work by the names that pins match.
type nameIndex struct {
	byName    map[string][]*ir.Node
	byPattern map[string][]*ir.Node
}

func (x *explainer) pinNames() *nameIndex {
	if x.byName != nil {
		return x.byName
	}
	x.byName = &nameIndex{make(map[string][]*ir.Node), make(map[string][]*ir.Node)}
	for _, f := range x.m.Funcs {
		eachWorkNode(f, func(n *ir.Node, _ int64) { x.byName.add(n) })
	}
	return x.byName
}

// add adds a node under the names that Pin.Matches compares.
func (i *nameIndex) add(n *ir.Node) {
	var names []string
	if r := n.Result(); r != nil && r.Name() != "" {
		names = append(names, r.Name())
	}
	if n.Pos != "" && !slices.Contains(names, n.Pos) {
		names = append(names, n.Pos)
	}
	var patterns []string
	for _, name := range names {
		i.byName[name] = append(i.byName[name], n)
		if p := namePattern(name); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
			i.byPattern[p] = append(i.byPattern[p], n)
		}
	}
}

// namesakes returns the nodes that pins with the names of nodes find.
func (x *explainer) namesakes(nodes []*ir.Node) []*ir.Node {
	var list []*ir.Node
	for _, n := range nodes {
		if name := pinName(n); name != "" {
			list = append(list, x.pinNames().byName[name]...)
		}
	}
	return list
}

// pinName returns the name by which a pin matches a node; empty if it has none.
func pinName(n *ir.Node) string {
	if r := n.Result(); r != nil && r.Name() != "" {
		return r.Name()
	}
	return n.Pos
}

// pinPattern returns the expression for the names of nodes like n in all layers.
func pinPattern(n *ir.Node) string { return namePattern(pinName(n)) }

func namePattern(name string) string {
	return anyNumber.ReplaceAllString(regexp.QuoteMeta(name), "[0-9]+")
}

// catchesOthers reports whether a pattern that namePattern has made matches a node of another op than n.
func (x *explainer) catchesOthers(pattern string, n *ir.Node) bool {
	return slices.ContainsFunc(x.pinNames().byPattern[pattern], func(other *ir.Node) bool { return other.Op != n.Op })
}

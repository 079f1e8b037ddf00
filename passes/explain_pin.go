package passes

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

// pinText returns the flag that puts nodes on t. Names that differ in anyNumber only are one
// pattern, as those of layers are; so is the name of a node in a repeat, which is that of
// its first round. Where such a pattern would catch other nodes as well, or where there are
// too many names, the flag is for some and says so.
func (x *explainer) pinText(t *target.Descriptor, nodes []*ir.Node) string {
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
		return fmt.Sprintf("a pin to %s, if the model had names for them", t.Name)
	}
	for i, p := range patterns {
		if same := names[p]; len(same) == 1 && same[0].Func.Owner == nil || x.catchesOthers(p, same[0]) {
			patterns[i] = regexp.QuoteMeta(pinName(same[0]))
		}
	}
	all := len(patterns)
	patterns = patterns[:min(all, maxPinned)]
	text := patterns[0]
	if len(patterns) > 1 {
		text = "(" + strings.Join(patterns, "|") + ")"
	}
	text = fmt.Sprintf("--pin '^%s$=%s'", text, t.Name)
	covered := regexp.MustCompile("^(" + strings.Join(patterns, "|") + ")$")
	if slices.ContainsFunc(nodes, func(n *ir.Node) bool { return !covered.MatchString(pinName(n)) }) {
		text += ", and a pin for each of the others"
	}
	return text
}

// pinName is what a pin finds a node by; empty if it has no name.
func pinName(n *ir.Node) string {
	if r := n.Result(); r != nil && r.Name != "" {
		return r.Name
	}
	return n.Pos
}

// pinPattern is the expression for the names of nodes like n in all layers.
func pinPattern(n *ir.Node) string {
	return anyNumber.ReplaceAllString(regexp.QuoteMeta(pinName(n)), "[0-9]+")
}

// catchesOthers reports whether the pattern matches a node that does something else than n.
func (x *explainer) catchesOthers(pattern string, n *ir.Node) bool {
	match := Pin{Match: regexp.MustCompile("^" + pattern + "$")}
	for _, f := range x.m.Funcs {
		caught := false
		eachWork(f, func(other *ir.Node, _ int64) { caught = caught || other.Op != n.Op && match.matches(other) })
		if caught {
			return true
		}
	}
	return false
}

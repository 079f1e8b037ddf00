package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Label is a split as errors and timelines of programs name it: "@prefill split 3[l=2]: %a = copy %b".
type Label struct {
	Func      string // the entry point
	Split     int
	Iteration int64  // of the repeat around it; -1 if the label has none
	Node      string // the name of the node after the colon, without %; empty if the label has none
}

var (
	labelForm     = regexp.MustCompile(`^@(.+?) split (\d{1,9})(?:\[l=(\d{1,9})\])?(?:: ?(.*))?$`)
	iterationForm = regexp.MustCompile(`^(.+)\[l=(\d{1,9})\]$`)
)

// ParseLabel reads a label; ok is false if the text is none.
func ParseLabel(text string) (l Label, ok bool) {
	parts := labelForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return l, false
	}
	l = Label{Func: parts[1], Iteration: -1, Node: nodeOfLabel(parts[4])}
	l.Split, _ = strconv.Atoi(parts[2]) // digits, not too many
	if parts[3] != "" {
		l.Iteration, _ = strconv.ParseInt(parts[3], 10, 64)
	}
	return l, true
}

// nodeOfLabel returns the name of a node that begins a text such as "%a = copy %b"; empty if none does.
func nodeOfLabel(text string) string {
	rest, ok := strings.CutPrefix(text, "%")
	if !ok {
		return ""
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		name, _ := strconv.Unquote(quoted) // it is quoted
		return name
	}
	name, _, _ := strings.Cut(rest, " ")
	return strings.TrimRight(name, ",:")
}

// cutIteration splits a name such as "v37[l=2]" into name and iteration, which is -1 if it has none.
func cutIteration(name string) (rest string, iteration int64) {
	parts := iterationForm.FindStringSubmatch(name)
	if parts == nil {
		return name, -1
	}
	iteration, _ = strconv.ParseInt(parts[2], 10, 64) // digits, not too many
	return parts[1], iteration
}

// Holds reports whether n is what the label names, or is in the split that it names. A repeat holds what its body does.
func (l Label) Holds(n *ir.Node) bool {
	if n.Func.Entry().Name != l.Func {
		return false
	}
	if n.Body != nil {
		return slices.ContainsFunc(n.Body.Nodes, l.Holds)
	}
	return n.Split == l.Split && (l.Node == "" || slices.ContainsFunc(n.Results, func(v *ir.Value) bool { return v.Name() == l.Node }))
}

// Check returns an error if the module has no such function, split, iteration or node.
func (l Label) Check(m *ir.Module) error {
	f := m.Func(l.Func)
	if f == nil {
		return fmt.Errorf("there is no function @%s: the module has %s", l.Func, funcNames(m))
	}
	last, some, named, times := -1, false, false, int64(0)
	for _, g := range funcsOf(f) {
		for _, n := range g.Nodes {
			last = max(last, n.Split)
			if n.Body != nil || n.Split != l.Split {
				continue
			}
			some = true
			if l.Holds(n) {
				named, times = true, max(times, iterationsAround(n))
			}
		}
	}
	switch {
	case last < 0:
		return fmt.Errorf("@%s has no splits yet: pass split has not run", l.Func)
	case !some:
		return fmt.Errorf("@%s has no split %d: its last one is %d", l.Func, l.Split, last)
	case !named:
		return fmt.Errorf("@%s split %d has no node %%%s", l.Func, l.Split, ir.QuoteName(l.Node))
	case l.Iteration >= 0 && l.Iteration >= times:
		return fmt.Errorf("@%s split %d has no iteration [l=%d]: %s", l.Func, l.Split, l.Iteration, iterationsText(times))
	}
	return nil
}

func funcNames(m *ir.Module) string {
	var names []string
	for _, f := range m.Funcs {
		names = append(names, "@"+f.Name)
	}
	return strings.Join(names, ", ")
}

// iterationsAround returns how many iterations the repeat around n has; 0 if there is none.
func iterationsAround(n *ir.Node) int64 {
	if owner := n.Func.Owner; owner != nil && owner.Op == ir.OpRepeat {
		return flow.Iterations(owner)
	}
	return 0
}

func iterationsText(times int64) string {
	if times == 0 {
		return "it is in no repeat"
	}
	return fmt.Sprintf("the last one is [l=%d]", times-1)
}

// findLabel looks for the nodes that do work in the split that a label names, or for the node that it names. Only nodes
// of a repeat have iterations.
func (x *explainer) findLabel(f *found, l Label) {
	for _, n := range nodesOf(x.m.Func(l.Func)) {
		if n.Body == nil && l.Holds(n) && (l.Node != "" || flow.DoesWork(n)) && (l.Iteration < 0 || l.Iteration < iterationsAround(n)) {
			x.addNode(f, n, l.Iteration)
		}
	}
	if l.Node == "" {
		f.split = &l
	}
}

// nodesOf returns the nodes of an entry point and of the bodies in it, in order.
func nodesOf(f *ir.Func) []*ir.Node {
	var list []*ir.Node
	for _, n := range f.Nodes {
		list = append(list, n)
		if n.Body != nil {
			list = append(list, nodesOf(n.Body)...)
		}
	}
	return list
}

// labelled returns the splits that a label names: a body has splits of its own.
func (x *explainer) labelled(l *Label) []SplitReport {
	list := x.splits(x.m.Func(l.Func))
	return slices.DeleteFunc(list, func(s SplitReport) bool { return s.Number != l.Split })
}

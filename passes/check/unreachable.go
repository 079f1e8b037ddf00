package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Unreached is memory that the backend of a node cannot address: that of an operand, or
// with Operand -1 that of a result.
type Unreached struct {
	Node    *ir.Node
	Operand int
}

// Unreachable returns what the working nodes of m touch without being able to, function by
// function, in order. A copy reads from anywhere.
func Unreachable(m *ir.Module, targets *target.List) []Unreached {
	var found []Unreached
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if d := targets.Get(n.Backend); works(n) && n.Op != ir.OpRepeat && d != nil {
				found = append(found, unreached(n, d)...)
			}
		}
	}
	return found
}

func unreached(n *ir.Node, d *target.Descriptor) []Unreached {
	var found []Unreached
	for i, a := range n.Sources() {
		if a != nil && !isCopy(n) && !d.Addresses(spaceName(a.Type)) {
			found = append(found, Unreached{n, i})
		}
	}
	for _, r := range n.Results {
		if !d.Addresses(spaceName(r.Type)) {
			return append(found, Unreached{n, -1})
		}
	}
	return found
}

// Unread returns the working nodes of m whose backend has no kernel that reads their operands as they
// are, function by function, in order. Moving bytes between spaces needs none.
func Unread(m *ir.Module, targets *target.List) []*ir.Node {
	var found []*ir.Node
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if d := targets.Get(n.Backend); works(n) && n.Op != ir.OpRepeat && d != nil && unread(n, d) {
				found = append(found, n)
			}
		}
	}
	return found
}

func unread(n *ir.Node, d *target.Descriptor) bool { return !transfers(n) && !d.Reads(n) }

// violation says what cannot be addressed.
func (u Unreached) violation(d *target.Descriptor) *Violation {
	v, what, missing := u.Node.Result(), "its result", ""
	if u.Operand >= 0 {
		v, what, missing = u.Node.Args[u.Operand], "its operand", ": a copy is missing"
	}
	return &Violation{
		Rule: RuleReach, Func: u.Node.Func.Name, Nodes: []string{u.Node.String()}, Unreached: &u,
		What: fmt.Sprintf("%s cannot address %s, where %s %v lies%s", d.Name, spaceName(v.Type), what, v, missing),
	}
}

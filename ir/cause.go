package ir

import "slices"

// Cause records why a pass decided as it did about a node.
type Cause struct {
	Pass     string
	Rule     string   // a rule that the pass declares, such as 1.wgt
	Operands []string // values, nodes or backends that the rule looked at, as text
	Before   string   // the earlier state, where it is not obvious
	After    string   // the decision
}

// Equal reports whether c and d are the same in every field.
func (c Cause) Equal(d Cause) bool {
	return c.Pass == d.Pass && c.Rule == d.Rule && slices.Equal(c.Operands, d.Operands) &&
		c.Before == d.Before && c.After == d.After
}

// usualCauses is the number of causes that most nodes have after all passes.
const usualCauses = 4

// Cause appends c, with more operands after those of c, to the causes of n. Causes are never changed or
// removed. Goroutines may add causes to different nodes at the same time.
func (n *Node) Cause(c Cause, operands ...string) {
	c.Operands = slices.Concat(c.Operands, operands)
	if n.causes == nil {
		n.causes = make([]Cause, 0, usualCauses)
	}
	n.causes = append(n.causes, c)
}

// CausedAs replaces the causes of n by those of another node.
func (n *Node) CausedAs(other *Node) {
	n.causes = slices.Clip(other.causes) // the nodes share these causes, but not later ones
}

// Causes returns the causes in the order in which they were appended. The list must not be changed.
func (n *Node) Causes() []Cause { return slices.Clip(n.causes) }

// LastCause returns the last cause; ok is false if there is none.
func (n *Node) LastCause() (c Cause, ok bool) {
	if len(n.causes) == 0 {
		return Cause{}, false
	}
	return n.causes[len(n.causes)-1], true
}

// placing are the passes that give nodes their backends, in the order in which their causes count: what assign and
// unfuse decided, else why the node was added where it is.
var placing = [][]string{{"assign", "unfuse"}, {"shard", "copy", "elide-copy", "pack", "fuse-late"}}

// PlacedBy returns the cause by which the node has its backend: the last one of a pass that decided it. Nodes that
// passes added, such as copies, have the cause for which they were added. ok is false if there is none.
func (n *Node) PlacedBy() (c Cause, ok bool) {
	for _, passes := range placing {
		for _, c := range slices.Backward(n.causes) {
			if slices.Contains(passes, c.Pass) && c.Rule != ruleStep {
				return c, true
			}
		}
	}
	return Cause{}, false
}

// ShownCauses returns the causes that columns of the text form show, in their order there: all causes, or the one of
// its backend and the last one, which may be the same.
func (n *Node) ShownCauses(show Show) (list []Cause) {
	if show&ShowCauses != 0 {
		return n.Causes()
	}
	if c, ok := n.PlacedBy(); ok && show&ShowWhy != 0 {
		list = append(list, c)
	}
	if c, ok := n.LastCause(); ok && show&ShowCause != 0 && !slices.ContainsFunc(list, c.Equal) {
		list = append(list, c)
	}
	return list
}

// ruleStep is the rule of a cause that is of a whole step, which its first node has.
const ruleStep = "assign.step"

// FirstCause returns the first cause that match accepts; ok is false if there is none.
func (n *Node) FirstCause(match func(pass, rule string) bool) (c Cause, ok bool) {
	i := slices.IndexFunc(n.causes, func(c Cause) bool { return match(c.Pass, c.Rule) })
	if i < 0 {
		return Cause{}, false
	}
	return n.causes[i], true
}

// HasCause reports whether the node has a cause with that rule, of any pass.
func (n *Node) HasCause(rule string) bool {
	return slices.ContainsFunc(n.causes, func(c Cause) bool { return c.Rule == rule })
}

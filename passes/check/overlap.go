package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Claim: when a step writes, in the order of the program, none of the bytes hold an object that is read later, nor one
// that the step itself reads. The exception is an operand that the op may overwrite element by element
// (ir.Node.InPlace). Weights and inputs are never written, states only by the ops that make their next version.
//
// Each of the last three steps of
//
//	%a = silu %x         at 0x000+256
//	%b = neg %a          at 0x000+256     right: neg reads element i before it writes element i
//	%c = softmax %b      at 0x040+256     wrong: begins inside of its operand
//	%d = exp %c          at 0x100+256     wrong if %x is at 0x100, and is an input
//	%e = add %c, %d      at 0x040+256     wrong if %c is read later

// writes checks the claim above for the results of a step. Afterwards the bytes hold the results.
func (m *memory) writes(st *step) {
	for i, o := range st.results {
		if o == nil {
			continue // reported as an address, or as an operand that nothing defines
		}
		m.permitted(st, i)
		for _, p := range m.holds(o.cells) {
			where := m.place(o.cells, p)
			switch old := p.Value; {
			case old == nil || old == o: // bytes without contents; an object of which a part changes
			case old.last > st.index:
				m.fail(RuleOverlap, st, old, m.c.inRange(where), "writes %v over %v, which is read later", o.val, old)
			case !mayTake(st, i, old):
				m.fail(RuleOverlap, st, old, m.c.inRange(where), "writes %v over its own operand", o.val)
			}
		}
		if ownBytes(st.node) || st.node.Results[i].Source() == nil || st.node.Is(ir.Alias) {
			m.put(o)
		}
	}
	m.disjoint(st)
}

// permitted claims: result i of a step is in memory that it may change at all.
func (m *memory) permitted(st *step, i int) {
	o, source := st.results[i], aliased(st, i)
	switch {
	case source == nil && o.class != ir.ClassWeights && o.class != ir.ClassState:
	case source != nil && o.class != ir.ClassWeights && source.kind != input:
	default:
		m.fail(RuleOverlap, st, source, m.c.inRange(o.place), "writes %v among the %v", o.val, o.class)
	}
}

// aliased returns the object whose next version result i of a step is, or of which it changes a part; nil if the result
// has bytes of its own.
func aliased(st *step, i int) *object {
	n := st.node
	switch {
	case ownBytes(n):
	case i == 0 && n.Is(ir.Alias):
		return st.args[n.Op.Info().AliasArg]
	case n.Results[i].Source() != nil:
		return st.results[i]
	}
	return nil
}

// mayTake reports whether result i of a step may be written over an object: the object is no operand, or one that may
// be overwritten wherever it is an operand.
func mayTake(st *step, i int, old *object) bool {
	for arg, o := range st.args {
		if o == old && !inPlace(st, i, arg) {
			return false
		}
	}
	return true
}

// inPlace reports whether the step may overwrite an operand with result i. That is so if it writes element e of the
// result only after it has read element e of the operand, and both are the same bytes.
func inPlace(st *step, i, arg int) bool {
	n := st.node
	switch {
	case i > 0:
		return false
	case n.Is(ir.Alias) && arg == n.Op.Info().AliasArg, movesBytes(n):
		return true
	}
	from, to := n.Args[arg], n.Results[i]
	sameElements := from.Type.SameData(to.Type) && from.Type.Dense() && from.Type.Layout == dtype.Plain
	sameBytes := startsAtRoot(from) && sameStart(st.args[arg].place, st.results[i].place)
	return slices.Contains(n.InPlace(), arg) && sameElements && sameBytes
}

// movesBytes reports whether a node is a copy of bytes without gaps that worker 0 makes within a space: as Go's copy
// does, it leaves the right bytes even if its source and its result overlap.
func movesBytes(n *ir.Node) bool {
	return n.Op == ir.OpCopy && !transfers(n) && n.Queue() == "" && n.Part.Mode == ir.PartOne && n.Args[0].Type.Dense()
}

// disjoint claims: the results of a step do not share bytes.
func (m *memory) disjoint(st *step) {
	for i, a := range st.results {
		for _, b := range st.results[i+1:] {
			if a != nil && b != nil && overlap(a.place, b.place) {
				m.fail(RuleOverlap, st, b, m.c.inRange(b.place), "writes two results into the same bytes")
			}
		}
	}
}

package check

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// writes claims: when a node writes, none of the bytes hold a value that is read later,
// nor one that the node itself reads, but for an operand whose place its result may take.
// Weights and inputs are never written; states only by what makes their next version.
// Afterwards the bytes hold the node's results.
func (s *sim) writes(at int) {
	st := &s.t.steps[at]
	for i, o := range s.t.results(st) {
		if o == none {
			continue // reads or addresses say so
		}
		where := s.t.spots[o].at
		s.permitted(at, o, s.aliased(st, i))
		s.holders(where, func(old int32, where ir.Place) {
			switch {
			case old == o: // a part of it changes
			case s.t.spots[old].last > int32(at):
				s.fail(RuleOverlap, at, old, &where, "writes %v over %s, which is still needed", s.t.objects[o].val, s.name(old))
			case !s.mayTake(st, i, old):
				s.fail(RuleOverlap, at, old, &where, "writes %v over its own operand", s.t.objects[o].val)
			}
		})
		if st.fresh || st.node.Results[i].Source() == nil || st.node.Is(ir.Alias) {
			s.memory[where.chunk].assign(where.lo, where.hi, o+1)
		}
	}
	s.apart(at)
}

// aliased returns the object whose next version result i of a step is, or a part of which
// it changes; none if it has bytes of its own.
func (s *sim) aliased(st *step, i int) int32 {
	switch {
	case st.fresh:
	case i == 0 && st.node.Is(ir.Alias):
		return s.t.args(st)[st.node.Op.Info().AliasArg]
	case st.node.Results[i].Source() != nil:
		return s.t.results(st)[i]
	}
	return none
}

// permitted checks that a step may write an object, where that lies, at all.
func (s *sim) permitted(at int, o, source int32) {
	class := s.t.spots[o].class
	switch {
	case source == none && class != ir.ClassWeights && class != ir.ClassState:
	case source != none && class != ir.ClassWeights && s.t.spots[source].kind != input:
	default:
		w := &s.t.objects[o]
		s.fail(RuleOverlap, at, source, &w.place, "writes %v among the %v", w.val, class)
	}
}

// mayTake reports whether result i of a step may be written over the object: no operand
// is that object, or those that are may be overwritten element by element.
func (s *sim) mayTake(st *step, i int, old int32) bool {
	for arg, o := range s.t.args(st) {
		if o == old && !s.inPlace(st, i, arg) {
			return false
		}
	}
	return true
}

// inPlace reports whether the op writes element e of result i only after it has read
// element e of the operand, and both are the same bytes.
func (s *sim) inPlace(st *step, i, arg int) bool {
	n := st.node
	if i > 0 {
		return false
	}
	if n.Is(ir.Alias) && arg == n.Op.Info().AliasArg {
		return true
	}
	from, to := n.Args[arg], n.Results[i]
	if movesBytes(n) {
		return true
	}
	return has(n.InPlace(), arg) && from.Type.SameData(to.Type) && from.Type.Dense() && from.Type.Layout == dtype.Plain &&
		startsAtRoot(from) && sameStart(s.t.objects[s.t.args(st)[arg]].place, s.t.objects[s.t.results(st)[i]].place)
}

// movesBytes reports whether a node is a copy by the host, in one thread and within a space,
// of bytes without gaps: that leaves the right bytes behind even where they overlap those
// that it reads.
func movesBytes(n *ir.Node) bool {
	return n.Op == ir.OpCopy && !transfers(n) && n.Queue() == "" && n.Part.Mode == ir.PartOne && n.Args[0].Type.Dense()
}

// apart claims that a step's results do not share bytes.
func (s *sim) apart(at int) {
	results := s.t.results(&s.t.steps[at])
	for i, a := range results {
		for _, b := range results[i+1:] {
			if a != none && b != none && overlap(s.t.objects[a].place, s.t.objects[b].place) {
				s.fail(RuleOverlap, at, b, &s.t.objects[b].place, "writes two results into the same bytes")
			}
		}
	}
}

package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// sim runs a trace in the order of the program and knows which object every byte holds.
type sim struct {
	c      *checker
	t      *trace
	layout *layout
	memory []*cover // by chunk: the object plus 1
}

func newSim(c *checker, t *trace, l *layout) *sim { return &sim{c: c, t: t, layout: l} }

// start puts what is there before the call into memory. No two such things share bytes.
func (s *sim) start() {
	s.memory = s.layout.covers()
	for i := range s.t.objects {
		o, at := &s.t.objects[i], s.t.spots[i].at
		if s.t.spots[i].kind == made {
			continue
		}
		s.holders(at, func(old int32, where ir.Place) {
			s.c.report(fmt.Sprintf("start %d %d", i, old), &Violation{
				Rule: RuleOverlap, Func: o.frame.String(), Nodes: []string{s.t.objects[old].val.String(), o.val.String()},
				Range: s.c.inRange(where), What: "both are there before the call",
			})
		})
		s.memory[at.chunk].assign(at.lo, at.hi, int32(i)+1)
	}
}

// holders calls yield for the objects that a range holds parts of.
func (s *sim) holders(at cells, yield func(o int32, where ir.Place)) {
	s.memory[at.chunk].visit(at.lo, at.hi, func(id, lo, hi int32) bool {
		if id > 0 {
			yield(id-1, s.placeOf(at.chunk, lo, hi))
		}
		return true
	})
}

func (s *sim) placeOf(chunk, lo, hi int32) ir.Place {
	from, to := s.memory[chunk].bytes(lo, hi)
	key := s.layout.keys[chunk]
	return ir.Place{Arena: key.arena, Chunk: key.chunk, Offset: from, Bytes: to - from}
}

// step is what a step finds and leaves.
func (s *sim) step(at int) {
	s.reads(at)
	s.writes(at)
}

// reads claims: when a node runs, all bytes of each of its operands hold the version that
// the operand names. An operand that is a part of a value counts as all of it: nothing
// overwrites a part of a value that is still read.
func (s *sim) reads(at int) {
	st := &s.t.steps[at]
	for i, o := range s.t.args(st) {
		if o == none {
			if a := st.node.Args[i]; a != nil {
				s.fail(RuleReads, at, none, nil, "reads %v before it is defined", a)
			}
			continue
		}
		s.finds(o, func(got int32, where ir.Place) {
			s.fail(RuleReads, at, got, &where, "reads %v, and finds %s", st.node.Args[i], s.name(got))
		})
	}
}

// end claims that the caller finds the results.
func (s *sim) end() {
	for i, o := range s.t.returns {
		bad := func(what, where string) {
			s.c.report("", &Violation{Rule: RuleReads, Func: s.t.f.Name, Nodes: []string{s.t.f.Results[i].String()}, Range: where, What: what})
		}
		if o == none {
			bad("nothing defines the result", "")
			continue
		}
		s.finds(o, func(got int32, where ir.Place) {
			bad(fmt.Sprintf("the caller reads the result, and finds %s", s.name(got)), s.c.inRange(where))
		})
	}
}

// finds calls bad, once at most, if the bytes of o hold something else.
func (s *sim) finds(o int32, bad func(got int32, where ir.Place)) {
	at := s.t.spots[o].at
	s.memory[at.chunk].visit(at.lo, at.hi, func(id, lo, hi int32) bool {
		if id != o+1 {
			bad(id-1, s.placeOf(at.chunk, lo, hi))
		}
		return id == o+1
	})
}

// name returns how messages name what memory holds.
func (s *sim) name(o int32) string {
	if o == none {
		return "what nothing has written"
	}
	return fmt.Sprintf("%v of @%v", s.t.objects[o].val, s.t.objects[o].frame)
}

// fail reports a violation at a step, and with the value other where there is one.
func (s *sim) fail(rule string, at int, other int32, where *ir.Place, format string, args ...any) {
	st := &s.t.steps[at]
	v := &Violation{Rule: rule, Func: st.frame.String(), Nodes: []string{st.node.String()}, What: fmt.Sprintf(format, args...)}
	key := fmt.Sprintf("%s %p", rule, st.node)
	if other != none {
		val := s.t.objects[other].val
		v.Nodes = append(v.Nodes, val.String())
		key += fmt.Sprintf(" %p", val)
	}
	if where != nil {
		v.Range = s.c.inRange(*where)
	}
	s.c.report(key, v)
}

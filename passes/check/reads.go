package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check/cover"
)

// Claim: when a step runs, in the order of the program, all bytes of each operand hold the version that the operand
// names. At the end of the call the results do.
//
// The trace
//
//	step        memory afterwards
//	%a = silu %x  at 0x000+256       [0x000,0x100) a
//	%b = neg %a   at 0x080+256       [0x000,0x080) a   [0x080,0x180) b
//	%y = add %a, %b
//
// fails in the last step: half of the bytes of %a hold %b. Bytes are compared by the name of what they hold, never by
// content. An operand that is a view of a part counts as all of the value: nothing overwrites a part of a value that is
// read later.

// memory runs a trace in the order of the program. It knows which object each byte holds.
type memory struct {
	c      *checker
	t      *trace
	layout *layout
	chunks []*cover.Cover[*object] // nil for bytes that nothing has written
}

func newMemory(c *checker, t *trace, l *layout) *memory { return &memory{c: c, t: t, layout: l} }

// begin begins a call. It claims that no two objects that are there before the call share bytes.
func (m *memory) begin() {
	m.chunks = newCovers[*object](m.layout)
	for _, o := range m.t.objects {
		if o.kind == made {
			continue
		}
		for _, p := range m.holds(o.cells) {
			if p.Value != nil {
				m.c.report(fmt.Sprintf("begin %p %p", o, p.Value), &Violation{
					Rule: RuleOverlap, Func: o.frame.String(), Nodes: []string{p.Value.val.String(), o.val.String()},
					Range: m.c.inRange(m.place(o.cells, p)), What: "both are there before the call",
				})
			}
		}
		m.put(o)
	}
}

// holds returns what the bytes of a range hold.
func (m *memory) holds(at cells) []cover.Piece[*object] {
	return m.chunks[at.chunk].Pieces(at.lo, at.hi)
}

// place returns the bytes of a piece of a range.
func (m *memory) place(at cells, p cover.Piece[*object]) ir.Place {
	return m.layout.place(cells{at.chunk, p.Lo, p.Hi})
}

// put fills the bytes of an object with it.
func (m *memory) put(o *object) { m.chunks[o.cells.chunk].Assign(o.cells.lo, o.cells.hi, o) }

// step checks what a step finds, and then what it overwrites.
func (m *memory) step(st *step) {
	m.reads(st)
	m.writes(st)
}

// reads claims: each operand of a step is found.
func (m *memory) reads(st *step) {
	for i, o := range st.args {
		switch a := st.node.Args[i]; {
		case a == nil:
		case o == nil:
			m.fail(RuleReads, st, nil, "", "reads %v before it is defined", a)
		default:
			if found, where, ok := m.finds(o); !ok {
				m.fail(RuleReads, st, found, where, "reads %v, and finds %v", a, found)
			}
		}
	}
}

// end claims: the caller finds the results.
func (m *memory) end() {
	for i, o := range m.t.returns {
		bad := func(where, what string) {
			result := m.t.f.Results[i].String()
			m.c.report("", &Violation{Rule: RuleReads, Func: m.t.f.Name, Nodes: []string{result}, Range: where, What: what})
		}
		if o == nil {
			bad("", "nothing defines the result")
		} else if found, where, ok := m.finds(o); !ok {
			bad(where, fmt.Sprintf("the caller reads the result, and finds %v", found))
		}
	}
}

// finds reports whether all bytes of an object hold it. Otherwise it returns the first bytes that do not, and what they
// hold.
func (m *memory) finds(o *object) (found *object, where string, ok bool) {
	for _, p := range m.holds(o.cells) {
		if p.Value != o {
			return p.Value, m.c.inRange(m.place(o.cells, p)), false
		}
	}
	return nil, "", true
}

// fail reports a violation at a step, which concerns another object as well if other is not nil.
func (m *memory) fail(rule string, st *step, other *object, where, format string, args ...any) {
	v := &Violation{
		Rule: rule, Func: st.frame.String(), Nodes: []string{st.node.String()}, Range: where,
		What: fmt.Sprintf(format, args...),
	}
	key := fmt.Sprintf("%s %p", rule, st.node)
	if other != nil {
		v.Nodes = append(v.Nodes, other.val.String())
		key += fmt.Sprintf(" %p", other.val)
	}
	m.c.report(key, v)
}

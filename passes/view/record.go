package view

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Recorder keeps the text of a module after each pass, as changes of the text before.
type Recorder struct {
	passes []*PassPage
	lines  lineTable
	last   []textLine
}

// lineTable holds each line once.
type lineTable struct {
	list []string
	at   map[string]int
}

// index returns the index of a line.
func (t *lineTable) index(line string) int {
	i, known := t.at[line]
	if !known {
		i = len(t.list)
		t.list = append(t.list, line)
		t.at[line] = i
	}
	return i
}

// NewRecorder returns a recorder whose first text is that of a module on which no pass of this run has run.
func NewRecorder(m *ir.Module) *Recorder {
	r := &Recorder{lines: lineTable{at: make(map[string]int)}}
	r.add(m, &PassPage{Pass: "import", Doc: "the module as it was read", Changed: true, Figures: flow.Measure(m)})
	return r
}

// After records a pass that ran. It is a value for passes.RunOptions.After.
func (r *Recorder) After(s passes.Step, m *ir.Module) error {
	p := &PassPage{Number: s.Number, Pass: s.Pass, Changed: s.Changed, MS: pass.Milliseconds(s.Stats.Time), Figures: s.Figures, Count: s.Stats.Counters, Rules: fired(m, s.Pass)}
	for _, known := range passes.Passes() {
		if known.Name == s.Pass {
			p.Doc = known.Doc
		}
	}
	r.add(m, p)
	return nil
}

// add appends a pass with the changes of its text.
func (r *Recorder) add(m *ir.Module, p *PassPage) {
	text := textOf(printable.Text(m.String()))
	p.Edits = r.edits(r.last, text)
	r.last = text
	r.passes = append(r.passes, p)
}

// fired returns the rules that a pass recorded, in the order in which the pass declares them.
func fired(m *ir.Module, name string) []FiredRule {
	count := make(map[string]int)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			for _, c := range n.Causes() {
				if c.Pass == name {
					count[c.Rule]++
				}
			}
		}
	}
	var list []FiredRule
	for rule, n := range count {
		_, doc := passes.RuleDoc(rule)
		list = append(list, FiredRule{rule, n, doc})
	}
	slices.SortFunc(list, func(a, b FiredRule) int { return strings.Compare(a.Rule, b.Rule) })
	return list
}

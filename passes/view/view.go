// Package view writes a compiled module as one HTML page: the texts after all passes, the plan with its copies, maps of
// memory and predicted times, and the reasons; and as a graph for Graphviz.
//
// The page is a template, a stylesheet and scripts (the folder page), and one JSON document ([Document]). It needs no
// network: its content security policy forbids every request, and every script but the page's own.
//
// Names and texts of a module are untrusted. The document is JSON in which <, > and & are escaped, so that nothing in
// it ends the element around it. The scripts put it into the page as text, never as HTML. Names appear as in the text
// form, which is printable ASCII; texts of other origin go through package printable.
//
// Package view decides nothing. Reasons and figures are those of package explain.
package view

import (
	"encoding/json"
	"io"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/diff"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// documentVersion is the version of the JSON form of a page.
const documentVersion = 2

// Document is what a page shows.
type Document struct {
	Version int              `json:"version"`
	Module  string           `json:"module"`
	After   string           `json:"after"`
	Rules   string           `json:"rules"`
	Targets []string         `json:"targets"`
	Sizes   []string         `json:"sizes,omitempty"`
	Options []string         `json:"options,omitempty"` // that were set, as flags
	Notes   []string         `json:"notes,omitempty"`
	Summary *explain.Summary `json:"summary"`

	// Lines are the lines of all texts, each once. Texts are lists of indexes of it.
	Lines  []string    `json:"lines"`
	Passes []*PassPage `json:"passes"`
	Nodes  []*NodePage `json:"nodes"`

	// Of each entry point, in the order of the module.
	Graphs []*GraphPage  `json:"graphs"`
	Copies []CopyPage    `json:"copies,omitempty"`
	Arenas []*ArenaPage  `json:"arenas,omitempty"` // those of Summary, in the same order
	Memory []*MemoryPage `json:"memory,omitempty"`
	Time   []*TimePage   `json:"time,omitempty"` // predicted

	Measured []*TimePage `json:"measured,omitempty"` // of a trace, where it has a step of the entry point

	Diff *diff.Difference `json:"diff,omitempty"` // on the page of a difference, of which this is the second plan

	at map[string]int // indexes of Nodes by their ids
}

// PassPage is a pass: what it did, and the text after it.
type PassPage struct {
	Number  int            `json:"number"` // 0 is the module as it was read
	Pass    string         `json:"pass"`
	Doc     string         `json:"doc,omitempty"`
	Changed bool           `json:"changed"`
	MS      float64        `json:"ms"`
	Figures pass.Figures   `json:"after"`
	Count   []pass.Counter `json:"counters,omitempty"`
	Rules   []FiredRule    `json:"rules,omitempty"`

	// Edits make the text from that of the pass before. Each is a list of one, two or four numbers:
	//
	//	[line]                        the line with this index in Document.Lines
	//	[from, count]                 so many lines of the text before
	//	[from, prefix, suffix, line]  a line of the text before with its middle replaced: so many characters at its
	//	                              beginning and at its end stay
	//
	// Lines of the text before that no edit names were removed.
	Edits [][]int `json:"edits,omitempty"`
}

// FiredRule is a rule that a pass recorded as a cause.
type FiredRule struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"` // of nodes
	Text  string `json:"text,omitempty"`
}

// NodePage is a node, parameter, weight, state or constant, with everything that is known about it.
type NodePage struct {
	ID      string        `json:"id"`   // FUNC.VALUE as in the text form, without % and @; of a member its name
	Kind    string        `json:"kind"` // node, parameter, weight, state or constant
	Func    string        `json:"func,omitempty"`
	Op      string        `json:"op,omitempty"`
	Pos     string        `json:"pos,omitempty"`
	Backend string        `json:"backend,omitempty"`
	Text    []int         `json:"text"` // the explanation, as indexes of Document.Lines; the depth of a line is in its blanks
	Tried   []Alternative `json:"tried,omitempty"`
}

// Alternative is what one backend makes of a node.
type Alternative struct {
	Target  string  `json:"target"`
	Verdict string  `json:"verdict"`
	Seconds float64 `json:"seconds,omitempty"`
	Moving  string  `json:"moving,omitempty"`
	Why     string  `json:"why,omitempty"`
}

// Options are the options under which the module was compiled, and what else the page shows.
type Options struct {
	Explain explain.Options
	Notes   []string // such as why the plan is refused
	Trace   *Trace   // of a program with this plan; may be nil
}

// Write writes the page of a module and of the texts that r has recorded. An error is one of w, or a trace that is of
// another module.
func Write(w io.Writer, m *ir.Module, r *Recorder, o Options) error {
	d, err := NewDocument(m, r, o)
	if err != nil {
		return err
	}
	return d.write(w, m.Name+": plan")
}

// write writes the page of a document.
func (d *Document) write(w io.Writer, title string) error {
	doc, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return writePage(w, printable.Line(title), printable.JSON(doc))
}

// WriteDiff writes the page of the difference of two plans: the difference, the texts of both, and the second plan.
func WriteDiff(w io.Writer, d *diff.Difference, a, b diff.Plan) error {
	r := NewRecorder(a.Module)
	r.passes[0].Pass, r.passes[0].Doc = "A", printable.Line(a.Name)
	r.add(b.Module, &PassPage{Number: 1, Pass: "B", Doc: printable.Line(b.Name), Changed: true, Figures: flow.Measure(b.Module)})
	doc, err := NewDocument(b.Module, r, Options{Explain: b.Explain, Notes: b.Notes})
	if err != nil {
		return err
	}
	doc.Diff = d
	return doc.write(w, "difference of "+a.Name+" and "+b.Name)
}

// NewDocument returns the document of a page. It takes over the lines of r.
func NewDocument(m *ir.Module, r *Recorder, o Options) (*Document, error) {
	all := explain.ExplainAll(m, o.Explain)
	d := &Document{
		Version: documentVersion, Module: printable.Line(all.Module), After: all.After, Rules: all.Rules, Targets: all.Targets,
		Sizes: all.Sizes, Options: m.GetHeaders("option"), Notes: append(all.Notes, o.Notes...), Summary: all.Summary, Passes: r.passes,
	}
	for _, n := range all.Nodes {
		d.Nodes = append(d.Nodes, r.node(n))
	}
	for _, l := range all.Members {
		d.Nodes = append(d.Nodes, r.member(l))
	}
	d.Lines = r.lines.list
	d.index()
	d.Arenas = d.arenas(m)
	for _, f := range m.Funcs {
		d.Graphs = append(d.Graphs, d.graph(f))
		d.Copies = append(d.Copies, d.copies(f)...)
		if p := d.memory(f, o.Explain); p != nil {
			d.Memory = append(d.Memory, p)
		}
	}
	for _, c := range all.Calls {
		d.Time = append(d.Time, d.predicted(c))
	}
	quoteFuncs(d.Summary)
	if o.Trace == nil {
		return d, nil
	}
	var err error
	d.Measured, err = d.measured(m, o.Trace)
	return d, err
}

// quoteFuncs gives functions in a summary the names that they have in the text form, of which ids are made.
func quoteFuncs(s *explain.Summary) {
	quote := func(name *string) { *name = ir.QuoteName(*name) }
	for _, e := range s.Entries {
		quote(&e.Func)
		for i := range e.Splits {
			quote(&e.Splits[i].Func)
		}
		if e.Copies != nil {
			for i := range e.Copies.Needless {
				quote(&e.Copies.Needless[i].Func)
			}
		}
	}
	for i := range s.Arenas {
		if a := &s.Arenas[i]; a.BoundFunc != "" {
			quote(&a.BoundFunc)
		}
	}
	for i := range s.Expensive {
		quote(&s.Expensive[i].Func)
	}
}

// index notes which node has which id; of several with one id it is the first.
func (d *Document) index() {
	d.at = make(map[string]int, len(d.Nodes))
	for i, n := range d.Nodes {
		if _, taken := d.at[n.ID]; !taken {
			d.at[n.ID] = i
		}
	}
}

package cmd

import (
	"fmt"
	"io"
	"strings"

	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/multi"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// formats are the values of --format.
var formats = []string{"text", "json", "dot"}

// render writes a module in one of the formats.
func render(w io.Writer, m *ir.Module, format, function, show string) error {
	label, isLabel := explain.ParseLabel(function)
	if isLabel {
		if err := label.Check(m); err != nil {
			return usageError{err}
		}
		function = label.Func
	}
	function = strings.TrimPrefix(function, "@")
	if function != "" && m.Func(function) == nil {
		return usagef("there is no function %q: the module has %s", function, funcNames(m))
	}
	switch format {
	case "json":
		return renderJSON(w, m, function)
	case "dot":
		return renderDOT(w, m, function)
	}
	o, err := printOptions(show)
	if err != nil {
		return err
	}
	if function != "" {
		o.Funcs = []string{function}
	}
	if isLabel {
		o.Only = label.Holds
	}
	return renderText(w, m, o)
}

// renderText writes the text form. A whole module has a line for each node, as it is an input; what is narrowed is for
// people, and has lines of a width that they read.
func renderText(w io.Writer, m *ir.Module, o ir.PrintOptions) error {
	if o.Show == ir.ShowAll {
		if err := ir.Print(w, m, o); err != nil {
			return err
		}
		return writeLegend(w, m, o)
	}
	var b strings.Builder
	if err := ir.Print(&b, m, o); err != nil {
		return err
	}
	if _, err := io.WriteString(w, wrap(b.String(), columns, "")); err != nil {
		return err
	}
	return writeLegend(w, m, o)
}

// showUsage describes --show.
func showUsage() string {
	return "columns: " + strings.ReplaceAll(ir.ShowNames, ",", ", ") + ", or all"
}

// printOptions parses the columns of --show. An empty text selects all.
func printOptions(show string) (ir.PrintOptions, error) {
	o := ir.PrintOptions{Show: ir.ShowAll}
	if show == "" {
		return o, nil
	}
	var err error
	if o.Show, err = ir.ParseShow(show); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

func funcNames(m *ir.Module) string {
	s := ""
	for i, f := range m.Funcs {
		if i > 0 {
			s += ", "
		}
		s += f.Name
	}
	return s
}

// shown returns the selected entry points.
func shown(m *ir.Module, function string) []*ir.Func {
	if function == "" {
		return m.Funcs
	}
	return []*ir.Func{m.Func(function)}
}

// jsonModule is the JSON form of a module. It is for tools that inspect graphs, and is no input.
type jsonModule struct {
	Version int        `json:"version"`
	Module  string     `json:"module"`
	After   string     `json:"after"`
	Funcs   []jsonFunc `json:"functions"`
}

type jsonFunc struct {
	Name    string     `json:"name"`
	Params  []jsonPort `json:"params"`
	Results []string   `json:"results"`
	Nodes   []jsonNode `json:"nodes"`
}

type jsonPort struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type jsonNode struct {
	Op        string      `json:"op"`
	Args      []string    `json:"args"`
	Results   []jsonPort  `json:"results"`
	Backend   string      `json:"backend,omitempty"`
	Split     int         `json:"split"`
	Epoch     int         `json:"epoch"`
	Partition string      `json:"partition,omitempty"`
	Pos       string      `json:"pos,omitempty"`
	Causes    []jsonCause `json:"causes,omitempty"`
	Body      *jsonFunc   `json:"body,omitempty"`
}

type jsonCause struct {
	Pass     string   `json:"pass"`
	Rule     string   `json:"rule"`
	Operands []string `json:"operands,omitempty"`
	Before   string   `json:"before,omitempty"`
	After    string   `json:"after,omitempty"`
	Text     string   `json:"text,omitempty"` // the text of the rule
}

func jsonCauseOf(c ir.Cause) jsonCause {
	_, doc := passes.RuleDoc(c.Rule)
	return jsonCause{c.Pass, c.Rule, c.Operands, c.Before, c.After, doc}
}

func renderJSON(w io.Writer, m *ir.Module, function string) error {
	doc := jsonModule{Version: 1, Module: m.Name, After: m.Last}
	for _, f := range shown(m, function) {
		doc.Funcs = append(doc.Funcs, jsonOf(f))
	}
	return writeDocument(w, doc)
}

func jsonOf(f *ir.Func) jsonFunc {
	j := jsonFunc{Name: f.Name, Params: ports(f.Params), Results: names(f.Results), Nodes: []jsonNode{}}
	for _, n := range f.Nodes {
		jn := jsonNode{Op: n.Op.String(), Args: names(n.Args), Results: ports(n.Results), Backend: n.Backend,
			Split: n.Split, Epoch: n.Epoch, Pos: n.Pos}
		if n.Part.Mode != ir.PartNone {
			jn.Partition = n.Part.Mode.String()
		}
		for _, c := range n.Causes() {
			jn.Causes = append(jn.Causes, jsonCauseOf(c))
		}
		if n.Body != nil {
			body := jsonOf(n.Body)
			jn.Body = &body
		}
		j.Nodes = append(j.Nodes, jn)
	}
	return j
}

func ports(vs []*ir.Value) []jsonPort {
	ps := make([]jsonPort, len(vs))
	for i, v := range vs {
		ps[i] = jsonPort{v.Name(), v.Type.String()}
	}
	return ps
}

func names(vs []*ir.Value) []string {
	ns := make([]string, len(vs))
	for i, v := range vs {
		if v != nil {
			ns[i] = v.Name()
		}
	}
	return ns
}

// dotNode is a node of a drawing.
type dotNode struct {
	id    int64
	label string
	shape string
}

func (n dotNode) ID() int64 { return n.id }

func (n dotNode) Attributes() []encoding.Attribute {
	return []encoding.Attribute{{Key: "label", Value: fmt.Sprintf("%q", n.label)}, {Key: "shape", Value: n.shape}}
}

// renderDOT draws entry points: parameters, nodes and the values between them.
func renderDOT(w io.Writer, m *ir.Module, function string) error {
	for _, f := range shown(m, function) {
		g := multi.NewDirectedGraph()
		at := make(map[*ir.Value]dotNode)
		add := func(label, shape string) dotNode {
			n := dotNode{g.NewNode().ID(), label, shape}
			g.AddNode(n)
			return n
		}
		for _, p := range f.Params {
			at[p] = add(p.String(), "ellipse")
		}
		for _, n := range f.Nodes {
			label := n.Op.String()
			if n.Backend != "" {
				label += " @" + n.Backend
			}
			dn := add(label+"\n"+n.String(), "box")
			for _, r := range n.Results {
				at[r] = dn
			}
			for _, a := range n.Args {
				if a != nil {
					g.SetLine(g.NewLine(at[a], dn))
				}
			}
		}
		for i, r := range f.Results {
			g.SetLine(g.NewLine(at[r], add(f.ResultNames[i], "ellipse")))
		}
		text, err := dot.MarshalMulti(g, printable.Line(f.Name), "", "  ")
		if err != nil {
			return err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

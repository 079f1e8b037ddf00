package cmd

import (
	"io"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/view"
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
		if format != "text" {
			return usagef("--func %s narrows the text to a split: with --format %s name the function alone, %s", value(function), format, label.Func)
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
		return view.WriteDOT(w, m, shown(m, function))
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

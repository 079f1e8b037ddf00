package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Colours of backends in DOT, in the order in which backends run nodes: the inside of a node, and its edge.
var dotColours = [][2]string{
	{"#d7e8f8", "#1f77c9"}, {"#f8e2d2", "#c8641b"}, {"#d6eddd", "#2c8a4b"}, {"#e9dcf3", "#8a4fb5"},
	{"#f6d9df", "#b03a55"}, {"#dfe4e9", "#5d6b78"}, {"#f1e8c8", "#96750a"}, {"#d2ecee", "#16808a"},
}

// Edges of copies and of inputs.
const (
	dotCopy  = `color="#b3261e", fontcolor="#b3261e", penwidth=2.2, arrowhead=vee`
	dotInput = `color="#9aa0a6", fontcolor="#9aa0a6", style=dotted`
)

// WriteDOT draws functions of a module as one graph in DOT, the language of Graphviz: a cluster for each function, in
// it one for each repeat, and for each run of nodes of one split and layer; nodes in the colours of their backends;
// edges with bytes at the symbols' upper bounds. Weights are counted at the nodes that read them. A node's name is
// FUNC.VALUE.
func WriteDOT(w io.Writer, m *ir.Module, funcs []*ir.Func) error {
	d := &dotWriter{colour: make(map[string][2]string)}
	d.line(0, "digraph %s {", dotQuote(cmp.Or(m.Name, "module")))
	d.line(1, `graph [label=%s, labelloc=t, fontname="sans-serif", fontsize=14, nodesep=0.25, ranksep=0.35];`, dotQuote(cmp.Or(m.Name, "module")+" after "+cmp.Or(m.Last, "import")))
	d.line(1, `node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif", fontsize=10, height=0.3];`)
	d.line(1, `edge [fontname="sans-serif", fontsize=9];`)
	for _, f := range funcs {
		d.noteAll(f)
	}
	d.legend()
	for _, f := range funcs {
		d.function(f)
	}
	d.line(0, "}")
	_, err := io.WriteString(w, d.b.String())
	return err
}

// dotWriter writes a graph.
type dotWriter struct {
	b        strings.Builder
	colour   map[string][2]string // by backend
	backends []string             // in the order of their colours
	copies   bool                 // there is a copy
	clusters int
}

func (d *dotWriter) line(level int, format string, args ...any) {
	d.b.WriteString(strings.Repeat("  ", level))
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

// noteAll gives the backends of a function's nodes their colours, in the order of the nodes.
func (d *dotWriter) noteAll(f *ir.Func) {
	for _, n := range f.Nodes {
		if d.note(n); n.Body != nil {
			d.noteAll(n.Body)
		}
	}
}

// note gives the backend of a node a colour.
func (d *dotWriter) note(n *ir.Node) {
	d.copies = d.copies || flow.IsTransfer(n)
	if _, known := d.colour[n.Backend]; known || n.Backend == "" || !flow.DoesWork(n) || flow.RunsFunction(n) {
		return
	}
	d.colour[n.Backend] = dotColours[len(d.backends)%len(dotColours)]
	d.backends = append(d.backends, n.Backend)
}

// open begins a cluster.
func (d *dotWriter) open(level int, label, attributes string) {
	d.line(level, "subgraph cluster_%d {", d.clusters)
	d.clusters++
	d.line(level+1, "graph [label=%s, fontsize=11%s];", dotQuote(label), attributes)
}

// legend has a node for each backend, and an edge for copies.
func (d *dotWriter) legend() {
	if len(d.backends) == 0 {
		return
	}
	d.open(1, "backends", `, color="#cccccc"`)
	for i, name := range d.backends {
		d.line(2, "%s [label=%s%s];", dotQuote(fmt.Sprintf("backend %d", i)), dotQuote(name), d.fill(name))
	}
	if d.copies {
		d.line(2, `"copy from" [label="memory of one", style=rounded];`)
		d.line(2, `"copy to" [label="memory of another", style=rounded];`)
		d.line(2, `"copy from" -> "copy to" [label="copy, bytes", %s];`, dotCopy)
	}
	d.line(1, "}")
}

// fill returns the colours of a backend as attributes.
func (d *dotWriter) fill(backend string) string {
	c, ok := d.colour[backend]
	if !ok {
		return ""
	}
	return fmt.Sprintf(", fillcolor=%q, color=%q", c[0], c[1])
}

// function draws an entry point.
func (d *dotWriter) function(f *ir.Func) {
	g := draw(f, nil)
	names := g.names()
	d.open(1, "@"+f.Name, `, color="#888888", penwidth=1.5`)
	for _, p := range f.Params {
		d.line(2, "%s [label=%s, shape=ellipse, style=solid];", dotQuote(names[g.in[p]]), dotLabel(shorten(p.String()), pass.BytesText(p.MaxBytes())))
	}
	d.boxes(g, names, 2, -1)
	d.results(f, g, names)
	d.line(1, "}")
	d.edges(g, names)
}

// boxes draws the boxes in another one, with what is in them. Those of the plan follow each other.
func (d *dotWriter) boxes(g *graphMaker, names []string, level, parent int) {
	for i, b := range g.page.Boxes {
		if i == 0 || b.Parent != parent { // the first one has the inputs
			continue
		}
		d.open(level, dotBoxLabel(b), dotBoxStyle(b, d.colour[b.Backend][1]))
		for _, n := range g.drawnIn[i] {
			d.node(level+1, names[g.at[n]], n)
		}
		d.boxes(g, names, level+1, i)
		d.line(level, "}")
	}
}

func dotBoxLabel(b BoxPage) string {
	switch {
	case b.Count > 0:
		return fmt.Sprintf("%s: %d iterations", b.Label, b.Count)
	case b.Backend != "":
		return b.Label + " on " + b.Backend
	}
	return b.Label
}

func dotBoxStyle(b BoxPage, colour string) string {
	if b.Count > 0 {
		return `, style="rounded,bold", color="#444444"`
	}
	return fmt.Sprintf(", style=rounded, color=%q", cmp.Or(colour, "#bbbbbb"))
}

// node draws a node: its op, name, origin, and the bytes of the weights that it reads.
func (d *dotWriter) node(level int, name string, n *ir.Node) {
	lines := []string{n.Op.String(), shorten(n.String())}
	if n.Pos != "" {
		lines = append(lines, shorten(n.Pos))
	}
	if bytes := weightBytes(n); bytes > 0 {
		lines = append(lines, "weights "+pass.BytesText(bytes))
	}
	shape := ""
	if flow.IsTransfer(n) {
		shape = ", shape=cds"
	}
	d.line(level, "%s [label=%s%s%s];", dotQuote(name), dotLabel(lines...), d.fill(n.Backend), shape)
}

// weightBytes returns the bytes of the weights among the operands of a node, through views and into bodies.
func weightBytes(n *ir.Node) int64 {
	var sum int64
	for _, v := range n.Args {
		for v != nil {
			kind, i := flow.ParamKind(v)
			switch {
			case kind == flow.ParamTable || kind == flow.ParamInvariant:
				v = v.Func.Owner.Args[i]
				continue
			case v.Def != nil && v.Def.Op == ir.OpWeight:
				sum += v.MaxBytes()
			case v.Def != nil && v.Def.Is(ir.View):
				v = v.Def.Args[0]
				continue
			}
			break
		}
	}
	return sum
}

// results draws what the caller reads.
func (d *dotWriter) results(f *ir.Func, g *graphMaker, names []string) {
	for i, r := range f.Results {
		from, ok := g.source(r)
		if !ok {
			continue
		}
		name := dotQuote(ir.QuoteName(f.Name) + " result " + f.ResultNames[i])
		d.line(2, "%s [label=%s, shape=ellipse, style=solid];", name, dotLabel(shorten(f.ResultNames[i]), pass.BytesText(r.MaxBytes())))
		d.line(2, "%s -> %s;", dotQuote(names[from]), name)
	}
}

// edges draws the edges of a graph: those of copies and of inputs in styles of their own.
func (d *dotWriter) edges(g *graphMaker, names []string) {
	for _, e := range g.page.Edges {
		label, style := pass.BytesText(e[2]), ""
		switch {
		case e[3] == 1:
			label, style = "copy, "+label, ", "+dotCopy
		case g.page.Nodes[e[0]][1] == 0:
			style = ", " + dotInput
		}
		d.line(1, "%s -> %s [label=%s%s];", dotQuote(names[e[0]]), dotQuote(names[e[1]]), dotQuote(label), style)
	}
}

// names returns a name for each node of a graph: its id, with a number where several have one.
func (g *graphMaker) names() []string {
	names := make([]string, len(g.page.Nodes))
	for p, i := range g.in {
		names[i] = idOf(p)
	}
	for n, i := range g.at {
		names[i] = idOfNode(n)
	}
	count := make(map[string]int)
	for i, name := range names {
		if count[name]++; count[name] > 1 {
			names[i] = fmt.Sprintf("%s (%d)", name, count[name])
		}
	}
	return names
}

// maxDotName is the length of names in labels. A longer one is cut in the middle; the node's name has all of it.
const maxDotName = 36

func shorten(s string) string {
	r := []rune(s)
	if len(r) <= maxDotName {
		return s
	}
	half := (maxDotName - 1) / 2
	return string(r[:half]) + "…" + string(r[len(r)-half:])
}

// dotQuote returns a text as a string of DOT.
func dotQuote(s string) string { return dotLabel(s) }

// dotLabel returns lines as one string of DOT.
func dotLabel(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = escape.Replace(printable.Line(l))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}

package view

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph/formats/dot"
	"gonum.org/v1/gonum/graph/formats/dot/ast"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// dotGraph is what a reader of DOT that shares nothing with the writer has read.
type dotGraph struct {
	nodes map[string]map[string]string // attributes by name
	in    map[string][]string          // labels of the clusters around a node, outer ones first
	edges map[[2]string]map[string]string
}

// readDOT reads the graph of a module.
func readDOT(t *testing.T, m *ir.Module) *dotGraph {
	t.Helper()
	var b strings.Builder
	if err := WriteDOT(&b, m, m.Funcs); err != nil {
		t.Fatal(err)
	}
	file, err := dot.ParseString(b.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if len(file.Graphs) != 1 {
		t.Fatalf("%d graphs", len(file.Graphs))
	}
	g := &dotGraph{make(map[string]map[string]string), make(map[string][]string), make(map[[2]string]map[string]string)}
	g.read(t, file.Graphs[0].Stmts, nil)
	for ends := range g.edges {
		for _, end := range ends {
			if g.nodes[end] == nil {
				t.Errorf("an edge ends at %s, which is no node", end)
			}
		}
	}
	return g
}

func (g *dotGraph) read(t *testing.T, list []ast.Stmt, in []string) {
	t.Helper()
	for _, s := range list {
		switch s := s.(type) {
		case *ast.NodeStmt:
			name := unquoteDOT(s.Node.ID)
			if g.nodes[name] != nil {
				t.Errorf("two nodes are called %s", name)
			}
			g.nodes[name], g.in[name] = attributes(s.Attrs), in
		case *ast.EdgeStmt:
			ends := [2]string{unquoteDOT(s.From.(*ast.Node).ID), unquoteDOT(s.To.Vertex.(*ast.Node).ID)}
			g.edges[ends] = attributes(s.Attrs)
		case *ast.Subgraph:
			if !strings.HasPrefix(s.ID, "cluster_") {
				t.Errorf("subgraph %s is no cluster", s.ID)
			}
			label := attributes(s.Stmts[0].(*ast.AttrStmt).Attrs)["label"]
			g.read(t, s.Stmts[1:], append(in[:len(in):len(in)], label))
		}
	}
}

func attributes(list []*ast.Attr) map[string]string {
	a := make(map[string]string)
	for _, at := range list {
		a[at.Key] = unquoteDOT(at.Val)
	}
	return a
}

// unquoteDOT returns the text of a string of DOT.
func unquoteDOT(s string) string {
	s = strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s)
}

// TestDOTShowsThePlan compares the drawing of random plans on two backends with their modules: each node that works has
// the colour of its backend and is in the cluster of its split, each edge has its bytes, and copies have edges of their
// own kind.
func TestDOTShowsThePlan(t *testing.T) {
	copies := 0
	for seed := range uint64(5) {
		p, err := irtest.Random(seed, 30)
		if err != nil {
			t.Fatal(err)
		}
		record(t, p.Module, parseTargets(t, anything))
		g := readDOT(t, p.Module)
		colour := make(map[string]string)
		for i := range 3 {
			if n := g.nodes["backend "+string(rune('0'+i))]; n != nil {
				colour[n["label"]] = n["fillcolor"]
			}
		}
		for _, f := range p.Module.Funcs {
			maker := draw(f, nil)
			names := maker.names()
			for n, i := range maker.at {
				copies += g.checkNode(t, n, names[i], colour)
			}
			for _, e := range maker.page.Edges {
				at, want := g.edges[[2]string{names[e[0]], names[e[1]]}], pass.BytesText(e[2])
				if e[3] == 1 {
					want = "copy, " + want
				}
				if at["label"] != want || (at["penwidth"] != "") != (e[3] == 1) {
					t.Errorf("seed %d, edge from %s to %s: %v, want %s", seed, names[e[0]], names[e[1]], at, want)
				}
			}
		}
	}
	if copies < 5 {
		t.Errorf("%d copies", copies)
	}
}

// checkNode checks one node, and returns 1 for a copy.
func (g *dotGraph) checkNode(t *testing.T, n *ir.Node, name string, colour map[string]string) int {
	t.Helper()
	at, in := g.nodes[name], g.in[name]
	if at == nil || at["fillcolor"] != colour[n.Backend] || !strings.HasPrefix(at["label"], n.Op.String()+`\n`) {
		t.Errorf("%s on %s is %v; colours %v", name, n.Backend, at, colour)
		return 0
	}
	if want := boxLabel(n) + " on " + n.Backend; in[0] != "@"+entryFunc(n.Func).Name || in[len(in)-1] != want {
		t.Errorf("%s is in %q, want the last to be %q", name, in, want)
	}
	if flow.IsTransfer(n) {
		return 1
	}
	return 0
}

func entryFunc(f *ir.Func) *ir.Func {
	for f.Owner != nil {
		f = f.Owner.Func
	}
	return f
}

// TestDOTBeforeAssign draws a module without backends: there are no colours and no legend.
func TestDOTBeforeAssign(t *testing.T) {
	g := readDOT(t, irtest.Parse(t, irtest.SmallModule))
	if g.nodes["backend 0"] != nil {
		t.Error("there is a backend")
	}
	if len(g.nodes) < 4 || len(g.edges) < 3 {
		t.Errorf("%d nodes, %d edges", len(g.nodes), len(g.edges))
	}
}

// TestDOTOfHostileNames gives names to a module that would end a string, a label or a line.
func TestDOTOfHostileNames(t *testing.T) {
	for _, name := range append([]string{`\`, `a\`, `\"`, "line\nline", "a -> b"}, hostile...) {
		m := hostileModule(t, name)
		record(t, m, parseTargets(t, "target cpu like=cpu\n"))
		g := readDOT(t, m)
		for id, at := range g.nodes {
			if len([]rune(at["label"])) > 4*maxDotName+40 {
				t.Errorf("%.40q: the label of %.40q is %.200q", name, id, at["label"])
			}
		}
	}
}

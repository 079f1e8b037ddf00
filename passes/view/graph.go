package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// GraphPage is the graph of an entry point: nodes that do work in boxes. Weights, views and states are left out.
type GraphPage struct {
	Func  string     `json:"func"`
	Boxes []BoxPage  `json:"boxes"` // in the order of the plan, outer ones before inner ones
	Nodes [][5]int   `json:"nodes"` // index of Document.Nodes, box, and in the box: left, top, rank
	Edges [][4]int64 `json:"edges"` // indexes of Nodes, bytes, and 1 if the second one copies the value to another space
}

// BoxPage is a run of nodes of one split, backend and layer; or a repeat, which holds boxes.
type BoxPage struct {
	Label   string `json:"label"`
	Backend string `json:"backend,omitempty"`
	Parent  int    `json:"parent"`          // box of the repeat around it; -1 for none
	Count   int64  `json:"count,omitempty"` // iterations of a repeat
	Width   int    `json:"width"`
	Height  int    `json:"height"`
}

// Sizes in a drawing.
const (
	graphWidth  = 168 // of a node
	graphHeight = 36
	graphGap    = 14 // between nodes beside each other
	graphRow    = 60 // from one row to the next
)

// graphMaker makes a graph.
type graphMaker struct {
	page *GraphPage
	ids  map[string]int    // indexes of Document.Nodes
	at   map[*ir.Node]int  // index of page.Nodes
	in   map[*ir.Value]int // of the entry point's parameters
	key  boxKey            // of the last box

	drawnIn map[int][]*ir.Node // of boxes: the nodes in them

	within map[int][]int // of nodes: what they read in their boxes
	inBox  map[int][]int // of boxes: their nodes
}

// boxKey is what the nodes of a box have in common.
type boxKey struct {
	f              *ir.Func
	split          int
	backend, layer string
}

// graph returns the graph of an entry point.
func (d *Document) graph(f *ir.Func) *GraphPage {
	g := draw(f, d.at)
	g.index()
	for box := range g.page.Boxes {
		g.lay(box)
	}
	return g.page
}

// draw returns the boxes, nodes and edges of an entry point, without places.
func draw(f *ir.Func, ids map[string]int) *graphMaker {
	g := &graphMaker{page: &GraphPage{Func: ir.QuoteName(f.Name)}, ids: ids, at: make(map[*ir.Node]int), in: make(map[*ir.Value]int), drawnIn: make(map[int][]*ir.Node)}
	g.page.Boxes = append(g.page.Boxes, BoxPage{Label: "inputs", Parent: -1})
	for _, p := range f.Params {
		g.in[p] = g.add(idOf(p), 0)
	}
	g.boxes(f, -1)
	g.edges(f)
	return g
}

func (g *graphMaker) add(id string, box int) int {
	g.page.Nodes = append(g.page.Nodes, [5]int{g.ids[id], box})
	return len(g.page.Nodes) - 1
}

// boxes puts the nodes of a function into boxes.
func (g *graphMaker) boxes(f *ir.Func, parent int) {
	for _, n := range f.Nodes {
		switch {
		case n.Op == ir.OpRepeat:
			g.page.Boxes = append(g.page.Boxes, BoxPage{Label: layersText(n), Parent: parent, Count: flow.Iterations(n)})
			g.key = boxKey{}
			g.boxes(n.Body, len(g.page.Boxes)-1)
			g.key = boxKey{}
		case flow.DoesWork(n):
			if key := (boxKey{f, n.Split, n.Backend, layerOf(n.Pos)}); key != g.key {
				g.key = key
				g.page.Boxes = append(g.page.Boxes, BoxPage{Label: boxLabel(n), Backend: n.Backend, Parent: parent})
			}
			box := len(g.page.Boxes) - 1
			g.at[n] = g.add(idOfNode(n), box)
			g.drawnIn[box] = append(g.drawnIn[box], n)
		}
	}
}

// layerOf returns a position in the model file up to its first number: blk.3 of blk.3.ffn.
func layerOf(pos string) string {
	parts := strings.Split(pos, ".")
	i := slices.IndexFunc(parts, func(p string) bool { return p != "" && strings.Trim(p, "0123456789") == "" })
	return strings.Join(parts[:max(i+1, 1)], ".")
}

func boxLabel(n *ir.Node) string {
	var parts []string
	if n.Split >= 0 {
		parts = append(parts, "split "+strconv.Itoa(n.Split))
	}
	if layer := layerOf(n.Pos); layer != "" {
		parts = append(parts, layer)
	}
	return cmp.Or(strings.Join(parts, ", "), "nodes")
}

// layersText names a repeat: by the layers of its first node with a position.
func layersText(n *ir.Node) string {
	for _, m := range n.Body.Nodes {
		if layer := layerOf(m.Pos); layer != "" {
			return "layers from " + layer
		}
	}
	return n.Body.Name
}

// edges adds an edge for each operand that a node of the graph, or an input, makes.
func (g *graphMaker) edges(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			g.edges(n.Body)
		}
		to, drawn := g.at[n]
		if !drawn {
			continue
		}
		seen := make(map[int]bool)
		for _, a := range n.Args {
			if from, ok := g.source(a); ok && !seen[from] {
				seen[from] = true
				edge := [4]int64{int64(from), int64(to), a.MaxBytes()}
				if flow.IsTransfer(n) {
					edge[3] = 1
				}
				g.page.Edges = append(g.page.Edges, edge)
			}
		}
	}
}

// source returns what makes a value, through views and into bodies. Of a carried value it is what the first iteration
// gets.
func (g *graphMaker) source(v *ir.Value) (int, bool) {
	for v != nil {
		if i, ok := g.in[v]; ok {
			return i, true
		}
		n := v.Def
		switch {
		case n == nil:
			kind, i := flow.ParamKind(v)
			if kind == flow.ParamTable || v.Func.Owner == nil {
				return 0, false
			}
			v = v.Func.Owner.Args[i]
		case n.Op == ir.OpRepeat:
			v = n.Body.Results[v.Index]
		case n.Is(ir.View):
			v = n.Args[0]
		default:
			i, ok := g.at[n]
			return i, ok
		}
	}
	return 0, false
}

// lay gives the nodes of a box their places: each below what makes its operands in the box, and as near to these as
// there is room.
func (g *graphMaker) lay(box int) {
	rows := g.rows(box)
	widest := 0
	for _, row := range rows {
		widest = max(widest, len(row))
	}
	if widest == 0 {
		return
	}
	b := &g.page.Boxes[box]
	b.Width, b.Height = widest*(graphWidth+graphGap)-graphGap, (len(rows)-1)*graphRow+graphHeight
	for rank, row := range rows {
		slices.SortStableFunc(row, func(i, j int) int { return cmp.Compare(g.middle(i), g.middle(j)) })
		left := (b.Width - len(row)*(graphWidth+graphGap) + graphGap) / 2
		for k, i := range row {
			g.page.Nodes[i][2], g.page.Nodes[i][3], g.page.Nodes[i][4] = left+k*(graphWidth+graphGap), rank*graphRow, rank
		}
	}
}

// rows returns the nodes of a box by rank: the length of the longest path to them in the box. Inputs, which nothing in
// the box makes, are four in a row.
func (g *graphMaker) rows(box int) [][]int {
	rank := make(map[int]int)
	for _, to := range g.inBox[box] {
		for _, from := range g.within[to] {
			rank[to] = max(rank[to], rank[from]+1)
		}
	}
	var rows [][]int
	for _, i := range g.inBox[box] {
		r := rank[i]
		if box == 0 {
			r = i / 4
		}
		for len(rows) <= r {
			rows = append(rows, nil)
		}
		rows[r] = append(rows[r], i)
	}
	return rows
}

// middle returns the mean place of what a node reads in its box.
func (g *graphMaker) middle(node int) float64 {
	list := g.within[node]
	if len(list) == 0 {
		return 0
	}
	sum := 0
	for _, from := range list {
		sum += g.page.Nodes[from][2]
	}
	return float64(sum) / float64(len(list))
}

// index notes which nodes are in which box, and what they read there.
func (g *graphMaker) index() {
	g.within, g.inBox = make(map[int][]int), make(map[int][]int)
	for i, n := range g.page.Nodes {
		g.inBox[n[1]] = append(g.inBox[n[1]], i)
	}
	for _, e := range g.page.Edges {
		if g.page.Nodes[e[0]][1] == g.page.Nodes[e[1]][1] {
			g.within[int(e[1])] = append(g.within[int(e[1])], int(e[0]))
		}
	}
}

package ggml

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// addUp finds where the devices add up. A subgraph ends at each partial node, or later: ggml lets a sum wait for what
// follows it, if that is one of the patterns below.
func (d *Division) addUp() {
	start := 0
	for pos := 0; pos < len(d.nodes); pos++ {
		partial := d.nodes[pos].own.Kind == ir.ShardPartial
		if !partial && pos < len(d.nodes)-1 {
			continue
		}
		end := pos
		if partial {
			d.late = append(d.late, d.nodes[pos])
			end = d.wait(pos).end
			d.skipUpTo(pos, end)
		}
		d.Subgraphs = append(d.Subgraphs, [2]int{start, end + 1})
		start, pos = end+1, end
	}
	if d.Devices > 1 && len(d.Subgraphs) > 0 {
		for _, s := range d.Subgraphs[:len(d.Subgraphs)-1] {
			d.Reduce = append(d.Reduce, d.nodes[s[1]-1].Value)
		}
	}
}

// skipUpTo makes the devices that skip a partial node skip all nodes until the sum.
func (d *Division) skipUpTo(pos, end int) {
	for j := range d.Devices {
		if !d.nodes[pos].skips(j) {
			continue
		}
		for p := pos + 1; p <= end; p++ {
			if off := [2]int{p, j}; !slices.Contains(d.Off, off) {
				d.Off = append(d.Off, off)
			}
		}
	}
}

// waiting is a sum over devices that waits: for x, which is the partial node or a product of it by mirrored factors.
type waiting struct {
	d    *Division
	x    *tensor
	end  int // position of the node that is added up
	next int // position of the next node to look at
}

// wait returns where the sum of the partial node at pos is taken.
func (d *Division) wait(pos int) *waiting {
	w := &waiting{d: d, x: d.nodes[pos], end: pos, next: pos + 1}
	if !w.pass() {
		return w
	}
	if n := w.at(0); n.Op == "ADD_ID" && n.source(0) == w.x && n.source(1) != nil && n.source(1).own.Kind == ir.ShardPartial && isMirrored(n.in(2)) {
		w.advance(n)
	}
	for {
		if !w.pass() {
			return w
		}
		n := w.at(0)
		if n.Op != "MUL" || n.source(0) != w.x || !isMirrored(n.in(1)) {
			break
		}
		w.advance(n)
	}
	w.experts()
	return w
}

// at returns the node i after the next one; nil after the last.
func (w *waiting) at(i int) *tensor {
	if w.next+i >= len(w.d.nodes) {
		return nil
	}
	return w.d.nodes[w.next+i]
}

// advance makes n the node that is added up.
func (w *waiting) advance(n *tensor) { w.x, w.end, w.next = n, n.Pos, n.Pos+1 }

// pass goes past nodes that every device computes from what is whole, and reports whether there is a node after them.
func (w *waiting) pass() bool {
	for n := w.at(0); n != nil; n = w.at(0) {
		reads := func(s *tensor) bool { return s == w.x || !isMirrored(s.own) }
		if !isMirrored(n.own) || slices.ContainsFunc(n.sources(), reads) {
			return true
		}
		w.next++
	}
	return false
}

// experts lets the sum wait for that of the experts of a token: the views of the experts' rows, and their sum.
func (w *waiting) experts() {
	u := int(w.x.NE[1])
	if u == 1 || w.d.uses(w.x) != u || w.at(2*u-2) == nil {
		return
	}
	for k := range u {
		if !w.isRowOf(w.at(k), int64(k)) {
			return
		}
	}
	sum := w.at(0)
	for k := 1; k < u; k++ {
		add := w.at(u + k - 1)
		if add.Op != "ADD" || add.source(0) != sum || add.source(1) != w.at(k) || w.d.uses(add) != 1 {
			return
		}
		sum = add
	}
	w.end = sum.Pos
}

// isRowOf reports whether v is the view of row k of each token of x, and used once.
func (w *waiting) isRowOf(v *tensor, k int64) bool {
	x := w.x
	return v.Op == "VIEW" && v.source(0) == x && v.Offset == k*x.NB[1] &&
		v.NE[0] == x.NE[0] && v.NE[1] == x.NE[2] && v.NB[1] == x.NB[2] && w.d.uses(v) == 1
}

// uses returns how many source positions of the graph have x.
func (d *Division) uses(x *tensor) int {
	n := 0
	for _, t := range d.nodes {
		for _, s := range t.Src {
			if s == x.Tensor {
				n++
			}
		}
	}
	return n
}

package copies

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// expertKey names what is copied of experts.
type expertKey struct{ w, idx *ir.Value }

// experts makes an experts_matmul read a copy of its experts that holds only those which the
// router chose, where that takes less than copying all of them. The indices are copied to
// where the experts lie, in a split before, as whoever moves experts reads them there.
func (w *copier) experts(n *ir.Node, t *target.Descriptor) {
	if !copiesExperts(w.c, n, t) {
		return
	}
	from, idx := n.Args[1], n.Args[2]
	key := expertKey{from, idx}
	if w.chosen[key] == nil {
		w.chosen[key] = w.copyExperts(n, from, idx)
	}
	n.Args[1] = w.chosen[key]
}

func (w *copier) copyExperts(n *ir.Node, from, idx *ir.Value) *ir.Value {
	at := w.indices(n, idx, from.Type.Space)
	cp := w.e.Add(n, ir.OpCopyExperts, nil, from.Name+"."+n.Backend, from, at)
	w.e.Drop(cp)
	cp.Split = w.split
	w.heads = append(w.heads, cp)
	all := from.Type.MaxBytes()
	w.c.CauseChange(cp, pass.RuleCopyExperts, from.Type.Space, cp.Result().Type.Space, from.String(), n.String(),
		fmt.Sprintf("%d of %d bytes expected", expectedExperts(n)*ir.ExpertBytes(from.Type).Upper(), all))
	w.c.Count("inserted", 1)
	w.c.Count("experts", 1)
	return cp.Result()
}

// indices returns idx in a space: as it is if it lies there, else a copy for all that follows.
func (w *copier) indices(n *ir.Node, idx *ir.Value, space string) *ir.Value {
	if idx.Type.Space == space {
		return idx
	}
	key := CopyKey{idx, space}
	if w.known[key] == nil {
		t := flow.TargetOf(w.c, space)
		cp := w.node(n, ir.OpCopy, nil, idx.Name+"."+t.Name, idx)
		cp.Result().Type.Space = space
		w.elsewhere(cp, t.Name)
		w.c.CauseChange(cp, pass.RuleCopyIdx, idx.Type.Space, space, idx.String(), n.String())
		w.c.Count("inserted", 1)
		w.known[key] = cp.Result()
	}
	return w.known[key]
}

// copiesExperts reports whether n, which runs on t, is an experts_matmul whose experts lie
// in a space that t cannot address, where a target can copy indices to, and of which the
// router chooses so few that copying those takes less than copying all.
func copiesExperts(c *pass.Context, n *ir.Node, t *target.Descriptor) bool {
	if n.Op != ir.OpExpertsMatMul || !n.Args[1].IsWeight() || t.Addresses(n.Args[1].Type.Space) || !c.Enabled(pass.RuleCopyExperts) {
		return false
	}
	w, idx := n.Args[1].Type, n.Args[2].Type
	from := flow.TargetOf(c, w.Space)
	if from == nil {
		return false
	}
	named, one := expectedExperts(n), ir.ExpertBytes(w).Upper()
	if named*one >= w.MaxBytes() {
		return false
	}
	some := float64(named) * t.TransferSeconds(from, float64(one))
	if idx.Space != w.Space {
		some += from.TransferSeconds(flow.TargetOf(c, idx.Space), float64(idx.MaxBytes()))
	}
	return some <= t.TransferSeconds(from, float64(w.MaxBytes()))
}

// expectedExperts returns how many different experts the indices of an experts_matmul name
// if a router prefers none, at the symbols' bounds: E·(1-(1-1/E)^(tokens·choices)), rounded
// up where the fraction is no error of the arithmetic.
func expectedExperts(n *ir.Node) int64 {
	count, draws := float64(n.Args[1].Type.Shape[0].Upper()), float64(n.Args[2].Type.Elems().Upper())
	return int64(math.Ceil(count*(1-math.Pow(1-1/count, draws)) - 1e-6))
}

package copies

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// expertKey names a copy of the experts in w that idx chooses.
type expertKey struct{ w, idx *ir.Value }

// experts makes an experts_matmul read a copy of only the experts that the router chose, if copiesExperts holds. The
// copy reads the indices in the space of the experts. So the indices are copied there first, in a split before:
//
//	split 0  gpu  %idx = top_k(...)
//	split 1  cpu  %idx.cpu = copy %idx
//	split 2  gpu  %w.gpu = copy_experts %w, %idx.cpu
//	              %y = experts_matmul %x, %w.gpu, %idx
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

// copyExperts returns a copy of the experts that idx chooses, made at the head of the open split.
func (w *copier) copyExperts(n *ir.Node, from, idx *ir.Value) *ir.Value {
	at := w.indices(n, idx, from.Type.Space)
	cp := w.e.Add(n, ir.OpCopyExperts, nil, from.Name()+"."+n.Backend, from, at)
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

// indices returns idx in a space: itself if it is there, otherwise a copy that serves the rest of the function.
func (w *copier) indices(n *ir.Node, idx *ir.Value, space string) *ir.Value {
	if idx.Type.Space == space {
		return idx
	}
	key := CopyKey{idx, space}
	if w.known[key] == nil {
		w.known[key] = w.copyBefore(n, idx, flow.TargetOf(w.c, space), pass.RuleCopyIdx)
	}
	return w.known[key]
}

// copiesExperts reports whether experts are copied one by one for n, which runs on t. This demands that
//
//   - n is an experts_matmul, and t does not address the space of its experts;
//   - one copy moves experts from there into the home space of t, and another one moves the indices there;
//   - the experts that the router is expected to choose have fewer bytes than all experts;
//   - copying them and the indices takes no longer than copying all experts.
func copiesExperts(c *pass.Context, n *ir.Node, t *target.Descriptor) bool {
	if n.Op != ir.OpExpertsMatMul || !n.Args[1].IsWeight() || t.Addresses(n.Args[1].Type.Space) || !c.Enabled(pass.RuleCopyExperts) {
		return false
	}
	w, idx := n.Args[1].Type, n.Args[2].Type // of the experts and the indices
	from := flow.TargetOf(c, w.Space)
	if from == nil || !c.Targets.Direct(w.Space, t.Home()) || !c.Targets.Direct(idx.Space, w.Space) {
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

// expectedExperts returns the expected number of different experts that the indices of an experts_matmul name if the
// router prefers none. With E experts and the symbols at their bounds it is E·(1-(1-1/E)^(tokens·choices)), rounded up.
// For example, 2 tokens with 2 choices each name 8·(1-(7/8)^4) = 3.3 of 8 experts, so 4.
func expectedExperts(n *ir.Node) int64 {
	const rounding = 1e-6 // a fraction up to this is an error of the arithmetic
	count, draws := float64(n.Args[1].Type.Shape[0].Upper()), float64(n.Args[2].Type.Elems().Upper())
	return int64(math.Ceil(count*(1-math.Pow(1-1/count, draws)) - rounding))
}

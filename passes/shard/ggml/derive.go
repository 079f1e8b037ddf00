package ggml

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// maxDevices is the largest group of ggml's meta backend (GGML_BACKEND_META_MAX_DEVICES).
const maxDevices = 16

// Division is how the rules of ggml divide the work of a function over a group of devices.
type Division struct {
	Devices int

	// Off lists the nodes that devices skip: position among the nodes and device, by device.
	Off [][2]int

	// Subgraphs are half-open ranges of positions. Each device runs one; then the group adds up its last node, except
	// after the last range. Reduce are these nodes.
	Subgraphs [][2]int
	Reduce    []*ir.Value

	graph   *foreign.Graph
	tensors []*tensor // kept ones, other leaves, nodes
	nodes   []*tensor
	late    []*tensor // partial nodes at which a subgraph ends or begins to wait
}

// Derive derives the states of all values of a function from those of its weights and states, by name, under the rules
// of ggml's meta backend. The function has weights, states and foreign nodes. The error is a *Refusal where these rules
// have no plan; the division then has the states of the values before.
func Derive(f *ir.Func, devices int, given map[string]ir.Sharding) (*Division, error) {
	if devices > maxDevices {
		return nil, &Refusal{Stage: StageGroup, Reason: ReasonDevices}
	}
	g, err := foreign.Read(f)
	if err != nil {
		return nil, err
	}
	d := &Division{Devices: devices, graph: g}
	for _, t := range g.Tensors {
		d.tensors = append(d.tensors, &tensor{Tensor: t, d: d})
	}
	d.nodes = d.tensors[len(d.tensors)-len(g.Nodes):]
	for _, t := range d.tensors {
		if err := d.derive(t, given); err != nil {
			return d, err
		}
	}
	d.off()
	d.addUp()
	slices.SortFunc(d.Off, func(a, b [2]int) int { return cmp.Or(a[1]-b[1], a[0]-b[0]) })
	return d, nil
}

// derive sets the state of a tensor, whose sources have theirs.
func (d *Division) derive(t *tensor, given map[string]ir.Sharding) error {
	stage, reason := StageGraph, accepted
	switch {
	case t.Elems() == 0:
		return nil
	case t.Kept:
		stage = StageKept
		t.own, reason = givenState(t, given)
	case t.Op == "NONE":
		t.own = ir.Mirrored()
	default:
		t.own, reason = d.result(t)
	}
	if t.state = t.own; t.Pos >= 0 && isProduct(t) && t.own.Kind == ir.ShardPartial {
		t.state = ir.Mirrored()
	}
	if reason == accepted && t.Offset > 0 && t.state.IsSplit() && !t.d.of(t.ViewOf).state.IsSplit() {
		reason = ReasonOffset
	}
	if reason != accepted {
		return &Refusal{Stage: stage, Value: t.Value, Reason: reason}
	}
	return nil
}

// isProduct reports whether devices add up what t leaves partial. Other partial values stay as they are.
func isProduct(t *tensor) bool { return t.Op == "MUL_MAT" || t.Op == "MUL_MAT_ID" }

// givenState returns the state that a weight or state has. It is mirrored if none is given.
func givenState(t *tensor, given map[string]ir.Sharding) (ir.Sharding, Reason) {
	s, ok := given[leafName(t.Value)]
	if !ok {
		return ir.Mirrored(), accepted
	}
	if !s.IsSplit() {
		return s, accepted
	}
	s = foreign.Flip(s)
	sum := int64(0)
	for _, seg := range s.Segments {
		for _, n := range seg.Counts {
			if s.Axis == 0 && n%int64(t.DType.BlockElems()) != 0 {
				return refuse(ReasonGranularity)
			}
			sum += seg.Times * n
		}
	}
	if sum != t.NE[s.Axis] {
		return refuse(ReasonSum)
	}
	return s, accepted
}

// result returns the state of a node.
func (d *Division) result(t *tensor) (ir.Sharding, Reason) {
	for _, s := range t.sources() {
		if s.state.Kind == ir.ShardNone {
			return refuse(ReasonEmpty)
		}
	}
	r := ruleOf(t.Op)
	if r == nil {
		return refuse(ReasonOp)
	}
	s, reason := r(t)
	if reason != accepted {
		return s, reason
	}
	return counts(t, s, d.Devices)
}

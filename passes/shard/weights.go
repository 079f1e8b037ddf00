package shard

import "github.com/ggmlc/ggmlc/ir"

// maxCopied is the size in bytes up to which every device has a copy of a mirrored weight, such as those of norms.
const maxCopied = 64 << 10

// spreadWeights replaces each split or held weight of a module by one weight for each device that has a part, and each
// small mirrored one by one for each device. It returns these by the name of the whole, nil where a device has nothing.
// A large mirrored weight stays one.
func spreadWeights(m *ir.Module, devices int, given map[string]ir.Sharding) map[string][]*ir.Weight {
	parts := make(map[string][]*ir.Weight)
	var list []*ir.Weight
	for _, w := range m.Weights {
		state := given[w.Name]
		if !state.IsSplit() && state.Kind != ir.ShardHeld && w.Type.MaxBytes() > maxCopied {
			list = append(list, w)
			continue
		}
		of := make([]*ir.Weight, devices)
		for j := range of {
			if t, has := partType(w.Type, state, j); has {
				of[j] = &ir.Weight{Name: memberLeaf(w.Name, state, j), Type: t, Expr: partExpr(w, state, j)}
				list = append(list, of[j])
			}
		}
		parts[w.Name] = of
	}
	m.Weights = list
	return parts
}

// partExpr returns the expression of what device j has of a weight: rows, or columns if the innermost axis is split. It
// is nil for a weight without an expression.
func partExpr(w *ir.Weight, state ir.Sharding, j int) *ir.Expr {
	if w.Expr == nil || !state.IsSplit() {
		return w.Expr.Clone()
	}
	pieces := state.Ranges(j)
	inner := w.Type.Rank() - 1
	if state.Axis == inner {
		return ir.Columns(w.Expr, pieces[0][0], pieces[0][1]) // checkGiven refuses several
	}
	size := int64(1) // rows for each element of the split axis
	for _, d := range w.Type.Shape[state.Axis+1 : inner] {
		size *= constant(d)
	}
	times := int64(1) // repetitions of the split axis
	for _, d := range w.Type.Shape[:state.Axis] {
		times *= constant(d)
	}
	var rows []*ir.Expr
	for t := range times {
		for _, p := range pieces {
			rows = append(rows, ir.Rows(w.Expr, (t*constant(w.Type.Shape[state.Axis])+p[0])*size, p[1]*size))
		}
	}
	if len(rows) == 1 {
		return rows[0]
	}
	return ir.Concat(rows...)
}

func constant(d ir.Dim) int64 {
	n, _ := d.IsConst()
	return n
}

// weight writes out a weight: every device reads its own, or all the one that they share.
func (s *spreader) weight(n *ir.Node, name string) ([]*ir.Value, error) {
	v, of := n.Result(), s.weights[name]
	if of == nil {
		s.f.Append(n)
		return s.same(v), nil
	}
	parts := make([]*ir.Value, s.devices)
	for j, w := range of {
		if w == nil {
			continue
		}
		p, err := s.emit(ir.OpWeight, &ir.WeightAttr{Name: w.Name}, nil, s.name, j)
		if err != nil {
			return nil, err
		}
		parts[j] = p
		s.ready(n, p, j)
	}
	return parts, nil
}

// inOneRun reports whether every device's part of a state is one range.
func inOneRun(state ir.Sharding) bool {
	for j := range state.Counts() {
		if len(state.Ranges(j)) > 1 {
			return false
		}
	}
	return true
}

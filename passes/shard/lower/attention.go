package lower

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// cache makes a state, which is a cache [sequences,heads,positions,elements] of ours: a row for each position, with all
// heads.
func (l *lowering) cache(name string) (*tensor, error) {
	s := l.value.Type.Shape
	if len(s) != 4 {
		return nil, fmt.Errorf("the state %q has %d dimensions, and a cache has 4", name, len(s))
	}
	seqs, heads, positions, size := upper(s[0]), upper(s[1]), upper(s[2]), upper(s[3])
	ne := sizes{heads * size, positions * seqs, 1, 1}
	t := &tensor{dtype: l.value.Type.DType, ne: ne, stride: dense(ne)}
	l.b.State(name, t.typ())
	t.v = l.f.State(name)
	l.g.From[t.v] = l.value
	l.g.heads[l.value] = size
	return t, nil
}

// stateWrite writes rows of all heads.
func stateWrite(l *lowering, n *ir.Node, _ sizes, args []*tensor) (*tensor, error) {
	to, x, at := args[0], args[1], args[3]
	rows := x
	if x.stride != dense(x.ne) { // heads of a fused product
		rows = l.view("VIEW", "", sizes{x.ne[0] * x.ne[1], x.ne[2], 1, 1}, sizes{1, x.stride[2], x.stride[3], x.stride[3]}, 0, x)
	} else {
		rows = l.reshape(x, x.ne[0]*x.ne[1], x.ne[2])
	}
	t := &tensor{dtype: to.dtype, ne: to.ne, stride: to.stride, root: to}
	if to.root != nil {
		t.root = to.root
	}
	a, srcs := sources("SET_ROWS", "", []*tensor{rows, at, to})
	a.InPlace = true
	t.v = l.f.Foreign(a, append(srcs, t.root.v), t.typ())[0]
	l.g.heads[l.value] = l.g.heads[n.Args[0]]
	return l.made(t, ".set_rows"), nil
}

// attention permutes queries and views of the caches, so that rows of a head follow each other.
func attention(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	heads := [4]int{0, 2, 1, 3}
	q := l.permute(args[0], heads)
	kv := [2]*tensor{}
	for i := range kv {
		c, size := args[1+i], l.g.heads[n.Args[1+i]]
		if size == 0 {
			return nil, fmt.Errorf("it reads %v, which is no cache", n.Args[1+i])
		}
		if c.root != nil {
			c = c.root // llama.cpp views the cache itself, not what SET_ROWS returns
		}
		s := sizes{size, c.ne[0] / size, c.ne[1], 1}
		kv[i] = l.permute(l.view("VIEW", "", s, dense(s), 0, c), heads)
	}
	mask := l.leaf(sizes{kv[0].ne[1], q.ne[1], 1, 1}, dtype.F16, ".mask")
	var sinks *tensor
	if len(args) > 6 {
		sinks = args[6]
	}
	return l.node("FLASH_ATTN_EXT", fmt.Sprintf("max_bias=%g", ir.ScoringOf(n).Alibi), ne, q, kv[0], kv[1], mask, sinks), nil
}

// rope turns heads by positions, and by factors of the frequencies. The table of ours is part of the node.
func rope(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	table := tableOf(n.Args[1])
	if table == nil {
		return nil, fmt.Errorf("it reads %v, which is no rope_table: ggml's ROPE has positions", n.Args[1])
	}
	positions := l.tensors[table.Args[0]]
	if a, ok := n.Args[1].Def.Attr.(*ir.SliceAttr); ok {
		some := sizes{upper(a.Len), 1, 1, 1}
		positions = l.view("VIEW", "", some, dense(some), upper(a.Start), positions)
	}
	return l.node("ROPE", "", ne, args[0], positions, l.tensors[table.Args[1]]), nil
}

// tableOf returns the rope_table of which v is the result, or rows; else nil.
func tableOf(v *ir.Value) *ir.Node {
	n := v.Def
	if n != nil && n.Op == ir.OpSlice && n.Attr.(*ir.SliceAttr).Axis == 0 {
		n = n.Args[0].Def
	}
	if n == nil || n.Op != ir.OpRopeTable {
		return nil
	}
	return n
}

// bias is what a product with experts adds: rows of a table that the experts' numbers select.
type bias struct{ table, ids *ir.Value }

// biasesOf returns for each node that selects rows of biases, or sees the rows in another shape, where an addition to a
// product with experts is their only use, what it selects. In ggml that is one node, ADD_ID.
func biasesOf(f *ir.Func) map[*ir.Node]*bias {
	uses := make(map[*ir.Value]int)
	for _, n := range f.Nodes {
		for _, a := range n.Args {
			uses[a]++
		}
	}
	parts := make(map[*ir.Node]*bias)
	for _, n := range f.Nodes {
		if n.Op != ir.OpAdd {
			continue
		}
		for i, a := range n.Args {
			product := n.Args[1-i].Def
			if product == nil || product.Op != ir.OpExpertsMatMul || a.Def == nil || a.Def.Op != ir.OpReshape || uses[a] > 1 {
				continue
			}
			rows := a.Def.Args[0]
			if rows.Def == nil || rows.Def.Op != ir.OpGather || uses[rows] > 1 || idsOf(rows.Def.Args[1]) != product.Args[2] {
				continue
			}
			b := &bias{table: rows.Def.Args[0], ids: product.Args[2]}
			parts[a.Def], parts[rows.Def] = b, b
		}
	}
	return parts
}

// idsOf returns what a value is in another shape.
func idsOf(v *ir.Value) *ir.Value {
	if v.Def != nil && v.Def.Op == ir.OpReshape {
		return v.Def.Args[0]
	}
	return v
}

package irtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// randomModel makes a module with one entry point of random nodes on the cpu, part of
// them in equal layers.
type randomModel struct {
	r      *rand.Rand
	M      *ir.Module
	f      *ir.Func
	tokens ir.Dim
	leaves int
	pos    *ir.Value
	slot   *ir.Value
	length *ir.Value
}

func RandomLayers(seed uint64) *randomModel {
	g := &randomModel{r: rand.New(rand.NewPCG(seed, 7)), M: &ir.Module{Name: "random"}}
	g.M.Props = ir.PropImported | ir.PropShaped | ir.PropAssigned
	g.tokens = ir.Sym(g.M.AddSymbol("tokens", 1, 5))
	if g.r.IntN(2) == 0 {
		g.tokens = ir.Const(1 + g.r.Int64N(3))
	}
	g.f = g.M.AddFunc("f")
	ints := ir.Type{DType: dtype.I32, Shape: []ir.Dim{g.tokens}, Space: "host"}
	g.pos, g.slot = g.f.AddParam("pos", ints), g.f.AddParam("slot", ints)
	g.length = g.f.AddParam("length", ints.WithShape(ir.Const(1)))
	x := g.f.AddParam("x", g.act(64))
	pool := []*ir.Value{x}
	pool = g.steps(pool, 1+g.r.IntN(6))
	for range g.r.IntN(2) + 1 {
		pool = g.layers(pool)
		pool = g.steps(pool, g.r.IntN(4))
	}
	g.f.AddResult("y", pool[len(pool)-1])
	g.f.AddResult("z", pool[g.r.IntN(len(pool))])
	return g
}

func (g *randomModel) act(inner ...int64) ir.Type {
	return ir.Type{DType: dtype.F32, Shape: append([]ir.Dim{g.tokens}, ir.Dims(inner...)...), Space: "host"}
}

// layers appends equal layers: what a layer is follows from a seed.
func (g *randomModel) layers(pool []*ir.Value) []*ir.Value {
	seed, steps := g.r.Uint64(), 2+g.r.IntN(8)
	x := pool[len(pool)-1]
	x = g.matmul(x, 64, nil)
	fixed := pool[g.r.IntN(len(pool))]
	outer := g.r
	for range 2 + g.r.IntN(3) {
		g.r = rand.New(rand.NewPCG(seed, 3))
		inner := []*ir.Value{x}
		if steps%2 == 0 {
			inner = []*ir.Value{fixed, x}
		}
		inner = g.steps(inner, steps)
		last := inner[len(inner)-1]
		if g.r.IntN(2) == 0 {
			x = g.matmul(last, 64, x)
		} else {
			x = g.matmul(last, 64, nil)
		}
	}
	g.r = outer
	return append(pool, x)
}

// steps appends n random steps; each reads from the pool and adds to it an f32[tokens,…].
func (g *randomModel) steps(pool []*ir.Value, n int) []*ir.Value {
	for range n {
		x := pool[max(g.r.IntN(len(pool)), g.r.IntN(len(pool)))]
		pool = append(pool, g.step(x, pool))
	}
	return pool
}

func (g *randomModel) width(x *ir.Value) int64 {
	n, _ := x.Type.Inner().IsConst()
	return n
}

func (g *randomModel) step(x *ir.Value, pool []*ir.Value) *ir.Value {
	w := g.width(x)
	switch g.r.IntN(12) {
	case 0:
		return g.node(ir.OpSiLU, nil, x)
	case 1:
		return g.node(ir.OpRMSNorm, &ir.NormAttr{Eps: 1e-5}, x, g.weight(dtype.F32, dtype.Plain, w))
	case 2:
		return g.matmul(x, 32*(1+g.r.Int64N(3)), nil)
	case 3:
		return g.matmul(x, 64, g.like(pool, 64))
	case 4:
		return g.node(ir.OpAdd, nil, x, g.partner(x, pool))
	case 5:
		q := g.node(ir.OpQuantize, &ir.QuantizeAttr{To: dtype.Q8A}, x)
		return g.node(ir.OpMatMul, nil, q, g.weight(dtype.Q8_0, dtype.R16, 64, w))
	case 6:
		return g.rotated(x, w)
	case 7:
		return g.attention(x)
	case 8:
		start := 32 * g.r.Int64N(w/32)
		s := g.node(ir.OpSlice, &ir.SliceAttr{Axis: 1, Start: ir.Const(start), Len: ir.Const(32)}, x)
		return g.node(ir.OpSiLU, nil, s)
	case 9:
		p := g.node(ir.OpPermute, &ir.PermuteAttr{Perm: []int{1, 0, 2}}, g.shaped(x, w/16, 16))
		back := g.node(ir.OpPermute, &ir.PermuteAttr{Perm: []int{1, 0, 2}}, g.node(ir.OpSiLU, nil, p))
		return g.shaped(g.node(ir.OpCopy, nil, back), w)
	case 10:
		return g.node(ir.OpConcat, &ir.ConcatAttr{Axis: 1}, x, x)
	default:
		return g.node(ir.OpScale, &ir.ScaleAttr{Scale: 2}, x)
	}
}

// like returns a value of the pool with that width, or a new one.
func (g *randomModel) like(pool []*ir.Value, w int64) *ir.Value {
	for i := len(pool) - 1; i >= 0; i-- {
		if g.width(pool[i]) == w {
			return pool[i]
		}
	}
	return g.matmul(pool[0], w, nil)
}

func (g *randomModel) partner(x *ir.Value, pool []*ir.Value) *ir.Value {
	if g.r.IntN(3) == 0 {
		return g.weight(dtype.F32, dtype.Plain, g.width(x))
	}
	return g.like(pool, g.width(x))
}

func (g *randomModel) shaped(x *ir.Value, inner ...int64) *ir.Value {
	return g.node(ir.OpReshape, &ir.ReshapeAttr{Shape: g.act(inner...).Shape}, x)
}

func (g *randomModel) rotated(x *ir.Value, w int64) *ir.Value {
	table := g.node(ir.OpRopeTable, &ir.RopeTableAttr{Scale: 1}, g.pos, g.weight(dtype.F32, dtype.Plain, 8))
	return g.shaped(g.node(ir.OpRope, &ir.RopeAttr{}, g.shaped(x, w/16, 16), table), w)
}

func (g *randomModel) attention(x *ir.Value) *ir.Value {
	kvHeads := int64(1) << g.r.IntN(3)
	q := g.shaped(g.matmul(x, 64, nil), 4, 16)
	k, v := g.cached(x, kvHeads), g.cached(x, kvHeads)
	if g.r.IntN(2) == 0 {
		a := &ir.AttentionSegmentsAttr{Scale: 0.25, Len: 2, Segments: ir.Const(3)}
		sums := g.node(ir.OpAttentionSegments, a, q, k, v, g.slot, g.pos, g.length)
		return g.shaped(g.node(ir.OpAttentionCombine, &ir.AttentionCombineAttr{KVHeads: kvHeads}, sums), 64)
	}
	y := g.node(ir.OpAttention, &ir.AttentionAttr{Scale: 0.25}, q, k, v, g.slot, g.pos, g.length)
	return g.shaped(y, 64)
}

func (g *randomModel) cached(x *ir.Value, heads int64) *ir.Value {
	g.leaves++
	name := fmt.Sprintf("s.%d", g.leaves)
	t := ir.Type{DType: dtype.F16, Shape: ir.Dims(1, heads, 6, 16), Space: "host"}
	g.M.States = append(g.M.States, &ir.State{Name: name, Type: t})
	n := g.f.Append(g.f.NewNode(ir.OpState, &ir.StateAttr{Name: name}, nil, name, t))
	row := g.shaped(g.matmul(x, heads*16, nil), heads, 16)
	return g.node(ir.OpStateWrite, &ir.StateWriteAttr{}, n.Result(), row, g.slot, g.pos)
}

func (g *randomModel) matmul(x *ir.Value, rows int64, residual *ir.Value) *ir.Value {
	args := []*ir.Value{x, g.weight(dtype.F32, dtype.R16, rows, g.width(x))}
	if residual != nil {
		args = append(args, residual)
	}
	return g.node(ir.OpMatMul, nil, args...)
}

func (g *randomModel) weight(d dtype.DType, l dtype.Layout, shape ...int64) *ir.Value {
	g.leaves++
	name := fmt.Sprintf("w.%d", g.leaves)
	t := ir.Type{DType: d, Layout: l, Shape: ir.Dims(shape...), Space: "host"}
	g.M.Weights = append(g.M.Weights, &ir.Weight{Name: name, Type: t})
	return g.f.Append(g.f.NewNode(ir.OpWeight, &ir.WeightAttr{Name: name}, nil, name, t)).Result()
}

func (g *randomModel) node(op ir.Op, attr any, args ...*ir.Value) *ir.Value {
	n := g.f.NewNode(op, attr, args, "")
	types, err := ir.Infer(n)
	if err != nil {
		panic(err) // the model is of ops that fit
	}
	for i, t := range types {
		t.Space = "host"
		v := g.f.NewValue("", t)
		v.Def, v.Index = n, i
		n.Results = append(n.Results, v)
	}
	if !n.Is(ir.View) {
		n.Backend, n.Split = "cpu", 0
	}
	return g.f.Append(n).Result()
}

package irtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// generator appends random moves to a function. A move takes values from the pool and adds its results:
// f32 values [rows, n], where n is a multiple of 32, some of them views.
type generator struct {
	rng      *rand.Rand
	p        *Program
	b        *ir.Builder
	f        *ir.FuncBuilder
	rows     ir.Dim
	pool     []*ir.Value
	extra    []*ir.Value // results of other shapes
	hasState bool
	inner    *generator // whose function may be called

	ids, pos, slot, lengths *ir.Value
	states                  map[string]*ir.Value // latest versions
}

// widths are the innermost extents of values in the pool.
var widths = []int64{32, 64, 96}

// inner are the innermost extents of weights that are no operand of a value in the pool: a whole block of every dtype
// is among them.
var inner = append([]int64{256}, widths...)

func (g *generator) function(name string, moves int) {
	g.f = g.b.Func(name)
	g.states = make(map[string]*ir.Value)
	i32 := func(n ir.Dim) ir.Type { return ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}} }
	if g.hasState {
		g.ids = g.f.Param("ids", i32(g.rows))
		g.pos, g.slot = g.f.Param("pos", i32(g.rows)), g.f.Param("slot", i32(g.rows))
		g.lengths = g.f.Param("lengths", i32(ir.Const(1)))
	}
	for _, n := range widths {
		g.add(g.f.Param(fmt.Sprintf("x%d", n), ir.Type{DType: dtype.F32, Shape: []ir.Dim{g.rows, ir.Const(n)}}))
	}
	for range moves {
		g.move()
	}
	for i, v := range g.pool[len(g.pool)-3:] {
		g.f.Return(fmt.Sprintf("y%d", i), v)
	}
	for i, v := range g.extra {
		g.f.Return(fmt.Sprintf("e%d", i), v)
	}
}

func (g *generator) add(v *ir.Value) { g.pool = append(g.pool, v) }

// pick returns a value of the pool. Later ones are more likely.
func (g *generator) pick() *ir.Value {
	n := len(g.pool)
	return g.pool[max(g.rng.IntN(n), g.rng.IntN(n))]
}

// pickWidth returns a value of the pool whose rows have n elements.
func (g *generator) pickWidth(n int64) *ir.Value {
	for range 8 {
		if v := g.pick(); width(v) == n {
			return v
		}
	}
	for _, v := range g.pool {
		if width(v) == n {
			return v
		}
	}
	panic(fmt.Sprintf("irtest: internal error: the pool has no value of width %d", n))
}

func width(v *ir.Value) int64 {
	n, _ := v.Type.Inner().IsConst()
	return n
}

func choose[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }

// format returns one of some dtypes, or half of the time a block format that stores rows of k elements.
func (g *generator) format(k int64, from ...dtype.DType) dtype.DType {
	if g.even() {
		return choose(g, from...)
	}
	for d := range dtype.NumDTypes {
		if d.Scheme() != nil && !d.IsExpansion() && k%int64(d.BlockElems()) == 0 {
			from = append(from, d)
		}
	}
	return choose(g, from...)
}

func (g *generator) even() bool { return g.rng.IntN(2) == 0 }

// weight returns a weight of that type, sometimes a used one. Its numbers are scaled so that a product
// with it has about the magnitude of the other factor.
func (g *generator) weight(d dtype.DType, shape ...int64) *ir.Value {
	t := ir.Type{DType: d, Shape: ir.Dims(shape...)}
	if w := g.usedWeight(t); w != "" && g.even() {
		return g.f.Weight(w)
	}
	name := fmt.Sprintf("w%d", len(g.b.Module().Weights))
	g.b.Weight(name, t, ir.Tensor("m", name))
	g.p.Tensors[name] = g.numbers(d, shape)
	return g.f.Weight(name)
}

// vector returns n f32 values that every call reads: a weight or a constant.
func (g *generator) vector(n int64) *ir.Value {
	if g.even() {
		return g.weight(dtype.F32, n)
	}
	var data []byte
	for _, x := range g.numbers(dtype.F32, []int64{n}).Data {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	return g.f.Constant(ir.Type{DType: dtype.F32, Shape: ir.Dims(n)}, data)
}

func (g *generator) usedWeight(t ir.Type) string {
	var names []string
	for _, w := range g.b.Module().Weights {
		if w.Type.Equal(t) {
			names = append(names, w.Name)
		}
	}
	if names == nil {
		return ""
	}
	return choose(g, names...)
}

func (g *generator) numbers(d dtype.DType, shape []int64) eval.Tensor {
	ints := make([]int, len(shape))
	for i, n := range shape {
		ints[i] = int(n)
	}
	t := eval.New(ints...)
	for i := range t.Data {
		t.Data[i] = g.rng.NormFloat64()
		if len(shape) > 1 {
			t.Data[i] /= math.Sqrt(float64(t.Inner()))
		}
	}
	return g.rounded(d, t)
}

// rounded returns numbers that d represents, and that encoding leaves as they are. For block formats with scales of
// scales, that takes some iterations. The few blocks that change again and again get other numbers.
func (g *generator) rounded(d dtype.DType, t eval.Tensor) eval.Tensor {
	for i := range 64 {
		r, err := eval.Round(d, t)
		if err != nil {
			g.b.Fail(err)
			return t
		}
		if slices.Equal(r.Data, t.Data) {
			return r
		}
		for at := 0; i%4 == 3 && at < len(t.Data); at += d.BlockElems() {
			was, is := t.Data[at:][:d.BlockElems()], r.Data[at:][:d.BlockElems()]
			if !slices.Equal(was, is) {
				g.rng.Shuffle(len(is), func(i, j int) { is[i], is[j] = is[j], is[i] })
			}
		}
		t = r
	}
	g.b.Fail(fmt.Errorf("numbers in %v change with each encoding", d))
	return t
}

// dense returns a value of the pool that is not a view.
func (g *generator) dense() *ir.Value {
	if v := g.pick(); v.Type.Dense() {
		return v
	}
	return g.f.Copy(g.pick())
}

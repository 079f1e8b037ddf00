package ptx

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// generator builds kernels at random: values of all kinds, in nested control flow.
type generator struct {
	*corpusBuilder
	rand  *rand.Rand
	pool  []*kir.Value // what is visible
	depth int
}

// TestRandomKernelsRunAsTheReference compares the memory that random kernels leave, bit for bit.
func TestRandomKernelsRunAsTheReference(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 20
	}
	instrs := 0
	for seed := range n {
		k := randomSample(seed).kernel(t)
		k.Body.Walk(func(*kir.Instr) { instrs++ })
		for _, target := range Targets() {
			if err := Check(emit(t, k, target)); err != nil {
				t.Fatalf("seed %d, %v: %v\n%s", seed, target, err, k)
			}
		}
		compareWithReference(t, k, uint64(seed))
	}
	t.Logf("%d kernels of %d instructions", n, instrs)
}

func randomSample(seed int) sample {
	return sample{name: fmt.Sprint("random", seed), threads: 4, build: func(c *corpusBuilder) {
		g := &generator{corpusBuilder: c, rand: rand.New(rand.NewSource(int64(seed)))}
		g.kernel()
	}}
}

func (g *generator) kernel() {
	g.pool = []*kir.Value{g.thread, g.n, g.u, g.Int(1), g.Float(1.5), g.Bits(kir.Bool, 1)}
	for n := range 6 {
		g.pool = append(g.pool, g.input(g.randomType(), n))
	}
	g.fill(30)
	for _, v := range g.pool {
		g.result(v)
	}
}

func (g *generator) randomType() kir.Type {
	return kir.Vector(allKinds[g.rand.Intn(len(allKinds))], 1<<g.rand.Intn(3))
}

// fill appends about n instructions.
func (g *generator) fill(n int) {
	for range n {
		switch g.rand.Intn(12) {
		case 0:
			if g.depth < 3 {
				g.nested(g.forLoop)
			}
		case 1:
			if g.depth < 3 {
				g.nested(g.choice)
			}
		default:
			if v := g.operation(); v != nil {
				g.pool = append(g.pool, v)
			}
		}
	}
}

// nested adds what a construct with blocks returns to the values that were visible before.
func (g *generator) nested(construct func() []*kir.Value) {
	outer := len(g.pool)
	g.depth++
	results := construct()
	g.depth--
	g.pool = append(g.pool[:outer:outer], results...)
}

// pick returns a value for which ok holds, preferably a late one, or nil.
func (g *generator) pick(ok func(kir.Type) bool) *kir.Value {
	for range 20 {
		at := len(g.pool) - 1 - min(g.rand.Intn(len(g.pool)), g.rand.Intn(len(g.pool)))
		if ok(g.pool[at].Type) {
			return g.pool[at]
		}
	}
	for _, v := range g.pool {
		if ok(v.Type) {
			return v
		}
	}
	return nil
}

func (g *generator) same(t kir.Type) *kir.Value {
	return g.pick(func(u kir.Type) bool { return u == t })
}

func anyType(kir.Type) bool        { return true }
func isNumeric(t kir.Type) bool    { return t.Kind.Float() || t.Kind.Int() }
func notBool(t kir.Type) bool      { return t.Kind != kir.Bool }
func scalarInt(t kir.Type) bool    { return t.Kind.Int() && t.Lanes == 1 }
func isComparable(t kir.Type) bool { return isNumeric(t) && t.Kind != kir.F16 && t.Lanes == 1 }

// forLoop carries up to 4 values, and permutes those of a type.
func (g *generator) forLoop() []*kir.Value {
	var init []*kir.Value
	for range 1 + g.rand.Intn(4) {
		v := g.pick(anyType)
		init = append(init, v)
		if g.rand.Intn(2) == 0 {
			init = append(init, g.same(v.Type))
		}
	}
	to := g.Int(g.rand.Intn(5))
	if g.rand.Intn(3) == 0 {
		to = g.thread
	}
	outer := g.pool
	return g.For(g.Int(-g.rand.Intn(2)), to, g.Int(1+g.rand.Intn(2)), init, func(i *kir.Value, carried []*kir.Value) []*kir.Value {
		g.pool = append(append(outer[:len(outer):len(outer)], carried...), i)
		g.fill(g.rand.Intn(6))
		next := make([]*kir.Value, len(carried))
		for n, c := range carried {
			next[n] = g.same(c.Type)
		}
		g.pool = outer
		return next
	})
}

func (g *generator) choice() []*kir.Value {
	cond := g.pick(func(t kir.Type) bool { return t.Kind == kir.Bool })
	var types []kir.Type
	for range g.rand.Intn(4) {
		types = append(types, g.pick(anyType).Type)
	}
	outer := g.pool
	arm := func() []*kir.Value {
		g.pool = outer[:len(outer):len(outer)]
		g.fill(g.rand.Intn(6))
		var out []*kir.Value
		for _, t := range types {
			out = append(out, g.same(t))
		}
		g.pool = outer
		return out
	}
	return g.Choose(cond, arm, arm)
}

// operation appends one instruction, or a few.
func (g *generator) operation() *kir.Value {
	switch g.rand.Intn(9) {
	case 0, 1:
		return g.arithmetic()
	case 2:
		x := g.pick(isComparable)
		return []func(x, y *kir.Value) *kir.Value{g.Eq, g.Ne, g.Lt, g.Le}[g.rand.Intn(4)](x, g.same(x.Type))
	case 3:
		x := g.pick(anyType)
		return g.Select(g.pick(func(t kir.Type) bool { return t.Kind == kir.Bool }), x, g.same(x.Type))
	case 4:
		return g.conversion()
	case 5:
		return g.recast()
	case 6:
		return g.lane()
	case 7:
		return g.bits()
	}
	at := g.And(g.pick(func(t kir.Type) bool { return t == kir.Scalar(kir.I32) }), g.Int(63))
	t := g.randomType()
	return g.Load(t, g.At(g.in, at, t.Bytes()))
}

func (g *generator) arithmetic() *kir.Value {
	x := g.pick(isNumeric)
	y := g.same(x.Type)
	fs := []func(x, y *kir.Value) *kir.Value{g.Add, g.Sub, g.Mul, g.Min, g.Max}
	if x.Type.Kind.Float() {
		fs = append(fs, g.Div, func(x, y *kir.Value) *kir.Value { return g.FMA(x, y, g.same(x.Type)) })
	} else if x.Type.Kind != kir.U64 {
		odd := func(y *kir.Value) *kir.Value { return g.Or(y, g.lanesOf(g.Bits(x.Type.Kind, 1), x.Type.Lanes)) }
		fs = append(fs, func(x, y *kir.Value) *kir.Value { return g.Div(x, odd(y)) }, func(x, y *kir.Value) *kir.Value { return g.Rem(x, odd(y)) })
	}
	if x.Type.Kind == kir.F32 {
		fs = append(fs, func(x, _ *kir.Value) *kir.Value { return g.Floor(x) }, func(x, _ *kir.Value) *kir.Value { return g.Round(x) })
	}
	return fs[g.rand.Intn(len(fs))](x, y)
}

func (g *generator) conversion() *kir.Value {
	x := g.pick(notBool)
	to := allKinds[g.rand.Intn(len(allKinds))]
	if to == x.Type.Kind {
		return nil
	}
	if isFloatKind(x.Type.Kind) && !isFloatKind(to) {
		x = g.clamped(x, to)
	}
	return g.Convert(x, to)
}

func (g *generator) recast() *kir.Value {
	x := g.pick(notBool)
	for range 10 {
		if t := g.randomType(); t.Bytes() == x.Type.Bytes() {
			return g.Bitcast(x, t)
		}
	}
	return nil
}

func (g *generator) lane() *kir.Value {
	x := g.pick(notBool)
	if x.Type.Lanes > 1 {
		return g.Extract(x, g.rand.Intn(x.Type.Lanes))
	}
	if g.rand.Intn(2) == 0 {
		return g.Vector(x, g.same(x.Type))
	}
	return g.Vector(x, g.same(x.Type), x, g.same(x.Type))
}

func (g *generator) bits() *kir.Value {
	x := g.pick(scalarInt)
	count := g.And(g.pick(func(t kir.Type) bool { return t == kir.Scalar(kir.U32) }), g.Uint(31))
	fs := []func(x, y *kir.Value) *kir.Value{g.And, g.Or, g.Xor}
	switch n := g.rand.Intn(5); n {
	case 0:
		return g.Shl(x, count)
	case 1:
		return g.Shr(x, count)
	default:
		return fs[n-2](x, g.same(x.Type))
	}
}

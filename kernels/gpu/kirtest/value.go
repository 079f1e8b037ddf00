package kirtest

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// value returns a value of type t: one that there is, a new leaf, or an operation on values of a greater depth.
func (g *generator) value(t kir.Type, depth int) *kir.Value {
	if g.r.IntN(3) == 0 {
		if v := g.visible(t); v != nil {
			return v
		}
	}
	if depth >= 3 || g.r.IntN(4) == 0 {
		return g.leaf(t)
	}
	return g.operation(t, depth+1)
}

// visible returns a random value of type t from the pool, or nil.
func (g *generator) visible(t kir.Type) *kir.Value {
	var found []*kir.Value
	for _, v := range g.pool {
		if v.Type == t {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[g.r.IntN(len(found))]
}

// leaf returns a constant or what it loads from In.
func (g *generator) leaf(t kir.Type) *kir.Value {
	if t.Kind == kir.Bool || g.r.IntN(3) == 0 {
		return g.splatBits(t, func() uint64 { return scalarBits(g.r, t.Kind) })
	}
	base := g.Add(g.in, g.Bits(kir.U64, uint64(regionOf(t.Kind))))
	index := g.visible(kir.Scalar(kir.I32))
	if g.nested == 0 && index == g.n && g.r.IntN(2) == 0 {
		return g.LoadUniform(t, base)
	}
	at := g.At(base, g.And(index, g.Int(elements/t.Lanes-1)), t.Bytes())
	if g.r.IntN(3) == 0 {
		return g.LoadUniform(t, at)
	}
	return g.Load(t, at)
}

// splatBits returns a constant; each lane has the bits that one call returns.
func (g *generator) splatBits(t kir.Type, bits func() uint64) *kir.Value {
	if t.Lanes == 1 {
		return g.Bits(t.Kind, bits())
	}
	var lanes []*kir.Value
	for range t.Lanes {
		lanes = append(lanes, g.Bits(t.Kind, bits()))
	}
	return g.Vector(lanes...)
}

// splat returns a constant with equal lanes.
func (g *generator) splat(t kir.Type, bits uint64) *kir.Value {
	return g.splatBits(t, func() uint64 { return bits })
}

func (g *generator) splatFloat(t kir.Type, x float32) *kir.Value {
	return g.splat(t, uint64(math.Float32bits(x)))
}

// operation returns the result of a random operation.
func (g *generator) operation(t kir.Type, depth int) *kir.Value {
	sub := func() *kir.Value { return g.value(t, depth) }
	switch n := g.r.IntN(8); {
	case n == 0:
		return g.Select(g.value(kir.Scalar(kir.Bool), depth), sub(), sub())
	case t.Kind == kir.Bool:
		return g.logic(depth)
	case n == 1 && t.Lanes > 1:
		return g.vector(t, depth)
	case n == 1:
		lanes := 2 + 2*g.r.IntN(2)
		return g.Extract(g.value(kir.Vector(t.Kind, lanes), depth), g.r.IntN(lanes))
	case n == 2:
		return g.cast(t, depth)
	case n == 3 || !t.Kind.Int() && !t.Kind.Float():
		return g.conversion(t, depth)
	case t.Kind.Int():
		return g.integer(t, depth)
	case t.Kind == kir.F16:
		return g.half(t, depth)
	}
	return g.float(t, depth)
}

func (g *generator) vector(t kir.Type, depth int) *kir.Value {
	var lanes []*kir.Value
	for range t.Lanes {
		lanes = append(lanes, g.value(kir.Scalar(t.Kind), depth))
	}
	return g.Vector(lanes...)
}

func (g *generator) logic(depth int) *kir.Value {
	b := func() *kir.Value { return g.value(kir.Scalar(kir.Bool), depth) }
	t := kir.Scalar([]kir.Kind{kir.I32, kir.U32, kir.U64, kir.F32}[g.r.IntN(4)])
	x := func() *kir.Value { return g.value(t, depth) }
	return one(g.r,
		func() *kir.Value { return g.And(b(), b()) },
		func() *kir.Value { return g.Or(b(), b()) },
		func() *kir.Value { return g.Xor(b(), b()) },
		func() *kir.Value { return g.Not(b()) },
		func() *kir.Value { return g.Eq(x(), x()) },
		func() *kir.Value { return g.Ne(x(), x()) },
		func() *kir.Value { return g.Lt(x(), x()) },
		func() *kir.Value { return g.Le(x(), x()) })
}

// integer returns an operation of i32, u32 or u64.
func (g *generator) integer(t kir.Type, depth int) *kir.Value {
	x := func() *kir.Value { return g.value(t, depth) }
	count := func() *kir.Value {
		return g.splatBits(kir.Type{Kind: kir.U32, Lanes: t.Lanes}, func() uint64 { return g.r.Uint64N(uint64(8 * t.Kind.Bytes())) })
	}
	choices := []func() *kir.Value{
		func() *kir.Value { return g.Add(x(), x()) },
		func() *kir.Value { return g.Sub(x(), x()) },
		func() *kir.Value { return g.Mul(x(), x()) },
		func() *kir.Value { return g.Min(x(), x()) },
		func() *kir.Value { return g.Max(x(), x()) },
		func() *kir.Value { return g.And(x(), x()) },
		func() *kir.Value { return g.Or(x(), x()) },
		func() *kir.Value { return g.Xor(x(), x()) },
		func() *kir.Value { return g.Shl(x(), count()) },
		func() *kir.Value { return g.Shr(x(), count()) },
	}
	if t.Kind != kir.U64 {
		divisor := func() *kir.Value { return g.Add(g.And(x(), g.splat(t, 0xff)), g.splat(t, 1)) }
		choices = append(choices,
			func() *kir.Value { return g.Div(x(), divisor()) },
			func() *kir.Value { return g.Rem(x(), divisor()) })
	}
	if t.Kind == kir.I32 {
		choices = append(choices, func() *kir.Value { return g.Neg(x()) })
	}
	if t == kir.Scalar(kir.I32) && g.o.Caps&kir.CapDot4 != 0 {
		bytes := func() *kir.Value { return g.value(kir.Scalar(kir.U32), depth) }
		choices = append(choices, func() *kir.Value { return g.Dot4(bytes(), bytes(), x()) })
	}
	return one(g.r, choices...)
}

// float returns an operation of f32. Its exact ones stay far from denormals, which devices may flush, and round only
// where all devices round equally.
func (g *generator) float(t kir.Type, depth int) *kir.Value {
	x := func() *kir.Value { return g.value(t, depth) }
	whole := func() *kir.Value { return g.clamp(g.Floor(x()), -512, 512) }
	choices := []func() *kir.Value{
		func() *kir.Value { return g.Add(x(), x()) },
		func() *kir.Value { return g.Sub(x(), x()) },
		func() *kir.Value { return g.clamp(g.Floor(g.Mul(x(), x())), -4096, 4096) },
		func() *kir.Value { return g.Mul(x(), g.splatFloat(t, 0.5+g.r.Float32())) },
		func() *kir.Value { return g.Min(x(), x()) },
		func() *kir.Value { return g.Max(x(), x()) },
		func() *kir.Value { return g.Neg(x()) },
		func() *kir.Value { return g.Floor(x()) },
		func() *kir.Value { return g.Round(x()) },
		func() *kir.Value { return g.FMA(whole(), whole(), x()) }, // the product is exact
	}
	if g.o.Inexact {
		choices = append(choices, func() *kir.Value { return g.inexact(t, depth) })
	}
	return one(g.r, choices...)
}

func (g *generator) inexact(t kir.Type, depth int) *kir.Value {
	x := func() *kir.Value { return g.value(t, depth) }
	return one(g.r,
		func() *kir.Value { return g.Div(x(), x()) },
		func() *kir.Value { return g.FMA(x(), x(), x()) },
		func() *kir.Value { return g.Exp(x()) },
		func() *kir.Value { return g.Log(x()) },
		func() *kir.Value { return g.Sqrt(x()) },
		func() *kir.Value { return g.Sin(x()) },
		func() *kir.Value { return g.Cos(x()) },
		func() *kir.Value { return g.Tanh(x()) })
}

// half returns an operation of f16, or a conversion if there is no arithmetic on them.
func (g *generator) half(t kir.Type, depth int) *kir.Value {
	if g.o.Caps&kir.CapF16 == 0 {
		return g.conversion(t, depth)
	}
	x := func() *kir.Value { return g.value(t, depth) }
	small := func() *kir.Value {
		f := g.value(kir.Type{Kind: kir.F32, Lanes: t.Lanes}, depth)
		return g.Convert(g.clamp(g.Floor(f), -8, 8), kir.F16)
	}
	return one(g.r,
		func() *kir.Value { return g.Add(x(), x()) },
		func() *kir.Value { return g.Sub(x(), x()) },
		func() *kir.Value { return g.Mul(small(), small()) },
		func() *kir.Value { return g.FMA(small(), small(), x()) },
		func() *kir.Value { return g.Min(x(), x()) },
		func() *kir.Value { return g.Max(x(), x()) },
		func() *kir.Value { return g.Neg(x()) })
}

// clamp returns f32 numbers between low and high; NaN becomes one of them.
func (g *generator) clamp(x *kir.Value, low, high float32) *kir.Value {
	return g.Min(g.Max(x, g.splatFloat(x.Type, low)), g.splatFloat(x.Type, high))
}

// conversion returns numbers of another kind as a t. Floats fit in the integers that they become.
func (g *generator) conversion(t kir.Type, depth int) *kir.Value {
	from := inKinds[g.r.IntN(len(inKinds))]
	for from == t.Kind {
		from = inKinds[g.r.IntN(len(inKinds))]
	}
	if !isFloat(from) || isFloat(t.Kind) {
		x := g.value(kir.Type{Kind: from, Lanes: t.Lanes}, depth)
		return g.Convert(g.fit(x, t.Kind), t.Kind)
	}
	x := g.clamp(g.value(kir.Type{Kind: kir.F32, Lanes: t.Lanes}, depth), -100, 100)
	if t.Kind != kir.I8 && t.Kind != kir.I32 {
		x = g.clamp(x, 0, 200)
	}
	if from != kir.F32 {
		x = g.Convert(x, from)
	}
	return g.Convert(x, t.Kind)
}

// fit returns integers such that their conversion to kind has one possible result: no signs are lost, and a bf16 is
// rounded once.
func (g *generator) fit(x *kir.Value, to kir.Kind) *kir.Value {
	switch {
	case to == kir.BF16 && x.Type.Kind.Int():
		return g.And(x, g.splat(x.Type, 0xffff))
	case to == kir.U64 && x.Type.Kind == kir.I32:
		return g.And(x, g.splat(x.Type, math.MaxInt32))
	case to == kir.U64 && x.Type.Kind == kir.I8:
		return g.Convert(x, kir.U8)
	}
	return x
}

// cast returns the bits of another type as a t, or a conversion if there is no type whose bits may be used. Only
// inexact kernels use the bits of floats: those of NaN and of zeros are not the same everywhere.
func (g *generator) cast(t kir.Type, depth int) *kir.Value {
	var from []kir.Type
	for _, k := range inKinds {
		for _, lanes := range []int{1, 2, 4} {
			if f := (kir.Type{Kind: k, Lanes: lanes}); f.Bytes() == t.Bytes() && f != t && (g.o.Inexact || !isFloat(k) && !isFloat(t.Kind)) {
				from = append(from, f)
			}
		}
	}
	if len(from) == 0 {
		return g.conversion(t, depth)
	}
	return g.Bitcast(g.value(from[g.r.IntN(len(from))], depth), t)
}

func isFloat(k kir.Kind) bool { return slices.Contains([]kir.Kind{kir.F32, kir.F16, kir.BF16}, k) }

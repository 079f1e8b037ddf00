package ptx

import (
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// A sample is a kernel of the corpus. Its arguments are in, out: addresses of 4 KiB each, and two numbers.
type sample struct {
	name    string
	threads int
	meets   bool   // threads meet, so that the reference does not run it
	inexact bool   // results of functions differ
	since   Target // the lowest target that has its instructions
	build   func(c *corpusBuilder)
}

// corpusBuilder writes results of each thread one after the other.
type corpusBuilder struct {
	*kir.Builder
	in, out *kir.Value
	n, u    *kir.Value
	thread  *kir.Value
	row     *kir.Value // number of the thread among those of all workgroups
	written int
}

const corpusBytes = 1 << 17

// input loads a value of the type, another one in each thread.
func (c *corpusBuilder) input(t kir.Type, which int) *kir.Value {
	at := c.Add(c.in, c.Offset(c.thread, t.Bytes()))
	at = c.Add(at, c.Bits(kir.U64, uint64(which*64*t.Bytes())))
	return c.Load(t, at)
}

// result stores a value. Thread t of all has the bytes from 1024 t on.
func (c *corpusBuilder) result(v *kir.Value) {
	if v.Type.Kind == kir.Bool {
		v = c.Select(v, c.Int(1), c.Int(0))
	}
	n := v.Type.Bytes()
	c.written = (c.written + n - 1) / n * n
	if c.written+n > 1024 {
		c.written = 0
	}
	at := c.Add(c.Add(c.out, c.Offset(c.row, 1024)), c.Bits(kir.U64, uint64(c.written)))
	c.Store(at, v)
	c.written += n
}

func (s sample) kernel(t testing.TB) *kir.Kernel {
	t.Helper()
	threads := s.threads
	if threads == 0 {
		threads = 8
	}
	c := &corpusBuilder{Builder: kir.NewBuilder("sample_"+s.name, threads)}
	c.in, c.out, c.n, c.u = c.Arg("in", kir.U64), c.Arg("out", kir.U64), c.Arg("n", kir.I32), c.Arg("u", kir.U32)
	c.thread = c.Thread()
	c.row = c.Add(c.Mul(c.Group(), c.Int(threads)), c.thread)
	s.build(c)
	k, err := c.Kernel()
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return k
}

var allKinds = []kir.Kind{kir.I8, kir.U8, kir.U16, kir.BF16, kir.F16, kir.I32, kir.U32, kir.F32, kir.U64}

// corpus returns kernels that have every operation on every kind.
func corpus() []sample {
	list := []sample{
		{name: "special", build: special}, {name: "loops", build: loops}, {name: "branches", build: branches},
		{name: "booleans", build: booleans}, {name: "functions", build: functions, inexact: true},
		{name: "lanes", threads: 64, build: lanesSample}, {name: "dot", build: dot},
		{name: "subgroup", threads: 64, meets: true, build: subgroup}, {name: "shared", threads: 64, meets: true, build: sharedSample},
		{name: "atomic", meets: true, build: atomic},
		{name: "async", threads: 64, meets: true, since: SM80, build: asyncSample},
		{name: "tile", threads: 64, meets: true, since: SM80, build: tileSample},
		{name: "slab", threads: 128, meets: true, since: SM90a, build: slabSample},
	}
	for _, lanes := range []int{1, 2, 4} {
		for _, k := range allKinds {
			t := kir.Vector(k, lanes)
			if k.Float() || k.Int() {
				list = append(list, sample{name: "arithmetic_" + t.String(), build: func(c *corpusBuilder) { arithmeticSample(c, t) }})
			}
			list = append(list, sample{name: "convert_" + t.String(), build: func(c *corpusBuilder) { convertSample(c, t) }},
				sample{name: "bits_" + t.String(), build: func(c *corpusBuilder) { bitsSample(c, t) }},
				sample{name: "memory_" + t.String(), threads: 4, meets: true, build: func(c *corpusBuilder) { memorySample(c, t) }})
		}
	}
	return list
}

func special(c *corpusBuilder) {
	for _, v := range []*kir.Value{c.Thread(), c.Group(), c.NumGroups(), c.n, c.u} {
		c.result(v)
	}
	for _, k := range allKinds {
		c.result(c.Bits(k, 0xfedcba9876543210>>(64-8*k.Bytes())))
	}
	far := c.Offset(c.u, 1)
	far.Def.Imm = 1 << 33 // too large for an int of 32 bits
	c.result(far)
	c.result(c.Bits(kir.Bool, 1))
}

func lanesSample(c *corpusBuilder) {
	c.result(c.Lane())
	c.result(c.Subgroup())
	c.result(c.Lanes())
}

func dot(c *corpusBuilder) {
	x, y := c.input(kir.Scalar(kir.U32), 0), c.input(kir.Scalar(kir.U32), 1)
	c.result(c.Dot4(x, y, c.input(kir.Scalar(kir.I32), 2)))
}

// loops swaps carried values, has a loop in a loop, and some that never run.
func loops(c *corpusBuilder) {
	one := c.Int(1)
	x, y, z := c.input(kir.Scalar(kir.I32), 0), c.input(kir.Scalar(kir.I32), 1), c.input(kir.Scalar(kir.I32), 2)
	for _, v := range c.For(c.Int(0), c.Int(7), c.Int(2), []*kir.Value{x, y, z}, func(i *kir.Value, s []*kir.Value) []*kir.Value {
		return []*kir.Value{s[1], s[2], s[0]}
	}) {
		c.result(v)
	}
	for _, v := range c.For(c.Int(-3), c.thread, one, []*kir.Value{x, y, x}, func(i *kir.Value, s []*kir.Value) []*kir.Value {
		return []*kir.Value{s[1], i, s[0]}
	}) {
		c.result(v)
	}
	sums := c.For(c.Int(0), c.Int(5), one, []*kir.Value{x, c.Bits(kir.Bool, 0)}, func(i *kir.Value, s []*kir.Value) []*kir.Value {
		inner := c.For(i, c.Int(4), one, s[:1], func(j *kir.Value, t []*kir.Value) []*kir.Value {
			return []*kir.Value{c.Add(c.Mul(t[0], c.Int(3)), j)}
		})
		return []*kir.Value{c.Sub(inner[0], s[0]), c.Not(s[1])}
	})
	c.result(sums[0])
	c.result(sums[1])
	vec := c.input(kir.Vector(kir.F32, 4), 0)
	turned := c.For(c.Int(0), c.Int(3), one, []*kir.Value{vec}, func(i *kir.Value, s []*kir.Value) []*kir.Value {
		return []*kir.Value{c.Vector(c.Extract(s[0], 3), c.Extract(s[0], 0), c.Extract(s[0], 1), c.Extract(s[0], 2))}
	})
	c.result(turned[0])
	c.result(c.For(c.Int(4), c.Int(4), one, []*kir.Value{y}, func(i *kir.Value, s []*kir.Value) []*kir.Value {
		return []*kir.Value{c.Add(s[0], one)}
	})[0])
	c.For(c.Int(0), c.Int(2), one, nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value { c.result(i); return nil })
}

func branches(c *corpusBuilder) {
	x, y := c.input(kir.Scalar(kir.F32), 0), c.input(kir.Scalar(kir.F32), 1)
	odd := c.Eq(c.Rem(c.thread, c.Int(2)), c.Int(1))
	pair := c.Choose(odd, func() []*kir.Value { return []*kir.Value{y, x} }, func() []*kir.Value { return []*kir.Value{x, c.Neg(y)} })
	c.result(pair[0])
	c.result(pair[1])
	c.If(odd, func() { c.result(c.Int(77)) })
	c.If(c.Lt(c.thread, c.Int(4)), func() {
		inner := c.Choose(odd, func() []*kir.Value { return []*kir.Value{odd} }, func() []*kir.Value { return []*kir.Value{c.Lt(x, y)} })
		c.result(inner[0])
	})
}

func booleans(c *corpusBuilder) {
	for _, k := range []kir.Kind{kir.I32, kir.U32, kir.U64, kir.F32} {
		x, y := c.input(kir.Scalar(k), 0), c.input(kir.Scalar(k), 1)
		p, q, r, s := c.Eq(x, y), c.Ne(x, y), c.Lt(x, y), c.Le(x, x)
		for _, v := range []*kir.Value{p, q, r, s, c.And(p, q), c.Or(q, r), c.Xor(r, s), c.Not(r), c.Select(p, q, r), c.Select(q, r, p)} {
			c.result(v)
		}
	}
	nan, x := c.Float(float32(math.NaN())), c.input(kir.Scalar(kir.F32), 0)
	for _, f := range []func(x, y *kir.Value) *kir.Value{c.Eq, c.Ne, c.Lt, c.Le} {
		c.result(f(x, nan))
	}
}

func functions(c *corpusBuilder) {
	x := c.input(kir.Scalar(kir.F32), 0)
	for _, f := range []func(*kir.Value) *kir.Value{c.Exp, c.Log, c.Sin, c.Cos, c.Tanh} {
		c.result(f(x))
	}
}

func subgroup(c *corpusBuilder) {
	for _, k := range []kir.Kind{kir.I32, kir.U32, kir.F32} {
		x := c.input(kir.Scalar(k), 0)
		for _, v := range []*kir.Value{c.ReduceAdd(x), c.ReduceMax(x), c.ShuffleXor(x, 1), c.ShuffleXor(x, 2), c.ShuffleXor(x, 3)} {
			c.result(v)
		}
	}
}

// sharedSample reverses the threads' numbers twice, with a barrier between.
func sharedSample(c *corpusBuilder) {
	a, b := c.NewShared("a", kir.Scalar(kir.F32), 64), c.NewShared("b", kir.Vector(kir.I8, 2), 64)
	x, y := c.input(kir.Scalar(kir.F32), 0), c.input(kir.Vector(kir.I8, 2), 0)
	other := c.Sub(c.Int(63), c.thread)
	c.SharedStore(a, c.thread, x)
	c.SharedStore(b, other, y)
	c.Barrier()
	c.result(c.SharedLoad(a, other))
	c.result(c.SharedLoad(b, c.thread))
	c.Barrier()
}

// targets returns the targets that have the sample's instructions.
func (s sample) targets() []Target { return Targets()[s.since:] }

// asyncSample copies in two groups and stores what other threads copied.
func asyncSample(c *corpusBuilder) {
	a, b := c.NewShared("a", kir.Scalar(kir.U8), 256), c.NewShared("b", kir.Vector(kir.F32, 4), 64)
	d := c.NewShared("d", kir.Scalar(kir.U32), 128)
	other := c.Sub(c.Int(63), c.thread)
	c.CopyAsync(a, c.Mul(c.thread, c.Int(4)), c.At(c.in, c.thread, 4), 4)
	c.CopyAsync(d, c.Mul(c.thread, c.Int(2)), c.At(c.in, c.thread, 8), 8)
	c.CopyCommit()
	c.CopyAsync(b, c.thread, c.At(c.in, c.thread, 16), 16)
	c.CopyCommit()
	c.CopyWait(1)
	c.Barrier()
	c.result(c.SharedLoad(d, c.Add(c.Mul(other, c.Int(2)), c.Int(1))))
	c.result(c.SharedLoad(a, c.Add(c.Mul(other, c.Int(4)), c.Int(3))))
	c.CopyWait(0)
	c.Barrier()
	c.result(c.SharedLoad(b, other))
}

// tileSample has the operations on tiles of both kinds.
func tileSample(c *corpusBuilder) {
	sums := c.NewShared("sums", kir.Vector(kir.F32, 2), 256)
	for _, k := range []kir.Kind{kir.F16, kir.BF16} {
		s := c.NewShared("halves_"+k.String(), kir.Vector(k, 4), 64)
		c.SharedStore(s, c.thread, c.input(kir.Vector(k, 4), 0))
		c.Barrier()
		a, b := c.TileLoad(kir.Tile(k, kir.TileA), c.in, 24), c.TileLoad(kir.Tile(k, kir.TileB), c.in, 32)
		sum := c.TileMulAdd(a, c.TileSharedLoad(kir.Tile(k, kir.TileB), s, c.Int(0), 4), c.TileFill(c.Float(1)))
		sum = c.For(c.Int(0), c.Int(2), c.Int(1), []*kir.Value{sum, a}, func(_ *kir.Value, v []*kir.Value) []*kir.Value {
			return []*kir.Value{c.TileMulAdd(v[1], b, v[0]), c.TileTurned(kir.Tile(k, kir.TileA), s, c.Int(0), 4)}
		})[0]
		c.If(c.Eq(c.Subgroup(), c.Int(1)), func() { c.TileSharedStore(sums, c.Int(0), sum, 16) })
		c.Barrier()
		c.result(c.SharedLoad(sums, c.thread))
		loaded := c.TileSharedLoad(kir.Tile(kir.F32, kir.TileSum), sums, c.Int(0), 16)
		c.Barrier()
		c.If(c.Eq(c.Subgroup(), c.Int(0)), func() { c.TileSharedStore(sums, c.Int(2), loaded, 12) })
		c.Barrier()
	}
}

func slabSample(c *corpusBuilder) {
	sums := c.NewShared("sums", kir.Scalar(kir.F32), 1024)
	for _, k := range []kir.Kind{kir.F16, kir.BF16} {
		s := c.NewShared("halves_"+k.String(), kir.Vector(k, 4), 512)
		for n := range 4 {
			c.SharedStore(s, c.Add(c.thread, c.Int(128*n)), c.input(kir.Vector(k, 4), n))
		}
		c.SlabPublish()
		c.Barrier()
		slab := c.SlabFill(48, c.Float(1))
		c.SlabFence()
		slab = c.For(c.Int(0), c.Int(2), c.Int(1), []*kir.Value{slab}, func(_ *kir.Value, v []*kir.Value) []*kir.Value {
			return []*kir.Value{c.SlabMulAdd(s, c.Int(0), c.Int(256), v[0], 16, 32)}
		})[0]
		c.SlabCommit()
		c.SlabWait(0)
		c.TileSharedStore(sums, c.Mul(c.Subgroup(), c.Int(256)), c.SlabTile(slab, 2), 16)
		c.Barrier()
		c.result(c.SharedLoad(sums, c.thread))
		c.Barrier()
	}
}

func atomic(c *corpusBuilder) {
	before := c.AtomicAdd(c.out, c.Uint(3))
	at := c.Add(c.out, c.Bits(kir.U64, 64))
	c.Store(c.Add(at, c.Offset(before, 4)), c.Convert(c.thread, kir.U32))
}

func arithmeticSample(c *corpusBuilder, t kir.Type) {
	x, y, z := c.input(t, 0), c.input(t, 1), c.input(t, 2)
	for _, f := range []func(x, y *kir.Value) *kir.Value{c.Add, c.Sub, c.Mul, c.Min, c.Max} {
		c.result(f(x, y))
	}
	c.result(c.Select(c.Lt(c.thread, c.n), x, y))
	if t.Kind.Float() {
		c.result(c.Div(x, y))
		c.result(c.FMA(x, y, z))
		c.result(c.Neg(x))
		if t.Kind == kir.F32 {
			c.result(c.Sqrt(x))
			c.result(c.Floor(x))
			c.result(c.Round(x))
		}
		return
	}
	for _, f := range []func(x, y *kir.Value) *kir.Value{c.And, c.Or, c.Xor} {
		c.result(f(x, y))
	}
	count := c.lanesOf(c.And(c.Convert(c.thread, kir.U32), c.Uint(7)), t.Lanes)
	c.result(c.Shl(x, count))
	c.result(c.Shr(x, count))
	if t.Kind == kir.U64 {
		return
	}
	odd := c.Or(y, c.lanesOf(c.Bits(t.Kind, 1), t.Lanes))
	c.result(c.Div(x, odd))
	c.result(c.Rem(x, odd))
	if t.Kind == kir.I32 {
		c.result(c.Neg(x))
	}
}

// lanesOf returns a vector with n times the scalar.
func (c *corpusBuilder) lanesOf(x *kir.Value, n int) *kir.Value {
	switch n {
	case 2:
		return c.Vector(x, x)
	case 4:
		return c.Vector(x, x, x, x)
	}
	return x
}

// convertSample converts numbers to all other kinds, of floats to integers such that fit.
func convertSample(c *corpusBuilder, t kir.Type) {
	for which := range 2 {
		x := c.input(t, which)
		for _, to := range allKinds {
			if to == t.Kind {
				continue
			}
			y := x
			if isFloatKind(t.Kind) && !isFloatKind(to) {
				y = c.clamped(x, to)
			}
			z := c.Convert(y, to)
			c.result(z)
			if to.Bytes() == 1 {
				c.result(c.Convert(z, kir.I32))
			}
		}
	}
}

// clamped returns the floats x, limited to numbers that fit an integer kind.
func (c *corpusBuilder) clamped(x *kir.Value, to kir.Kind) *kir.Value {
	low, high := float32(0), map[kir.Kind]float32{kir.I8: 127, kir.U8: 255, kir.U16: 65535, kir.I32: 0x1p30, kir.U32: 0x1p31, kir.U64: 0x1p63}[to]
	if to == kir.I8 || to == kir.I32 {
		low = -high
	}
	wide := x
	if x.Type.Kind != kir.F32 {
		wide = c.Convert(x, kir.F32)
	}
	y := c.Max(c.Min(wide, c.lanesOf(c.Float(high), x.Type.Lanes)), c.lanesOf(c.Float(low), x.Type.Lanes))
	if x.Type.Kind == kir.F32 {
		return y
	}
	if x.Type.Kind == kir.F16 && high > 65504 {
		const greatest = 65504 // of f16
		y = c.Max(c.Min(y, c.lanesOf(c.Float(greatest), x.Type.Lanes)), c.lanesOf(c.Float(-greatest), x.Type.Lanes))
	}
	if x.Type.Kind == kir.BF16 && to == kir.U8 {
		y = c.Min(y, c.lanesOf(c.Float(254), x.Type.Lanes))
	}
	if x.Type.Kind == kir.BF16 && to == kir.U16 {
		y = c.Min(y, c.lanesOf(c.Float(0xff00), x.Type.Lanes))
	}
	return c.Convert(y, x.Type.Kind)
}

// bitsSample casts to every other type of the size.
func bitsSample(c *corpusBuilder, t kir.Type) {
	x := c.input(t, 0)
	for _, to := range allKinds {
		for _, lanes := range []int{1, 2, 4} {
			if to := kir.Vector(to, lanes); to.Bytes() == t.Bytes() {
				c.result(c.Bitcast(x, to))
			}
		}
	}
	for l := range t.Lanes {
		if t.Lanes > 1 {
			c.result(c.Extract(x, l))
		}
	}
}

// memorySample loads in both ways, and goes through shared memory.
func memorySample(c *corpusBuilder, t kir.Type) {
	s := c.NewShared("s", t, 4)
	x := c.input(t, 0)
	c.SharedStore(s, c.thread, x)
	c.Barrier()
	c.result(c.SharedLoad(s, c.Sub(c.Int(3), c.thread)))
	c.result(c.LoadUniform(t, c.in))
}

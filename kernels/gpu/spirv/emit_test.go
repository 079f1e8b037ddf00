package spirv

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// builder builds kernels for workgroups of 64 threads with arguments x and y (u64), n (i32) and m (u32).
type builder struct {
	*kir.Builder
	x, y, n, m *kir.Value
	stores     int
}

func newBuilder(name string) *builder {
	b := &builder{Builder: kir.NewBuilder(name, 64)}
	b.x, b.y, b.n, b.m = b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("n", kir.I32), b.Arg("m", kir.U32)
	return b
}

// keep stores a value where no other one is.
func (b *builder) keep(v *kir.Value) {
	if v.Type.Kind == kir.Bool {
		v = b.Select(v, b.Int(1), b.Int(0))
	}
	b.stores++
	b.Store(b.Add(b.y, b.Bits(kir.U64, uint64(64*b.stores))), v)
}

// read returns a t from memory.
func (b *builder) read(t kir.Type) *kir.Value { return b.Load(t, b.At(b.x, b.Thread(), t.Bytes())) }

func (b *builder) kernel(t testing.TB) *kir.Kernel {
	t.Helper()
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var memoryKinds = []kir.Kind{kir.I8, kir.U8, kir.U16, kir.BF16, kir.F16, kir.I32, kir.U32, kir.F32, kir.U64}

// samples are functions that fill kernels; together they have every operation on every kind.
var samples = []struct {
	name string
	fill func(b *builder)
}{
	{"memory", func(b *builder) {
		for _, t := range types(memoryKinds...) {
			b.keep(b.read(t))
			b.keep(b.LoadUniform(t, b.x))
		}
		b.keep(b.AtomicAdd(b.x, b.m))
	}},
	{"arguments", func(b *builder) {
		for range 16 {
			b.keep(b.Arg("a", kir.U64))
			b.keep(b.Arg("b", kir.I32))
		}
	}},
	{"shared", func(b *builder) {
		for _, t := range types(memoryKinds...) {
			s := b.NewShared("s_"+t.String(), t, 3)
			b.SharedStore(s, b.Int(1), b.read(t))
			b.Barrier()
			b.keep(b.SharedLoad(s, b.n))
		}
	}},
	{"words", func(b *builder) {
		s := b.NewShared("s", kir.Vector(kir.F32, 4), 64)
		b.SharedStore(s, b.Thread(), b.read(s.Elem))
		b.Barrier()
		b.keep(b.SharedLoad(s, b.Xor(b.Thread(), b.Int(1))))
	}},
	{"threads", func(b *builder) {
		for _, v := range []*kir.Value{b.Thread(), b.Group(), b.NumGroups(), b.Thread()} {
			b.keep(v)
		}
	}},
	{"subgroup", func(b *builder) {
		for _, v := range []*kir.Value{b.Lane(), b.Subgroup(), b.Lanes()} {
			b.keep(v)
		}
		for _, t := range types(kir.I32, kir.U32, kir.F32) {
			if v := b.read(t); t.Lanes == 1 {
				b.keep(b.ReduceAdd(v))
				b.keep(b.ReduceMax(v))
				b.keep(b.ShuffleXor(v, 1))
			}
		}
	}},
	{"numbers", func(b *builder) { b.numbers(kir.I32, kir.U32, kir.U64, kir.F32) }},
	{"halves", func(b *builder) {
		b.numbers(kir.F16)
		b.conversions()
		b.casts()
		b.keep(b.Vector(b.Bits(kir.F16, 0x3c00), b.Extract(b.read(kir.Vector(kir.F16, 4)), 3)))
		s := b.NewShared("s", kir.Scalar(kir.F16), 3)
		b.SharedStore(s, b.n, b.read(s.Elem))
	}},
	{"bits", func(b *builder) {
		for _, t := range types(kir.I32, kir.U32, kir.U64) {
			x, count := b.read(t), b.read(kir.Vector(kir.U32, t.Lanes))
			b.keep(b.And(x, x))
			b.keep(b.Or(x, x))
			b.keep(b.Xor(x, x))
			b.keep(b.Shl(x, count))
			b.keep(b.Shr(x, count))
		}
		p, q := b.Lt(b.n, b.Int(3)), b.Bits(kir.Bool, 1)
		b.keep(b.And(p, b.Or(q, b.Xor(p, b.Not(b.Bits(kir.Bool, 0))))))
	}},
	{"comparisons", func(b *builder) {
		for _, k := range []kir.Kind{kir.I32, kir.U32, kir.U64, kir.F32} {
			x, y := b.read(kir.Scalar(k)), b.read(kir.Scalar(k))
			for _, c := range []*kir.Value{b.Eq(x, y), b.Ne(x, y), b.Lt(x, y), b.Le(x, y)} {
				b.keep(c)
			}
		}
	}},
	{"select", func(b *builder) {
		for _, t := range types(memoryKinds...) {
			b.keep(b.Select(b.Lt(b.n, b.Int(3)), b.read(t), b.read(t)))
		}
	}},
	{"functions", func(b *builder) {
		for _, t := range types(kir.F32) {
			x := b.read(t)
			for _, f := range []func(*kir.Value) *kir.Value{b.Exp, b.Log, b.Sqrt, b.Sin, b.Cos, b.Tanh, b.Floor, b.Round} {
				b.keep(f(x))
			}
		}
	}},
	{"conversions", (*builder).conversions},
	{"casts", (*builder).casts},
	{"vectors", func(b *builder) {
		for _, t := range types(memoryKinds...) {
			if t.Lanes == 1 {
				continue
			}
			x := b.read(t)
			lanes := []*kir.Value{b.Bits(t.Kind, 1)}
			for n := range t.Lanes - 1 {
				lanes = append(lanes, b.Extract(x, n))
			}
			b.keep(b.Vector(lanes...))
			b.keep(b.Extract(x, t.Lanes-1))
		}
	}},
	{"dot4", func(b *builder) { b.keep(b.Dot4(b.m, b.Uint(0x01ff02fe), b.n)) }},
	{"loops", func(b *builder) {
		carried := []*kir.Value{b.Float(0), b.read(kir.Vector(kir.F16, 2)), b.n}
		r := b.For(b.Int(0), b.n, b.Int(2), carried, func(i *kir.Value, c []*kir.Value) []*kir.Value {
			sum := b.For(b.Int(0), i, b.Int(1), c[:1], func(j *kir.Value, d []*kir.Value) []*kir.Value {
				return []*kir.Value{b.Add(d[0], b.Load(kir.Scalar(kir.F32), b.At(b.x, j, 4)))}
			})
			b.Barrier()
			return []*kir.Value{sum[0], c[1], i}
		})
		for _, v := range r {
			b.keep(v)
		}
		b.For(b.Int(0), b.Int(3), b.Int(1), nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value { b.keep(i); return nil })
	}},
	{"branches", func(b *builder) {
		small := b.Lt(b.n, b.Int(3))
		r := b.Choose(small, func() []*kir.Value {
			b.If(b.Lt(b.Thread(), b.n), func() { b.keep(b.m) })
			return []*kir.Value{b.Float(1), small}
		}, func() []*kir.Value {
			in := b.Choose(b.Not(small), func() []*kir.Value { return []*kir.Value{b.read(kir.Scalar(kir.F32))} },
				func() []*kir.Value { return []*kir.Value{b.Float(3)} })
			return []*kir.Value{in[0], b.Bits(kir.Bool, 1)}
		})
		b.keep(r[0])
		b.keep(r[1])
	}},
}

// types returns the kinds with one, two and four lanes.
func types(kinds ...kir.Kind) []kir.Type {
	var out []kir.Type
	for _, k := range kinds {
		out = append(out, kir.Scalar(k), kir.Vector(k, 2), kir.Vector(k, 4))
	}
	return out
}

// numbers has the operations of arithmetic.
func (b *builder) numbers(kinds ...kir.Kind) {
	for _, t := range types(kinds...) {
		x, y := b.read(t), b.read(t)
		ops := []*kir.Value{b.Add(x, y), b.Sub(x, y), b.Mul(x, y), b.Min(x, y), b.Max(x, y)}
		if t.Kind != kir.U64 {
			ops = append(ops, b.Div(x, y))
		}
		if t.Kind == kir.I32 || t.Kind.Float() {
			ops = append(ops, b.Neg(x))
		}
		if t.Kind == kir.I32 || t.Kind == kir.U32 {
			ops = append(ops, b.Rem(x, y))
		}
		if t.Kind.Float() {
			ops = append(ops, b.FMA(x, y, x))
		}
		for _, v := range ops {
			b.keep(v)
		}
	}
}

func (b *builder) conversions() {
	for _, from := range types(memoryKinds...) {
		for _, to := range memoryKinds {
			if to != from.Kind {
				b.keep(b.Convert(b.read(from), to))
			}
		}
	}
}

func (b *builder) casts() {
	for _, from := range types(memoryKinds...) {
		for _, to := range types(memoryKinds...) {
			if from.Bytes() == to.Bytes() {
				b.keep(b.Bitcast(b.read(from), to))
			}
		}
	}
}

func sample(t testing.TB, name string, fill func(*builder)) *kir.Kernel {
	t.Helper()
	b := newBuilder(name)
	fill(b)
	return b.kernel(t)
}

func words32(t testing.TB, k *kir.Kernel) []uint32 {
	t.Helper()
	w, err := Emit(k)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// validate runs spirv-val.
func validate(t testing.TB, module []uint32) {
	t.Helper()
	tool := needtest.Tool(t, "spirv-val", "spirv-val")
	cmd := exec.Command(tool, "--target-env", "vulkan1.2", "-")
	cmd.Stdin = bytes.NewReader(Bytes(module))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, disassemble(t, module))
	}
}

// disassemble returns the text of spirv-dis without its head of comments.
func disassemble(t testing.TB, module []uint32) string {
	t.Helper()
	cmd := exec.Command(needtest.Tool(t, "spirv-val", "spirv-dis"), "--no-color", "--raw-id", "--no-header", "-")
	cmd.Stdin = bytes.NewReader(Bytes(module))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestModulesAreValid(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			k := sample(t, s.name, s.fill)
			validate(t, words32(t, k))
			named, err := EmitNamed(k)
			if err != nil {
				t.Fatal(err)
			}
			validate(t, named)
		})
	}
}

// TestSamplesHaveEveryOperation keeps the samples complete when kir grows.
func TestSamplesHaveEveryOperation(t *testing.T) {
	seen := make(map[kir.Op]bool)
	for _, s := range samples {
		sample(t, s.name, s.fill).Body.Walk(func(i *kir.Instr) { seen[i.Op] = true })
	}
	tiles := sample(t, "tiles", func(b *builder) { b.tiles(kir.F16) }) // not among the samples, because spirv-val does not know them
	tiles.Body.Walk(func(i *kir.Instr) { seen[i.Op] = true })
	for op := kir.OpInvalid + 1; !strings.HasPrefix(op.String(), "Op("); op++ {
		if !seen[op] && op.Caps(kir.Type{})&(kir.CapAsync|kir.CapSlab) == 0 { // these are refused
			t.Errorf("no sample has %v", op)
		}
	}
}

func TestEqualKernelsGiveEqualWords(t *testing.T) {
	for _, s := range samples {
		first := words32(t, sample(t, s.name, s.fill))
		for range 3 {
			if !slices.Equal(first, words32(t, sample(t, s.name, s.fill))) {
				t.Errorf("%s: the words differ", s.name)
			}
		}
	}
}

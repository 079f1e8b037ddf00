package kir

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// everything returns a kernel with each operation, each kind of constant and each form of control flow.
func everything(t testing.TB) *Kernel {
	t.Helper()
	b := NewBuilder("everything", SlabThreads)
	x, n, u := b.Arg("x", U64), b.Arg("n", I32), b.Arg("u", U32)
	buf := b.NewShared("part", Vector(F32, 2), 32)
	words := b.NewShared("words", Scalar(U32), 64)
	halves, sums := b.NewShared("halves", Vector(BF16, 2), 256), b.NewShared("sums", Scalar(F32), 256)
	for _, f := range []float64{0, math.Copysign(0, -1), 1.5, -3, 1 << 20, 1e-45, math.MaxFloat32, math.Inf(1), math.Inf(-1)} {
		b.Float(float32(f))
	}
	b.Bits(F32, 0x7fc00001)
	b.Bits(F32, 0xff800001)
	b.Bits(F16, 0x3c00)
	b.Bits(BF16, 0xffff)
	b.Bits(U64, math.MaxUint64)
	b.Bits(I8, 255)
	b.Bits(Bool, 1)
	b.Int(math.MinInt32)
	b.Uint(math.MaxUint32)
	f := b.Float(2)
	i := b.Add(b.Mul(b.Group(), b.Thread()), b.Sub(b.NumGroups(), b.Lane()))
	i = b.Rem(b.Div(i, b.Lanes()), b.Max(b.Subgroup(), b.Min(i, n)))
	f = b.FMA(f, b.Neg(f), b.Exp(b.Log(b.Sqrt(b.Sin(b.Cos(b.Tanh(b.Floor(b.Round(f)))))))))
	u = b.Shl(b.Xor(b.And(u, u), b.Or(u, u)), b.Shr(u, u))
	c := b.Not(b.And(b.Eq(i, n), b.Or(b.Ne(u, u), b.Xor(b.Lt(f, f), b.Le(i, n)))))
	f = b.Select(c, f, b.Convert(i, F32))
	v := b.Vector(f, f)
	b.Extract(v, 1)
	b.Vector(i, i, i, i)
	b.Bitcast(u, Vector(I8, 4))
	b.Dot4(u, b.Bitcast(f, Scalar(U32)), i)
	at := b.At(x, i, 8)
	b.Store(at, b.Load(Vector(F16, 4), at))
	b.LoadUniform(Scalar(U8), b.Add(x, b.Offset(u, 1)))
	b.AtomicAdd(x, u)
	b.SharedStore(buf, i, b.SharedLoad(buf, n))
	b.SharedStore(words, i, u)
	one := b.Int(1)
	tile := b.TileMulAdd(b.TileSharedLoad(Tile(BF16, TileA), halves, one, 8), b.TileTurned(Tile(BF16, TileB), halves, one, 16), b.TileFill(b.Float(1)))
	b.TileLoad(Tile(F16, TileB), x, 16)
	b.TileSharedStore(sums, one, b.TileMulAdd(b.TileLoad(Tile(F16, TileA), x, 24), b.TileLoad(Tile(F16, TileB), x, 16), tile), 16)
	b.CopyAsync(words, i, at, 8)
	b.CopyCommit()
	b.CopyWait(1)
	b.Barrier()
	b.ReduceAdd(b.ReduceMax(b.ShuffleXor(f, 3)))
	b.SlabPublish()
	b.SlabFence()
	slab := b.For(b.Int(0), n, b.Int(1), []*Value{b.SlabFill(64, b.Float(1))}, func(_ *Value, s []*Value) []*Value {
		return []*Value{b.SlabMulAdd(halves, one, b.Int(4), s[0], 32, 64)}
	})[0]
	b.SlabCommit()
	b.SlabWait(2)
	b.TileSharedStore(sums, one, b.SlabTile(slab, 3), 16)
	b.For(b.Int(0), n, b.Int(1), nil, func(*Value, []*Value) []*Value {
		b.If(c, func() { b.Store(x, u) })
		return nil
	})
	b.For(b.Int(0), n, b.Int(2), []*Value{f, u}, func(_ *Value, s []*Value) []*Value {
		r := b.Choose(c, func() []*Value { return []*Value{s[0], u} }, func() []*Value { return []*Value{f, s[1]} })
		return r
	})
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestPrintedKernelsAreParsed(t *testing.T) {
	for _, k := range []*Kernel{everything(t), scale(t)} {
		got, err := Parse(k.String())
		if err != nil {
			t.Errorf("%v in\n%s", err, k)
			continue
		}
		if !reflect.DeepEqual(got, k) {
			t.Errorf("parsed, the kernel differs:\n%s\nwas\n%s", got, k)
		}
		if err := Verify(got); err != nil {
			t.Error(err)
		}
	}
}

// TestEverythingHasAllOperations makes the test above complete.
func TestEverythingHasAllOperations(t *testing.T) {
	var has [numOps]bool
	everything(t).Body.Walk(func(i *Instr) { has[i.Op] = true })
	for o := OpInvalid + 1; o < numOps; o++ {
		if !has[o] {
			t.Errorf("no %v", o)
		}
	}
}

// TestPackageCommentIsParsed parses the example of the package comment.
func TestPackageCommentIsParsed(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(doc)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString(code)
		} else if text.Len() > 0 {
			break
		}
	}
	k, err := Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(k); err != nil {
		t.Error(err)
	}
	if got := k.String(); got != text.String() {
		t.Errorf("printed as\n%s", got)
	}
}

func TestParseReadsCommentsAndBlankLines(t *testing.T) {
	k, err := Parse("\n// a kernel\nkernel a threads=1 args=() { // begins\r\n\n  %x=const f32 0.5 // half\n\tbarrier\n\n}\n// end")
	if err != nil {
		t.Fatal(err)
	}
	if want := "kernel a threads=1 args=() {\n  %x = const f32 0x1p-01\n  barrier\n}\n"; k.String() != want {
		t.Errorf("got\n%s\nwant\n%s", k, want)
	}
}

func TestParseErrorsHavePositions(t *testing.T) {
	const head = "kernel a threads=1 args=(x: u64, n: i32) {\n"
	tests := []struct{ name, text, want string }{
		{"empty", "", `1:1: expected "kernel"`},
		{"threads", "kernel a threads=-1", "1:18: expected a number"},
		{"many threads", "kernel a threads=99999999999 args=() {\n}", "1:18: expected a number below 2^31"},
		{"argument", "kernel a threads=1 args=(x: f33) {\n}", `1:29: "f33" is no type`},
		{"argument twice", "kernel a threads=1 args=(x: u64, x: u64) {\n}", "1:34: %x is defined twice"},
		{"no end", head, "2:1: expected an operation"},
		{"more", head + "}\nkernel", "3:1: text after the end of the kernel"},
		{"operation", head + "  %a = ad %n, %n\n}", `2:8: "ad" is no operation`},
		{"undefined", head + "  %a = add %n, %b\n}", "2:16: %b is not defined"},
		{"name", head + "  % = add %n, %n\n}", "2:4: expected a value's name"},
		{"twice", head + "  %a = thread\n  %a = thread\n}", "3:3: %a is defined twice"},
		{"line", head + "  %a = thread %b = thread\n}", "2:15: %b is not defined"},
		{"rest", head + "  barrier x\n}", "2:11: text after the end of the instruction"},
		{"results", head + "  %a = barrier\n}", "2:8: barrier has 0 results, not 1"},
		{"no result", head + "  add %n, %n\n}", "2:3: add has 1 results, not 0"},
		{"no operand", head + "  %a = add\n}", "2:8: add has no operands"},
		{"constant", head + "  %a = const i32 2147483648\n}", `2:18: "2147483648" is no i32`},
		{"byte", head + "  %a = const u8 256\n}", `2:17: "256" is no u8`},
		{"nan", head + "  %a = const f32 nan:0x3f800000\n}", `"nan:0x3f800000" is no f32`},
		{"nan without bits", head + "  %a = const f32 nan\n}", `"nan" is no f32`},
		{"half", head + "  %a = const f16 1\n}", `"1" is no f16`},
		{"vector constant", head + "  %a = const f32x4 1\n}", "2:20: a constant is a scalar"},
		{"lanes", head + "  %a = load f32x3 %x\n}", `2:13: "f32x3" is no type`},
		{"vector", head + "  %a = vector %n, %n, %n\n}", "2:8: a vector has 2 or 4 lanes, not 3"},
		{"immediate", head + "  %a = offset %n {-4}\n}", "2:19: expected a number"},
		{"shared", head + "  %a = shared_load s %n\n}", `2:20: the kernel has no shared array "s"`},
		{"shared twice", head + "  shared s: f32[4]\n  shared s: f32[4]\n}", "3:10: s is declared twice"},
		{"for", head + "  for %i = %n to %n {\n  }\n}", `2:21: expected "step"`},
		{"index", head + "  for %n = %n to %n step %n {\n  }\n}", "2:7: %n is defined twice"},
		{"carry", head + "  %r = for %i = %n to %n step %n {\n    yield %i\n  }\n}", "2:8: for has 0 results, not 1"},
		{"yield", head + "  %c = lt %n, %n\n  if %c {\n    yield %n\n    barrier\n  }\n}", `5:5: expected "}"`},
		{"depth", head + "  %c = lt %n, %n\n" + strings.Repeat("if %c {\n", maxDepth) + strings.Repeat("}\n", maxDepth+1), "103:1: blocks are nested deeper"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			if _, err := Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// FuzzParse checks that what is parsed is printed as text that is parsed as the same kernel, and that Verify has an
// answer for it.
func FuzzParse(f *testing.F) {
	f.Add(everything(f).String())
	f.Add("kernel a threads=1 args=(n: i32) {\n  shared s: f32[4]\n  %r = for %i = %n to %n step %n carry (%c = %n) {\n    yield %i\n  }\n}\n")
	f.Add("kernel a threads=1 args=() {\n  %a.1 = const bool 1\n  if %a.1 {\n  } else {\n    barrier\n  }\n}\n")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := Parse(text)
		if err != nil {
			return
		}
		Verify(k)
		printed := k.String()
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("%v in\n%s", err, printed)
		}
		if got := again.String(); got != printed {
			t.Errorf("printed as\n%s\nthen as\n%s", printed, got)
		}
	})
}

package interp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// odd are values at which operations differ from what one would write first, as bits.
var odd = map[kir.Kind][]uint64{
	kir.Bool: {0, 1},
	kir.I8:   {0, 1, 0x7f, 0x80, 0xff},
	kir.U8:   {0, 1, 0x7f, 0x80, 0xff},
	kir.U16:  {0, 1, 0x7fff, 0x8001, 0xffff},
	kir.I32:  {0, 1, 2, 7, 31, 1 << 24, 1<<24 + 1, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffff9, 0xffffffff},
	kir.U32:  {0, 1, 2, 7, 31, 1 << 24, 1<<24 + 3, 0x7fffffff, 0x80000000, 0xffffffff},
	kir.U64:  {0, 1, 63, 65504, 65520, 1 << 32, 1<<54 + 1, 1<<63 + 1, 1<<63 | 1<<39, 1<<63 | 1<<39 | 1, 1<<63 | 1<<55 | 1, math.MaxUint64},
	kir.F32: {
		0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x33800000, 0x3f800000, 0xbf800001, 0x3eaaaaab, 0x3f000000, 0x40200000,
		0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x4b800001, 0x4effffff, 0xcf000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
	},
	kir.F16: {
		0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc01, 0x3555, 0x3800, 0x1001, 0x6401, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
	},
	kir.BF16: {0, 0x8000, 1, 0x7f, 0x80, 0x3f80, 0xbf81, 0x4f00, 0x477f, 0x4780, 0x7f7f, 0x7f80, 0xff80, 0x7fc0},
}

// combinations returns all tuples of odd values of the kinds.
func combinations(kinds []kir.Kind) [][3]uint64 {
	list := [][3]uint64{{}}
	for n, k := range kinds {
		var longer [][3]uint64
		for _, c := range list {
			for _, x := range odd[k] {
				c[n] = x
				longer = append(longer, c)
			}
		}
		list = longer
	}
	return list
}

// calculator returns a kernel that computes an operation of each element of arrays. The operation is text as "add", or
// "convert i32".
func calculator(t testing.TB, op string, kinds []kir.Kind, result kir.Kind) *kir.Kernel {
	t.Helper()
	var s strings.Builder
	s.WriteString("kernel calc threads=32 args=(x0: u64, x1: u64, x2: u64, y: u64, n: i32) {\n")
	s.WriteString("%g = group\n%t = thread\n%w = const i32 32\n%b = mul %g, %w\n%i = add %b, %t\n%c = lt %i, %n\nif %c {\n%zero = const u32 0\n%one = const u32 1\n%o = offset %i {8}\n")
	var operands []string
	for n, k := range kinds {
		fmt.Fprintf(&s, "%%p%d = add %%x%d, %%o\n", n, n)
		if k == kir.Bool {
			fmt.Fprintf(&s, "%%l%d = load u32 %%p%d\n%%a%d = ne %%l%d, %%zero\n", n, n, n, n)
		} else {
			fmt.Fprintf(&s, "%%a%d = load %v %%p%d\n", n, k, n)
		}
		operands = append(operands, fmt.Sprintf("%%a%d", n))
	}
	fmt.Fprintf(&s, "%%r = %s %s\n%%q = add %%y, %%o\n", op, strings.Join(operands, ", "))
	if result == kir.Bool {
		s.WriteString("%s = select %r, %one, %zero\nstore %q, %s\n}\n}\n")
	} else {
		s.WriteString("store %q, %r\n}\n}\n")
	}
	return parse(t, s.String())
}

func parse(t testing.TB, text string) *kir.Kernel {
	t.Helper()
	k, err := kir.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return k
}

// calculate runs a calculator. The bits of a result are in the low end of a word.
func calculate(t testing.TB, k *kir.Kernel, operands [][3]uint64, o Options) ([]uint64, error) {
	t.Helper()
	m := NewMemory()
	var args []uint64
	for n := range 4 {
		args = append(args, m.Alloc(8*len(operands)))
		for i, x := range operands {
			if n < 3 {
				m.Write(args[n]+uint64(8*i), binary.LittleEndian.AppendUint64(nil, x[n]))
			} else {
				m.Write(args[n]+uint64(8*i), make([]byte, 8))
			}
		}
	}
	args = append(args, uint64(len(operands)))
	if err := Run(k, Launch{(len(operands) + 31) / 32, args}, m, o); err != nil {
		return nil, err
	}
	return readWords(t, m, args[3], len(operands)), nil
}

func readWords(t testing.TB, m *Memory, address uint64, n int) []uint64 {
	t.Helper()
	data := make([]byte, 8*n)
	if err := m.Read(address, data); err != nil {
		t.Fatal(err)
	}
	var list []uint64
	for i := range n {
		list = append(list, binary.LittleEndian.Uint64(data[8*i:]))
	}
	return list
}

type opTest struct {
	op     kir.Op
	kinds  []kir.Kind
	result kir.Kind
	want   lane
	skip   func(a, b uint64) bool // operands that are faults
}

func opTests() []opTest {
	return slices.Concat(integerTests(), bitTests(), comparisons(), floatTests(kir.F32), floatTests(kir.F16), functionTests())
}

type opList []opTest

// add appends the test of an operation with n operands of one kind.
func (l *opList) add(op kir.Op, n int, kind kir.Kind, want lane) *opTest {
	*l = append(*l, opTest{op: op, kinds: slices.Repeat([]kir.Kind{kind}, n), result: kind, want: want})
	return &(*l)[len(*l)-1]
}

func signed(f func(a, b int32) int32) lane {
	return func(a, b, _ uint64) uint64 { return uint64(uint32(f(int32(a), int32(b)))) }
}

func unsigned(f func(a, b uint32) uint32) lane {
	return func(a, b, _ uint64) uint64 { return uint64(f(uint32(a), uint32(b))) }
}

func long(f func(a, b uint64) uint64) lane {
	return func(a, b, _ uint64) uint64 { return f(a, b) }
}

func integerTests() []opTest {
	var l opList
	l.add(kir.OpAdd, 2, kir.I32, signed(func(a, b int32) int32 { return a + b }))
	l.add(kir.OpAdd, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return a + b }))
	l.add(kir.OpAdd, 2, kir.U64, long(func(a, b uint64) uint64 { return a + b }))
	l.add(kir.OpSub, 2, kir.I32, signed(func(a, b int32) int32 { return a - b }))
	l.add(kir.OpSub, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return a - b }))
	l.add(kir.OpSub, 2, kir.U64, long(func(a, b uint64) uint64 { return a - b }))
	l.add(kir.OpMul, 2, kir.I32, signed(func(a, b int32) int32 { return a * b }))
	l.add(kir.OpMul, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return a * b }))
	l.add(kir.OpMul, 2, kir.U64, long(func(a, b uint64) uint64 { return a * b }))
	l.add(kir.OpMin, 2, kir.I32, signed(func(a, b int32) int32 { return min(a, b) }))
	l.add(kir.OpMin, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return min(a, b) }))
	l.add(kir.OpMin, 2, kir.U64, long(func(a, b uint64) uint64 { return min(a, b) }))
	l.add(kir.OpMax, 2, kir.I32, signed(func(a, b int32) int32 { return max(a, b) }))
	l.add(kir.OpMax, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return max(a, b) }))
	l.add(kir.OpMax, 2, kir.U64, long(func(a, b uint64) uint64 { return max(a, b) }))
	l.add(kir.OpNeg, 1, kir.I32, signed(func(a, _ int32) int32 { return -a }))
	overflows := func(a, b uint64) bool { return b == 0 || a == 1<<31 && uint32(b) == math.MaxUint32 }
	isZero := func(_, b uint64) bool { return b == 0 }
	l.add(kir.OpDiv, 2, kir.I32, signed(func(a, b int32) int32 { return a / b })).skip = overflows
	l.add(kir.OpDiv, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return a / b })).skip = isZero
	l.add(kir.OpRem, 2, kir.I32, signed(func(a, b int32) int32 { return a % b })).skip = overflows
	l.add(kir.OpRem, 2, kir.U32, unsigned(func(a, b uint32) uint32 { return a % b })).skip = isZero
	return l
}

func bitTests() []opTest {
	var l opList
	for _, k := range []kir.Kind{kir.I32, kir.U32, kir.U64, kir.Bool} {
		l.add(kir.OpAnd, 2, k, long(func(a, b uint64) uint64 { return a & b }))
		l.add(kir.OpOr, 2, k, long(func(a, b uint64) uint64 { return a | b }))
		l.add(kir.OpXor, 2, k, long(func(a, b uint64) uint64 { return a ^ b }))
	}
	l.add(kir.OpNot, 1, kir.Bool, long(func(a, _ uint64) uint64 { return 1 - a }))
	for _, op := range []kir.Op{kir.OpShl, kir.OpShr} {
		left := op == kir.OpShl
		shift := func(k kir.Kind, shl, shr lane) {
			want := shr
			if left {
				want = shl
			}
			o := l.add(op, 2, k, want)
			o.kinds[1], o.skip = kir.U32, func(_, b uint64) bool { return b >= uint64(8*k.Bytes()) }
		}
		shift(kir.I32, signed(func(a, b int32) int32 { return a << b }), signed(func(a, b int32) int32 { return a >> b }))
		shift(kir.U32, unsigned(func(a, b uint32) uint32 { return a << b }), unsigned(func(a, b uint32) uint32 { return a >> b }))
		shift(kir.U64, long(func(a, b uint64) uint64 { return a << b }), long(func(a, b uint64) uint64 { return a >> b }))
	}
	return l
}

// functionTests are those of functions of f32, and of the dot product.
func functionTests() []opTest {
	var l opList
	for op, f := range map[kir.Op]func(float64) float64{
		kir.OpExp: math.Exp, kir.OpLog: math.Log, kir.OpSin: math.Sin, kir.OpCos: math.Cos, kir.OpTanh: math.Tanh,
		kir.OpFloor: math.Floor, kir.OpRound: math.RoundToEven,
	} {
		l.add(op, 1, kir.F32, func(a, _, _ uint64) uint64 { return uint64(math.Float32bits(float32(f(value(kir.F32, a))))) })
	}
	l.add(kir.OpSqrt, 1, kir.F32, round1(kir.F32, func(a, _, _ float64) float64 { return math.Sqrt(a) }, func(r, a, _, _ *big.Float) { r.Sqrt(a) }))
	l = append(l, opTest{op: kir.OpDot4, kinds: []kir.Kind{kir.U32, kir.U32, kir.I32}, result: kir.I32, want: func(a, b, c uint64) uint64 {
		sum := int64(int32(c))
		for n := range 4 {
			x, y := int64(a>>(8*n)&255), int64(b>>(8*n)&255)
			sum += (x ^ 128 - 128) * (y ^ 128 - 128)
		}
		return uint64(uint32(sum))
	}})
	return l
}

func comparisons() []opTest {
	var list []opTest
	for _, k := range []kir.Kind{kir.I32, kir.U32, kir.U64, kir.F32} {
		order := func(a, b uint64) (less, equal bool) {
			switch k {
			case kir.I32:
				return int32(a) < int32(b), a == b
			case kir.F32:
				return value(k, a) < value(k, b), value(k, a) == value(k, b)
			}
			return a < b, a == b
		}
		for op, f := range map[kir.Op]func(less, equal bool) bool{
			kir.OpEq: func(_, e bool) bool { return e }, kir.OpNe: func(_, e bool) bool { return !e },
			kir.OpLt: func(l, _ bool) bool { return l }, kir.OpLe: func(l, e bool) bool { return l || e },
		} {
			list = append(list, opTest{op: op, kinds: []kir.Kind{k, k}, result: kir.Bool, want: func(a, b, _ uint64) uint64 {
				if f(order(a, b)) {
					return 1
				}
				return 0
			}})
		}
	}
	return list
}

// floatTests are those of arithmetic with floating-point numbers of kind k.
func floatTests(k kir.Kind) []opTest {
	sign := uint64(1) << (8*k.Bytes() - 1)
	choose := func(left func(x, y float64) bool) lane {
		return func(a, b, _ uint64) uint64 {
			x, y := value(k, a), value(k, b)
			if math.IsNaN(x) || !math.IsNaN(y) && !left(x, y) {
				return b
			}
			return a
		}
	}
	return []opTest{
		{op: kir.OpAdd, kinds: []kir.Kind{k, k}, result: k, want: round1(k, func(a, b, _ float64) float64 { return a + b }, func(r, a, b, _ *big.Float) { r.Add(a, b) })},
		{op: kir.OpSub, kinds: []kir.Kind{k, k}, result: k, want: round1(k, func(a, b, _ float64) float64 { return a - b }, func(r, a, b, _ *big.Float) { r.Sub(a, b) })},
		{op: kir.OpMul, kinds: []kir.Kind{k, k}, result: k, want: round1(k, func(a, b, _ float64) float64 { return a * b }, func(r, a, b, _ *big.Float) { r.Mul(a, b) })},
		{op: kir.OpDiv, kinds: []kir.Kind{k, k}, result: k, want: round1(k, func(a, b, _ float64) float64 { return a / b }, func(r, a, b, _ *big.Float) { r.Quo(a, b) })},
		{op: kir.OpFMA, kinds: []kir.Kind{k, k, k}, result: k, want: round1(k, math.FMA, func(r, a, b, c *big.Float) { r.Add(r.Mul(a, b), c) })},
		{op: kir.OpNeg, kinds: []kir.Kind{k}, result: k, want: func(a, _, _ uint64) uint64 { return a ^ sign }},
		{op: kir.OpMin, kinds: []kir.Kind{k, k}, result: k, want: choose(func(x, y float64) bool { return x < y || x == y && math.Signbit(x) })},
		{op: kir.OpMax, kinds: []kir.Kind{k, k}, result: k, want: choose(func(x, y float64) bool { return x > y || x == y && !math.Signbit(x) })},
	}
}

func TestOperationsOnOddValues(t *testing.T) {
	for _, tt := range opTests() {
		t.Run(fmt.Sprintf("%v_%v", tt.op, tt.kinds[0]), func(t *testing.T) {
			var operands [][3]uint64
			for _, c := range combinations(tt.kinds) {
				if tt.skip == nil || !tt.skip(c[0], c[1]) {
					operands = append(operands, c)
				}
			}
			got, err := calculate(t, calculator(t, tt.op.String(), tt.kinds, tt.result), operands, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range operands {
				if want := tt.want(x[0], x[1], x[2]); !same(tt.result, got[i], want) {
					t.Errorf("of %#x: got %#x, want %#x", x[:len(tt.kinds)], got[i], want)
				}
			}
		})
	}
}

// TestAllOperationsAreTested demands a test of each operation and kind of the interpreter's table.
func TestAllOperationsAreTested(t *testing.T) {
	type key struct {
		op   kir.Op
		kind kir.Kind
	}
	tested := make(map[key]bool)
	for _, tt := range opTests() {
		tested[key{tt.op, tt.kinds[0]}] = true
	}
	for op, kinds := range lanes {
		for k := range kinds {
			if !tested[key{op, k}] {
				t.Errorf("%v of %v is not tested", op, k)
			}
		}
	}
}

// TestFMARoundsOnce compares with exact sums, among them such that are wrong if they are rounded to a float64 first.
func TestFMARoundsOnce(t *testing.T) {
	var operands [][3]uint64
	for x := uint64(1); len(operands) < 20000; x = x*6364136223846793005 + 1442695040888963407 {
		// The square of 1 + n/4096, for an odd n, is in the middle of two f32. A much smaller number decides, and more
		// bits than a float64 has are between the two.
		square := x>>60&7<<12 | 1<<11 | 0x3f800000
		operands = append(operands, [3]uint64{square, square, x >> 8 & 0x9fffffff})
		operands = append(operands, [3]uint64{x>>32&0x7fffff | 0x3f800000, x >> 8 & 0xffffffff, x & 0xffffffff})
	}
	want := round1(kir.F32, math.FMA, func(r, a, b, c *big.Float) { r.Add(r.Mul(a, b), c) })
	got, err := calculate(t, calculator(t, "fma", []kir.Kind{kir.F32, kir.F32, kir.F32}, kir.F32), operands, Options{})
	if err != nil {
		t.Fatal(err)
	}
	twice := 0
	for i, x := range operands {
		w := want(x[0], x[1], x[2])
		if !same(kir.F32, got[i], w) {
			t.Errorf("of %#x: got %#x, want %#x", x, got[i], w)
		}
		if ofF32(float32(math.FMA(value(kir.F32, x[0]), value(kir.F32, x[1]), value(kir.F32, x[2])))) != w && i%2 == 0 {
			twice++
		}
	}
	if twice == 0 {
		t.Error("rounding twice would give the same results: the test tells nothing")
	}
}

// TestConversions converts odd values of each kind to each other one. A value that does not fit must be a fault.
func TestConversions(t *testing.T) {
	kinds := []kir.Kind{kir.I8, kir.U8, kir.U16, kir.BF16, kir.F16, kir.I32, kir.U32, kir.F32, kir.U64}
	for _, from := range kinds {
		for _, to := range kinds {
			if from == to {
				continue
			}
			t.Run(fmt.Sprintf("%v_%v", from, to), func(t *testing.T) {
				k := calculator(t, "convert "+to.String(), []kir.Kind{from}, to)
				for _, x := range odd[from] {
					want, fits := converted(from, to, x)
					got, err := calculate(t, k, [][3]uint64{{x}}, Options{})
					switch {
					case !fits:
						wantFault(t, err, Conversion, "is no "+to.String())
					case err != nil:
						t.Error(err)
					case !same(to, got[0], want):
						t.Errorf("of %#x: got %#x, want %#x", x, got[0], want)
					}
				}
			})
		}
	}
}

// wantFault demands a fault of a kind, with a text in its message.
func wantFault(t *testing.T, err error, kind, text string) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || f.Kind != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want a fault of kind %s with %q", err, kind, text)
	}
}

func TestDenormalsAreFlushed(t *testing.T) {
	const denormal, negative, smallest, half = 0x00400000, 0x80000001, 0x00800000, 0x3f000000
	tests := []struct {
		op    string
		kinds []kir.Kind
		to    kir.Kind
		x     [3]uint64
		kept  uint64
		flush uint64
	}{
		{"add", []kir.Kind{kir.F32, kir.F32}, kir.F32, [3]uint64{denormal, denormal}, 0x00800000, 0},
		{"mul", []kir.Kind{kir.F32, kir.F32}, kir.F32, [3]uint64{smallest, half}, 0x00400000, 0},
		{"fma", []kir.Kind{kir.F32, kir.F32, kir.F32}, kir.F32, [3]uint64{negative, 0x3f800000, 0x80000000}, negative, 0x80000000},
		{"max", []kir.Kind{kir.F32, kir.F32}, kir.F32, [3]uint64{denormal, 0}, denormal, 0},
		{"lt", []kir.Kind{kir.F32, kir.F32}, kir.Bool, [3]uint64{0, denormal}, 1, 0},
		{"convert f32", []kir.Kind{kir.BF16}, kir.F32, [3]uint64{0x0040}, 0x00400000, 0},
		{"convert bf16", []kir.Kind{kir.F32}, kir.BF16, [3]uint64{denormal}, 0x0040, 0},
		{"convert f32", []kir.Kind{kir.F16}, kir.F32, [3]uint64{1}, 0x33800000, 0x33800000},
		{"add", []kir.Kind{kir.F16, kir.F16}, kir.F16, [3]uint64{1, 1}, 2, 2},
		{"bitcast u32", []kir.Kind{kir.F32}, kir.U32, [3]uint64{denormal}, denormal, denormal},
	}
	for _, tt := range tests {
		k := calculator(t, tt.op, tt.kinds, tt.to)
		for _, flush := range []bool{false, true} {
			want := tt.kept
			if flush {
				want = tt.flush
			}
			got, err := calculate(t, k, [][3]uint64{tt.x}, Options{Flush: flush})
			if err != nil || got[0] != want {
				t.Errorf("%s of %#x, Flush %v: got %#x, %v, want %#x", tt.op, tt.x, flush, got, err, want)
			}
		}
	}
}

func TestArithmeticFaults(t *testing.T) {
	tests := []struct {
		op    string
		kinds []kir.Kind
		to    kir.Kind
		x     [3]uint64
		kind  string
		text  string
	}{
		{"div", []kir.Kind{kir.I32, kir.I32}, kir.I32, [3]uint64{0xfffffffb}, Division, "-5 is divided by 0"},
		{"rem", []kir.Kind{kir.I32, kir.I32}, kir.I32, [3]uint64{5}, Division, "5 is divided by 0"},
		{"div", []kir.Kind{kir.U32, kir.U32}, kir.U32, [3]uint64{0xffffffff}, Division, "4294967295 is divided by 0"},
		{"rem", []kir.Kind{kir.U32, kir.U32}, kir.U32, [3]uint64{5}, Division, "5 is divided by 0"},
		{"div", []kir.Kind{kir.I32, kir.I32}, kir.I32, [3]uint64{1 << 31, 0xffffffff}, Division, "the quotient of -2147483648 and -1"},
		{"shl", []kir.Kind{kir.I32, kir.U32}, kir.I32, [3]uint64{1, 32}, Shift, "32 bits are shifted by 32"},
		{"shr", []kir.Kind{kir.U32, kir.U32}, kir.U32, [3]uint64{1, 0xffffffff}, Shift, "32 bits are shifted by 4294967295"},
		{"shr", []kir.Kind{kir.U64, kir.U32}, kir.U64, [3]uint64{1, 64}, Shift, "64 bits are shifted by 64"},
	}
	for _, tt := range tests {
		_, err := calculate(t, calculator(t, tt.op, tt.kinds, tt.to), [][3]uint64{tt.x}, Options{})
		wantFault(t, err, tt.kind, "group 0 thread 0: instruction 15 (%r = "+tt.op+" %a0, %a1): "+tt.kind+": "+tt.text)
	}
}

func TestOffsets(t *testing.T) {
	k := parse(t, `kernel a threads=1 args=(y: u64, i: i32, u: u32) {
		%v = offset %i {40}
		store %y, %v
		%w = offset %u {1000}
		%eight = const u64 8
		%z = add %y, %eight
		store %z, %w
	}`)
	offsets := func(i, u uint64) ([]uint64, error) {
		m := NewMemory()
		y := m.Alloc(16)
		if err := Run(k, Launch{1, []uint64{y, i, u}}, m, Options{}); err != nil {
			return nil, err
		}
		return readWords(t, m, y, 2), nil
	}
	got, err := offsets(0x7fffffff, 0xffffffff)
	if err != nil || got[0] != 0x7fffffff*40 || got[1] != 0xffffffff*1000 {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = offsets(0xffffffff, 0)
	wantFault(t, err, Offset, "the index is -1")
	k.Body.Instrs[2].Imm = 1<<40 - 1
	_, err = offsets(0, 0xffffffff)
	wantFault(t, err, Offset, "is no u64")
}

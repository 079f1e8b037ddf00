package cpu_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

type product = func(dst, x, w, aux unsafe.Pointer, shape cpu.MatMulShape, r0, r1, c0, c1 int)

// weights returns the shape of a product with weights of n rows of k elements.
func weights(n, k int) cpu.MatMulShape { return cpu.MatMulShape{In: k, Out: n} }

// products are the matrix products by weight dtype.
var products = []struct {
	weight         dtype.DType
	matmul, swiglu product
}{
	{dtype.F32, cpu.MatMulF32, cpu.MatMulSwiGLUF32},
	{dtype.F16, cpu.MatMulF16, cpu.MatMulSwiGLUF16},
	{dtype.BF16, cpu.MatMulBF16, cpu.MatMulSwiGLUBF16},
	{dtype.Q8_0, cpu.MatMulQ8_0, cpu.MatMulSwiGLUQ8_0},
	{dtype.Q4_0, cpu.MatMulQ4_0, cpu.MatMulSwiGLUQ4_0},
	{dtype.Q4_1, cpu.MatMulQ4_1, cpu.MatMulSwiGLUQ4_1},
	{dtype.Q5_0, cpu.MatMulQ5_0, cpu.MatMulSwiGLUQ5_0},
	{dtype.Q5_1, cpu.MatMulQ5_1, cpu.MatMulSwiGLUQ5_1},
	{dtype.Q2_K, cpu.MatMulQ2_K, cpu.MatMulSwiGLUQ2_K},
	{dtype.Q3_K, cpu.MatMulQ3_K, cpu.MatMulSwiGLUQ3_K},
	{dtype.Q4_K, cpu.MatMulQ4_K, cpu.MatMulSwiGLUQ4_K},
	{dtype.Q5_K, cpu.MatMulQ5_K, cpu.MatMulSwiGLUQ5_K},
	{dtype.Q6_K, cpu.MatMulQ6_K, cpu.MatMulSwiGLUQ6_K},
	{dtype.IQ4_NL, cpu.MatMulIQ4_NL, cpu.MatMulSwiGLUIQ4_NL},
	{dtype.IQ4_XS, cpu.MatMulIQ4_XS, cpu.MatMulSwiGLUIQ4_XS},
	{dtype.MXFP4, cpu.MatMulMXFP4, cpu.MatMulSwiGLUMXFP4},
	{dtype.IQ2X, cpu.MatMulIQ2X, cpu.MatMulSwiGLUIQ2X},
	{dtype.IQ2X16, cpu.MatMulIQ2X16, cpu.MatMulSwiGLUIQ2X16},
	{dtype.IQ3X, cpu.MatMulIQ3X, cpu.MatMulSwiGLUIQ3X},
	{dtype.IQ3SX, cpu.MatMulIQ3SX, cpu.MatMulSwiGLUIQ3SX},
}

// operands of a product and their values.
type operands struct {
	x, w, up, res *kt.Buffer
	xv, wv, upv   []float64
	rows, n, k    int
}

func newOperands(t testing.TB, weight dtype.DType, rows, n, k, misalign int) *operands {
	rng := kt.Rand(t)
	act, _ := tile.Activation(weight)
	x, xv := kt.Encode(t, rng, act, rows*k)
	w, wv := kt.Encode(t, rng, weight, n*k)
	up, upv := kt.Encode(t, rng, weight, n*k)
	return &operands{
		kt.NewBytes(x, misalign), kt.NewBytes(kt.Pack(weight, w, n, k), misalign),
		kt.NewBytes(kt.Pack(weight, up, n, k), misalign), kt.NewFloats(kt.Uniform(rng, rows*n), misalign),
		xv, wv, upv, rows, n, k,
	}
}

// dot is row r of x times row c of w, and the sum of magnitudes, which bounds the error.
func (o *operands) dot(w []float64, r, c int) (sum, magnitude float64) {
	for i := range o.k {
		p := o.xv[r*o.k+i] * w[c*o.k+i]
		sum, magnitude = sum+p, magnitude+math.Abs(p)
	}
	return sum, magnitude
}

// checkMatMul compares y with float64. Each sum may be off by half a unit in the last place
// for each of its terms, at the size the sum may have had: k·2^-24·Σ|terms|; in practice
// errors are the root of that. Twice the root plus 2 is allowed.
func (o *operands) checkMatMul(t *testing.T, y []float32, res bool) {
	t.Helper()
	rel := 2 * (math.Sqrt(float64(o.k)) + 2) / (1 << 24)
	for r := range o.rows {
		for c := range o.n {
			want, magnitude := o.dot(o.wv, r, c)
			if res {
				want += float64(o.res.Floats()[r*o.n+c])
				magnitude++
			}
			if got := y[r*o.n+c]; !(kt.Tolerance{Abs: rel * magnitude}).Near(got, want) {
				t.Fatalf("[%d, %d] is %v, want %v ± %v", r, c, got, want, rel*magnitude)
			}
		}
	}
}

func (o *operands) checkSwiGLU(t *testing.T, y []float32) {
	t.Helper()
	for r := range o.rows {
		for c := range o.n {
			g, gm := o.dot(o.wv, r, c)
			u, um := o.dot(o.upv, r, c)
			want := g / (1 + math.Exp(-g)) * u
			tol := (gm*math.Abs(u) + um*math.Abs(g) + math.Abs(want)) * 2 * (math.Sqrt(float64(o.k)) + 4) / (1 << 24)
			if got := y[r*o.n+c]; !(kt.Tolerance{Abs: tol + 1e-30}).Near(got, want) {
				t.Fatalf("[%d, %d] is %v, want %v ± %v", r, c, got, want, tol)
			}
		}
	}
}

// sizes of matrix products: every number of rows up to two tiles, partial panels, short k.
func sizes(weight dtype.DType, f func(rows, n, k int)) {
	unit := weight.BlockElems()
	if weight.Scheme() != nil { // many formats, whose tiles of several rows are the same
		for rows := range 10 {
			f(rows, 16*(rows%4)+rows, unit*(1+rows%3))
		}
		f(17, 33, 2*unit)
		f(1, 65, 3*unit)
		f(63, 19, 2*unit)  // squares of sixteen rows and a part of one
		f(31, 35, 18*unit) // more blocks of 32 than a squareFunc takes
		f(131, 49, 2*unit) // more rows than a squareFunc takes
		return
	}
	for rows := 1; rows <= 17; rows++ {
		f(rows, 16*(rows%11)+rows, unit*(1+rows%5))
	}
	for _, rows := range []int{1, 2, 4, 7, 16, 31, 32, 33, 67} { // tiles that take 32 of k at once
		f(rows, 16*(rows%5)+rows, max(unit, 32)*(1+rows%3))
	}
	f(131, 49, 64*9) // more rows, and more blocks of 32, than a squareFunc takes
	for n := 1; n <= 150; n += 7 {
		f(1, n, unit*3)
		f(3, n, unit)
	}
	for k := unit; k <= 40*unit && k <= 400; k += unit {
		f(9, 33, k)
		f(1, 65, k)
	}
	f(0, 16, unit)
}

// TestMatMul collects garbage all the time: the collector reports pointers that kernels
// keep after the end of their operands.
func TestMatMul(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	kt.ForEach(t, func(t *testing.T) {
		for _, p := range products {
			sizes(p.weight, func(rows, n, k int) {
				t.Run(fmt.Sprintf("%v-%d-%d-%d", p.weight, rows, n, k), func(t *testing.T) {
					testMatMul(t, p.weight, p.matmul, rows, n, k)
					testSwiGLU(t, p.weight, p.swiglu, rows, n, k)
				})
			})
		}
	})
}

// testMatMul checks a product without and with res, in place, and cut into boxes.
func testMatMul(t *testing.T, weight dtype.DType, f product, rows, n, k int) {
	o := newOperands(t, weight, rows, n, k, 4*(rows%3))
	y := kt.NewBuffer(rows*n*4, 4*(n%5))
	f(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(n, k), 0, rows, 0, n)
	o.checkMatMul(t, y.Floats(), false)
	y.Check(t, "y")

	sum := kt.NewFloats(o.res.Floats(), 0)
	f(sum.Pointer(), o.x.Pointer(), o.w.Pointer(), sum.Pointer(), weights(n, k), 0, rows, 0, n)
	o.checkMatMul(t, sum.Floats(), true)
	sum.Check(t, "y with res")

	cut, cutSum := kt.NewBuffer(rows*n*4, 0), kt.NewBuffer(rows*n*4, 0)
	for _, b := range kt.Boxes(kt.Rand(t), rows, n, tile.ColumnGranule) {
		ownsMatMul(t, o, f, nil, b)
		f(cut.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(n, k), b[0], b[1], b[2], b[3])
		f(cutSum.Pointer(), o.x.Pointer(), o.w.Pointer(), o.res.Pointer(), weights(n, k), b[0], b[1], b[2], b[3])
	}
	kt.Same(t, "y in boxes", cut, y)
	kt.Same(t, "y with res in boxes", cutSum, sum)
}

// ownsMatMul checks that a box writes nothing outside it.
func ownsMatMul(t *testing.T, o *operands, f product, aux unsafe.Pointer, b [4]int) {
	t.Helper()
	y := kt.NewBuffer(o.rows*o.n*4, 0)
	f(y.Pointer(), o.x.Pointer(), o.w.Pointer(), aux, weights(o.n, o.k), b[0], b[1], b[2], b[3])
	y.Owned(t, "box", o.n*4, b[0], b[1], 4*b[2], 4*b[3])
}

// testSwiGLU checks the product with two weights, whole and cut into boxes.
func testSwiGLU(t *testing.T, weight dtype.DType, f product, rows, n, k int) {
	o := newOperands(t, weight, rows, n, k, 4*(rows%3))
	y, cut := kt.NewBuffer(rows*n*4, 4*(n%5)), kt.NewBuffer(rows*n*4, 0)
	f(y.Pointer(), o.x.Pointer(), o.w.Pointer(), o.up.Pointer(), weights(n, k), 0, rows, 0, n)
	o.checkSwiGLU(t, y.Floats())
	y.Check(t, "swiglu")
	for _, b := range kt.Boxes(kt.Rand(t), rows, n, tile.ColumnGranule) {
		ownsMatMul(t, o, f, o.up.Pointer(), b)
		f(cut.Pointer(), o.x.Pointer(), o.w.Pointer(), o.up.Pointer(), weights(n, k), b[0], b[1], b[2], b[3])
	}
	kt.Same(t, "swiglu in boxes", cut, y)
}

// TestSwiGLUToBF16 demands the same bits from the fused kernel, whole and in boxes, and from its
// two parts.
func TestSwiGLUToBF16(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		sizes(dtype.BF16, func(rows, n, k int) {
			o := newOperands(t, dtype.BF16, rows, n, k, 0)
			x, w, up := o.x.Pointer(), o.w.Pointer(), o.up.Pointer()
			plain, want := kt.NewBuffer(rows*n*4, 0), kt.NewBuffer(rows*n*2, 0)
			whole, cut := kt.NewBuffer(rows*n*2, 2*(n%5)), kt.NewBuffer(rows*n*2, 0)
			cpu.MatMulSwiGLUBF16(plain.Pointer(), x, w, up, weights(n, k), 0, rows, 0, n)
			cpu.CastF32BF16(want.Pointer(), plain.Pointer(), n, 0, rows, 0, n)
			cpu.MatMulSwiGLUBF16ToBF16(whole.Pointer(), x, w, up, weights(n, k), 0, rows, 0, n)
			whole.Check(t, "bf16")
			for _, b := range kt.Boxes(kt.Rand(t), rows, n, tile.ColumnGranule) {
				one := kt.NewBuffer(rows*n*2, 0)
				cpu.MatMulSwiGLUBF16ToBF16(one.Pointer(), x, w, up, weights(n, k), b[0], b[1], b[2], b[3])
				one.Owned(t, "box", n*2, b[0], b[1], 2*b[2], 2*b[3])
				cpu.MatMulSwiGLUBF16ToBF16(cut.Pointer(), x, w, up, weights(n, k), b[0], b[1], b[2], b[3])
			}
			kt.Same(t, fmt.Sprintf("bf16 of %d, %d, %d", rows, n, k), whole, want)
			kt.Same(t, fmt.Sprintf("bf16 of %d, %d, %d in boxes", rows, n, k), cut, want)
		})
	})
}

// TestMatMulExtremes multiplies the blocks with the largest integers, where 16-bit sums
// would overflow or saturate first.
func TestMatMulExtremes(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, p := range products[3:5] { // others: TestMatMulBlockExtremes
			for _, sign := range []byte{127, 0x81} {
				testExtreme(t, p.weight, p.matmul, sign)
			}
		}
	})
}

func testExtreme(t *testing.T, weight dtype.DType, f product, q byte) {
	const n, k = 16, 64
	block := weight.BlockBytes()
	plain := make([]byte, n*weight.RowBytes(k))
	for at := range plain {
		r, i := at/weight.RowBytes(k), at%block
		switch {
		case i == 1:
			plain[at] = 0x3c // scale 1
		case i > 1:
			plain[at] = []byte{0x80, 0x00, 0xff, 0x7f}[(r+i*(r/8))%4]
		}
	}
	one := bytes.Repeat([]byte{q}, 48)
	clear(one[44:])
	binary.LittleEndian.PutUint32(one[32:], 0x3f800000) // scale 1
	sum := int32(int8(q)) * 32
	for i, offset := range []int32{8, 128} {
		binary.LittleEndian.PutUint32(one[36+4*i:], uint32(0x4b400000-offset*sum)) // see ir/dtype
	}
	x := bytes.Repeat(one, k/32)
	xv, wv := make([]float64, k), make([]float64, n*k)
	if err := dtype.Decode(dtype.Q8A, xv, x); err != nil {
		t.Fatal(err)
	}
	if err := dtype.Decode(weight, wv, plain); err != nil {
		t.Fatal(err)
	}
	want := make([]float64, n)
	for c := range want {
		for i, v := range xv {
			want[c] += v * wv[c*k+i]
		}
	}
	for _, rows := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 33} {
		xs, y := kt.NewBuffer(rows*len(x), 0), kt.NewBuffer(rows*n*4, 0)
		for r := range rows {
			copy(xs.Bytes()[r*len(x):], x)
		}
		f(y.Pointer(), xs.Pointer(), kt.NewBytes(kt.Pack(weight, plain, n, k), 0).Pointer(), nil, weights(n, k), 0, rows, 0, n)
		for r := range rows {
			kt.Compare(t, fmt.Sprintf("%v with %d", weight, int8(q)), y.Floats()[r*n:(r+1)*n], want, kt.Tolerance{Abs: 1e-9})
		}
	}
}

func TestPackF32(t *testing.T) {
	const n, k = 37, 19
	src := kt.Uniform(kt.Rand(t), n*k)
	plain, _ := kt.EncodeValues(t, dtype.F32, src)
	want := kt.NewBytes(kt.Pack(dtype.F32, plain, n, k), 0)
	got := kt.NewBuffer(len(want.Bytes()), 4)
	for _, c := range kt.Cuts(kt.Rand(t), n, tile.ColumnGranule) {
		cpu.PackF32(got.Pointer(), kt.NewFloats(src, 0).Pointer(), n, k, c[0], c[1])
	}
	got.Check(t, "packed")
	kt.Same(t, "packed", got, want)
}

// TestMatMulSameBits compares implementations bit for bit where sums have one order: a
// single block of a quantized format is an exact integer, scaled and rounded once.
func TestMatMulSameBits(t *testing.T) {
	for _, p := range products[3:5] { // others: TestMatMulBlockExtremes
		o := newOperands(t, p.weight, 11, 40, 32, 0)
		var want *kt.Buffer
		kt.ForEach(t, func(t *testing.T) {
			y := kt.NewBuffer(o.rows*o.n*4, 0)
			p.matmul(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), 0, o.rows, 0, o.n)
			if want == nil {
				want = y // of the pure-Go implementation, which comes first
			}
			kt.Same(t, p.weight.String(), y, want)
		})
	}
}

// deepBF16 reports whether products of bfloat16 are added in the order of tile registers.
func deepBF16(k int) bool { return cpu.Active() == string(tile.AMX) && k%32 == 0 }

// TestMatMulTileRegisters demands the bits of their order of sums: of each 32 of k, those of even k and those of odd k
// by themselves.
func TestMatMulTileRegisters(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		o := newOperands(t, dtype.BF16, 51, 70, 320, 0)
		if !deepBF16(o.k) {
			t.Skip("skip: no tile registers")
		}
		y := kt.NewBuffer(o.rows*o.n*4, 0)
		cpu.MatMulBF16(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), 0, o.rows, 0, o.n)
		for i, got := range y.Floats() {
			x, w, want := o.xv[i/o.n*o.k:], o.wv[i%o.n*o.k:], float32(0)
			for k := 0; k < o.k; k += 32 {
				var even, odd float32
				for j := k; j < k+32; j += 2 {
					even += float32(x[j] * w[j]) // exact
					odd += float32(x[j+1] * w[j+1])
				}
				want += even + odd
			}
			if got != want {
				t.Fatalf("[%d, %d] is %v, want %v", i/o.n, i%o.n, got, want)
			}
		}
	})
}

// TestMatMulTileRegistersTiny demands that a row alone, which vector registers take, has the same bits as among others
// where numbers, products and sums are denormal or near it.
func TestMatMulTileRegistersTiny(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		o := newOperands(t, dtype.BF16, 7, 70, 320, 0)
		if !deepBF16(o.k) {
			t.Skip("skip: no tile registers")
		}
		rng := kt.Rand(t)
		for _, b := range []*kt.Buffer{o.x, o.w} {
			for at := b.Bytes(); len(at) > 0; at = at[2:] {
				exponent := []uint16{0, 60, 66}[rng.IntN(3)] // of 2^-126 and less, 2^-67, 2^-61
				binary.LittleEndian.PutUint16(at, binary.LittleEndian.Uint16(at)&0x807f|exponent<<7)
			}
		}
		all, alone := kt.NewBuffer(o.rows*o.n*4, 0), kt.NewBuffer(o.rows*o.n*4, 0)
		cpu.MatMulBF16(all.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), 0, o.rows, 0, o.n)
		for r := range o.rows {
			cpu.MatMulBF16(alone.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), r, r+1, 0, o.n)
		}
		if !slices.ContainsFunc(all.Floats(), func(y float32) bool { return y != 0 }) {
			t.Error("all results are zero")
		}
		if !bytes.Equal(alone.Bytes(), all.Bytes()) {
			t.Error("rows alone have other bits than together")
		}
	})
}

// TestMatMulSameBitsOfBF16 compares all implementations, pure Go included: products of
// bfloat16 are exact in float32 and are added in one order, but for tile registers.
func TestMatMulSameBitsOfBF16(t *testing.T) {
	for _, k := range []int{1, 2, 9, 320, 333} {
		o := newOperands(t, dtype.BF16, 11, 90, k, 0)
		var want *kt.Buffer
		kt.ForEach(t, func(t *testing.T) {
			if deepBF16(k) {
				t.Skip("skip: tile registers add in another order")
			}
			y := kt.NewBuffer(o.rows*o.n*4, 0)
			cpu.MatMulBF16(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), 0, o.rows, 0, o.n)
			if want == nil {
				want = y
			}
			kt.Same(t, fmt.Sprint("k ", k), y, want)
		})
	}
}

// TestMatMulSameBitsOfVectors compares AVX2, AVX-512 and tile registers, which add in the same order, with one weight and
// with two.
func TestMatMulSameBitsOfVectors(t *testing.T) {
	for _, p := range products {
		o := newOperands(t, p.weight, 63, 40, max(320, 2*p.weight.BlockElems()), 0)
		var want, wantGated *kt.Buffer
		kt.ForEach(t, func(t *testing.T) {
			if cpu.Active() == string(tile.Generic) {
				t.Skip("skip: pure Go rounds products, vectors do not")
			}
			if p.weight == dtype.BF16 && deepBF16(o.k) {
				t.Skip("skip: tile registers add in another order")
			}
			y := kt.NewBuffer(o.rows*o.n*4, 0)
			p.matmul(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), 0, o.rows, 0, o.n)
			gated := kt.NewBuffer(o.rows*o.n*4, 0)
			p.swiglu(gated.Pointer(), o.x.Pointer(), o.w.Pointer(), o.up.Pointer(), weights(o.n, o.k), 0, o.rows, 0, o.n)
			if want == nil {
				want, wantGated = y, gated
			}
			kt.Same(t, p.weight.String(), y, want)
			kt.Same(t, p.weight.String()+" with two weights", gated, wantGated)
		})
	}
}

func TestMatMulAllocatesNothing(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, p := range products {
			o := newOperands(t, p.weight, 31, 40, max(64, p.weight.BlockElems()), 0)
			y := kt.NewBuffer(o.rows*o.n*4, 0)
			n := testing.AllocsPerRun(5, func() {
				p.matmul(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(o.n, o.k), 0, o.rows, 0, o.n)
				p.swiglu(y.Pointer(), o.x.Pointer(), o.w.Pointer(), o.up.Pointer(), weights(o.n, o.k), 0, o.rows, 0, o.n)
				cpu.AddF32(y.Pointer(), y.Pointer(), y.Pointer(), o.n, 0, 4, 3, 20)
				cpu.SoftmaxF32(y.Pointer(), y.Pointer(), o.n, 0, o.rows)
			})
			if n != 0 {
				t.Errorf("%v: %v allocations", p.weight, n)
			}
		}
	})
}

// Package kerneltest helps to test kernels at their edges: memory with guards around it,
// every implementation in turn, values that are hard, comparison within a tolerance.
package kerneltest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// ForEach runs f as a subtest for each implementation, with kernels set to it, and sets
// them back afterwards. One that this processor or build lacks is skipped, or fails if the
// environment variable GGMLC_REQUIRE names it.
func ForEach(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	before := cpu.Active()
	t.Cleanup(func() {
		if err := cpu.Select(before); err != nil {
			t.Error(err)
		}
	})
	for _, feature := range []tile.Feature{tile.Generic, tile.AVX2, tile.AVXVNNI, tile.AVX512, tile.AVX512VNNI, tile.AVX512BF16, tile.AMX} {
		t.Run(string(feature), func(t *testing.T) {
			if err := cpu.Select(string(feature)); err != nil {
				if Required(string(feature)) {
					t.Fatalf("GGMLC_REQUIRE: %v", err)
				}
				t.Skip("skip: ", err)
			}
			f(t)
		})
	}
}

// Required reports whether GGMLC_REQUIRE, a list separated by commas or spaces, has name.
func Required(name string) bool {
	words := strings.FieldsFunc(os.Getenv("GGMLC_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(words, name)
}

// Rand returns the generator of a test: the same numbers on every run.
func Rand(t testing.TB) *rand.Rand {
	var seed uint64
	for _, c := range t.Name() {
		seed = seed*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, 7))
}

// guardBytes is the bytes before and after every buffer: more than a vector register has.
const guardBytes = 192

// Buffer is memory between guards.
type Buffer struct {
	all      []byte // guard, bytes, guard
	at, size int
}

// NewBuffer returns size bytes that begin misalign bytes after a 64-byte boundary. They
// and the guards are filled with a pattern that is NaN as f32 and huge as an integer.
func NewBuffer(size, misalign int) *Buffer {
	all := make([]byte, size+2*guardBytes+64)
	for i := range all {
		all[i] = 0xfb
	}
	boundary := -int(uintptr(unsafe.Pointer(&all[0]))) & 63
	at := (guardBytes+63)&^63 + boundary + misalign
	return &Buffer{all, at, size}
}

// NewFloats returns a buffer with the given f32 values.
func NewFloats(values []float32, misalign int) *Buffer {
	b := NewBuffer(len(values)*4, misalign)
	copy(b.Floats(), values)
	return b
}

// NewInts returns a buffer with the given i32 values.
func NewInts(values ...int32) *Buffer {
	b := NewBuffer(len(values)*4, 0)
	for i, v := range values {
		*(*int32)(unsafe.Add(b.Pointer(), 4*i)) = v
	}
	return b
}

// NewBytes returns a buffer with the given bytes.
func NewBytes(values []byte, misalign int) *Buffer {
	b := NewBuffer(len(values), misalign)
	copy(b.Bytes(), values)
	return b
}

// Pointer returns the address of the first byte. It must not be kept beyond the buffer.
func (b *Buffer) Pointer() unsafe.Pointer { return unsafe.Pointer(&b.all[b.at]) }

// Bytes returns the memory between the guards.
func (b *Buffer) Bytes() []byte { return b.all[b.at : b.at+b.size : b.at+b.size] }

// Floats returns the memory as f32.
func (b *Buffer) Floats() []float32 { return unsafe.Slice((*float32)(b.Pointer()), b.size/4) }

// Check reports guards that were written to.
func (b *Buffer) Check(t testing.TB, what string) {
	t.Helper()
	for i, v := range b.all {
		if v != 0xfb && (i < b.at || i >= b.at+b.size) {
			t.Fatalf("%s: written at byte %d of %d", what, i-b.at, b.size)
		}
	}
}

// Owned reports bytes that a kernel wrote outside its box: rows [r0, r1), bytes [from, to)
// of each row of rowBytes. The buffer must be new but for that one call. Such a write may
// carry the right value, and would still race with the worker that owns the place.
func (b *Buffer) Owned(t testing.TB, what string, rowBytes, r0, r1, from, to int) {
	t.Helper()
	b.Check(t, what)
	for i, v := range b.Bytes() {
		row, at := i/rowBytes, i%rowBytes
		if v != 0xfb && (row < r0 || row >= r1 || at < from || at >= to) {
			t.Fatalf("%s: byte %d of row %d is written, outside rows [%d, %d), bytes [%d, %d)", what, at, row, r0, r1, from, to)
		}
	}
}

// Encode returns plain bytes of d with values between -1 and 1, and the values after rounding.
func Encode(t testing.TB, rng *rand.Rand, d dtype.DType, n int) ([]byte, []float64) {
	t.Helper()
	return EncodeValues(t, d, Uniform(rng, n))
}

// EncodeValues returns values as plain bytes of d, and the values after rounding.
func EncodeValues(t testing.TB, d dtype.DType, values []float32) ([]byte, []float64) {
	t.Helper()
	b, back := make([]byte, d.Bytes(len(values))), make([]float64, len(values))
	if err := dtype.Encode(d, b, values); err != nil {
		t.Fatal(err)
	}
	if err := dtype.Decode(d, back, b); err != nil {
		t.Fatal(err)
	}
	return b, back
}

// Pack returns plain rows of a matrix [n, k] in layout r16.
func Pack(d dtype.DType, plain []byte, n, k int) []byte {
	packed := make([]byte, dtype.PackedBytes(d, dtype.R16, int64(n), int64(k)))
	tile.Pack(d, packed, plain, n, k)
	return packed
}

// Uniform returns n values between -1 and 1.
func Uniform(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = rng.Float32()*2 - 1
	}
	return v
}

// Hard returns n values among which are zeros of both signs, denormals, numbers near the
// ends of the range, infinities and NaN.
func Hard(rng *rand.Rand, n int) []float32 {
	special := []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-40, 1.1754944e-38,
		math.MaxFloat32, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), 88.7, 88.8, -87.4, -103.9, -104.1, 1, -1, 65504, 65520, 6e-8, 0.49999997}
	v := make([]float32, n)
	for i := range v {
		switch rng.IntN(3) {
		case 0:
			v[i] = special[rng.IntN(len(special))]
		case 1:
			v[i] = float32(rng.NormFloat64() * 10)
		default:
			v[i] = float32(rng.NormFloat64())
		}
	}
	return v
}

// Tolerance is how far got may be from want: |got-want| ≤ Abs + Rel·|want|. NaN agrees
// with NaN only, an infinity with itself only.
type Tolerance struct{ Abs, Rel float64 }

// Exact is the tolerance where all bits but those of a NaN's payload must agree.
var Exact = Tolerance{}

// Near reports whether got is within the tolerance of want.
func (tol Tolerance) Near(got float32, want float64) bool {
	g := float64(got)
	switch {
	case math.IsNaN(want) || math.IsNaN(g):
		return math.IsNaN(want) && math.IsNaN(g)
	case tol == Exact:
		return g == want && math.Signbit(g) == math.Signbit(want)
	case math.IsInf(want, 0) || math.IsInf(g, 0):
		return g == want || float64(float32(want)) == g
	}
	return math.Abs(g-want) <= tol.Abs+tol.Rel*math.Abs(want)
}

// Compare reports the first element that is out of tolerance.
func Compare(t testing.TB, what string, got []float32, want []float64, tol Tolerance) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i, g := range got {
		if !tol.Near(g, want[i]) {
			t.Fatalf("%s: element %d of %d is %v, want %v (tolerance %v)", what, i, len(got), g, want[i], tol)
		}
	}
}

// Same reports whether two buffers hold the same bytes, by an error if not.
func Same(t testing.TB, what string, got, want *Buffer) {
	t.Helper()
	if bytes.Equal(got.Bytes(), want.Bytes()) {
		return
	}
	for i, v := range got.Bytes() {
		if v != want.Bytes()[i] {
			t.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, got.size, v, want.Bytes()[i])
		}
	}
	t.Fatalf("%s: %d bytes, want %d", what, got.size, want.size)
}

// Cuts returns a random division of [0, n) at multiples of granule.
func Cuts(rng *rand.Rand, n, granule int) [][2]int {
	var cuts [][2]int
	for at := 0; at < n; {
		end := min(n, at+(1+rng.IntN(4))*granule)
		cuts = append(cuts, [2]int{at, end})
		at = end
	}
	rng.Shuffle(len(cuts), func(i, j int) { cuts[i], cuts[j] = cuts[j], cuts[i] })
	return cuts
}

// Boxes returns a random division of [0, rows) × [0, cols) into boxes {r0, r1, c0, c1}.
func Boxes(rng *rand.Rand, rows, cols, granule int) [][4]int {
	var boxes [][4]int
	for _, r := range Cuts(rng, rows, 1) {
		for _, c := range Cuts(rng, cols, granule) {
			boxes = append(boxes, [4]int{r[0], r[1], c[0], c[1]})
		}
	}
	return boxes
}

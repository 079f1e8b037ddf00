package dtype

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// distributions are those of elements whose errors are compared with ggml's.
var distributions = [...]struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"Laplace", func(r *rand.Rand) float64 { return r.ExpFloat64() * float64(2*r.IntN(2)-1) }},
	{"uniform", func(r *rand.Rand) float64 { return 2*r.Float64() - 1 }},
	{"half zero", func(r *rand.Rand) float64 { return r.NormFloat64() * float64(r.IntN(2)) }},
	{"negative", func(r *rand.Rand) float64 { return r.NormFloat64() - 10 }},
	{"positive", func(r *rand.Rand) float64 { return r.NormFloat64() + 10 }},
	{"few large", func(r *rand.Rand) float64 { return (1 + 0.8*r.Float64()) * float64(1+4*(r.IntN(8)/7)) }},
}

// drawn returns elements of a distribution, always the same.
func drawn(draw func(*rand.Rand) float64) []float32 {
	rng := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, 64*superLen)
	for i := range x {
		x[i] = float32(draw(rng))
	}
	return x
}

// relativeError returns the root mean square error of y as a share of that of zeros.
func relativeError(x, y []float32) float64 {
	return math.Sqrt(meanSquare(x, y) / meanSquare(x, make([]float32, len(x))))
}

// TestEncodingLosesNoMoreThanGGML compares errors with those of ggml's quantizers without an importance matrix (ggml
// 0.20.2, of 2026-08-18) for the same elements.
func TestEncodingLosesNoMoreThanGGML(t *testing.T) {
	for d, limits := range map[DType][len(distributions)]float64{
		Q4_1:   {0.078614, 0.094067, 0.060775, 0.094200, 0.007804, 0.007811, 0.046670},
		Q5_0:   {0.042938, 0.054312, 0.031360, 0.037919, 0.021260, 0.021381, 0.048131},
		Q5_1:   {0.038222, 0.045305, 0.029643, 0.045532, 0.003800, 0.003799, 0.022027},
		Q2_K:   {0.295058, 0.352091, 0.234648, 0.394950, 0.030874, 0.090088, 0.144799},
		Q3_K:   {0.150343, 0.180125, 0.125765, 0.129308, 0.073149, 0.080791, 0.185213},
		Q4_K:   {0.071628, 0.086021, 0.054661, 0.068478, 0.007688, 0.020963, 0.046799},
		Q5_K:   {0.036296, 0.043466, 0.027828, 0.037510, 0.004065, 0.010438, 0.023990},
		Q6_K:   {0.017782, 0.022051, 0.013251, 0.014758, 0.009147, 0.009196, 0.021193},
		IQ4_NL: {0.076852, 0.088640, 0.064176, 0.069748, 0.053587, 0.053890, 0.082080},
		IQ4_XS: {0.077478, 0.089314, 0.064757, 0.070439, 0.054070, 0.054473, 0.082510},
		MXFP4:  {0.113624, 0.127617, 0.144237, 0.115306, 0.133829, 0.133995, 0.124518},
		// ggml has no quantizers for these: a little more than their own errors.
		IQ2X: {0.19, 0.19, 0.15, 0.17, 0.096, 0.096, 0.107}, IQ2X16: {0.17, 0.17, 0.145, 0.145, 0.095, 0.095, 0.096},
		IQ3X: {0.085, 0.11, 0.06, 0.15, 0.045, 0.045, 0.095}, IQ3SX: {0.087, 0.112, 0.06, 0.155, 0.042, 0.042, 0.1},
	} {
		for i, dist := range distributions {
			x := drawn(dist.draw)
			if got := relativeError(x, reencode(t, d, x)); got > limits[i] {
				t.Errorf("%v: %s elements: error %.6f, ggml's is %.6f", d, dist.name, got, limits[i])
			}
		}
	}
}

// TestEncodingIsTheSameOnAllMachines has a hash of the blocks that elements become. A compiler that fuses products with sums
// would change it: that for arm64 may, and that for amd64 with GOAMD64=v3.
func TestEncodingIsTheSameOnAllMachines(t *testing.T) {
	want := map[DType]string{
		Q4_1:   "485fbcb41e515769",
		Q5_0:   "85daf5a7fdeaa72f",
		Q5_1:   "508cc6a879f6c3cb",
		Q2_K:   "bfbb2bec47a4ccce",
		Q3_K:   "3c70de15506fa151",
		Q4_K:   "95dc3fcb23ab5033",
		Q5_K:   "5d7bde2e989488e4",
		Q6_K:   "bd170ac9cbae635a",
		IQ4_NL: "946f438bd536be3e",
		IQ4_XS: "d334a6de3e4a4810",
		MXFP4:  "2d7e80322c012a65",
		IQ2X:   "072190981b6d34e3",
		IQ2X16: "928acb33810b6729",
		IQ3X:   "49040dfae07a4247",
		IQ3SX:  "ac93a2a4204b3994",
	}
	rng := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, 256*superLen)
	for i := range x {
		u := float64(int32(rng.Uint32())) / (1 << 31)
		x[i] = float32(float64(u*u) * u)
	}
	for _, d := range schemed() {
		b := make([]byte, d.Bytes(len(x)))
		if err := Encode(d, b, x); err != nil {
			t.Fatal(err)
		}
		h := fnv.New64a()
		h.Write(b)
		if got := fmt.Sprintf("%016x", h.Sum64()); got != want[d] {
			t.Errorf("%v: blocks with hash %s, want %s", d, got, want[d])
		}
	}
}

// repeated returns a block of 256 elements that are equal but for one.
func repeated(all, one float32) []float32 {
	x := make([]float32, superLen)
	for i := range x {
		x[i] = all
	}
	x[77] = one
	return x
}

// TestMinsStayFinite encodes the largest float16, for which a fitted min would be beyond them.
func TestMinsStayFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	x := make([]float32, 64*superLen)
	for i := range x {
		x[i] = float32(65504-256*float64(rng.IntN(8))) * float32(1-2*rng.IntN(2))
	}
	for _, d := range []DType{Q4_1, Q5_1} {
		if got := relativeError(x, reencode(t, d, x)); !(got < 0.03) {
			t.Errorf("%v: error %v", d, got)
		}
	}
}

// TestHardBlocksKeepTheirElements bounds the errors of blocks with few different elements, and of very large and very small
// ones, as a share of the largest element. In blocks with mins, an element that is its group's only other one has a value of
// its own.
func TestHardBlocksKeepTheirElements(t *testing.T) {
	const denormal = 1e-40
	for _, c := range []struct {
		name   string
		x      []float32
		shared float64 // limit of formats without mins
		mins   float64 // limit of formats with mins
	}{
		{"zeros", repeated(0, 0), 0, 0},
		{"one element", repeated(0, 1.3), 0.001, 0.001},
		{"one negative element", repeated(0, -0.7), 0.001, 0.001},
		{"equal elements", repeated(0.3, 0.3), 0.001, 0.001},
		{"equal negative elements", repeated(-1.7, -1.7), 0.001, 0.001},
		{"one outlier", repeated(0.01, 100), 0.0005, 0.0005},
		{"two values", repeated(1, -1), 0.15, 0.01},
		{"large elements", repeated(6e4, -6e4), 0.15, 0.02},
		{"smaller than any scale", repeated(1e-12, -1e-12), 1, 1},
		{"denormal elements", repeated(denormal, -denormal), 1, 1},
	} {
		for _, d := range schemed() {
			s := d.Scheme()
			limit := c.shared
			switch {
			case s.Mins:
				limit = c.mins
			case s.Power:
				limit = max(limit, 0.2) // there is no scale for the element
			case d.IsExpansion():
				limit = max(limit, 0.2) // values near zero are few
			case s.Values != nil:
				limit = max(limit, 0.01) // zero is no value, 1 of 127 is
			}
			extreme := 0.0
			for _, x := range c.x {
				extreme = max(extreme, math.Abs(float64(x)))
			}
			y := reencode(t, d, c.x)
			for i, x := range c.x {
				if off := math.Abs(float64(y[i]) - float64(x)); !(off <= limit*extreme) {
					t.Errorf("%v: %s: element %d, %v, became %v", d, c.name, i, x, y[i])
					break
				}
			}
		}
	}
}

// TestLargestScalesAreAccepted has the largest elements whose scale is a float16, and those beyond.
func TestLargestScalesAreAccepted(t *testing.T) {
	for d, limit := range map[DType]float32{
		Q4_1: 65504 * 15, Q5_0: 65504 * 16, Q5_1: 65504 * 31, Q2_K: 65504 * 3 * 15, Q3_K: 65504 * 4 * 32, Q4_K: 65504 * 15 * 63,
		Q5_K: 65504 * 31 * 63, Q6_K: 65504 * 32 * 128, IQ4_NL: 65504 * 127, IQ4_XS: 65504 * 127 * 32,
	} {
		b := make([]byte, d.Bytes(superLen))
		if err := Encode(d, b, repeated(0, limit)); err != nil {
			t.Errorf("%v: %v", d, err)
		}
		if err := Encode(d, b, repeated(0, 1.05*limit)); err == nil {
			t.Errorf("%v: %v has no scale, and was accepted", d, 1.05*limit)
		}
	}
}

func TestPowerAbove(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 0x1p-128, 1e-45: 0x1p-128, 0x1p-127: 0x1p-127, 0.75: 1, 1: 1, 1.01: 2, 6: 8, math.MaxFloat32: 0x1p127,
	} {
		if got := float64(BF16ToF32(powerBits(byte(powerAbove(x))))); got != want {
			t.Errorf("the power above %g is %g, want %g", x, got, want)
		}
	}
}

// TestElementsBeyondAFormat encodes blocks whose scale or min no block can hold. The error has the element which decides that.
func TestElementsBeyondAFormat(t *testing.T) {
	for _, c := range []struct {
		d        DType
		all, one float32
		want     string // "" if the format holds them
	}{
		{Q4_0, 1, 6e5, "element 77 is 600000: too large"},
		{Q8_0, 823014.6, 9.5e6, "element 77 is 9.5e+06: too large"},
		{Q8_0, 823014.6, 1, ""},
		{Q4_1, 1e6, 1e6, "element 0 is 1e+06: too large to be quantized, as the block's min"},
		{Q5_1, 1, -7e4, "element 77 is -70000: too large to be quantized, as the block's min"},
		{Q4_1, 65000, 9e5, ""},
		{Q5_K, 1, 3.3e38, "element 77 is 3.3e+38: too large"},
		{MXFP4, 1, 3.3e38, "element 77 is 3.3e+38: too large to be quantized, as sums of products"},
		{MXFP4, 1, 3e34, "element 77 is 3e+34: too large to be quantized"},
		{MXFP4, 1, 1.5e34, ""},
	} {
		err := Encode(c.d, make([]byte, c.d.Bytes(superLen)), repeated(c.all, c.one))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%v with %v: %v", c.d, c.one, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v with %v: error %v, want %q", c.d, c.one, err, c.want)
		}
	}
}

// FuzzEncode encodes any elements. What is not refused has elements that are float32, with no larger an error than zeros.
func FuzzEncode(f *testing.F) {
	for _, d := range schemed() {
		f.Add(uint8(d), []byte{0, 0, 0x80, 0x3f, 1, 0, 0, 0, 0, 0, 0x80, 0x7f})
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		d := DType(kind)
		if d.Scheme() == nil || len(data) < 4 {
			return
		}
		x, y := make([]float32, superLen), make([]float64, superLen)
		for i := range x {
			at := 4 * i % (len(data) / 4 * 4)
			x[i] = math.Float32frombits(le.Uint32(data[at:]))
		}
		b := make([]byte, d.Bytes(superLen))
		if Encode(d, b, x) != nil {
			return
		}
		if err := Decode(d, y, b); err != nil {
			t.Fatal(err)
		}
		var off, all float64
		for i := range x {
			if !(math.Abs(y[i]) <= math.MaxFloat32) {
				t.Fatalf("%v: %v became %v", d, x[i], y[i])
			}
			all += float64(x[i]) * float64(x[i])
			off += (float64(x[i]) - y[i]) * (float64(x[i]) - y[i])
		}
		if !(off <= 1.001*all) {
			t.Fatalf("%v: %v became %v", d, x, y)
		}
	})
}

package dtype

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// block makes 32 elements: the given ones by index, the others zero.
func block(at map[int]float32) []float32 {
	x := make([]float32, blockLen)
	for i, v := range at {
		x[i] = v
	}
	return x
}

// superblock makes 256 elements: the given ones by index, the others zero.
func superblock(at map[int]float32) []float32 {
	x := make([]float32, superLen)
	for i, v := range at {
		x[i] = v
	}
	return x
}

// patch makes a block's bytes: n times fill, then the given ones by index.
func patch(n int, fill byte, at map[int]byte) []byte {
	b := bytes.Repeat([]byte{fill}, n)
	for i, v := range at {
		b[i] = v
	}
	return b
}

// TestEncodeQuantizesLikeGGML has blocks worked out by hand. 0x3c00 is 1 as binary16, 0x2008 is the
// binary16 next to 1/127 (1/127 = 1.00787 * 2^-7; 1.00787*1024 = 1032.06: 0x408, exponent 8).
func TestEncodeQuantizesLikeGGML(t *testing.T) {
	tiny := math.Float32frombits(1) // the smallest: 1/d would be infinite
	tests := []struct {
		name string
		d    DType
		x    []float32
		want []byte
	}{
		{"zeros", Q8_0, block(nil), patch(34, 0, nil)},
		{"whole numbers", Q8_0, block(map[int]float32{0: 127, 1: -127, 31: 5}),
			patch(34, 0, map[int]byte{1: 0x3c, 2: 127, 3: 0x81, 33: 5})},
		{"ties go away from zero", Q8_0, block(map[int]float32{0: 127, 1: 0.5, 2: -0.5, 3: 2.5, 4: 0.49}),
			patch(34, 0, map[int]byte{1: 0x3c, 2: 127, 3: 1, 4: 0xff, 5: 3})},
		{"scale rounds only when stored", Q8_0, block(map[int]float32{9: -1}),
			patch(34, 0, map[int]byte{0: 0x08, 1: 0x20, 11: 0x81})},
		{"too small for a scale", Q8_0, block(map[int]float32{3: tiny}), patch(34, 0, nil)},

		{"zeros", Q4_0, block(nil), patch(18, 0x88, map[int]byte{0: 0, 1: 0x80})},
		{"the extreme is nibble 0", Q4_0, block(map[int]float32{0: -8, 1: 7, 2: 8, 16: 3, 17: -1.5}),
			// 8 has the magnitude of the first extreme: 16.5 is cut to 15.
			// 3 is 11.5, cut to 11; -1.5 is 7.
			patch(18, 0x88, map[int]byte{0: 0, 1: 0x3c, 2: 0xb0, 3: 0x7f, 4: 0x8f})},
		{"a positive extreme makes a negative scale", Q4_0, block(map[int]float32{20: 4}),
			patch(18, 0x88, map[int]byte{0: 0, 1: 0xb8, 6: 0x08})},
		{"halves round up in nibbles", Q4_0, block(map[int]float32{0: -8, 1: 0.5, 2: -0.5}),
			patch(18, 0x88, map[int]byte{0: 0, 1: 0x3c, 2: 0x80, 3: 0x89, 4: 0x88})},

		{"zeros", Q8A, block(nil), patch(48, 0, map[int]byte{38: 0x40, 39: 0x4b, 42: 0x40, 43: 0x4b})},
		{"scale and sum", Q8A, block(map[int]float32{0: 254, 1: -2, 2: 1, 31: -254}),
			// scale 2 = 0x40000000; 127 - 1 + 1 - 127 = 0
			patch(48, 0, map[int]byte{0: 127, 1: 0xff, 2: 1, 31: 0x81, 35: 0x40, 38: 0x40, 39: 0x4b, 42: 0x40, 43: 0x4b})},
		{"negative sum", Q8A, block(map[int]float32{0: -127}),
			// 1.5·2^23 = 0x4b400000, plus 8·127 = 0x3f8 and 128·127 = 0x3f80
			patch(48, 0, map[int]byte{0: 0x81, 34: 0x80, 35: 0x3f, 36: 0xf8, 37: 0x03, 38: 0x40, 39: 0x4b, 40: 0x80, 41: 0x3f, 42: 0x40, 43: 0x4b})},

		{"zeros", Q8A_K, superblock(nil), patch(320, 0, nil)},
		{"one scale and sums", Q8A_K, superblock(map[int]float32{0: 254, 15: 3, 16: -2, 40: 0.99, 255: -254}),
			// scale 2 = 0x40000000; 3/2 is a tie, which becomes 2; 0.99/2 becomes 0
			patch(320, 0, map[int]byte{0: 127, 15: 2, 16: 0xff, 255: 0x81, 259: 0x40,
				// of 32: 127 + 2 - 1 = 128, and -127 = 0xff81 at the end
				272: 128, 286: 0x81, 287: 0xff,
				// of 16: 129, -1 and -127
				288: 129, 290: 0xff, 291: 0xff, 318: 0x81, 319: 0xff})},
		{"the largest sums", Q8A_K, slices.Repeat([]float32{-127}, superLen),
			// 32·-127 = -4064 = 0xf020, 16·-127 = -2032 = 0xf810; the scale is 1 = 0x3f800000
			slices.Concat(bytes.Repeat([]byte{0x81}, 256), []byte{0, 0, 0x80, 0x3f}, make([]byte, 12),
				bytes.Repeat([]byte{0x20, 0xf0}, 8), bytes.Repeat([]byte{0x10, 0xf8}, 16))},
		{"too small for an inverse", Q8A_K, superblock(map[int]float32{200: 127 * tiny}), patch(320, 0, map[int]byte{256: 1})},
	}
	for _, tt := range tests {
		got := make([]byte, tt.d.BlockBytes())
		if err := Encode(tt.d, got, tt.x); err != nil {
			t.Errorf("%v: %s: %v", tt.d, tt.name, err)
		}
		if !bytes.Equal(got, tt.want) {
			t.Errorf("%v: %s:\n got %x\nwant %x", tt.d, tt.name, got, tt.want)
		}
	}
}

func TestDecodeMultipliesByTheScale(t *testing.T) {
	tests := []struct {
		d    DType
		src  []byte
		want map[int]float64
	}{
		{Q8_0, patch(34, 0, map[int]byte{1: 0x40, 2: 1, 33: 0x80}), map[int]float64{0: 2, 31: -256}},
		{Q8_0, patch(34, 0, map[int]byte{0: 1, 2: 1}), map[int]float64{0: 0x1p-24}},
		{Q4_0, patch(18, 0x88, map[int]byte{0: 0, 1: 0xc0, 2: 0xf0, 17: 0x9a}),
			map[int]float64{0: 16, 16: -14, 15: -4, 31: -2}},
		{Q8A, patch(48, 0, map[int]byte{0: 0x81, 31: 3, 35: 0x40}), map[int]float64{0: -254, 31: 6}},
		{Q8A_K, patch(320, 0, map[int]byte{0: 0x81, 255: 3, 259: 0x40, 272: 9, 288: 9}), map[int]float64{0: -254, 255: 6}},
	}
	for _, tt := range tests {
		got := make([]float64, tt.d.BlockElems())
		if err := Decode(tt.d, got, tt.src); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != tt.want[i] {
				t.Errorf("%v of %x: element %d is %v, want %v", tt.d, tt.src, i, v, tt.want[i])
			}
		}
	}
}

// TestExactValuesSurviveEncodeAndDecode: values that every type here holds exactly come back, several blocks in a row.
func TestExactValuesSurviveEncodeAndDecode(t *testing.T) {
	src := make([]float32, 3*superLen)
	for i := range src {
		src[i] = float32(i & 1)
	}
	for d := Invalid + 1; d < NumDTypes; d++ {
		if d.Expansion().Valid() {
			continue // these are only read
		}
		enc := make([]byte, d.RowBytes(len(src)))
		if err := Encode(d, enc, src); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		dec := make([]float64, len(src))
		dec32 := make([]float32, len(src))
		if err := Decode(d, dec, enc); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if err := DecodeFloat32(d, dec32, enc); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		for i := range src {
			// 1 becomes 127*f16(1/127), or a nibble cut at 15: near it.
			if math.Abs(dec[i]-float64(src[i])) > 0.13 || dec32[i] != float32(dec[i]) {
				t.Errorf("%v: element %d: %v became %v and %v", d, i, src[i], dec[i], dec32[i])
			}
			if !d.IsQuantized() && dec[i] != float64(src[i]) {
				t.Errorf("%v: element %d: %v became %v", d, i, src[i], dec[i])
			}
		}
	}
}

func TestEncodeRejectsInexactIntegers(t *testing.T) {
	tests := []struct {
		d    DType
		x    float32
		ok   bool
		want float64
	}{
		{I8, -128, true, -128}, {I8, 127, true, 127}, {I8, 128, false, 0}, {I8, 0.5, false, 0},
		{U8, 255, true, 255}, {U8, -1, false, 0}, {U8, 256, false, 0},
		{Bool, 1, true, 1}, {Bool, 2, false, 0},
		{I32, -1 << 31, true, -1 << 31}, {I32, 1 << 31, false, 0},
		{I64, -1 << 63, true, -1 << 63}, {I64, 1 << 63, false, 0},
		{I32, float32(math.NaN()), false, 0}, {I64, float32(math.Inf(1)), false, 0},
	}
	for _, tt := range tests {
		b := make([]byte, tt.d.BlockBytes())
		err := Encode(tt.d, b, []float32{tt.x})
		if (err == nil) != tt.ok {
			t.Errorf("%v of %v: %v", tt.d, tt.x, err)
		}
		var got [1]float64
		if err := Decode(tt.d, got[:], b); err != nil {
			t.Fatal(err)
		}
		if tt.ok && got[0] != tt.want {
			t.Errorf("%v of %v came back as %v", tt.d, tt.x, got[0])
		}
	}
}

func TestCodecErrorsNameTheElement(t *testing.T) {
	inf := float32(math.Inf(-1))
	two := func(at map[int]float32) []float32 { return append(block(nil), block(at)...) }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"not a block", Encode(Q4_0, make([]byte, 18), make([]float32, 31)), "31 elements are no whole number of q4_0 blocks of 32"},
		{"short", Decode(F16, make([]float64, 3), make([]byte, 5)), "3 elements of f16 take 6 bytes, not 5"},
		{"short32", DecodeFloat32(F16, make([]float32, 3), make([]byte, 7)), "take 6 bytes, not 7"},
		{"no dtype", Decode(Invalid, nil, nil), "dtype(0) is no dtype"},
		{"NaN", Encode(Q8_0, make([]byte, 68), two(map[int]float32{1: float32(math.NaN())})), "element 33 is NaN: cannot be quantized"},
		{"infinite", Encode(Q4_0, make([]byte, 36), two(map[int]float32{31: inf})), "element 63 is -Inf: cannot be quantized"},
		{"infinite", Encode(Q8A, make([]byte, 96), two(map[int]float32{0: inf})), "element 32 is -Inf"},
		{"NaN", Encode(Q8A_K, make([]byte, 640), append(superblock(nil), superblock(map[int]float32{1: float32(math.NaN())})...)), "element 257 is NaN"},
		{"not a superblock", Encode(Q8A_K, make([]byte, 320), make([]float32, 32)), "32 elements are no whole number of q8a_k blocks of 256"},
		{"scale", Encode(Q8_0, make([]byte, 68), two(map[int]float32{2: 1e30})), "element 34 is 1e+30: too large"},
		{"scale", Encode(Q4_0, make([]byte, 36), two(map[int]float32{2: 524160})), "element 34 is 524160: too large"},
		{"integer", Encode(I8, make([]byte, 2), []float32{1, 1.5}), "element 1 is 1.5: no integer from -128 up to, not including, 128"},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, tt.err, tt.want)
		}
	}
	if err := Encode(Q4_0, make([]byte, 18), block(map[int]float32{0: 524159})); err != nil {
		t.Errorf("the largest that still has a scale: %v", err)
	}
}

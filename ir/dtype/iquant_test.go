package dtype

import (
	"encoding/hex"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// expandable returns the formats that are only read.
func expandable() (ds []DType) {
	for d := range NumDTypes {
		if d.Expansion().Valid() {
			ds = append(ds, d)
		}
	}
	return ds
}

// TestExpandChangesNoBit compares the elements of ggml's blocks, and of many random ones, before and after they are
// expanded. Scales are of any size: denormal ones, whose eighth no float16 has, are among them.
func TestExpandChangesNoBit(t *testing.T) {
	for _, b := range knownBlocks(t, "testdata/ggml_expanded_blocks.txt") {
		for i, v := range expanded(t, b.d, b.src) {
			if v != b.elems[i] {
				t.Fatalf("%v: block %x: element %d is %v after it is expanded, ggml's is %v", b.d, b.src, i, v, b.elems[i])
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, d := range expandable() {
		want := make([]float32, d.BlockElems())
		for range 200 {
			src := make([]byte, d.BlockBytes())
			for i := range src {
				src[i] = byte(rng.Uint32())
			}
			for _, at := range d.ScaleOffsets() {
				src[at+1] &= 0x83 // a denormal
			}
			if err := DecodeFloat32(d, want, src); err != nil {
				t.Fatal(err)
			}
			for i, v := range expanded(t, d, src) {
				if v != want[i] && v == v {
					t.Fatalf("%v: block %x: element %d is %v, was %v", d, src, i, v, want[i])
				}
			}
		}
	}
}

// expanded returns the elements of the expansion of blocks.
func expanded(t *testing.T, d DType, src []byte) []float32 {
	t.Helper()
	n := len(src) / d.BlockBytes() * d.BlockElems()
	b, y := make([]byte, d.Expansion().Bytes(n)), make([]float32, n)
	if err := Expand(d, b, src); err != nil {
		t.Fatal(err)
	}
	if err := DecodeFloat32(d.Expansion(), y, b); err != nil {
		t.Fatal(err)
	}
	return y
}

// TestElementsOfExpandableFormats has a block of each whose elements follow from the definition alone: the first entry
// of each grid, the largest scale, D = 1.
func TestElementsOfExpandableFormats(t *testing.T) {
	block := func(n int, at map[int]byte) []byte {
		b := make([]byte, n)
		for i, v := range at {
			b[i] = v
		}
		return b
	}
	for _, c := range []struct {
		d     DType
		src   []byte
		first []float64
	}{
		// Scale 15 is 31/8; entry 0 is eight times 8; sign bits 0000001 make the eighth negative, too.
		{IQ2_XXS, block(66, map[int]byte{1: 0x3c, 6: 1, 9: 0xf0}), []float64{-31, 31, 31, 31, 31, 31, 31, -31, 31}},
		{IQ2_XS, block(74, map[int]byte{1: 0x3c, 3: 2, 66: 0x0f}), []float64{-31, 31, 31, 31, 31, 31, 31, -31, 31}},
		{IQ2_S, block(82, map[int]byte{1: 0x3c, 34: 1, 74: 0x0f}), []float64{-31, 31, 31, 31, 31, 31, 31, 31, 31}},
		{IQ3_XXS, block(98, map[int]byte{1: 0x3c, 66: 2, 69: 0xf0}), []float64{31, -31, 31, 31, 31, 31, 31, -31, 31}},
		{IQ3_S, block(110, map[int]byte{1: 0x3c, 74: 0x82, 106: 0x0f}), []float64{31, -31, 31, 31, 31, 31, 31, -31, 31}},
		// Entry 0 is eight times -1.
		{IQ1_S, block(50, map[int]byte{1: 0x3c, 35: 0xf0}), []float64{-16.875, -16.875}},
		{IQ1_S, block(50, map[int]byte{1: 0x3c, 35: 0x70}), []float64{-13.125, -13.125}},
		{IQ1_M, block(56, map[int]byte{32: 0x80, 48: 7, 53: 0xc0, 55: 0x30}), []float64{-13.125, -13.125, -13.125, -13.125, -13.125, -13.125, -13.125, -13.125, -16.875}},
		// 86·3 is 258: digit 1 and 2/256 of rest, 128·3 is 384: digit 1 and a half, whose digits are 1.
		{TQ1_0, block(54, map[int]byte{0: 86, 1: 255, 53: 0x3c}), []float64{0, 1, -1, -1}},
		{TQ2_0, block(66, map[int]byte{0: 3, 1: 2, 2: 1, 65: 0x40}), []float64{4, 2, 0, -2}},
	} {
		y := make([]float64, c.d.BlockElems())
		if err := Decode(c.d, y, c.src); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.first {
			if y[i] != want {
				t.Errorf("%v: element %d is %v, want %v", c.d, i, y[i], want)
			}
		}
	}
}

// TestGridsHaveTheirSizes: each has so many entries of digits below its base that no two are equal.
func TestGridsHaveTheirSizes(t *testing.T) {
	for _, c := range []struct {
		name, grid    string
		entries, base int
	}{
		{"IQ2_XXS", gridIQ2XXS, 256, 9}, {"IQ2_XS", gridIQ2XS, 512, 9}, {"IQ2_S", gridIQ2S, 1024, 9},
		{"IQ1", gridIQ1, 2048, 9}, {"IQ3_XXS", gridIQ3XXS, 256, 8}, {"IQ3_S", gridIQ3S, 512, 8},
	} {
		seen := make(map[string]bool)
		for i := 0; i+gridDigits <= len(c.grid); i += gridDigits {
			seen[c.grid[i:i+gridDigits]] = true
		}
		if len(c.grid) != gridDigits*c.entries || len(seen) != c.entries {
			t.Errorf("%s: %d digits, %d entries, want %d entries", c.name, len(c.grid), len(seen), c.entries)
		}
		for _, digit := range c.grid {
			if digit < '0' || int(digit-'0') >= c.base {
				t.Errorf("%s: digit %q", c.name, digit)
			}
		}
	}
}

func TestExpandRefusesWhatItCannotExpand(t *testing.T) {
	for _, c := range []struct {
		d        DType
		dst, src int
		want     string
	}{
		{Q4_K, 144, 144, "q4_k is not expanded"},
		{Invalid, 0, 0, "is not expanded"},
		{IQ2_XXS, 138, 67, "256 elements of iq2_xxs take 66 bytes, not 67"},
		{IQ2_XXS, 137, 66, "256 elements of iq2x take 138 bytes, not 137"},
	} {
		if err := Expand(c.d, make([]byte, c.dst), make([]byte, c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.d, err, c.want)
		}
	}
	if err := Encode(TQ1_0, make([]byte, 54), make([]float32, 256)); err == nil || !strings.Contains(err.Error(), "only read") {
		t.Errorf("encoding gave %v", err)
	}
}

// FuzzExpand expands blocks of any bytes.
func FuzzExpand(f *testing.F) {
	for _, d := range expandable() {
		f.Add(uint8(d), []byte(strings.Repeat("Z", d.BlockBytes())))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		d := DType(kind)
		if !d.Valid() || !d.Expansion().Valid() || len(data) < d.BlockBytes() {
			return
		}
		src, want := data[:d.BlockBytes()], make([]float64, d.BlockElems())
		if err := Decode(d, want, src); err != nil {
			t.Fatal(err)
		}
		for i, v := range expanded(t, d, src) {
			if float64(v) != want[i] && !math.IsNaN(want[i]) {
				t.Fatalf("%v: %s: element %d is %v, was %v", d, hex.EncodeToString(src), i, v, want[i])
			}
		}
	})
}

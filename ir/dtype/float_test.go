package dtype

import (
	"math"
	"testing"
)

// half is the value of a binary16 by its definition (IEEE 754, 3.4), without NaN.
func half(h uint16) float64 {
	exp, frac := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(1024+frac, exp-25)
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 31:
		v = math.Inf(1)
	}
	if h>>15 != 0 {
		v = -v
	}
	return v
}

func isNaN16(h uint16) bool { return h&0x7fff > 0x7c00 }

// TestF16ConvertsAllValuesBothWays compares all binary16 values with the definition, there and back.
func TestF16ConvertsAllValuesBothWays(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := F16ToF32(h)
		if isNaN16(h) {
			want := h | 0x200 // quiet
			if f == f || F32ToF16(f) != want {
				t.Fatalf("%04x: NaN became %v, then %04x", h, f, F32ToF16(f))
			}
			continue
		}
		if want := half(h); float64(f) != want || math.Signbit(float64(f)) != (h>>15 != 0) {
			t.Fatalf("%04x is %v, want %v", h, f, want)
		}
		if back := F32ToF16(f); back != h {
			t.Fatalf("%04x became %v, then %04x", h, f, back)
		}
	}
}

// TestF16RoundsToNearestEven tries, between any two neighbours, their middle and its neighbors.
func TestF16RoundsToNearestEven(t *testing.T) {
	for h := uint16(0); h < 0x7c00; h++ {
		upper := half(h + 1)
		if h+1 == 0x7c00 {
			upper = 65536 // what would follow 65504
		}
		mid := float32((half(h) + upper) / 2) // exact: binary16 has 11 bits
		even := h + h&1
		tests := []struct {
			f    float32
			want uint16
		}{
			{math.Nextafter32(mid, 0), h},
			{mid, even},
			{math.Nextafter32(mid, 1e30), h + 1},
		}
		for _, tt := range tests {
			if got := F32ToF16(tt.f); got != tt.want {
				t.Fatalf("%v became %04x, want %04x", tt.f, got, tt.want)
			}
			if got := F32ToF16(-tt.f); got != tt.want|0x8000 {
				t.Fatalf("%v became %04x, want %04x", -tt.f, got, tt.want|0x8000)
			}
		}
	}
}

func TestF16OverflowsToInfinityAndKeepsNaN(t *testing.T) {
	inf := float32(math.Inf(1))
	tests := []struct {
		f    float32
		want uint16
	}{
		{math.MaxFloat32, 0x7c00}, {inf, 0x7c00}, {-inf, 0xfc00}, {65520, 0x7c00},
		{math.SmallestNonzeroFloat32, 0}, {0x1p-25, 0}, {0x1.000002p-25, 1},
		{math.Float32frombits(0x7f800001), 0x7e00}, // a NaN whose payload does not fit
		{math.Float32frombits(0xffbfffff), 0xffff},
	}
	for _, tt := range tests {
		if got := F32ToF16(tt.f); got != tt.want {
			t.Errorf("%v became %04x, want %04x", tt.f, got, tt.want)
		}
	}
}

// TestBF16ConvertsAllValuesAndRoundsToNearestEven checks all values there and back, and the rounding between
// neighbours.
func TestBF16ConvertsAllValuesAndRoundsToNearestEven(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := BF16ToF32(h)
		if h&0x7fff > 0x7f80 {
			if f == f || F32ToBF16(f) != h|0x40 {
				t.Fatalf("%04x: NaN became %v, then %04x", h, f, F32ToBF16(f))
			}
			continue
		}
		if math.Float32bits(f) != uint32(h)<<16 || F32ToBF16(f) != h {
			t.Fatalf("%04x became %v, then %04x", h, f, F32ToBF16(f))
		}
		if h&0x7fff == 0x7f80 {
			continue
		}
		mid := uint32(h)<<16 | 0x8000
		tests := []struct {
			bits uint32
			want uint16
		}{{mid - 1, h}, {mid, h + h&1}, {mid + 1, h + 1}}
		for _, tt := range tests {
			if got := F32ToBF16(math.Float32frombits(tt.bits)); got != tt.want {
				t.Fatalf("bits %08x became %04x, want %04x", tt.bits, got, tt.want)
			}
		}
	}
	if got := F32ToBF16(math.Float32frombits(0x7f800001)); got != 0x7fc0 {
		t.Errorf("a NaN whose payload does not fit became %04x", got)
	}
}

func BenchmarkF16ToF32(b *testing.B) {
	var sum float32
	for i := range b.N {
		sum += F16ToF32(uint16(i & 0x7bff))
	}
	_ = sum
}

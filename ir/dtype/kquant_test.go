package dtype

import "testing"

// TestQ6KDecodesAsDefined decodes a block made by hand: one element in each place where another shift or
// another scale applies.
func TestQ6KDecodesAsDefined(t *testing.T) {
	var b [210]byte
	le.PutUint16(b[208:], F32ToF16(0.5))
	for i := range 16 {
		b[192+i] = byte(i + 1) // scales 1 to 16
	}
	set := func(half, k, l int, bits byte) { // the definition, turned round
		b[64*half+32*(k%2)+l] |= bits & 15 << (4 * (k / 2))
		b[128+32*half+l] |= bits >> 4 << (2 * k)
	}
	set(0, 0, 0, 63)
	set(0, 1, 17, 40)
	set(0, 2, 31, 33)
	set(1, 3, 16, 1)

	var got [superLen]float64
	if err := Decode(Q6_K, got[:], b[:]); err != nil {
		t.Fatal(err)
	}
	want := map[int]float64{
		0:             0.5 * 1 * 31,
		32 + 17:       0.5 * 4 * 8,
		64 + 31:       0.5 * 6 * 1,
		128 + 96 + 16: 0.5 * 16 * -31,
		128:           0.5 * 9 * -32, // bits 0
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("element %d is %v, want %v", i, got[i], w)
		}
	}
	if err := Encode(Q6_K, b[:], make([]float32, superLen)); err == nil {
		t.Error("q6_K was made, though there is no quantizer")
	}
}

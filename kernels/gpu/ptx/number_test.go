package ptx

import "testing"

func TestHelpersRoundF16(t *testing.T) {
	for bits := range uint64(1 << 16) {
		x := f16value(bits)
		if got := f16bits(x); got != bits && x == x {
			t.Fatalf("%#x is %v and becomes %#x", bits, x, got)
		}
		next := f16value(bits + 1)
		if bits&0x7fff >= 0x7bff || x != x {
			continue
		}
		// Halfway to the next one is even; a little more or less is the closer one.
		mid := (x + next) / 2
		if got := f16bits(mid); got != bits+bits&1 {
			t.Fatalf("halfway from %#x becomes %#x", bits, got)
		}
		if below, above := f16bits(mid+(x-mid)*1e-6), f16bits(mid+(next-mid)*1e-6); below != bits || above != bits+1 {
			t.Fatalf("near halfway from %#x: %#x, %#x", bits, below, above)
		}
	}
}

func TestHelpersRoundFMAOnce(t *testing.T) {
	// 1 + 2^-24 is halfway between two f32; 2^-70 more is not.
	if got := float32(oddFMA(1+0x1p-12, 1+0x1p-12, -0x1p-11+0x1p-24)); got != 1+0x1p-23 {
		t.Errorf("got %x", got)
	}
	if got := float32(oddFMA(0x1p-40, 0x1p-40, 1+0x1p-24)); got != 1+0x1p-23 {
		t.Errorf("got %x", got)
	}
	if got := float32(oddFMA(-0x1p-40, 0x1p-40, 1+0x1p-24)); got != 1 {
		t.Errorf("got %x", got)
	}
}

//go:build !purego

package cpu

import (
	"testing"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// TestPrefetchDistances has the distances that were measured, by processor.
func TestPrefetchDistances(t *testing.T) {
	zen3, zen4 := features{avx2: true}, features{avx2: true, avx512: true, vnni: true}
	zen5, xeon := zen4, zen4
	zen5.vexVNNI, xeon.vexVNNI, xeon.intel = true, true, true
	if zen3.zen5() || zen4.zen5() || xeon.zen5() || !zen5.zen5() {
		t.Error("another processor is Zen 5, or Zen 5 is not")
	}
	for _, c := range []struct {
		name   string
		f      features
		narrow bool
		w      format
		want   int
	}{
		{"Zen 3", zen3, true, formatQ4K, 8192}, {"Zen 3", zen3, true, formatQ8, 8192},
		{"Zen 4, AVX2", zen4, true, formatQ4K, 0}, {"Zen 4, AVX2", zen4, true, formatQ8, 8192},
		{"Zen 4", zen4, false, formatQ4K, 2048}, {"Zen 4", zen4, false, formatQ4, 4096},
		{"Zen 5, AVX2", zen5, true, formatQ4K, 4096}, {"Zen 5, AVX2", zen5, true, formatQ8, 4096},
		{"Zen 5", zen5, false, formatQ4K, 4096},
		{"Xeon, AVX2", xeon, true, formatQ4K, 2048}, {"Xeon", xeon, false, formatQ4K, 1536},
	} {
		if got := prefetchDistance(c.f, c.narrow, c.w); got != c.want {
			t.Errorf("%s, format %d: %d, want %d", c.name, c.w, got, c.want)
		}
	}
}

// TestPlacesOfThisProcessor: one row with 256 bits reads at one place on AMD's processors before Zen 5, and at two there.
func TestPlacesOfThisProcessor(t *testing.T) {
	f := detect()
	if f.intel || !f.avx2 {
		t.Skip("not a processor of AMD's with AVX2")
	}
	want := 1
	if f.zen5() {
		want = 2
	}
	places := map[tile.Feature]int{
		tile.AVX2: want, tile.AVXVNNI: want, tile.AVX512: want, tile.AVX512VNNI: 2, tile.AVX512BF16: 2, tile.AMX: 2,
	}
	for _, im := range builtin() {
		if n, ok := places[im.name]; ok && im.fewPlaces != n {
			t.Errorf("%s: %d places, want %d", im.name, im.fewPlaces, n)
		}
	}
}

//go:build !purego

package cpu

import (
	"testing"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// TestPrefetchDistances has the distances and places that were measured, by processor.
func TestPrefetchDistances(t *testing.T) {
	zen3, zen4 := features{avx2: true}, features{avx2: true, avx512: true, vnni: true}
	zen5, xeon := zen4, zen4
	zen5.vexVNNI, xeon.vexVNNI, xeon.intel = true, true, true
	if zen3.zen5() || zen4.zen5() || xeon.zen5() || !zen5.zen5() {
		t.Error("another processor is Zen 5, or Zen 5 is not")
	}
	if zen3.zen4() || !zen4.zen4() || xeon.zen4() || zen5.zen4() {
		t.Error("another processor is Zen 4, or Zen 4 is not")
	}
	for _, c := range []struct {
		name             string
		f                features
		narrow           bool
		w                format
		distance, places int
	}{
		{"Zen 3", zen3, true, formatQ4K, 8192, 1}, {"Zen 3", zen3, true, formatQ8, 8192, 1},
		{"Zen 4, AVX2", zen4, true, formatQ4K, 0, 1}, {"Zen 4, AVX2", zen4, true, formatQ8, 0, 4},
		{"Zen 4", zen4, false, formatQ4K, 0, 2}, {"Zen 4", zen4, false, formatQ8, 0, 2},
		{"Zen 5, AVX2", zen5, true, formatQ4K, 4096, 2}, {"Zen 5, AVX2", zen5, true, formatQ8, 4096, 2},
		{"Zen 5", zen5, false, formatQ4K, 4096, 2},
		{"Xeon, AVX2", xeon, true, formatQ4K, 2048, 0}, {"Xeon", xeon, false, formatQ4K, 1536, 0},
	} {
		if got := prefetchDistance(c.f, c.narrow, c.w); got != c.distance {
			t.Errorf("%s, format %d: %d bytes, want %d", c.name, c.w, got, c.distance)
		}
		if got := fewPlaces(c.f, c.narrow, c.w); got != c.places {
			t.Errorf("%s, format %d: %d places, want %d", c.name, c.w, got, c.places)
		}
	}
	for _, c := range []struct {
		f    features
		want int
	}{{zen3, 2048}, {zen4, 0}, {zen5, 2048}, {xeon, 2048}} {
		for _, w := range []format{formatF16, formatBF16} {
			if got := prefetchDistance(c.f, true, w); got != c.want {
				t.Errorf("%+v, 16 bits: %d bytes, want %d", c.f, got, c.want)
			}
		}
	}
}

// TestPlacesOfThisProcessor: implementations have the distances and places of this processor.
func TestPlacesOfThisProcessor(t *testing.T) {
	f := detect()
	if !f.avx2 {
		t.Skip("not a processor with AVX2")
	}
	for _, im := range builtin() {
		narrow := im.name == tile.AVX2 || im.name == tile.AVXVNNI || im.name == tile.AVX512
		for _, w := range byteFormats {
			if n, want := im.fewPlaces[w], fewPlaces(f, narrow, w); n != want {
				t.Errorf("%s, format %d: %d places, want %d", im.name, w, n, want)
			}
			if n, want := im.ahead[w], prefetchDistance(f, narrow, w); n != want {
				t.Errorf("%s, format %d: %d bytes, want %d", im.name, w, n, want)
			}
		}
		for _, w := range []format{formatF16, formatBF16} {
			if n, want := im.ahead[w], prefetchDistance(f, narrow, w); n != want {
				t.Errorf("%s, 16 bits: %d bytes, want %d", im.name, n, want)
			}
		}
	}
}

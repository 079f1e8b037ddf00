//go:build !purego

package cpu

import "testing"

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

// TestPlacesOfThisProcessor: one row on AVX2 reads at one place on AMD's processors before Zen 5, and at two there.
func TestPlacesOfThisProcessor(t *testing.T) {
	f := detect()
	if f.intel || !f.avx2 {
		t.Skip("not a processor of AMD's with AVX2")
	}
	want := 1
	if f.zen5() {
		want = 2
	}
	if all := builtin(); all[1].fewPlaces != want || all[3].fewPlaces != 2 {
		t.Errorf("%d places on AVX2, want %d; %d with VNNI, want 2", all[1].fewPlaces, want, all[3].fewPlaces)
	}
}

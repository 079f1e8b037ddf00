package target

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestUnknownRatesDoNotCount: a rate of 0 is not known. Of two bandwidths the one that is known counts, and
// without a rate for operations on quantized weights that of floats does.
func TestUnknownRatesDoNotCount(t *testing.T) {
	for _, c := range []struct {
		name    string
		rates   Rates
		w       dtype.DType
		workers int
		want    float64 // for 1200 operations and 600 bytes
	}{
		{"nothing is known", Rates{}, dtype.F32, 1, 0},
		{"the start alone", Rates{Launch: 3}, dtype.F32, 1, 3},
		{"the memory's bandwidth alone", Rates{Bandwidth: 100}, dtype.F32, 4, 6},
		{"a worker's bandwidth alone", Rates{WorkerBW: 100}, dtype.F32, 2, 3},
		{"few workers do not fill the memory", Rates{Bandwidth: 300, WorkerBW: 100}, dtype.F32, 2, 3},
		{"many workers share the memory", Rates{Bandwidth: 300, WorkerBW: 100}, dtype.F32, 6, 2},
		{"arithmetic is slower", Rates{FLOPs: 100, Bandwidth: 300}, dtype.F32, 1, 12},
		{"arithmetic is shared", Rates{FLOPs: 100, Bandwidth: 300}, dtype.F32, 3, 4},
		{"memory is slower", Rates{FLOPs: 100, Bandwidth: 10}, dtype.F32, 3, 60},
		{"quantized weights", Rates{FLOPs: 100, QuantOps: 400}, dtype.Q8_0, 1, 3},
		{"quantized weights, no rate of their own", Rates{FLOPs: 100}, dtype.Q8_0, 1, 12},
		{"floats do not have the rate of quantized weights", Rates{FLOPs: 100, QuantOps: 400}, dtype.F16, 1, 12},
		{"no workers are one", Rates{FLOPs: 100}, dtype.F32, 0, 12},
	} {
		d := &Descriptor{Rates: c.rates}
		if got := d.Seconds(1200, 600, c.w, c.workers); got != c.want {
			t.Errorf("%s: %v s, want %v", c.name, got, c.want)
		}
	}
}

// TestStagedTransfersTakeTwoCopies compares the time of a copy between two devices with that of its two parts.
func TestStagedTransfersTakeTwoCopies(t *testing.T) {
	rates := Rates{Link: 1e9, LinkOut: 5e8, LinkDelay: 1e-3}
	a, b := &Descriptor{Spaces: []string{"a"}, Rates: rates}, &Descriptor{Spaces: []string{"b"}, Rates: rates}
	host := &Descriptor{Spaces: []string{Host}}
	if got, want := b.TransferSeconds(a, 1e9), 1e-3+2.0; got != want {
		t.Errorf("direct: %v s, want %v", got, want)
	}
	b.Staged = true
	if got, want := b.TransferSeconds(a, 1e9), host.TransferSeconds(a, 1e9)+b.TransferSeconds(host, 1e9); got != want {
		t.Errorf("staged: %v s, want %v", got, want)
	}
}

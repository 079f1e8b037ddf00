package interp

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

// TestRandomKernelsHaveOneResult runs random kernels, which are correct, in several orders and with subgroups of all
// sizes. Every other one may have slabs, which are for subgroups of 32 threads.
func TestRandomKernelsHaveOneResult(t *testing.T) {
	kernels := uint64(300)
	if testing.Short() {
		kernels = 50
	}
	for n := range kernels {
		caps := kir.CapSubgroup | kir.CapF16 | kir.CapDot4 | kir.CapAsync | kir.CapTile
		if n%2 == 1 {
			caps |= kir.CapSlab
		}
		c, err := kirtest.Random(rand.New(rand.NewPCG(n, 0)), kirtest.Options{Caps: caps, Inexact: n%4 < 2})
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for seed := range uint64(5) {
			o := Options{Seed: seed, Flush: n%3 == 0, Subgroup: 4 << seed}
			if c.Kernel.Needs&kir.CapSlab != 0 {
				o.Subgroup = 32
			}
			out, err := runCase(c, o)
			if err != nil {
				t.Fatalf("kernel %d, seed %d: %v in\n%s", n, seed, err, c.Kernel)
			}
			if seed == 0 {
				first = out
			}
			if string(first) != string(out) {
				t.Fatalf("kernel %d: seeds 0 and %d: %v in\n%s", n, seed, c.Compare(first, out), c.Kernel)
			}
		}
	}
}

// runCase returns what a random kernel leaves in its memory.
func runCase(c *kirtest.Case, o Options) ([]byte, error) {
	m := NewMemory()
	in, out := m.Alloc(len(c.In)), m.Alloc(c.Out)
	data := make([]byte, c.Out)
	m.Write(in, c.In)
	m.Write(out, data)
	if err := Run(c.Kernel, Launch{c.Groups, []uint64{in, out, uint64(uint32(c.N))}}, m, o); err != nil {
		return nil, err
	}
	if err := m.Read(out, data); err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	return data, nil
}

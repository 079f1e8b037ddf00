package spirv

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

// options returns what random kernels of a seed may do.
func options(seed uint64) kirtest.Options {
	o := kirtest.Options{Inexact: seed%2 == 1, Size: 4 + int(seed%20)}
	for i, c := range []kir.Caps{kir.CapSubgroup, kir.CapF16, kir.CapDot4} {
		if seed>>(1+i)&1 != 0 {
			o.Caps |= c
		}
	}
	return o
}

func random(t testing.TB, seed uint64) *kir.Kernel {
	t.Helper()
	c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 1)), options(seed))
	if err != nil {
		t.Fatal(err)
	}
	return c.Kernel
}

func TestRandomModulesAreValid(t *testing.T) {
	n := uint64(120)
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		k := random(t, seed)
		w := words32(t, k)
		if !slices.Equal(w, words32(t, random(t, seed))) {
			t.Fatalf("seed %d: the words differ", seed)
		}
		if validate(t, w); t.Failed() {
			t.Fatalf("seed %d: %v", seed, k)
		}
	}
}

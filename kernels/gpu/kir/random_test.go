package kir_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

func TestPrintedRandomKernelsAreParsed(t *testing.T) {
	for n := range uint64(200) {
		c, err := kirtest.Random(rand.New(rand.NewPCG(n, 2)), kirtest.Options{Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4 | kir.CapAsync | kir.CapTile, Inexact: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := kir.Parse(c.Kernel.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, c.Kernel)
		}
		if got.String() != c.Kernel.String() || !reflect.DeepEqual(got, c.Kernel) {
			t.Fatalf("parsed, the kernel differs:\n%s\nwas\n%s", got, c.Kernel)
		}
	}
}

package gpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// TestQuantizedActivationsNeedBlocks has products of q8a with matrices of floats.
func TestQuantizedActivationsNeedBlocks(t *testing.T) {
	for _, w := range []string{"f16", "f32"} {
		for _, op := range []string{"matmul %x, %w", "matmul_swiglu %x, %w, %w"} {
			for _, rows := range []string{"1", "rows"} {
				for _, caps := range []kir.Caps{0, kir.CapSubgroup | kir.CapDot4, kir.CapSubgroup | kir.CapTile | kir.CapAsync} {
					text := strings.NewReplacer("OP", op, "ROWS", rows, "TYPE", w).Replace(`ggir 1
props imported
symbol rows 1 200
weight "w" : TYPE[64,256]
func @f(%x: q8a[ROWS,256]) -> f32[ROWS,64] {
  %w = weight "w" : TYPE[64,256]
  %y = OP : f32[ROWS,64]
  return %y
}
`)
					_, err := Lower(irtest.Parse(t, text).Funcs[0].Nodes[1], Machine{Caps: caps, Lanes: 32})
					if !errors.Is(err, ErrNoKernel) {
						t.Errorf("%s of %s, %s rows, capabilities %v: error %v", op, w, rows, caps, err)
					}
				}
			}
		}
	}
}

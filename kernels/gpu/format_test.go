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

// TestLongBlocksOfActivationsAreRefused has nodes that make q8a_k, and products of it.
func TestLongBlocksOfActivationsAreRefused(t *testing.T) {
	for _, line := range []string{
		"quantize %x {to=q8a_k} : q8a_k[3,256]",
		"rms_norm_quantize %x, %n {eps=1e-05, to=q8a_k} : q8a_k[3,256]",
		"matmul %q, %w : f32[3,64]",
		"matmul_swiglu %q, %w, %w : f32[3,64]",
	} {
		_, typ, _ := strings.Cut(line, " : ")
		m := irtest.Parse(t, strings.NewReplacer("LINE", line, "TYPE", typ).Replace(`ggir 1
props imported
weight "w" : q4_k[64,256]
func @f(%x: f32[3,256], %n: f32[256], %q: q8a_k[3,256]) -> TYPE {
  %w = weight "w" : q4_k[64,256]
  %y = LINE
  return %y
}
`))
		nodes := m.Funcs[0].Nodes
		for _, caps := range []kir.Caps{0, kir.CapSubgroup | kir.CapDot4, kir.CapSubgroup | kir.CapTile | kir.CapAsync} {
			if _, err := Lower(nodes[len(nodes)-1], Machine{Caps: caps, Lanes: 32}); !errors.Is(err, ErrNoKernel) || !strings.Contains(err.Error(), "q8a_k") {
				t.Errorf("%s, capabilities %v: error %v", line, caps, err)
			}
		}
	}
}

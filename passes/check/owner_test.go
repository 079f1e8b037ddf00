package check

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestUnitsOfPackedValuesAreThoseOfTheirRows compares the owners of a state in panels with where its rows are: the
// positions of each head are a matrix of its own, whose last panel is padded.
func TestUnitsOfPackedValuesAreThoseOfTheirRows(t *testing.T) {
	const seqs, heads, ctx, d = 2, 3, 40, 64
	panels, panelBytes := (ctx+dtype.PanelRows-1)/dtype.PanelRows, dtype.PackedBytes(dtype.Q8_0, dtype.R16, dtype.PanelRows, d)
	typ := ir.Type{DType: dtype.Q8_0, Layout: dtype.R16, Shape: ir.Dims(seqs, heads, ctx, d)}
	for _, tc := range []struct {
		axis    int
		granule int64
		unit    func(seq, head int) int64
	}{
		{0, 1, func(seq, _ int) int64 { return int64(seq) }},
		{1, 1, func(_, head int) int64 { return int64(head) }},
		{1, 2, func(_, head int) int64 { return int64(head / 2) }},
	} {
		o := unitsOf(typ, ir.Const(0), tc.axis, tc.granule)
		if o.by != byUnit {
			t.Errorf("axis %d has no owners", tc.axis)
			continue
		}
		period, _ := o.period.IsConst()
		width, _ := o.width.IsConst()
		for m := range seqs * heads {
			for b := range int64(panels) * panelBytes {
				at := int64(m*panels)*panelBytes + b
				if got, want := at%period/width, tc.unit(m/heads, m%heads); got != want {
					t.Fatalf("axis %d, granule %d: byte %d belongs to unit %d, want %d", tc.axis, tc.granule, at, got, want)
				}
			}
		}
	}
	if o := unitsOf(typ, ir.Const(0), 2, 16); o.by == byUnit {
		t.Error("positions of all heads have owners, though they are not neighbours")
	}
	if o := unitsOf(typ, ir.Const(d), 1, 1); o.by == byUnit {
		t.Error("a part that begins within a panel has owners")
	}
}

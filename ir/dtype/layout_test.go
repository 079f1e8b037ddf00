package dtype

import "testing"

func TestPackedBytesCountWholePanels(t *testing.T) {
	for _, c := range []struct {
		d    DType
		l    Layout
		n, k int64
		want int64
	}{
		{F32, Plain, 3, 5, 60},
		{F32, R16, 16, 5, 320},
		{F32, R16, 17, 5, 640},
		{F16, R16, 1, 7, 224},
		{BF16, R16, 32, 2, 128},
		{Q8_0, Plain, 3, 64, 3 * 2 * 34},
		{Q8_0, R16, 16, 64, 2 * 544},
		{Q4_0, R16, 33, 32, 3 * 288},
		{Q8A, Plain, 2, 64, 2 * 96},
		{Q8A_K, Plain, 2, 512, 2 * 640},
		{Q4_1, R16, 17, 64, 2 * 2 * 320},
		{Q2_K, R16, 16, 512, 2 * 1600},
		{Q3_K, R16, 16, 512, 2 * 1824},
		{Q4_K, R16, 16, 512, 2 * 2368},
		{Q5_K, R16, 16, 512, 2 * 2880},
		{Q6_K, R16, 16, 512, 2 * 3360},
		{IQ4_XS, R16, 16, 512, 2 * 2208},
		{MXFP4, R16, 16, 64, 2 * 288},
		{Q4_0, Planar, 3, 32, 3 * (16 + 16)},
		{Q4_0, Planar, 3, 288, 3 * (144 + 32)},
		{Q8_0, Planar, 17, 256, 17 * 8 * 34},
		{I32, Plain, 0, 5, 0},
		{Q4_0, R16, 0, 32, 0},
		{Q4_0, R16, 1 << 20, 1 << 20, (1 << 16) * (1 << 15) * 288},
	} {
		if got := PackedBytes(c.d, c.l, c.n, c.k); got != c.want {
			t.Errorf("PackedBytes(%v, %v, %d, %d) = %d, want %d", c.d, c.l, c.n, c.k, got, c.want)
		}
	}
}

func TestPackedBytesPanicsWithoutTheLayoutOrWholeBlocks(t *testing.T) {
	for _, c := range []struct {
		d    DType
		l    Layout
		n, k int64
	}{
		{Q4_0, R16, 1, 33},
		{Q8A_K, R16, 16, 256},
		{I32, R16, 16, 16},
		{F16, Planar, 16, 32},
		{F32, Plain, -1, 1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("PackedBytes(%v, %v, %d, %d) does not panic", c.d, c.l, c.n, c.k)
				}
			}()
			PackedBytes(c.d, c.l, c.n, c.k)
		}()
	}
}

func TestLayoutNamesAreParsed(t *testing.T) {
	for l := range NumLayouts {
		got, err := ParseLayout(l.String())
		if err != nil || got != l {
			t.Errorf("ParseLayout(%q) = %v, %v", l.String(), got, err)
		}
	}
	if _, err := ParseLayout("r17"); err == nil {
		t.Error("ParseLayout takes r17")
	}
	if got := Layout(9).String(); got != "layout(9)" {
		t.Errorf("Layout(9) prints as %q", got)
	}
	if R16.Holds(I32) || !R16.Holds(Q8_0) || !Plain.Holds(I32) || Plain.Holds(Invalid) ||
		!Planar.Holds(Q4_0) || Planar.Holds(F16) || Planar.Holds(Invalid) {
		t.Error("Holds is wrong for r16 i32, r16 q8_0, plain i32, plain invalid, planar q4_0, planar f16 or planar invalid")
	}
	if Plain.Rows() != 1 || R16.Rows() != 16 || Planar.Rows() != 1 {
		t.Error("Rows is wrong for plain, r16 or planar")
	}
	if Invalid.PanelBlockBytes() != 0 || Q4_0.PanelBlockBytes() != 288 {
		t.Error("PanelBlockBytes is wrong for invalid or q4_0")
	}
}

package dtype

import (
	"slices"
	"strings"
	"testing"
)

// pairs puts two rows together, byte by byte.
func pairs() Packing {
	return Packing{
		Name: "pairs", Rows: 2,
		Bytes: func(d DType) int {
			if d == F32 || d == Q8_0 {
				return 2 * d.BlockBytes()
			}
			return 0
		},
		Pack: func(d DType, dst, src []byte, rows, k int) {
			row := d.RowBytes(k)
			for r := range rows {
				for i := range row {
					dst[r/2*2*row+2*i+r%2] = src[r*row+i]
				}
			}
		},
		Unpack: func(d DType, dst, src []byte, rows, k int) {
			row := d.RowBytes(k)
			for r := range rows {
				for i := range row {
					dst[r*row+i] = src[2*i+r]
				}
			}
		},
	}
}

func TestNewLayoutRefuses(t *testing.T) {
	for _, c := range []struct {
		edit func(p *Packing)
		want string
	}{
		{func(p *Packing) { p.Name = "R-2" }, `layout "R-2": not a name for a layout`},
		{func(p *Packing) { p.Name = "r16" }, "layout r16: there is one of this name already"},
		{func(p *Packing) { p.Rows = 0 }, "groups of 0 rows"},
		{func(p *Packing) { p.Rows = 65 }, "groups of 65 rows"},
		{func(p *Packing) { p.Unpack = nil }, "Bytes, Pack or Unpack is nil"},
		{func(p *Packing) { p.Bytes = func(DType) int { return 0 } }, "Bytes is 0 for every dtype"},
		{func(p *Packing) { p.Bytes = func(d DType) int { return d.BlockBytes() } }, "4 bytes for a block of each of 2 rows, which have 8"},
		{func(p *Packing) { p.Pack = func(DType, []byte, []byte, int, int) {} }, "layout pairs of f32: its Unpack does not return what Pack was given"},
	} {
		p := pairs()
		c.edit(&p)
		before := len(packings)
		if _, err := NewLayout(p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
		if len(packings) != before {
			t.Errorf("%s: it was declared", c.want)
		}
	}
}

func TestNewLayoutIsALayout(t *testing.T) {
	defer func(old []*Packing) { packings = old }(packings)
	l, err := NewLayout(pairs())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLayout(pairs()); err == nil {
		t.Error("the name was given twice")
	}
	if again, err := ParseLayout("pairs"); again != l || err != nil || l.String() != "pairs" {
		t.Errorf("%v is read as %v, error %v", l, again, err)
	}
	if !l.Holds(F32) || !l.Holds(Q8_0) || l.Holds(F16) || l.Rows() != 2 {
		t.Errorf("holds f32: %v, q8_0: %v, f16: %v; groups of %d rows", l.Holds(F32), l.Holds(Q8_0), l.Holds(F16), l.Rows())
	}
	if got := PackedBytes(Q8_0, l, 3, 64); got != 2*2*2*34 {
		t.Errorf("3 rows of 2 blocks have %d bytes, want 2 groups of 2 times 2 blocks", got)
	}
	src, dst := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, make([]byte, 16)
	l.PackRows(F32, dst, src, 3, 1)
	if want := []byte{0, 4, 1, 5, 2, 6, 3, 7, 8, 0, 9, 0, 10, 0, 11, 0}; !slices.Equal(dst, want) {
		t.Errorf("packed %v, want %v", dst, want)
	}
}

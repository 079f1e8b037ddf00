package codegen

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestWeightsThatCannotBeQuantizedAreCounted: an error counts elements of the matrix, of which a part is read.
func TestWeightsThatCannotBeQuantizedAreCounted(t *testing.T) {
	from := fakeRows{dt: dtype.F32, rows: 8, cols: 64, read: func(dst []byte, first int64) error {
		clear(dst)
		copy(dst[4*3:], "\x00\x00\xc0\x7f") // NaN
		return nil
	}}
	q := quantizeRows{from, dtype.Q8_0}
	if err := q.ReadRows(t.Context(), make([]byte, 2*68), 5, 2); err == nil || !strings.Contains(err.Error(), "element 323 is NaN") {
		t.Errorf("error %v, want one about element 5·64+3", err)
	}
}

// TestPartsOfMatricesAreRead reads rows and columns of matrices, of floats and of blocks, in one call and in several.
func TestPartsOfMatricesAreRead(t *testing.T) {
	w := fakeRows{dt: dtype.Q8_0, rows: 40, cols: 20_000 * 32} // more than a chunk in two rows
	source := fakeSource{"w": w, "f": {dt: dtype.F32, rows: 6, cols: 5}}
	block := int64(dtype.Q8_0.BlockBytes())
	rowsOf := func(f fakeRows, first, n, from, to int64) (want []byte) { // bytes from..to of each row
		for i := range n {
			want = append(want, f.row(first + i)[from:to]...)
		}
		return want
	}
	for _, tt := range []struct {
		e    *ir.Expr
		want []byte
	}{
		{ir.Rows(ir.Tensor("m", "f"), 2, 3), rowsOf(source["f"], 2, 3, 0, 20)},
		{ir.Columns(ir.Tensor("m", "f"), 1, 3), rowsOf(source["f"], 0, 6, 4, 16)},
		{ir.Columns(ir.Rows(ir.Tensor("m", "w"), 3, 4), 64, 96), rowsOf(w, 3, 4, 2*block, 5*block)},
		{ir.Rows(ir.Columns(ir.Tensor("m", "w"), 32, 32), 39, 1), rowsOf(w, 39, 1, block, 2*block)},
		{ir.Concat(ir.Rows(ir.Tensor("m", "f"), 5, 1), ir.Rows(ir.Tensor("m", "f"), 0, 2)), append(rowsOf(source["f"], 5, 1, 0, 20), rowsOf(source["f"], 0, 2, 0, 20)...)},
	} {
		r, err := openExpr(tt.e, source, 0)
		if err != nil {
			t.Errorf("%v: %v", tt.e, err)
			continue
		}
		n, k := r.Shape()
		got := make([]byte, n*int64(r.DType().RowBytes(int(k))))
		if err := r.ReadRows(t.Context(), got, 0, n); err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("%v: error %v; %d bytes, first difference from the %d wanted at %d", tt.e, err, len(got), len(tt.want), firstDifference(got, tt.want))
		}
	}
}

func TestPartsOutsideOfMatricesAreRefused(t *testing.T) {
	source := fakeSource{"w": {dt: dtype.Q8_0, rows: 4, cols: 64}}
	w := ir.Tensor("m", "w")
	for _, tt := range []struct {
		e    *ir.Expr
		want string
	}{
		{ir.Rows(w, 2, 3), "not within the 4 rows of 64 elements"},
		{ir.Rows(w, math.MaxInt64, math.MaxInt64), "not within the 4 rows"},
		{ir.Columns(w, 32, 64), "not within"},
		{ir.Columns(w, 16, 32), "cuts blocks of 32 elements of q8_0"},
		{ir.Columns(&ir.Expr{Op: ir.ExprLiteral, Data: make([]byte, 16)}, 0, 2), "columns of a literal"},
		{ir.Rows(ir.Pack(w, "r16"), 0, 2), "pack is inside another expression"},
	} {
		if _, err := openExpr(tt.e, source, 64); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: error %v, want %q", tt.e, err, tt.want)
		}
	}
}

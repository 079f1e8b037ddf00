package tune

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestOperandsAreBounded makes the operands of products with few rows and with very many: all rows of w are measured
// where few bytes are read with one row of x, and otherwise as many as come to coldRows bytes.
func TestOperandsAreBounded(t *testing.T) {
	for _, s := range []Shape{{N: 64, K: 64}, {N: 1 << 20, K: 64}, {N: 1 << 22, K: 32}} {
		for _, d := range []dtype.DType{dtype.F32, dtype.Q8_0, dtype.Q4_0} {
			o := newOperands(d, s)
			bytes := int(dtype.PackedBytes(d, dtype.R16, int64(o.singleN), int64(s.K)))
			all := o.singleN == s.N
			if bytes > coldRows+coldRows/64 || !all && bytes < coldRows-coldRows/64 || len(o.w)*8 < bytes {
				t.Errorf("%v %+v: %d rows of w of %d bytes, want all or %d bytes", d, s, o.singleN, bytes, coldRows)
			}
		}
	}
}

package gpu

import (
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestUnevenValuesAreThoseOfTheFormat computes the polynomial for all nibbles, with products that are rounded and with
// others, and compares it with the table of package dtype.
func TestUnevenValuesAreThoseOfTheFormat(t *testing.T) {
	for _, d := range []dtype.DType{dtype.IQ4_NL, dtype.IQ4_XS} {
		s := d.Scheme()
		for q := range uint8(16) {
			want := int(s.Value(q)) - s.Offset
			last := len(unevenValues) - 1
			once, twice := unevenValues[last], unevenValues[last]
			for k := last - 1; k >= 0; k-- {
				once = float32(math.FMA(float64(once), float64(q), float64(unevenValues[k])))
				twice = float32(twice*float32(q)) + unevenValues[k]
			}
			for _, x := range []float32{once, twice} {
				if got := math.RoundToEven(float64(x)); int(got) != want || math.Abs(float64(x)-got) > 0.45 {
					t.Errorf("%v: nibble %d is %v, want %d", d, q, x, want)
				}
			}
		}
	}
}

package runtime

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// finite returns an error that names the weights which hold NaN or infinite numbers. Scales of blocks are finite: the
// compiler refuses others.
func (w weights) finite(p *Program) error {
	const most = 8 // that the error names
	var bad []string
	for _, f := range p.Weights.Floats {
		if n := notFinite(w.bytes[f.At:][:f.Size], f.Type); n > 0 {
			bad = append(bad, fmt.Sprintf("%s has %d", f.Name, n))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	if n := len(bad); n > most {
		bad = append(bad[:most:most], fmt.Sprintf("and %d other weights have some", n-most))
	}
	return &WeightsError{Why: "they hold numbers that are NaN or infinite, as the model's file does: " + strings.Join(bad, ", ") + ": take another file"}
}

// notFinite returns how many numbers of b are NaN or infinite.
func notFinite(b []byte, t dtype.DType) (n int) {
	if t == dtype.F32 {
		const exponent = 0x7f800000
		for ; len(b) >= 4; b = b[4:] {
			if binary.LittleEndian.Uint32(b)&exponent == exponent {
				n++
			}
		}
		return n
	}
	exponent := uint16(0x7c00)
	if t == dtype.BF16 {
		exponent = 0x7f80
	}
	for ; len(b) >= 2; b = b[2:] {
		if binary.LittleEndian.Uint16(b)&exponent == exponent {
			n++
		}
	}
	return n
}

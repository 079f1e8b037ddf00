package eval

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Decode returns the tensor that data holds: rows of dtype d in plain layout, as GGUF and
// constants store them.
func Decode(d dtype.DType, data []byte, shape ...int) (Tensor, error) {
	t := New(shape...)
	if err := dtype.Decode(d, t.Data, data); err != nil {
		return Tensor{}, err
	}
	return t, nil
}

// Round returns t after it is stored as d and read again. It changes only values that d does not
// represent exactly.
func Round(d dtype.DType, t Tensor) (Tensor, error) {
	if d == dtype.F64 {
		return t.Dense(), nil
	}
	if n := t.Inner(); n%d.BlockElems() != 0 {
		return Tensor{}, fmt.Errorf("rows of %d elements are no whole number of %v blocks of %d", n, d, d.BlockElems())
	}
	flat := t.Flat()
	narrow := make([]float32, len(flat))
	for i, x := range flat {
		narrow[i] = float32(x)
	}
	data := make([]byte, d.Bytes(len(flat)))
	if err := dtype.Encode(d, data, narrow); err != nil {
		return Tensor{}, err
	}
	return Decode(d, data, t.Shape...)
}

func cast(c *call) (Tensor, error) { return Round(attr[ir.CastAttr](c).To, c.args[0].Tensor) }

func quantize(c *call) (Tensor, error) {
	return Round(attr[ir.QuantizeAttr](c).To, c.args[0].Tensor)
}

func rmsNormQuantize(c *call) (Tensor, error) {
	a := attr[ir.NormQuantizeAttr](c)
	return Round(a.To, normRows(c, float64(a.Eps)))
}

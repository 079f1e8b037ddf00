package flow

import (
	"cmp"
	"encoding/binary"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// SpaceOf returns the space of a type; that of the host if none is chosen yet.
func SpaceOf(t *ir.Type) string { return cmp.Or(t.Space, target.Host) }

// AppendType appends a key for a type: two types have the same bytes if dtype, layout, shape and strides are equal.
func AppendType(b []byte, t ir.Type) []byte {
	b = append(b, byte(t.DType), byte(t.Layout), byte(len(t.Shape)))
	b = appendDims(b, t.Shape)
	if t.Strides != nil {
		b = appendDims(append(b, 's'), t.Strides)
	}
	return b
}

func appendDims(b []byte, dims []ir.Dim) []byte {
	for _, d := range dims {
		if n, ok := d.IsConst(); ok {
			b = binary.AppendVarint(append(b, 0), n)
		} else {
			b = append(append(append(b, 1), d.String()...), 0)
		}
	}
	return b
}

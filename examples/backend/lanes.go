package npu

import (
	"example.com/npu/npurt"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// lanes is the layout of weights that the device reads: groups of npurt.Lanes rows, in which the numbers of one column
// follow each other.
//
//	rows a b c …, of numbers 0 1 2 …:  a0 b0 c0 … a1 b1 c1 … a2 b2 c2 …
var lanes = backend.NewLayout(dtype.Packing{
	Name: "lanes8",
	Rows: npurt.Lanes,
	Bytes: func(d dtype.DType) int {
		if d == dtype.F32 {
			return npurt.Lanes * d.BlockBytes()
		}
		return 0
	},
	Pack: func(d dtype.DType, dst, src []byte, rows, k int) {
		for r := range rows {
			for c := range k {
				copy(dst[packed(r, c, k):], src[4*(r*k+c):][:4])
			}
		}
	},
	Unpack: func(d dtype.DType, dst, src []byte, rows, k int) {
		for r := range rows {
			for c := range k {
				copy(dst[4*(r*k+c):][:4], src[packed(r, c, k):])
			}
		}
	},
})

// packed returns where the number of a row and a column is, in bytes; k is the number of columns.
func packed(row, column, k int) int {
	group, lane := row/npurt.Lanes, row%npurt.Lanes
	return 4 * ((group*k+column)*npurt.Lanes + lane)
}

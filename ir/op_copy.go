package ir

import "github.com/ggmlc/ggmlc/ir/dtype"

// CastAttr is the dtype of the result.
type CastAttr struct {
	To dtype.DType `attr:"to"`
}

// PackAttr is the layout of the result.
type PackAttr struct {
	To dtype.Layout `attr:"to"`
}

// ConcatAttr is the axis along which operands are joined.
type ConcatAttr struct {
	Axis int `attr:"axis"`
}

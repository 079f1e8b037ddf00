package eval

import (
	"github.com/ggmlc/ggmlc/ir"
)

func reshape(c *call) (Tensor, error) {
	shape, err := c.dims(attr[ir.ReshapeAttr](c).Shape)
	if err != nil {
		return Tensor{}, err
	}
	return c.args[0].Reshape(shape...)
}

func permute(c *call) (Tensor, error) {
	return c.args[0].Permute(attr[ir.PermuteAttr](c).Perm...)
}

func slice(c *call) (Tensor, error) {
	a := attr[ir.SliceAttr](c)
	at, err := c.dims([]ir.Dim{a.Start, a.Len})
	if err != nil {
		return Tensor{}, err
	}
	return c.args[0].Slice(a.Axis, at[0], at[1])
}

func concat(c *call) (Tensor, error) {
	axis := attr[ir.ConcatAttr](c).Axis
	shape := append([]int(nil), c.args[0].Shape...)
	for _, a := range c.args[1:] {
		shape[axis] += a.Shape[axis]
	}
	y, start := New(shape...), 0
	for _, a := range c.args {
		part, err := y.Slice(axis, start, a.Shape[axis])
		if err != nil {
			return Tensor{}, err
		}
		flat, i := a.Flat(), 0
		part.each(func(at int) {
			y.Data[at] = flat[i]
			i++
		})
		start += a.Shape[axis]
	}
	return y, nil
}

package eval

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

func weight(c *call) (Tensor, error) {
	name := attr[ir.WeightAttr](c).Name
	w, ok := c.env.Weights[name]
	if !ok {
		return Tensor{}, fmt.Errorf("no weight %q was given", name)
	}
	return w, nil
}

func constant(c *call) (Tensor, error) {
	typ := c.node.Results[0].Type
	if typ.Layout != dtype.Plain {
		return Tensor{}, fmt.Errorf("constants in layout %v cannot be read", typ.Layout)
	}
	shape, err := c.dims(typ.Shape)
	if err != nil {
		return Tensor{}, err
	}
	return Decode(typ.DType, attr[ir.ConstantAttr](c).Data, shape...)
}

package ggml

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// tensor is a tensor of ggml with its states. Axes count from the fastest.
type tensor struct {
	*foreign.Tensor
	d *Division

	state ir.Sharding // as readers see it
	own   ir.Sharding // before devices add up
}

// source returns source i, or nil.
func (t *tensor) source(i int) *tensor { return t.d.of(t.Source(i)) }

// in returns the state of source i as the tensor reads it, of kind ShardNone if there is no such source.
func (t *tensor) in(i int) ir.Sharding {
	if s := t.source(i); s != nil {
		return s.state
	}
	return ir.Sharding{}
}

// sources returns the sources that are present.
func (t *tensor) sources() []*tensor {
	var list []*tensor
	for _, s := range t.Sources() {
		list = append(list, t.d.of(s))
	}
	return list
}

// of returns the tensor with its states; nil for nil.
func (d *Division) of(t *foreign.Tensor) *tensor {
	if t == nil {
		return nil
	}
	return d.tensors[t.Index]
}

// leafName returns the name of the weight or state that a value names.
func leafName(v *ir.Value) string {
	switch a := v.Def.Attr.(type) {
	case *ir.WeightAttr:
		return a.Name
	case *ir.StateAttr:
		return a.Name
	}
	return ""
}

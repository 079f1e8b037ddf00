package eval

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// state is the version that was current when the function began, dense and from the start
// of its Data, so that views of it can find the whole.
func state(c *call) ([]value, error) {
	name := attr[ir.StateAttr](c).Name
	s, ok := c.before[name]
	if !ok {
		shape, err := c.dims(c.module.State(name).Type.Shape)
		if err != nil {
			return nil, err
		}
		s = New(shape...)
	}
	return []value{{Of(s.Flat(), s.Shape...), name}}, nil
}

// stateWrite makes a new version and leaves the old one to those that still name it: a
// read of it after the write would be a hazard, which this shows as a difference.
func stateWrite(c *call) ([]value, error) {
	next, d := c.args[0], c.node.Args[0].Type.DType
	x, err := Round(d, c.args[1].Tensor)
	if err != nil {
		return nil, err
	}
	next.Data = slices.Clone(next.Data)
	if err := writeRows(next.Tensor, x, c.args[2].Flat(), c.args[3].Flat()); err != nil {
		return nil, err
	}
	return []value{next}, c.keep(next)
}

// writeRows stores x[t,h] as row [slot[t],h,pos[t]] of a cache.
func writeRows(cache, x Tensor, slots, positions []float64) error {
	for t := range x.Shape[0] {
		slot, err := index(slots, t, cache.Shape[0], "slot")
		if err != nil {
			return err
		}
		pos, err := index(positions, t, cache.Shape[2], "pos")
		if err != nil {
			return err
		}
		for h := range x.Shape[1] {
			for i, v := range x.row(x.Data, t*x.Shape[1]+h) {
				cache.Data[cache.at([]int{slot, h, pos, i})] = v
			}
		}
	}
	return nil
}

// keep makes the bytes behind v the latest version of its state, if it has one.
func (r *run) keep(v value) error {
	if v.state == "" {
		return nil
	}
	shape, err := r.dims(r.module.State(v.state).Type.Shape)
	if err != nil {
		return err
	}
	r.latest[v.state] = Of(v.Data, shape...)
	return nil
}

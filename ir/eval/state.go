package eval

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// state returns the version at the start of the function. It is dense and begins at the start of its
// Data, so that a view gives access to the whole state.
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

// stateWrite returns a new version and keeps the old one for nodes that still read it. In a program
// they would read the new one, so that the results differ.
func stateWrite(c *call) ([]value, error) {
	next, d := c.args[0], c.node.Args[0].Type.DType
	x, err := Round(d, c.args[1].Tensor)
	if err != nil {
		return nil, err
	}
	next.Data = slices.Clone(next.Data)
	if err := writeRows(c.node, next.Tensor, x, c.args[2].Flat(), c.args[3].Flat()); err != nil {
		return nil, err
	}
	return []value{next}, c.keep(next)
}

// writeRows stores x[t,h] at row [slot[t],h,pos[t]] of a cache, or at the row of a ring that pos[t] has.
func writeRows(n *ir.Node, cache, x Tensor, slots, positions []float64) error {
	for t := range x.Shape[0] {
		slot, err := index(slots, t, cache.Shape[0], "slot")
		if err != nil {
			return err
		}
		pos, err := index(positions, t, positionsOf(n, cache), "pos")
		if err != nil {
			return err
		}
		for h := range x.Shape[1] {
			for i, v := range x.row(x.Data, t*x.Shape[1]+h) {
				cache.Data[cache.at([]int{slot, h, pos % cache.Shape[2], i})] = v
			}
		}
	}
	return nil
}

// keep makes v the latest version of its state, if it belongs to one.
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

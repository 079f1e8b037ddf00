package shard

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// collective writes out a collective other than all_reduce for a device.
func (s *spreader) collective(n *ir.Node, j int) (*ir.Value, error) {
	v, name, to := n.Args[0], s.name, n.Result().Sharding()
	s.all = s.once(n)
	switch n.Op {
	case ir.OpAllGather:
		return s.gather(v, name, j)
	case ir.OpReduceScatter:
		if to.Count(j) == 0 {
			return nil, nil
		}
		return s.reduce(v, name, j, func(p *ir.Value) (*ir.Value, error) { return s.cut(p, to, name, j) })
	}
	if to.Kind == ir.ShardPartial && j > 0 {
		return nil, nil
	}
	if to.Kind == ir.ShardPartial {
		return s.parts[v][0], nil
	}
	if to.Kind == ir.ShardHeld {
		if !to.Has(j) {
			return nil, nil
		}
		return s.parts[v][j], nil
	}
	return s.cut(s.parts[v][j], to, name, j)
}

// reduce returns the sum of what take takes of all summands, on device j. Every device adds in the order of devices, so
// that all have the same result.
func (s *spreader) reduce(v *ir.Value, name string, j int, take func(*ir.Value) (*ir.Value, error)) (*ir.Value, error) {
	var sum *ir.Value
	for _, p := range s.parts[v] {
		if p == nil {
			continue
		}
		p, err := take(p)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = p
			continue
		}
		if sum, err = s.emit(ir.OpAdd, nil, []*ir.Value{sum, p}, name, j); err != nil {
			return nil, err
		}
	}
	if sum == nil {
		return nil, fmt.Errorf("%v: no device has a summand", v)
	}
	return sum, nil
}

// gather returns the whole of a split value on device j: the pieces of all devices in the order of the whole. What
// several devices have is the first one's.
func (s *spreader) gather(v *ir.Value, name string, j int) (*ir.Value, error) {
	state := v.Sharding()
	if state.Kind == ir.ShardHeld {
		return s.parts[v][slices.IndexFunc(s.parts[v], func(p *ir.Value) bool { return p != nil })], nil
	}
	var pieces []*ir.Value
	at := make([]int64, s.devices)
	for _, seg := range state.Segments {
		for range seg.Times {
			for i := int64(0); i < seg.Len(); {
				k, end := seg.Owner(i)
				p, err := s.slice(s.parts[v][k], state.Axis, at[k]+i-seg.Start(k), end-i, name, j)
				if err != nil {
					return nil, err
				}
				pieces = append(pieces, p)
				i = end
			}
			for k, n := range seg.Counts {
				at[k] += n
			}
		}
	}
	return s.join(pieces, state.Axis, name, j)
}

// cut returns what device j has of a whole value in a split state; nil if that is nothing.
func (s *spreader) cut(v *ir.Value, state ir.Sharding, name string, j int) (*ir.Value, error) {
	var pieces []*ir.Value
	for _, r := range state.Ranges(j) {
		p, err := s.slice(v, state.Axis, r[0], r[1], name, j)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
	return s.join(pieces, state.Axis, name, j)
}

// slice returns a range of an axis.
func (s *spreader) slice(v *ir.Value, axis int, at, n int64, name string, j int) (*ir.Value, error) {
	if v.Type.Shape[axis].Is(n) {
		return v, nil
	}
	return s.emit(ir.OpSlice, &ir.SliceAttr{Axis: axis, Start: ir.Const(at), Len: ir.Const(n)}, []*ir.Value{v}, name, j)
}

// join returns pieces one after another; nil if there are none. It joins neighbours, then pairs of these and so on:
// kernels take two operands.
func (s *spreader) join(pieces []*ir.Value, axis int, name string, j int) (*ir.Value, error) {
	if len(pieces) == 0 {
		return nil, nil
	}
	for len(pieces) > 1 {
		var pairs []*ir.Value
		for i := 0; i+1 < len(pieces); i += 2 {
			p, err := s.emit(ir.OpConcat, &ir.ConcatAttr{Axis: axis}, pieces[i:i+2:i+2], name, j)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, p)
		}
		if len(pieces)%2 == 1 {
			pairs = append(pairs, pieces[len(pieces)-1])
		}
		pieces = pairs
	}
	return pieces[0], nil
}

package shard

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// bring brings a value into a state, for all readers that follow.
func (s *spreader) bring(v *ir.Value, need ir.Sharding) error {
	have := s.state[v]
	if have.Equal(need) {
		return nil
	}
	if have.Kind != ir.ShardMirrored {
		whole, kind := s.gather, AllGather
		if have.Kind == ir.ShardPartial {
			whole, kind = s.reduce, AllReduce
		}
		s.collectives = append(s.collectives, Collective{s.f.Name, v.Name(), kind, v.Type.Bytes()})
		parts := make([]*ir.Value, s.devices)
		for j := range parts {
			p, err := whole(v, j)
			if err != nil {
				return err
			}
			parts[j] = p
		}
		s.set(v, ir.Mirrored(), parts)
	}
	if need.IsSplit() {
		return s.cutAll(v, need)
	}
	return nil
}

// cutAll makes each device's part of a whole value that value.
func (s *spreader) cutAll(v *ir.Value, need ir.Sharding) error {
	parts := make([]*ir.Value, s.devices)
	for j := range parts {
		p, err := s.cut(s.parts[v][j], need, j)
		if err != nil {
			return err
		}
		parts[j] = p
	}
	s.set(v, need, parts)
	return nil
}

// reduce returns the sum of all summands on device j. Every device adds in the order of devices, so that all have the
// same result.
func (s *spreader) reduce(v *ir.Value, j int) (*ir.Value, error) {
	var sum *ir.Value
	for _, p := range s.parts[v] {
		switch {
		case p == nil:
		case sum == nil:
			sum = p
		default:
			next, err := s.emit(ir.OpAdd, nil, []*ir.Value{sum, p}, v.Name()+".sum", j)
			if err != nil {
				return nil, err
			}
			sum = next
		}
	}
	if sum == nil {
		return nil, fmt.Errorf("%v: no device has a summand", v)
	}
	return sum, nil
}

// gather returns the whole of a split value on device j: the pieces of all devices in the order of the whole.
func (s *spreader) gather(v *ir.Value, j int) (*ir.Value, error) {
	state := s.state[v]
	var pieces []*ir.Value
	at := make([]int64, s.devices)
	for _, seg := range state.Segments {
		for range seg.Times {
			for k, n := range seg.Counts {
				if n == 0 {
					continue
				}
				p, err := s.slice(s.parts[v][k], state.Axis, at[k], n, j)
				if err != nil {
					return nil, err
				}
				pieces = append(pieces, p)
				at[k] += n
			}
		}
	}
	return s.join(pieces, state.Axis, v.Name()+".all", j)
}

package shard

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// How a sum is written out. All devices follow the order that the node states (ir.SumOrder), so that the result does
// not depend on what is ready first. Four devices with summands a to d:
//
//	direct   0: ((a+b)+c)+d    1: ((a+b)+c)+d    2: ((a+b)+c)+d    3: ((a+b)+c)+d
//	first    0: ((a+b)+c)+d, which the others read
//	tree     0: a+b            2: c+d            0: (a+b)+(c+d), which the others read
//	ring     chunk 0: 1 sends its part of b, 2 adds c, 3 adds d, 0 adds a; chunk 1: 2 sends, 3, 0 and 1 add; …
//	         all: concatenate the chunks
//
// A device without a summand adds nothing, and reads what the others do. Copies are not written: pass copy inserts one
// wherever a node reads what another device has.

// sum is a sum that is written out.
type sum struct {
	*spreader
	have []*ir.Value // the summand of each device; nil for none
	of   []int       // the devices with a summand
}

// allReduce writes out a sum and returns what each device has of it.
func (s *spreader) allReduce(n *ir.Node) ([]*ir.Value, error) {
	x := &sum{spreader: s, have: s.parts[n.Args[0]]}
	for j, v := range x.have {
		if v != nil {
			x.of = append(x.of, j)
		}
	}
	switch order := n.Attr.(*ir.AllReduceAttr).Order; {
	case len(x.of) == 0:
		return nil, fmt.Errorf("%v: no device has a summand", n.Args[0])
	case len(x.of) == 1:
		return s.same(x.have[x.of[0]]), nil
	case order == ir.SumDirect:
		return x.direct(n)
	case order == ir.SumTree:
		return x.tree(n)
	case order == ir.SumRing:
		return x.ring(n)
	}
	return x.first(n)
}

// direct adds on every device.
func (x *sum) direct(n *ir.Node) ([]*ir.Value, error) {
	sums := make([]*ir.Value, x.devices)
	for j := range sums {
		var err error
		if sums[j], err = x.inOrder(j); err != nil {
			return nil, err
		}
		x.ready(n, sums[j], j)
	}
	if x.devices > 2 {
		x.flush() // a device sends its summand before it continues
	}
	return sums, nil
}

// first adds on the first device.
func (x *sum) first(n *ir.Node) ([]*ir.Value, error) {
	x.all = true
	v, err := x.inOrder(0)
	x.ready(n, v, 0)
	return x.same(v), err
}

// inOrder adds all summands on a device in the order of devices.
func (x *sum) inOrder(j int) (v *ir.Value, err error) {
	v = x.have[x.of[0]]
	for _, k := range x.of[1:] {
		if v, err = x.add(v, x.have[k], j); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// add adds on a device.
func (x *sum) add(a, b *ir.Value, j int) (*ir.Value, error) {
	return x.emit(ir.OpAdd, nil, []*ir.Value{a, b}, x.name, j)
}

// tree adds what neighbours have, on the first of the two, then neighbours of these, and so on. What has no neighbour
// waits for the next iteration.
func (x *sum) tree(n *ir.Node) ([]*ir.Value, error) {
	x.all = true
	at, sums := x.of, make([]*ir.Value, len(x.of))
	for i, j := range at {
		sums[i] = x.have[j]
	}
	for len(sums) > 1 {
		var devices []int
		var next []*ir.Value
		for i := 0; i < len(sums); i += 2 {
			v := sums[i]
			if i+1 < len(sums) {
				var err error
				if v, err = x.add(v, sums[i+1], at[i]); err != nil {
					return nil, err
				}
				if len(sums) > 2 {
					x.ready(n, nil, at[i])
				}
			}
			devices, next = append(devices, at[i]), append(next, v)
		}
		x.flush()
		at, sums = devices, next
	}
	x.ready(n, sums[0], at[0])
	return x.same(sums[0]), nil
}

// ring adds chunks of the last axis, each on its way around the devices, and concatenates them on every device.
func (x *sum) ring(n *ir.Node) ([]*ir.Value, error) {
	axis := n.Result().Type.Rank() - 1
	size, ok := lastExtent(n.Result())
	if !ok {
		return nil, fmt.Errorf("%v: the last axis of %v has no constant extent, which chunks need: choose another order than %v", n, n.Result().Type, ir.SumRing)
	}
	x.all = true
	chunks := make([]*ir.Value, len(x.of))
	for round := range x.of {
		for i := range chunks {
			begin, end := ir.RingChunk(size, i, len(x.of))
			if begin == end {
				continue
			}
			j := x.of[(i+1+round)%len(x.of)]
			own, err := x.slice(x.have[j], axis, begin, end-begin, x.name, j)
			if err != nil {
				return nil, err
			}
			if round == 0 {
				chunks[i] = own
			} else if chunks[i], err = x.add(chunks[i], own, j); err != nil {
				return nil, err
			}
			x.ready(n, nil, j)
		}
		x.flush()
	}
	return x.chunksOnAll(n, axis, chunks)
}

// chunksOnAll concatenates chunks on every device.
func (x *sum) chunksOnAll(n *ir.Node, axis int, chunks []*ir.Value) ([]*ir.Value, error) {
	x.all = false
	var pieces []*ir.Value
	for _, c := range chunks {
		if c != nil {
			pieces = append(pieces, c)
		}
	}
	all := make([]*ir.Value, x.devices)
	for j := range all {
		var err error
		if all[j], err = x.join(slices.Clone(pieces), axis, x.name, j); err != nil {
			return nil, err
		}
		x.ready(n, all[j], j)
	}
	x.flush() // a device sends its chunk before it continues
	return all, nil
}

// lastExtent returns the extent of the last axis, if it is constant and not 0.
func lastExtent(v *ir.Value) (n int64, ok bool) {
	if v.Type.Rank() == 0 {
		return 0, false
	}
	n, ok = v.Type.Shape[v.Type.Rank()-1].IsConst()
	return n, ok && n > 0
}

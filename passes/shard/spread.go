package shard

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Collective is a value of which devices need what others have.
type Collective struct {
	Func, Value string
	Kind        CollectiveKind
	Bytes       ir.Dim // of the whole value
}

// CollectiveKind is what the devices do together.
type CollectiveKind string

const (
	AllReduce CollectiveKind = "all_reduce" // every device gets the sum of all summands
	AllGather CollectiveKind = "all_gather" // every device gets the parts of all
)

// Spread returns a copy of a module that is written out for the devices of a group: each node is one node for every
// device that has a part of it, named after the device, and each split weight is a weight for every device that has a
// part. given are the states of weights and states by name; others are mirrored. A collective is written as adds, or as
// a concatenation, of what the devices have, in the order of devices, on each of them. Results are those of device 0.
//
// The copy computes what m computes, but for the order of sums. Its names end in @0, @1 and so on, so that a pin can
// place all of a device.
func Spread(m *ir.Module, devices int, given map[string]ir.Sharding) (*ir.Module, []Collective, error) {
	if devices < 2 {
		return nil, nil, fmt.Errorf("a group of %d: it needs two devices or more", devices)
	}
	c := m.Clone()
	if err := checkGiven(c, devices, given); err != nil {
		return nil, nil, err
	}
	c.States = spreadStates(c.States, devices, given)
	parts := spreadWeights(c, devices, given)
	var all []Collective
	for _, f := range c.Funcs {
		s := &spreader{f: f, devices: devices, given: given, weights: parts, parts: make(map[*ir.Value][]*ir.Value), state: make(map[*ir.Value]ir.Sharding)}
		if err := s.run(); err != nil {
			return nil, nil, fmt.Errorf("@%s: %w", f.Name, err)
		}
		all = append(all, s.collectives...)
	}
	return c, all, ir.Verify(c)
}

// spreadStates returns the states of the devices.
func spreadStates(states []*ir.State, devices int, given map[string]ir.Sharding) []*ir.State {
	var list []*ir.State
	for _, s := range states {
		for j := range devices {
			if t, has := partType(s.Type, given[s.Name], j); has {
				list = append(list, &ir.State{Name: memberName(s.Name, j), Type: t})
			}
		}
	}
	return list
}

// memberName returns the name of what device j has of something.
func memberName(name string, j int) string { return fmt.Sprintf("%s@%d", name, j) }

// checkGiven reports states that name nothing, or do not fit.
func checkGiven(m *ir.Module, devices int, given map[string]ir.Sharding) error {
	types := make(map[string]ir.Type)
	for _, w := range m.Weights {
		types[w.Name] = w.Type
	}
	for _, s := range m.States {
		types[s.Name] = s.Type
	}
	for name, s := range given {
		t, ok := types[name]
		if !ok {
			return fmt.Errorf("%q is given a state and is no weight or state of the module", name)
		}
		if err := checkSharding(s, t, devices); err != nil {
			return fmt.Errorf("%q, %v: the state %v %w", name, t, s, err)
		}
		if m.Weight(name) != nil && s.IsSplit() && s.Axis == t.Rank()-1 && !inOneRun(s) {
			return fmt.Errorf("%q, %v: the state %v has separate pieces of rows on a device, which weights cannot: give each device one", name, t, s)
		}
	}
	return nil
}

// checkSharding reports a state that a type cannot have on so many devices.
func checkSharding(s ir.Sharding, t ir.Type, devices int) error {
	if !s.IsSplit() {
		if s.Kind != ir.ShardMirrored {
			return fmt.Errorf("cannot be given: split it or mirror it")
		}
		return nil
	}
	if s.Axis < 0 || s.Axis >= t.Rank() {
		return fmt.Errorf("has no such axis: there are %d", t.Rank())
	}
	sum, block := int64(0), int64(1)
	if s.Axis == t.Rank()-1 {
		block = int64(t.DType.BlockElems())
	}
	for _, seg := range s.Segments {
		if len(seg.Counts) != devices {
			return fmt.Errorf("has %d parts for %d devices", len(seg.Counts), devices)
		}
		for _, n := range seg.Counts {
			if n < 0 || n%block != 0 {
				return fmt.Errorf("cuts blocks of %d elements", block)
			}
			sum += seg.Times * n
		}
	}
	if !t.Shape[s.Axis].Is(sum) {
		return fmt.Errorf("has %d elements of %v", sum, t.Shape[s.Axis])
	}
	return nil
}

// partType returns the type of what device j has; has is false if that is nothing.
func partType(t ir.Type, s ir.Sharding, j int) (part ir.Type, has bool) {
	if !s.IsSplit() {
		return t, true
	}
	n := s.Count(j)
	shape := append([]ir.Dim(nil), t.Shape...)
	shape[s.Axis] = ir.Const(n)
	return t.WithShape(shape...), n > 0
}

// spreader writes out a function.
type spreader struct {
	f       *ir.Func
	devices int
	given   map[string]ir.Sharding
	weights map[string][]*ir.Weight   // of the devices, by name of the whole
	parts   map[*ir.Value][]*ir.Value // of each value of the original: what the devices have, nil for nothing
	state   map[*ir.Value]ir.Sharding
	pos     string // of the node that is written out

	collectives []Collective
}

func (s *spreader) run() error {
	nodes := s.f.Nodes
	s.f.Nodes = nil
	for _, p := range s.f.Params {
		s.set(p, ir.Mirrored(), s.same(p))
	}
	for _, n := range nodes {
		s.pos = n.Pos
		if err := s.node(n); err != nil {
			return err
		}
	}
	for i, r := range s.f.Results {
		s.pos = ""
		if err := s.bring(r, ir.Mirrored()); err != nil {
			return err
		}
		s.f.Results[i] = s.parts[r][0]
	}
	return nil
}

// same returns a value as what every device has.
func (s *spreader) same(v *ir.Value) []*ir.Value {
	list := make([]*ir.Value, s.devices)
	for j := range list {
		list[j] = v
	}
	return list
}

func (s *spreader) set(v *ir.Value, state ir.Sharding, parts []*ir.Value) {
	s.state[v], s.parts[v] = state, parts
}

// emit appends a node for device j.
func (s *spreader) emit(op ir.Op, attr any, args []*ir.Value, name string, j int) (*ir.Value, error) {
	n := &ir.Node{Op: op, Attr: attr, Args: args, Func: s.f}
	types, err := ir.Infer(n)
	if err != nil {
		return nil, fmt.Errorf("%s on device %d: %w", name, j, err)
	}
	made := s.f.NewNode(op, attr, args, memberName(name, j), types...)
	made.Pos = s.pos
	return s.f.Append(made).Result(), nil
}

// node writes out one node.
func (s *spreader) node(n *ir.Node) error {
	v := n.Result()
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return s.weight(n, a.Name)
	case *ir.StateAttr:
		return s.stateParts(n, a.Name)
	case *ir.ConstantAttr:
		s.f.Append(n)
		s.set(v, ir.Mirrored(), s.same(v))
		return nil
	}
	if v == nil || len(n.Results) != 1 {
		return fmt.Errorf("%v has %d results: a group computes nodes with one", n, len(n.Results))
	}
	c, err := choose(n, func(v *ir.Value) ir.Sharding { return s.state[v] }, s.devices)
	if err != nil {
		return err
	}
	for i, a := range n.Args {
		if a != nil && c.args[i].Kind != ir.ShardPartial && !(s.state[a].Kind == ir.ShardMirrored && c.args[i].IsSplit()) {
			if err := s.bring(a, c.args[i]); err != nil {
				return err
			}
		}
	}
	return s.members(n, &c)
}

// members appends the node of each device that has a part.
func (s *spreader) members(n *ir.Node, c *choice) error {
	v := n.Result()
	parts := make([]*ir.Value, s.devices)
	for j := range parts {
		args, has, err := s.operands(n, c, j)
		if err != nil {
			return err
		}
		if !has {
			continue
		}
		attr := n.Attr
		if c.way.Attr != nil {
			attr = c.way.Attr(c.state.Count(j))
		}
		if parts[j], err = s.emit(n.Op, attr, args, v.Name(), j); err != nil {
			return err
		}
	}
	s.set(v, c.state, parts)
	return nil
}

// operands returns the operands of device j; has is false if it has nothing of one.
func (s *spreader) operands(n *ir.Node, c *choice, j int) (args []*ir.Value, has bool, err error) {
	for i, a := range n.Args {
		if a == nil {
			args = append(args, nil)
			continue
		}
		part := s.parts[a][j]
		if need := c.args[i]; need.IsSplit() && s.state[a].Kind == ir.ShardMirrored {
			if part, err = s.cut(part, need, j); err != nil {
				return nil, false, err
			}
		}
		if part == nil {
			return nil, false, nil
		}
		args = append(args, part)
	}
	return args, true, nil
}

// cut returns what device j has of a whole value in a split state; nil if that is nothing.
func (s *spreader) cut(v *ir.Value, state ir.Sharding, j int) (*ir.Value, error) {
	var pieces []*ir.Value
	at := int64(0)
	for _, seg := range state.Segments {
		for range seg.Times {
			for k, n := range seg.Counts {
				if k == j && n > 0 {
					p, err := s.slice(v, state.Axis, at, n, j)
					if err != nil {
						return nil, err
					}
					pieces = append(pieces, p)
				}
				at += n
			}
		}
	}
	return s.join(pieces, state.Axis, v.Name(), j)
}

// slice returns a range of an axis.
func (s *spreader) slice(v *ir.Value, axis int, at, n int64, j int) (*ir.Value, error) {
	if v.Type.Shape[axis].Is(n) {
		return v, nil
	}
	return s.emit(ir.OpSlice, &ir.SliceAttr{Axis: axis, Start: ir.Const(at), Len: ir.Const(n)}, []*ir.Value{v}, v.Name(), j)
}

// join returns pieces one after another; nil if there are none.
func (s *spreader) join(pieces []*ir.Value, axis int, name string, j int) (*ir.Value, error) {
	switch len(pieces) {
	case 0:
		return nil, nil
	case 1:
		return pieces[0], nil
	}
	return s.emit(ir.OpConcat, &ir.ConcatAttr{Axis: axis}, pieces, name, j)
}

// stateParts writes out a state: each device has one of its own.
func (s *spreader) stateParts(n *ir.Node, name string) error {
	v, state := n.Result(), s.given[name]
	if !state.IsSplit() {
		state = ir.Mirrored()
	}
	parts := make([]*ir.Value, s.devices)
	for j := range parts {
		if _, has := partType(v.Type, state, j); !has {
			continue
		}
		p, err := s.emit(ir.OpState, &ir.StateAttr{Name: memberName(name, j)}, nil, v.Name(), j)
		if err != nil {
			return err
		}
		parts[j] = p
	}
	s.set(v, state, parts)
	return nil
}

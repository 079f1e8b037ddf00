package shard

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check/parts"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Collective is a value of which devices need what others have, or of which they take parts.
type Collective struct {
	Func, Value string
	Kind        CollectiveKind
	Bytes       ir.Dim // of the whole value
}

// CollectiveKind is what the devices do together.
type CollectiveKind string

const (
	AllReduce     CollectiveKind = "all_reduce"     // every device gets the sum of all summands
	AllGather     CollectiveKind = "all_gather"     // every device gets the parts of all
	ReduceScatter CollectiveKind = "reduce_scatter" // every device gets its part of the sum
	TakePart      CollectiveKind = "take_part"      // every device keeps its part
)

// Spread returns a copy of a module that is written out for the devices of a group: each node is one node for every
// device that has a part of it, named after the device, and each split weight is a weight for every device that has a
// part. given are the states of weights and states by name; others are mirrored. A collective is written as adds and
// concatenations of what the devices have, in an order that is fixed. Results are those of device 0.
//
// The copy computes what m computes, but for the order of sums. Its names end in @0, @1 and so on, so that a pin can
// place all of a device.
func Spread(m *ir.Module, devices int, given map[string]ir.Sharding) (*ir.Module, []Collective, error) {
	return SpreadIn(m, devices, given, usualOrder(devices))
}

// SpreadIn is Spread with an order in which all sums are added up.
func SpreadIn(m *ir.Module, devices int, given map[string]ir.Sharding, order ir.SumOrder) (*ir.Module, []Collective, error) {
	before, all, err := Divide(m, devices, given, order)
	if err != nil {
		return nil, nil, err
	}
	c := before.Clone()
	if err := writeOut(c, options{devices: devices}); err != nil {
		return nil, nil, err
	}
	if err := ir.Verify(c); err != nil {
		return nil, nil, err
	}
	return c, all, parts.Check(before, c)
}

// Divide returns a copy of a module whose values have states and which has the collectives that these need, as it is
// before it is written out.
func Divide(m *ir.Module, devices int, given map[string]ir.Sharding, order ir.SumOrder) (*ir.Module, []Collective, error) {
	if devices < 2 {
		return nil, nil, fmt.Errorf("a group of %d: it needs two devices or more", devices)
	}
	c := m.Clone()
	all, err := divide(c, options{devices: devices, given: given, fixed: order})
	if err != nil {
		return nil, nil, err
	}
	return c, all, ir.Verify(c)
}

// writeOut writes out a module whose values have states.
func writeOut(m *ir.Module, o options) error {
	given, err := leafStates(m)
	if err != nil {
		return err
	}
	if err := checkGiven(m, o.devices, given); err != nil {
		return err
	}
	m.States = spreadStates(m.States, o.devices, given)
	parts := spreadWeights(m, o.devices, given)
	for _, f := range m.Funcs {
		s := &spreader{options: o, f: f, weights: parts, parts: make(map[*ir.Value][]*ir.Value), whole: make(map[*ir.Value]bool)}
		if err := s.run(); err != nil {
			return fmt.Errorf("@%s: %w", f.Name, err)
		}
		f.ForgetSharding()
	}
	dropUnread(m, o.devices, given)
	return nil
}

// leafStates returns the states of weights and states, which all functions have to agree on.
func leafStates(m *ir.Module) (map[string]ir.Sharding, error) {
	given := make(map[string]ir.Sharding)
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			name := ""
			switch a := n.Attr.(type) {
			case *ir.WeightAttr:
				name = a.Name
			case *ir.StateAttr:
				name = a.Name
			default:
				continue
			}
			s := n.Result().Sharding()
			if other, known := given[name]; known && !other.Equal(s) {
				return nil, fmt.Errorf("@%s %v is %v, and in another function %v", f.Name, n, s, other)
			}
			given[name] = s
		}
	}
	return given, nil
}

// spreadStates returns the states of the devices.
func spreadStates(states []*ir.State, devices int, given map[string]ir.Sharding) []*ir.State {
	var list []*ir.State
	for _, s := range states {
		for j := range devices {
			if t, has := partType(s.Type, given[s.Name], j); has {
				list = append(list, &ir.State{Name: memberLeaf(s.Name, given[s.Name], j), Type: t})
			}
		}
	}
	return list
}

// memberName returns the name of what device j has of something.
func memberName(name string, j int) string { return fmt.Sprintf("%s@%d", name, j) }

// memberLeaf returns the name of what device j has of a weight or state. The first device has one that is whole under
// its name.
func memberLeaf(name string, state ir.Sharding, j int) string {
	if j == 0 && !state.IsSplit() {
		return name
	}
	return memberName(name, j)
}

// partType returns the type of what device j has; has is false if that is nothing.
func partType(t ir.Type, s ir.Sharding, j int) (part ir.Type, has bool) {
	if !s.IsSplit() {
		return t, s.Has(j)
	}
	n := s.Count(j)
	shape := append([]ir.Dim(nil), t.Shape...)
	shape[s.Axis] = ir.Const(n)
	return t.WithShape(shape...), n > 0
}

// spreader writes out a function.
type spreader struct {
	options
	f       *ir.Func
	weights map[string][]*ir.Weight   // of the devices, by name of the whole; nil for one that they share
	parts   map[*ir.Value][]*ir.Value // of each value of the original: what the devices have, nil for nothing
	pending [][]*ir.Node              // of each device, since the last collective
	from    *ir.Node                  // the node that is written out
	name    string                    // of its result
	all     bool                      // one device computes it for all
	pin     *pass.Pin                 // puts it on one backend
	made    []*ir.Node                // for it, for the present device
	whole   map[*ir.Value]bool        // values of which a device has all under their names
}

func (s *spreader) run() error {
	nodes := s.f.Nodes
	names := make(map[*ir.Value]string)
	for _, p := range s.f.Params {
		names[p] = p.Name()
	}
	for _, n := range nodes {
		names[n.Result()] = n.Result().Name()
	}
	s.f.Nodes = nil
	s.pending = make([][]*ir.Node, s.devices)
	for _, p := range s.f.Params {
		s.parts[p] = s.same(p)
	}
	for _, n := range nodes {
		if ir.IsCollective(n.Op) && n.Op != ir.OpTakePart { // which reads what the same device has
			s.flush()
		}
		if err := s.node(n); err != nil {
			return err
		}
	}
	s.flush()
	for i, r := range s.f.Results {
		s.f.Results[i] = s.parts[r][0]
	}
	s.note(nodes, names)
	return nil
}

// flush appends the pending nodes, those of each device together. What one device computes for all is among those of
// the first.
func (s *spreader) flush() {
	for j, nodes := range s.pending {
		for _, n := range nodes {
			s.f.Append(n)
		}
		s.pending[j] = nil
	}
}

// same returns a value as what every device has.
func (s *spreader) same(v *ir.Value) []*ir.Value {
	list := make([]*ir.Value, s.devices)
	for j := range list {
		list[j] = v
	}
	return list
}

// emit appends a node for device j. The node that is written out passes its causes on.
func (s *spreader) emit(op ir.Op, attr any, args []*ir.Value, name string, j int) (*ir.Value, error) {
	n := &ir.Node{Op: op, Attr: attr, Args: args, Func: s.f}
	types, err := ir.Infer(n)
	if err != nil {
		return nil, fmt.Errorf("%s on device %d: %w", name, j, err)
	}
	made := s.f.NewNode(op, attr, args, memberName(name, j), types...)
	made.Pos = s.from.Pos
	made.CausedAs(s.from)
	s.made = append(s.made, made)
	s.pending[j] = append(s.pending[j], made)
	return made.Result(), nil
}

// ready gives the nodes made for device j their backend. part is what they compute together. The first device's, or what
// one computes for all, is named like the value if it is all of it.
func (s *spreader) ready(n *ir.Node, part *ir.Value, j int) {
	whole := origin(n.Result())
	if (j == 0 || s.all) && part != nil && n.Result().Sharding().Kind == ir.ShardMirrored && !s.whole[whole] &&
		slices.ContainsFunc(s.made, func(m *ir.Node) bool { return m.Result() == part }) {
		s.whole[whole] = true
		s.f.TakeName(part, whole)
	}
	for _, m := range s.made {
		switch {
		case m.Is(ir.View) || m.Is(ir.Leaf):
		case s.pin != nil && s.pinned != nil:
			s.pinned(m, s.pin)
		case s.place != nil:
			s.place(m, j, s.all)
		}
	}
	s.made = nil
}

// origin returns the value that v is: collectives change no value.
func origin(v *ir.Value) *ir.Value {
	for v.Def != nil && ir.IsCollective(v.Def.Op) {
		v = v.Def.Args[0]
	}
	return v
}

// note states in the function what the devices have of each value of which there is more than one, or no whole one.
func (s *spreader) note(nodes []*ir.Node, names map[*ir.Value]string) {
	for _, n := range nodes {
		v := n.Result()
		if n.Is(ir.Leaf) || n.Op == ir.OpTakePart && v.Sharding().Kind == ir.ShardPartial {
			continue // the first device's summand is all of a value
		}
		p := ir.Parts{Of: names[origin(v)], State: v.Sharding(), Names: make([]string, s.devices)}
		several := false
		for j, x := range s.parts[v] {
			if x != nil {
				p.Names[j] = x.Name()
				several = several || x != s.parts[v][0]
			}
		}
		if several || p.State.IsSplit() {
			s.f.Parts = append(s.f.Parts, p)
		}
	}
}

// node writes out one node.
func (s *spreader) node(n *ir.Node) (err error) {
	v := n.Result()
	s.from, s.name, s.all, s.pin, s.made = n, v.Name(), false, pinOf(s.pins, n), nil
	parts := make([]*ir.Value, s.devices)
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		parts, err = s.weight(n, a.Name)
	case *ir.StateAttr:
		parts, err = s.stateParts(n, a.Name)
	case *ir.ConstantAttr:
		s.f.Append(n)
		parts = s.same(v)
	case *ir.AllReduceAttr:
		parts, err = s.allReduce(n)
	default:
		write := s.member
		if ir.IsCollective(n.Op) {
			write = s.collective
		}
		for j := range parts {
			if parts[j], err = write(n, j); err != nil {
				break
			}
			s.ready(n, parts[j], j)
			if j == 0 && (s.all || s.once(n)) {
				parts = s.same(parts[0])
				break
			}
		}
	}
	s.parts[v] = parts
	return err
}

// member appends the node of a device. It returns nil if the device has no part.
func (s *spreader) member(n *ir.Node, j int) (*ir.Value, error) {
	f, ok := ir.FitOf(n)
	state := n.Result().Sharding()
	if !ok {
		return nil, fmt.Errorf("%v: devices cannot compute it as %v from%s: %s", n, state, operandStates(n), wayTexts(n))
	}
	if !state.Has(j) {
		return nil, nil
	}
	args, missing := make([]*ir.Value, len(n.Args)), 0
	var one *ir.Value // that the device has
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		if args[i] = s.parts[a][j]; args[i] == nil {
			missing++
		} else {
			one = args[i]
		}
	}
	if a, isConcat := n.Attr.(*ir.ConcatAttr); missing > 0 && isConcat {
		return s.join(slices.DeleteFunc(args, func(v *ir.Value) bool { return v == nil }), a.Axis, n.Result().Name(), j)
	}
	if missing > 0 {
		return s.lone(n, one, j)
	}
	s.all = s.once(n)
	return s.emit(n.Op, f.AttrOf(n, j), args, s.name, j)
}

// lone returns what a device has of a node if it has one operand only: of the sum of two partial values, the summand of
// one. It has nothing of other nodes.
func (s *spreader) lone(n *ir.Node, operand *ir.Value, j int) (*ir.Value, error) {
	partial := func(a *ir.Value) bool { return a != nil && a.Sharding().Kind == ir.ShardPartial }
	switch {
	case operand == nil || n.Result().Sharding().Kind != ir.ShardPartial || !partial(n.Args[0]) || !partial(n.Arg(1)):
		return nil, nil
	case n.Op == ir.OpAdd && ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape):
		return operand, nil
	}
	return nil, fmt.Errorf("%v: device %d has a part of one of its operands and not of the others: give it a larger share, or none", n, j)
}

// once reports whether the first device computes a node for all of them: it reads a weight of which there is one copy,
// or the user has put it on one backend.
func (s *spreader) once(n *ir.Node) bool {
	return n.Result().Sharding().Kind == ir.ShardMirrored && (s.pin != nil || s.readsShared(n))
}

// readsShared reports whether a node reads a weight of which there is one copy.
func (s *spreader) readsShared(n *ir.Node) bool {
	return slices.ContainsFunc(n.Args, func(v *ir.Value) bool {
		if v == nil {
			return false
		}
		r := v.Root()
		return r.Def != nil && r.Def.Op == ir.OpWeight && s.weights[r.Def.Attr.(*ir.WeightAttr).Name] == nil
	})
}

// stateParts writes out a state: each device has one of its own.
func (s *spreader) stateParts(n *ir.Node, name string) ([]*ir.Value, error) {
	v := n.Result()
	parts := make([]*ir.Value, s.devices)
	for j := range parts {
		if _, has := partType(v.Type, v.Sharding(), j); !has {
			continue
		}
		p, err := s.emit(ir.OpState, &ir.StateAttr{Name: memberLeaf(name, v.Sharding(), j)}, nil, s.name, j)
		if err != nil {
			return nil, err
		}
		parts[j] = p
		s.ready(n, p, j)
	}
	return parts, nil
}

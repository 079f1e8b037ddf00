package ir

import "slices"

// sharding checks the states of values: all nodes of a function have one or none has, each is possible for its type,
// and that of a node follows from those of its operands.
func (v *verifier) sharding(f *Func) {
	if !f.Sharded() || v.m.Props&PropShaped == 0 {
		return
	}
	devices, impossible := 0, make(map[*Value]bool)
	for _, n := range f.Nodes {
		v.node = n
		if !v.must(len(n.Results) == 1 && n.Body == nil, "shard", "a node with %d results or a body has no state", len(n.Results)) {
			continue
		}
		s := n.Result().Sharding()
		v.must(s.Kind != ShardNone, "shard", "it has no state, and other nodes have")
		if err := s.check(n.Result().Type, &devices); err != "" {
			v.fail("shard", "%v: %s", s, err)
			impossible[n.Result()] = true
			continue
		}
		if !slices.ContainsFunc(n.Args, func(a *Value) bool { return impossible[a] }) {
			v.follows(n, s)
		}
	}
	v.node = nil
}

// follows checks that the state of a node follows from those of its operands.
func (v *verifier) follows(n *Node, s Sharding) {
	switch {
	case n.Op == OpWeight || n.Op == OpState:
		v.must(s.Kind != ShardPartial, "shard", "a weight or state is split or mirrored")
	case IsCollective(n.Op):
		op, ok := CollectiveOp(n.Args[0].Sharding(), s)
		v.must(ok && op == n.Op, "shard", "%v does not make %v of %v", n.Op, s, n.Args[0].Sharding())
	default:
		_, ok := FitOf(n)
		v.must(ok, "shard", "devices cannot compute it as %v from %v", s, argStates(n))
	}
}

func argStates(n *Node) []Sharding {
	var list []Sharding
	for _, a := range n.Args {
		if a != nil {
			list = append(list, a.Sharding())
		}
	}
	return list
}

// checkHeld is check for a held value.
func (s Sharding) checkHeld(devices *int) string {
	counts := s.Segments[0].Counts
	if *devices == 0 {
		*devices = len(counts)
	}
	switch {
	case len(counts) != *devices || *devices < 2:
		return "the numbers of devices differ"
	case slices.Max(counts) != 1 || slices.Min(counts) < 0:
		return "each device has it once or not, and one has it"
	}
	return ""
}

// check returns why a type cannot have a state; empty if it can. All states have one number of devices.
func (s Sharding) check(t Type, devices *int) string {
	if s.Kind == ShardHeld {
		return s.checkHeld(devices)
	}
	if !s.IsSplit() {
		return ""
	}
	if s.Axis < 0 || s.Axis >= t.Rank() || len(s.Segments) == 0 {
		return "there is no such axis"
	}
	if *devices == 0 {
		*devices = len(s.Segments[0].Counts)
	}
	if why := s.checkSegments(*devices); why != "" {
		return why
	}
	sum := int64(0)
	for _, seg := range s.Segments {
		sum += seg.Times * seg.Len()
	}
	if !t.Shape[s.Axis].Is(sum) {
		return "the parts are not the whole axis"
	}
	return ""
}

// checkSegments returns why a group of that many devices cannot have the segments of a split state; empty if it can.
func (s Sharding) checkSegments(devices int) string {
	sum := int64(0)
	for _, seg := range s.Segments {
		if len(seg.Counts) != devices || seg.Starts != nil && len(seg.Starts) != devices || devices < 2 {
			return "the numbers of devices differ"
		}
		for i, n := range seg.Counts {
			start := int64(0)
			if seg.Starts != nil {
				start = seg.Starts[i]
			}
			if seg.Times < 1 || n < 0 || n > maxDivided/seg.Times || start < 0 || start > maxDivided/seg.Times-n {
				return "a count is out of bounds"
			}
		}
		if !seg.isCovered() {
			return "no device has some of the elements"
		}
		if sum += seg.Times * seg.Len(); sum > maxDivided {
			return "a count is out of bounds"
		}
	}
	return ""
}

package ir

// Collectives: the devices of a group bring a value from one state (Sharding) into another. The value itself, which is
// what all devices have together, stays the same. Pass shard makes these nodes and pass spread writes them out as
// slices, adds and concatenations, so that no backend runs them.

var (
	allReduceInfo     = collective("all_reduce", "x, of which every device has a summand: every device gets the sum, added in the order of the devices.")
	allGatherInfo     = collective("all_gather", "x, of which the devices have parts: every device gets all of them.")
	reduceScatterInfo = collective("reduce_scatter", "x, of which every device has a summand: each device gets its part of the sum, added in the order of the devices.")
	takePartInfo      = collective("take_part", "x, which every device has: each device keeps its part, or the first keeps all of it as its summand. Nothing is moved.")
)

func collective(name, doc string) OpInfo {
	return OpInfo{
		Name:   name,
		Doc:    name + "(x): " + doc + " Result of the type of x, dense.",
		Args:   []Arg{{Name: "x", Kinds: AnyKind}},
		Traits: Pure,
		Infer:  copyInfo.Infer,
		Cost:   moved,
		Tol:    exact,
		Cases:  copyInfo.Cases,

		Undivided: "it changes the state of its operand",
	}
}

// CollectiveOp returns the op that brings a value from one state into another; ok is false if no op does.
func CollectiveOp(from, to Sharding) (op Op, ok bool) {
	switch {
	case from.Kind == ShardPartial && to.Kind == ShardMirrored:
		return OpAllReduce, true
	case from.Kind == ShardPartial && to.Kind == ShardSplit:
		return OpReduceScatter, true
	case (from.Kind == ShardSplit || from.Kind == ShardHeld) && to.Kind == ShardMirrored:
		return OpAllGather, true
	case from.Kind == ShardMirrored && (to.Kind == ShardSplit || to.Kind == ShardPartial || to.Kind == ShardHeld):
		return OpTakePart, true
	}
	return OpInvalid, false
}

// IsCollective reports whether an op changes the state of its operand.
func IsCollective(op Op) bool {
	return op == OpAllReduce || op == OpAllGather || op == OpReduceScatter || op == OpTakePart
}

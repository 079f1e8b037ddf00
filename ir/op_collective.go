package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Collectives: the devices of a group bring a value from one state (Sharding) into another. The value itself, which is
// what all devices have together, stays the same. Pass shard makes these nodes and pass spread writes them out as
// slices, adds and concatenations, so that no backend runs them.

// SumOrder is the order in which the devices of a group add up what they have. It is part of what all_reduce means: the
// bits of a sum follow from it, and not from what is ready first.
//
// Example: of four devices with a summand each, a to d, of 8 elements,
//
//	direct, first   ((a+b)+c)+d
//	tree            (a+b)+(c+d)
//	ring            elements 0 and 1: ((b+c)+d)+a; 2 and 3: ((c+d)+a)+b; 4 and 5: ((d+a)+b)+c; 6 and 7: ((a+b)+c)+d
type SumOrder uint8

const (
	SumDirect SumOrder = iota // every device reads all summands and adds them in the order of devices
	SumFirst                  // the first device adds them in the order of devices and sends the sum to the others
	SumTree                   // neighbours add theirs, then neighbours of these and so on; the last one has the sum and sends it
	SumRing                   // each device adds up a chunk of the last axis that has gone around all others; then they gather the chunks

	NumSumOrders = iota
)

var sumOrderNames = [NumSumOrders]string{"direct", "first", "tree", "ring"}

// SumOrders returns all orders.
func SumOrders() []SumOrder { return []SumOrder{SumDirect, SumFirst, SumTree, SumRing} }

func (o SumOrder) String() string {
	if o < NumSumOrders {
		return sumOrderNames[o]
	}
	return fmt.Sprintf("SumOrder(%d)", uint8(o))
}

// ParseSumOrder returns the order of that name. The error lists the names.
func ParseSumOrder(name string) (SumOrder, error) {
	i := slices.Index(sumOrderNames[:], name)
	if i < 0 {
		return 0, fmt.Errorf("%q is no order of sums: there are %s", name, strings.Join(sumOrderNames[:], ", "))
	}
	return SumOrder(i), nil
}

// RingChunk returns the elements of the last axis, of n, that the device number i of parts adds up last under SumRing.
// The device after it begins. A chunk begins at a multiple of 16 elements, if there are so many for each device, so that
// kernels read whole cache lines. With fewer elements than devices some chunks are empty.
func RingChunk(n int64, i, parts int) (begin, end int64) {
	at := func(i int) int64 {
		begin := n * int64(i) / int64(parts)
		if i < parts && n >= 16*int64(parts) {
			begin -= begin % 16
		}
		return begin
	}
	return at(i), at(i + 1)
}

// AllReduceAttr are the attributes of all_reduce.
type AllReduceAttr struct {
	Order SumOrder `attr:"order,default=direct"`
}

var (
	allReduceInfo     = sumOf("all_reduce", "x, of which every device has a summand: every device gets the sum. order is that of the additions: direct and first, the order of the devices; tree, neighbours, then neighbours of these and so on; ring, in chunks of the last axis, each from another device on around all. With first, tree and ring, a sum is computed once and sent; with direct, on every device.")
	allGatherInfo     = collective("all_gather", "x, of which the devices have parts: every device gets all of them.")
	reduceScatterInfo = collective("reduce_scatter", "x, of which every device has a summand: each device gets its part of the sum, added in the order of the devices.")
	takePartInfo      = collective("take_part", "x, which every device has: each device keeps its part, or the first keeps all of it as its summand. Nothing is moved.")
)

// sumOf returns the op whose order of additions is an attribute.
func sumOf(name, doc string) OpInfo {
	info := collective(name, doc)
	info.Attr = AllReduceAttr{}
	cases := info.Cases
	info.Cases = func(yield func(Case) bool) {
		at := 0
		for c := range cases {
			c.Attr = &AllReduceAttr{Order: SumOrder(at % NumSumOrders)}
			if at++; !yield(c) {
				return
			}
		}
	}
	return info
}

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

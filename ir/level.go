package ir

import (
	"slices"
	"strings"
)

// Props is a set of properties that hold for a module. A pass requires some, establishes some and may
// invalidate some.
type Props uint32

const (
	// PropImported: well-formed SSA, types present.
	PropImported Props = 1 << iota
	// PropShaped: every type is what the op's shape rule infers.
	PropShaped
	// PropAssigned: every node but views, weights, states and constants has a backend,
	// every value a space.
	PropAssigned
	// PropPacked: every operand is in the format (layout, dtype, density) that the
	// kernel of its node's backend reads.
	PropPacked
	// PropSplit: every node has a split; splits are numbered in order, each on one backend.
	PropSplit
	// PropCopied: every operand is in a space that its node's backend can address.
	PropCopied
	// PropRolled: passes have looked for repeats; there may be repeat nodes.
	PropRolled
	// PropOrdered: the order of nodes is final.
	PropOrdered
	// PropPartitioned: every CPU node has a partition and an epoch.
	PropPartitioned
	// PropQueued: every node has a queue or is run by the host's thread; the number of instances of
	// values is decided.
	PropQueued
	// PropPlaced: every value that owns bytes has an address.
	PropPlaced
	// PropSynced: events order nodes of different queues that access the same bytes.
	PropSynced
	// PropChecked: the plan has been proved.
	PropChecked
)

// VerifiedProps are the properties of a module that [Verify] checks. The others are checked by the tests of the
// passes that establish them, and by the proof of the plan.
const VerifiedProps = PropShaped | PropAssigned | PropSplit | PropPartitioned | PropPlaced

var propNames = []string{
	"imported", "shaped", "assigned", "packed", "split", "copied", "rolled", "ordered",
	"partitioned", "queued", "placed", "synced", "checked",
}

// String returns the names of the properties of a module, in order, separated by commas.
func (p Props) String() string {
	var names []string
	for i, name := range propNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseProps parses the result of Props.String; ok is false if a name is unknown.
func ParseProps(text string) (p Props, ok bool) {
	if text == "" {
		return 0, true
	}
	for name := range strings.SplitSeq(text, ",") {
		i := slices.Index(propNames, name)
		if i < 0 {
			return 0, false
		}
		p |= 1 << i
	}
	return p, true
}

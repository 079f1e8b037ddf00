package ir

import "strings"

// Props is a set of properties that hold for a module. A pass needs some, gives some and
// may break some.
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
	// PropCopied: every operand lies in a space that its node's backend can address.
	PropCopied
	// PropRolled: repeats have been looked for; repeat nodes may be present.
	PropRolled
	// PropOrdered: the order of nodes is final.
	PropOrdered
	// PropPartitioned: every CPU node has a partition and an epoch.
	PropPartitioned
	// PropQueued: every node has a queue or belongs to the host's thread; what has several
	// instances is decided.
	PropQueued
	// PropPlaced: every value that owns bytes has an address.
	PropPlaced
	// PropSynced: events order whatever of different queues touches the same bytes.
	PropSynced
	// PropChecked: the plan has been proved.
	PropChecked
)

// VerifiedProps are those that [Verify] looks into; the others are claims of passes that nothing
// but the passes' own tests, or the proof of the plan, holds them to.
const VerifiedProps = PropShaped | PropAssigned | PropSplit | PropPartitioned | PropPlaced

var propNames = []string{
	"imported", "shaped", "assigned", "packed", "split", "copied", "rolled", "ordered",
	"partitioned", "queued", "placed", "synced", "checked",
}

// String returns the names of the properties, in order, separated by commas.
func (p Props) String() string {
	var names []string
	for i, name := range propNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseProps returns the set whose String is text; ok is false for an unknown name.
func ParseProps(text string) (p Props, ok bool) {
	if text == "" {
		return 0, true
	}
	for name := range strings.SplitSeq(text, ",") {
		i := indexOf(propNames, name)
		if i < 0 {
			return 0, false
		}
		p |= 1 << i
	}
	return p, true
}

func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

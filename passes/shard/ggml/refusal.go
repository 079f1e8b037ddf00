package ggml

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Stage is where the rules of ggml refuse a group.
type Stage string

const (
	StageGroup Stage = "group" // the group itself
	StageKept  Stage = "kept"  // the state that a weight or state is given
	StageGraph Stage = "graph" // the state that is derived for a node
)

// Reason is why the rules of ggml refuse a group, in a word.
type Reason string

const (
	accepted Reason = "" // a rule gives a state

	ReasonDevices     Reason = "devices"     // more devices than ggml allows
	ReasonGranularity Reason = "granularity" // a count cuts a block of the type
	ReasonSum         Reason = "sum"         // the counts are not the dimension
	ReasonEmpty       Reason = "empty"       // a source has no elements
	ReasonOp          Reason = "op"          // there is no rule for the op
	ReasonDiffer      Reason = "differ"      // the sources' states differ
	ReasonRow         Reason = "row"         // the op reads rows, which are split
	ReasonIDs         Reason = "ids"         // the ids of experts are not mirrored
	ReasonContraction Reason = "contraction" // the summed dimension is split in two ways
	ReasonMatMul      Reason = "matmul"      // a product of these states has none
	ReasonConcat      Reason = "concat"      // the joined dimension is split
	ReasonSegments    Reason = "segments"    // several segments where one is needed
	ReasonRepeats     Reason = "repeats"     // repetitions of a segment that the new shape cuts
	ReasonShape       Reason = "shape"       // no dimension of the new shape begins where the split one ends
	ReasonView        Reason = "view"        // no dimension of the view has the stride of the split one
	ReasonPermuted    Reason = "permuted"    // a view of a permuted tensor
	ReasonRows        Reason = "rows"        // the rows that are written are split
	ReasonIndex       Reason = "index"       // the indexes are not mirrored
	ReasonTarget      Reason = "target"      // rows are split unlike the tensor that they are written to
	ReasonPad         Reason = "pad"         // the padded dimension is split
	ReasonHeads       Reason = "heads"       // attention's operands are not split by heads
	ReasonMask        Reason = "mask"        // with sinks, the mask is not mirrored
	ReasonSinks       Reason = "sinks"       // the sinks are not split by heads
	ReasonDivide      Reason = "divide"      // a device's part is no whole number of elements
	ReasonSeveral     Reason = "several"     // several segments, and a second source that is split
	ReasonRatio       Reason = "ratio"       // two sources are split in different proportions
	ReasonOffset      Reason = "offset"      // a view that is split, of a tensor that is not
)

// Refusal is the error that the rules of ggml have no plan for a graph on a group.
type Refusal struct {
	Stage  Stage
	Value  *ir.Value // nil for StageGroup
	Reason Reason
}

func (r *Refusal) Error() string {
	if r.Value == nil {
		return fmt.Sprintf("the rules of ggml refuse the group (%s): they have at most %d", r.Reason, maxDevices)
	}
	return fmt.Sprintf("%v: the rules of ggml refuse the %s: %s", r.Value, r.Stage, r.Reason)
}

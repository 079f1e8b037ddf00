package ggml

import (
	"path"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// rule returns the state of a node's result from those of its sources, before devices add up. The counts of a split
// result are not filled in: counts follows the sources for all ops alike.
type rule func(t *tensor) (ir.Sharding, Reason)

// ggmlRules are the rules of ggml's meta backend as of August 2026, by ggml's names of ops, in which * is any text. The
// README next to the traces in ../shared/data/shard states them. Other ops have no rule there.
var ggmlRules = []struct {
	ops  string
	rule rule
}{
	{"SQR SQRT LOG SIN COS SCALE CLAMP LEAKY_RELU FILL UNARY GLU SOFT_MAX REPEAT SILU_BACK SOFT_MAX_BACK REPEAT_BACK OPT_STEP_*", alike},
	{"DUP ADD1 ACC SET SUM OUT_PROD DIAG* TRI ROLL ARANGE TIMESTEP_EMBEDDING PAD_REFLECT_1D UPSCALE POOL* IM2COL* CONV* ROPE_BACK", whole},
	{"GET_ROWS_BACK FLASH_ATTN_BACK SSM_SCAN RWKV* GATED_LINEAR_ATTN SOLVE_TRI WIN_* *REL_POS DSV4_* *CUSTOM*", whole},
	{"NORM RMS_NORM RMS_NORM_BACK L2_NORM GROUP_NORM SUM_ROWS CUMSUM MEAN ARGMAX ARGSORT TOP_K COUNT_EQUAL CROSS_ENTROPY_LOSS*", byRow},
	{"ADD SUB MUL DIV ADD_ID", broadcast},
	{"MUL_MAT MUL_MAT_ID", product},
	{"CONCAT", concat},
	{"RESHAPE CONT", regroup},
	{"CPY", copied},
	{"VIEW", view},
	{"PERMUTE", permute},
	{"TRANSPOSE", transpose},
	{"GET_ROWS", getRows},
	{"SET_ROWS", setRows},
	{"ROPE", rope},
	{"PAD", pad},
	{"FLASH_ATTN_EXT", attention},
	{"SSM_CONV", convolution},
	{"GATED_DELTA_NET", deltaNet},
}

// ruleOf returns the rule of an op; nil if there is none.
func ruleOf(op string) rule {
	for _, r := range ggmlRules {
		for pattern := range strings.FieldsSeq(r.ops) {
			if ok, _ := path.Match(pattern, op); ok {
				return r.rule
			}
		}
	}
	return nil
}

func isMirrored(s ir.Sharding) bool { return s.Kind == ir.ShardMirrored }

// onAxis reports whether s is split on that axis.
func onAxis(s ir.Sharding, axis int) bool { return s.IsSplit() && s.Axis == axis }

// sameAxis reports whether both are split on one axis, or neither is and they are of the same kind.
func sameAxis(a, b ir.Sharding) bool { return a.Kind == b.Kind && (!a.IsSplit() || a.Axis == b.Axis) }

// times returns a split state on an axis with these repetitions of one segment each, for counts to fill in.
func times(axis int, times ...int64) ir.Sharding {
	s := ir.Sharding{Kind: ir.ShardSplit, Axis: axis}
	for _, n := range times {
		s.Segments = append(s.Segments, ir.Segment{Times: n})
	}
	return s
}

func refuse(r Reason) (ir.Sharding, Reason) { return ir.Sharding{}, r }

func alike(t *tensor) (ir.Sharding, Reason) {
	sources := t.sources()
	if len(sources) == 0 {
		return refuse(ReasonDiffer)
	}
	for _, s := range sources[1:] {
		if !s.state.Alike(sources[0].state) {
			return refuse(ReasonDiffer)
		}
	}
	return sources[0].state, accepted
}

func whole(t *tensor) (ir.Sharding, Reason) {
	s, reason := alike(t)
	if s.IsSplit() {
		return refuse(ReasonDiffer)
	}
	return s, reason
}

func byRow(t *tensor) (ir.Sharding, Reason) {
	if onAxis(t.in(0), 0) {
		return refuse(ReasonRow)
	}
	return t.in(0), accepted
}

func broadcast(t *tensor) (ir.Sharding, Reason) {
	s0, s1, s2 := t.in(0), t.in(1), t.in(2)
	switch {
	case s0.IsSplit() && isMirrored(s1) && t.source(1).NE[s0.Axis] == 1:
		return s0, accepted
	case isMirrored(s2) && (sameAxis(s0, s1) || isMirrored(s0) && s1.Kind == ir.ShardPartial):
		return s0, accepted
	case t.source(2) != nil && !isMirrored(s2):
		return refuse(ReasonIDs)
	}
	return alike(t)
}

func product(t *tensor) (ir.Sharding, Reason) {
	s0, s1 := t.in(0), t.in(1)
	switch {
	case isMirrored(s0) && isMirrored(s1):
		return s0, accepted
	case onAxis(s0, 1) && isMirrored(s1):
		return times(0, 1), accepted
	case isMirrored(s0) && onAxis(s1, 1):
		return s1, accepted
	case !onAxis(s0, 0) || !onAxis(s1, 0):
		return refuse(ReasonMatMul)
	case !s0.Alike(s1):
		return refuse(ReasonContraction)
	}
	return ir.Partial(), accepted
}

func concat(t *tensor) (ir.Sharding, Reason) {
	s0, s1, dim := t.in(0), t.in(1), int(t.Params["dim"][0])
	split := s0
	if isMirrored(s0) {
		split = s1
	}
	switch {
	case split.IsSplit() && (isMirrored(s0) || isMirrored(s1)):
		if split.Axis == dim {
			return refuse(ReasonConcat)
		}
		return split, accepted
	case sameAxis(s0, s1) && !onAxis(s0, dim):
		return s0, accepted
	}
	return whole(t)
}

func copied(t *tensor) (ir.Sharding, Reason) {
	if t.in(0).IsSplit() {
		return regroup(t)
	}
	return alike(t)
}

func permute(t *tensor) (ir.Sharding, Reason) {
	s := t.in(0)
	if !s.IsSplit() {
		return s, accepted
	}
	return moved(s, int(t.Params["to"][s.Axis]))
}

func transpose(t *tensor) (ir.Sharding, Reason) {
	s := t.in(0)
	if !onAxis(s, 0) && !onAxis(s, 1) {
		return s, accepted
	}
	return moved(s, 1-s.Axis)
}

// moved returns a split state on another axis.
func moved(s ir.Sharding, axis int) (ir.Sharding, Reason) {
	n := s.Segments[0].Times
	if len(s.Segments) > 1 && n > 1 {
		return refuse(ReasonSegments)
	}
	return times(axis, n), accepted
}

func getRows(t *tensor) (ir.Sharding, Reason) {
	if onAxis(t.in(0), 0) && isMirrored(t.in(1)) {
		return t.in(0), accepted
	}
	return whole(t)
}

func setRows(t *tensor) (ir.Sharding, Reason) {
	switch s := t.in(0); {
	case onAxis(s, 1):
		return refuse(ReasonRows)
	case !isMirrored(t.in(1)):
		return refuse(ReasonIndex)
	case !s.Alike(t.in(2)):
		return refuse(ReasonTarget)
	default:
		return s, accepted
	}
}

func rope(t *tensor) (ir.Sharding, Reason) {
	if !isMirrored(t.in(1)) {
		return refuse(ReasonIndex)
	}
	return t.in(0), accepted
}

func pad(t *tensor) (ir.Sharding, Reason) {
	s := t.in(0)
	if s.IsSplit() && (t.Params["pad"][2*s.Axis] != 0 || t.Params["pad"][2*s.Axis+1] != 0) {
		return refuse(ReasonPad)
	}
	return s, accepted
}

func attention(t *tensor) (ir.Sharding, Reason) {
	sinks := t.source(4) != nil
	switch {
	case !onAxis(t.in(0), 2) || !onAxis(t.in(1), 2) || !onAxis(t.in(2), 2):
		return refuse(ReasonHeads)
	case sinks && !isMirrored(t.in(3)):
		return refuse(ReasonMask)
	case sinks && !onAxis(t.in(4), 0):
		return refuse(ReasonSinks)
	}
	return times(1, 1), accepted
}

func convolution(t *tensor) (ir.Sharding, Reason) {
	s0, s1 := t.in(0), t.in(1)
	for axis := range 2 {
		if onAxis(s0, axis) && onAxis(s1, axis) {
			return times(1-axis, 1), accepted
		}
	}
	return alike(t)
}

func deltaNet(t *tensor) (ir.Sharding, Reason) {
	mirrored, byHead := true, true
	for i := range 6 {
		mirrored = mirrored && isMirrored(t.in(i))
		byHead = byHead && (onAxis(t.in(i), 1) || i == 5 && (onAxis(t.in(i), 0) || onAxis(t.in(i), 2)))
	}
	switch {
	case mirrored:
		return ir.Mirrored(), accepted
	case byHead:
		return times(0, 1), accepted
	}
	return refuse(ReasonHeads)
}

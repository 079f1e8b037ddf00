package group

import (
	"path"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// step is a node with what the devices have of its sources.
type step struct {
	*foreign.Tensor
	c  *checker
	in []content // by source position
}

// arg returns the content of source i, of kind unknown if there is none.
func (s *step) arg(i int) content {
	if i < len(s.in) {
		return s.in[i]
	}
	return content{}
}

func (s *step) isWhole(i int) bool { return s.arg(i).kind == whole }

// axis returns the axis on which source i is split, and the spans of the devices; -1 if it is not split along one.
func (s *step) axis(i int) (int, [][]span) {
	if s.arg(i).kind != parts {
		return -1, nil
	}
	return s.arg(i).layout.axis(s.Source(i).NE)
}

// along returns the content of the result if it is split on an axis.
func (s *step) along(axis int, spans [][]span) content {
	return content{kind: parts, layout: axisLayout(s.NE, axis, spans)}
}

// An opRule returns what the devices have of a node's result, if each computes the op on its parts of the sources, and
// one of these at least is split; or what is wrong.
type opRule func(s *step) (content, string)

// opRules define what ops mean for parts, by ggml's names, in which * is any text. Other ops cannot be computed on
// parts.
var opRules = []struct {
	ops  string
	rule opRule
}{
	{"SQR SQRT LOG SIN COS SCALE CLAMP LEAKY_RELU FILL UNARY SILU_BACK OPT_STEP_* DUP", elementwise},
	{"GLU", gated},
	{"NORM RMS_NORM L2_NORM RMS_NORM_BACK SOFT_MAX_BACK SUM_ROWS CUMSUM MEAN ARGMAX ARGSORT TOP_K", byRows},
	{"SOFT_MAX", softMax},
	{"ADD SUB MUL DIV", broadcast},
	{"ADD_ID", addID},
	{"MUL_MAT MUL_MAT_ID", product},
	{"CONCAT", concat},
	{"RESHAPE CONT", reshaped},
	{"CPY", copied},
	{"REPEAT REPEAT_BACK", repeat},
	{"PERMUTE", permuted},
	{"TRANSPOSE", transposed},
	{"GET_ROWS", getRows},
	{"SET_ROWS", setRows},
	{"ROPE", rope},
	{"PAD", padded},
	{"GROUP_NORM", groupNorm},
	{"FLASH_ATTN_EXT", attention},
	{"SSM_CONV", convolution},
}

// ruleOf returns the rule of an op, or nil.
func ruleOf(op string) opRule {
	for _, r := range opRules {
		for pattern := range strings.FieldsSeq(r.ops) {
			if ok, _ := path.Match(pattern, op); ok {
				return r.rule
			}
		}
	}
	return nil
}

// What is wrong with a node.
const (
	wrongOp       = "the op is not defined on parts"
	wrongRow      = "it reads rows, and devices have parts of them"
	wrongElements = "the devices have different elements of its sources"
	wrongBeside   = "a source is whole, and larger than the parts of another"
	wrongIndex    = "the index is whole, and what it selects for is split"
	wrongShape    = "the new shape cuts through the devices' parts"
	wrongHeads    = "heads are counted from each device's first one"
	wrongView     = "a view of the devices' parts is not the part of the view"
	wrongEarly    = "it reads a sum before the devices have added it up"
)

var kinds = map[string]Kind{
	wrongOp: KindOp, wrongRow: KindRow, wrongElements: KindElements, wrongBeside: KindBeside, wrongIndex: KindIndex,
	wrongShape: KindShape, wrongHeads: KindHeads, wrongView: KindView, wrongEarly: KindEarly,
}

func bad(what string) (content, string) { return content{}, what }

// sameSpans reports whether each device has the same elements of two axes.
func sameSpans(a, b [][]span) bool {
	return slices.EqualFunc(a, b, func(x, y []span) bool { return slices.Equal(joined(x), joined(y)) })
}

// sameLayouts returns the layout that all sources have.
func (s *step) sameLayouts() (*layout, string) {
	var l *layout
	for i, src := range s.Src {
		switch c := s.arg(i); {
		case src == nil:
		case c.kind != parts:
			return nil, wrongBeside
		case l == nil:
			l = c.layout
		case !l.equal(c.layout):
			return nil, wrongElements
		}
	}
	return l, ""
}

func elementwise(s *step) (content, string) {
	l, wrong := s.sameLayouts()
	return content{kind: parts, layout: l}, wrong
}

// gated combines the halves of each row unless it has two sources.
func gated(s *step) (content, string) {
	axis, spans := s.axis(0)
	switch {
	case s.Source(1) != nil:
		return elementwise(s)
	case axis != 0:
		return byRows(s)
	}
	half, first := s.NE[0], make([][]span, len(spans))
	for j, have := range spans {
		n := size(have) / 2
		first[j] = joined(part(have, 0, n))
		second := joined(part(have, n, n))
		for i := range second {
			second[i].begin -= half
		}
		if !slices.Equal(first[j], second) {
			return bad(wrongRow)
		}
	}
	return s.along(0, first), ""
}

func byRows(s *step) (content, string) {
	l, wrong := s.sameLayouts()
	if wrong != "" {
		return bad(wrong)
	}
	row := s.Source(0).NE[0]
	if l = l.shortest(); l.unit%row != 0 {
		return bad(wrongRow)
	}
	r := *l
	r.unit = l.unit / row * s.NE[0]
	return content{kind: parts, layout: &r}, ""
}

// softMax has a mask, which repeats in the dimensions of heads and sequences, and sinks for each head.
func softMax(s *step) (content, string) {
	axis, spans := s.axis(0)
	switch {
	case axis < 1:
		return bad(wrongRow)
	case axis == 2 && s.alibi():
		return bad(wrongHeads)
	}
	if s.Source(1) != nil {
		if wrong := s.repeats(1, axis, spans); wrong != "" {
			return bad(wrong)
		}
	}
	if s.Source(2) != nil && axis == 2 {
		if a, sinks := s.axis(2); a != 0 || !sameSpans(sinks, spans) {
			return bad(wrongHeads)
		}
	}
	return s.along(axis, spans), ""
}

// alibi reports whether scores get a bias that depends on the head.
func (s *step) alibi() bool { return len(s.Params["max_bias"]) == 1 && s.Params["max_bias"][0] > 0 }

// repeats returns what is wrong with source i, which repeats along the dimensions of source 0, if that is split on an
// axis.
func (s *step) repeats(i, axis int, spans [][]span) string {
	n := s.Source(i).NE[axis]
	if s.isWhole(i) {
		if n != 1 {
			return wrongBeside
		}
		return ""
	}
	at, mine := s.axis(i)
	if at != axis || !repeatsIn(mine, spans, n) {
		return wrongElements
	}
	return ""
}

// repeatsIn reports whether element k of each device's spans is an element of small, which repeats, n in the whole.
func repeatsIn(small, spans [][]span, n int64) bool {
	for j := range spans {
		have := size(small[j])
		if have == 0 && size(spans[j]) > 0 {
			return false
		}
		for k := range size(spans[j]) {
			if at(spans[j], k)%n != at(small[j], k%have) {
				return false
			}
		}
	}
	return true
}

// at returns element k of spans.
func at(spans []span, k int64) int64 {
	for _, s := range spans {
		if k < s.n {
			return s.begin + k
		}
		k -= s.n
	}
	return -1
}

func broadcast(s *step) (content, string) {
	if s.Source(1) != nil && s.Source(1).NE == s.Source(0).NE {
		return elementwise(s)
	}
	axis, spans := s.axis(0)
	if axis < 0 {
		return bad(wrongBeside)
	}
	if wrong := s.repeats(1, axis, spans); wrong != "" {
		return bad(wrong)
	}
	return s.along(axis, spans), ""
}

// addID adds rows of source 1, which source 2 selects for each row of source 0.
func addID(s *step) (content, string) {
	axis, spans := s.axis(0)
	bias, mine := s.axis(1)
	switch {
	case axis > 0:
		return bad(wrongIndex)
	case axis == 0 && bias == 0 && sameSpans(spans, mine) && s.isWhole(2):
		return s.along(0, spans), ""
	}
	return bad(wrongElements)
}

// product covers products with experts, of which source 2 selects some for each row of source 1.
func product(s *step) (content, string) {
	a, spans := s.axis(0)
	b, rows := s.axis(1)
	ids := s.Source(2) != nil
	switch {
	case ids && !s.isWhole(2), ids && b > 0:
		return bad(wrongIndex)
	case a == 1 && s.isWhole(1):
		return s.along(0, spans), ""
	case s.isWhole(0) && (b == 1 || b > 1 && s.Source(0).NE[b] == 1):
		return s.along(b, rows), ""
	case a == 0 && b == 0 && sameSpans(spans, rows):
		return content{kind: sum}, ""
	}
	return bad(wrongElements)
}

func concat(s *step) (content, string) {
	a, spans := s.axis(0)
	b, mine := s.axis(1)
	switch {
	case s.isWhole(0) || s.isWhole(1):
		return bad(wrongBeside)
	case a < 0 || a != b || a == int(s.Params["dim"][0]) || !sameSpans(spans, mine):
		return bad(wrongElements)
	}
	return s.along(a, spans), ""
}

// reshaped has the elements of source 0 in their order.
func reshaped(s *step) (content, string) { return s.arg(0), "" }

// copied writes the elements of source 0 in their order, into source 1 if there is one.
func copied(s *step) (content, string) {
	if s.ViewOf == nil {
		return s.arg(0), ""
	}
	to := s.c.view(s.Tensor)
	switch {
	case to.kind != s.arg(0).kind:
		return bad(wrongBeside)
	case to.kind == parts && !to.layout.equal(s.arg(0).layout):
		return bad(wrongElements)
	}
	return to, ""
}

// repeat has the parts of source 0 again and again, also along the split axis.
func repeat(s *step) (content, string) {
	axis, spans := s.axis(0)
	if axis < 0 {
		return bad(wrongShape)
	}
	from := *s.Source(0)
	if s.Op == "REPEAT_BACK" && s.NE[axis] != from.NE[axis] {
		return bad(wrongElements)
	}
	l := s.along(axis, spans)
	l.layout.period = from.NE[axis]
	return l, ""
}

func permuted(s *step) (content, string) {
	axis, spans := s.axis(0)
	if axis < 0 {
		return bad(wrongShape)
	}
	return s.along(int(s.Params["to"][axis]), spans), ""
}

func transposed(s *step) (content, string) {
	axis, spans := s.axis(0)
	switch {
	case axis < 0:
		return bad(wrongShape)
	case axis < 2:
		axis = 1 - axis
	}
	return s.along(axis, spans), ""
}

func getRows(s *step) (content, string) {
	axis, spans := s.axis(0)
	if axis != 0 || !s.isWhole(1) {
		return bad(wrongIndex)
	}
	return s.along(0, spans), ""
}

// setRows writes source 0 to the rows of source 2 that source 1 selects. The index repeats along dimensions 2 and 3.
func setRows(s *step) (content, string) {
	axis, spans := s.axis(0)
	target, mine := s.axis(2)
	switch {
	case axis < 0 || axis == 1 || axis != target || !sameSpans(spans, mine):
		return bad(wrongElements)
	case axis > 1 && s.Source(1).NE[axis-1] != 1:
		return bad(wrongIndex)
	}
	return s.arg(2), ""
}

// rope has a position for each element of dimension 2.
func rope(s *step) (content, string) {
	switch axis, spans := s.axis(0); {
	case axis == 1 || axis == 3:
		return s.along(axis, spans), ""
	case axis == 2:
		return bad(wrongIndex)
	}
	return bad(wrongRow)
}

func padded(s *step) (content, string) {
	axis, spans := s.axis(0)
	if axis < 0 || s.NE[axis] != s.Source(0).NE[axis] {
		return bad(wrongShape)
	}
	return s.along(axis, spans), ""
}

// groupNorm has groups along dimension 2.
func groupNorm(s *step) (content, string) {
	axis, spans := s.axis(0)
	if axis != 3 {
		return bad(wrongRow)
	}
	return s.along(axis, spans), ""
}

// attention has heads in dimension 2 of queries, keys and values, several of queries for each one of the others.
func attention(s *step) (content, string) {
	q, heads := s.axis(0)
	k, keys := s.axis(1)
	v, values := s.axis(2)
	switch {
	case q != 2 || k != 2 || v != 2 || !sameSpans(keys, values):
		return bad(wrongElements)
	case !groupsOf(heads, keys, s.Source(0).NE[2]/s.Source(1).NE[2]):
		return bad(wrongElements)
	case s.alibi():
		return bad(wrongHeads)
	case s.Source(3) != nil && !s.isWhole(3):
		return bad(wrongBeside)
	}
	if s.Source(4) != nil {
		if at, sinks := s.axis(4); at != 0 || !sameSpans(sinks, heads) {
			return bad(wrongHeads)
		}
	}
	return s.along(1, heads), ""
}

// groupsOf reports whether each device has whole groups of heads: those of its key heads, in order.
func groupsOf(heads, keys [][]span, group int64) bool {
	for j := range heads {
		if size(heads[j]) != size(keys[j])*group {
			return false
		}
		for k := range size(heads[j]) {
			if at(heads[j], k)/group != at(keys[j], k/group) {
				return false
			}
		}
	}
	return true
}

// convolution has channels in dimension 1 of both sources.
func convolution(s *step) (content, string) {
	a, spans := s.axis(0)
	b, mine := s.axis(1)
	if a != 1 || b != 1 || !sameSpans(spans, mine) {
		return bad(wrongElements)
	}
	return s.along(0, spans), ""
}

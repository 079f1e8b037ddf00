package target

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// LayoutUse describes how a node reads an operand that kernels read in several layouts. Uses that are equal take the
// same time in the same layout.
//
// Example: a gather of one row from a q8_0 table of 32000 rows of 2048 elements is gather:q8_0:32000x2048:1. Measured
// times for it are
//
//	gather:q8_0:32000x2048:1:plain:2e-07
//	gather:q8_0:32000x2048:1:r16:2.5e-06
//
// in seconds on one worker, so pack leaves the table plain.
type LayoutUse struct {
	Op    ir.Op
	DType dtype.DType // of the operand
	Shape string      // of the operand: upper bounds joined by x
	Rows  int64       // upper bound of the number of rows that read it: indices of a gather, queries of an attention
}

// LayoutTime is a time that ggmlc build --tune has measured.
type LayoutTime struct {
	LayoutUse
	Layout  dtype.Layout // of the operand
	Seconds float64      // of one run on one worker
}

// layoutOperands are the ops whose kernels read an operand in several layouts, with the index and the rank of this
// operand.
var layoutOperands = map[ir.Op]struct{ operand, rank int }{
	ir.OpGather:    {0, 2},
	ir.OpAttention: {1, 4},
}

// LayoutOperand returns the index of the operand that the op's kernels read in several layouts; -1 is none.
func LayoutOperand(op ir.Op) int {
	if o, ok := layoutOperands[op]; ok {
		return o.operand
	}
	return -1
}

// matricesOf are the operands of products that some kernels read in several layouts. Their times are predicted: a
// target file has none for them.
var matricesOf = map[ir.Op][]int{ir.OpMatMul: {1}, ir.OpMatMulSwiGLU: {1, 2}, ir.OpExpertsMatMul: {1}}

// HasLayoutChoice reports whether some kernels of the op read operand arg in several layouts, of which one may be
// faster.
func HasLayoutChoice(op ir.Op, arg int) bool {
	return arg == LayoutOperand(op) || slices.Contains(matricesOf[op], arg)
}

// LayoutUseOf returns how n reads its operand that may have several layouts; ok is false if n has no such operand.
func LayoutUseOf(n *ir.Node) (u LayoutUse, ok bool) {
	o, ok := layoutOperands[n.Op]
	if !ok {
		return u, false
	}
	t := n.Args[o.operand].Type
	return LayoutUse{n.Op, t.DType, shapeText(t.Shape), useRows(n)}, true
}

// useRows returns LayoutUse.Rows of n.
func useRows(n *ir.Node) int64 {
	if n.Op == ir.OpGather {
		return n.Args[1].Type.Shape[0].Upper()
	}
	q := n.Args[0].Type.Shape // tokens, heads, elements
	return q[0].Mul(q[1]).Upper()
}

// shapeText returns LayoutUse.Shape of a shape.
func shapeText(shape []ir.Dim) string {
	sizes := make([]string, len(shape))
	for i, d := range shape {
		sizes[i] = strconv.FormatInt(d.Upper(), 10)
	}
	return strings.Join(sizes, "x")
}

// Layouts returns the layouts in which kernels of the op read operand arg if its dtype is dt, those of earlier rows
// first. It returns nil if no kernel asks for a layout.
func (d *Descriptor) Layouts(op ir.Op, arg int, dt dtype.DType) []dtype.Layout {
	var all []dtype.Layout
	for i := range d.Rows {
		r := &d.Rows[i]
		if r.Op != op || arg >= len(r.Args) || !r.Args[arg].hasDType(dt) {
			continue
		}
		for _, l := range r.Args[arg].Layouts {
			if l.Holds(dt) && !slices.Contains(all, l) {
				all = append(all, l)
			}
		}
	}
	return all
}

// LayoutSeconds returns the measured time of a use in a layout; ok is false if there is none.
func (d *Descriptor) LayoutSeconds(u LayoutUse, l dtype.Layout) (seconds float64, ok bool) {
	for _, t := range d.LayoutTimes {
		if t.LayoutUse == u && t.Layout == l {
			return t.Seconds, true
		}
	}
	return 0, false
}

// String returns the use as in a target file: OP:DTYPE:SHAPE:ROWS.
func (u LayoutUse) String() string {
	return fmt.Sprintf("%v:%v:%s:%d", u.Op, u.DType, u.Shape, u.Rows)
}

// String returns the time as in a target file: OP:DTYPE:SHAPE:ROWS:LAYOUT:SECONDS.
func (t LayoutTime) String() string {
	return fmt.Sprintf("%v:%v:%s", t.LayoutUse, t.Layout, strconv.FormatFloat(t.Seconds, 'g', -1, 64))
}

// setLayoutTimes reads a list of measured times, at most one for each use in each layout.
func setLayoutTimes(d *Descriptor, value string) error {
	d.LayoutTimes = nil
	seen := make(map[LayoutTime]bool)
	for text := range strings.SplitSeq(value, ",") {
		t, err := parseLayoutTime(text)
		if err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		use := LayoutTime{LayoutUse: t.LayoutUse, Layout: t.Layout}
		if seen[use] {
			return fmt.Errorf("%v:%v is measured twice", t.LayoutUse, t.Layout)
		}
		seen[use] = true
		d.LayoutTimes = append(d.LayoutTimes, t)
	}
	return nil
}

// parseLayoutTime reads the text that LayoutTime.String returns.
func parseLayoutTime(text string) (t LayoutTime, err error) {
	part := strings.Split(text, ":")
	if len(part) != 6 {
		return t, fmt.Errorf("write OP:DTYPE:SHAPE:ROWS:LAYOUT:SECONDS, such as gather:q8_0:32000x2048:1:plain:2e-7")
	}
	op, ok := ir.OpByName(part[0])
	if _, known := layoutOperands[op]; !ok || !known {
		return t, fmt.Errorf("kernels of %q do not differ in layouts: those of attention and gather do", part[0])
	}
	t.Op = op
	if t.DType, err = dtype.Parse(part[1]); err != nil {
		return t, err
	}
	if t.Shape, err = parseShape(part[2], layoutOperands[op].rank); err != nil {
		return t, err
	}
	if t.Rows, err = parseSize(part[3]); err != nil {
		return t, fmt.Errorf("rows: %w", err)
	}
	if t.Layout, err = dtype.ParseLayout(part[4]); err != nil {
		return t, err
	}
	if !t.Layout.Holds(t.DType) {
		return t, fmt.Errorf("%v has no layout %v", t.DType, t.Layout)
	}
	t.Seconds, err = strconv.ParseFloat(part[5], 64)
	if err != nil || !(t.Seconds > 0) || math.IsInf(t.Seconds, 0) {
		return t, fmt.Errorf("%s is not a time: write seconds, more than 0, such as 2e-7", part[5])
	}
	return t, nil
}

// parseShape reads a shape of a rank in the form of shapeText.
func parseShape(text string, rank int) (string, error) {
	sizes := strings.Split(text, "x")
	if len(sizes) != rank {
		return "", fmt.Errorf("shape %s has %d dimensions, and the operand %d", text, len(sizes), rank)
	}
	for i, size := range sizes {
		n, err := parseSize(size)
		if err != nil {
			return "", fmt.Errorf("shape %s: %w", text, err)
		}
		sizes[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(sizes, "x"), nil
}

// parseSize reads a whole number that is at least 1.
func parseSize(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a whole number from 1 on", text)
	}
	return int64(n), nil
}

// layoutTimesText returns the text that setLayoutTimes reads.
func layoutTimesText(d *Descriptor) string {
	texts := make([]string, len(d.LayoutTimes))
	for i, t := range d.LayoutTimes {
		texts[i] = t.String()
	}
	return strings.Join(texts, ",")
}

// setMeasured reads the machine on which figures were measured: GOOS/GOARCH/KERNELS.
func setMeasured(d *Descriptor, value string) error {
	part := strings.Split(value, "/")
	if len(part) != 3 || slices.Contains(part, "") {
		return fmt.Errorf("%q is not a machine: write GOOS/GOARCH/KERNELS, such as linux/amd64/avx2", value)
	}
	for _, p := range part {
		if err := checkName("machine", p); err != nil {
			return err
		}
	}
	d.Measured = value
	return nil
}

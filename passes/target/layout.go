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

// LayoutUse is how a node reads an operand for which kernels may have several layouts: what
// decides how long that takes in each of them.
type LayoutUse struct {
	Op    ir.Op
	DType dtype.DType // of the operand
	Shape string      // of the operand, upper bounds joined by x, such as 32000x2048
	Rows  int64       // upper bound of the rows that read it: indices of a gather, queries of an attention
}

// LayoutTime is what one run of a use takes on one worker with the operand in a layout, as
// ggmlc build --tune measured it.
type LayoutTime struct {
	LayoutUse
	Layout  dtype.Layout
	Seconds float64
}

// layoutOperands are the ops whose kernels read an operand in several layouts: which operand
// that is, and the rank that it has.
var layoutOperands = map[ir.Op]struct{ operand, rank int }{
	ir.OpGather:    {0, 2},
	ir.OpAttention: {1, 4},
}

// LayoutOperand returns which operand of the op may lie in several layouts; -1 is none.
func LayoutOperand(op ir.Op) int {
	if o, ok := layoutOperands[op]; ok {
		return o.operand
	}
	return -1
}

// LayoutUseOf returns how n reads its operand that may lie in several layouts; ok is false
// where n has none.
func LayoutUseOf(n *ir.Node) (u LayoutUse, ok bool) {
	o, ok := layoutOperands[n.Op]
	if !ok {
		return u, false
	}
	t := n.Args[o.operand].Type
	return LayoutUse{n.Op, t.DType, shapeText(t.Shape), useRows(n)}, true
}

// useRows returns the upper bound of the rows that read the operand.
func useRows(n *ir.Node) int64 {
	if n.Op == ir.OpGather {
		return n.Args[1].Type.Shape[0].Upper()
	}
	q := n.Args[0].Type.Shape // tokens, heads, elements
	return q[0].Mul(q[1]).Upper()
}

func shapeText(shape []ir.Dim) string {
	sizes := make([]string, len(shape))
	for i, d := range shape {
		sizes[i] = strconv.FormatInt(d.Upper(), 10)
	}
	return strings.Join(sizes, "x")
}

// Layouts returns the layouts in which some kernel of the op reads operand arg of dtype dt,
// those of earlier rows first; nil where the kernels ask for none.
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

// LayoutSeconds returns what was measured of a use in a layout; ok is false where nothing was.
func (d *Descriptor) LayoutSeconds(u LayoutUse, l dtype.Layout) (seconds float64, ok bool) {
	for _, t := range d.LayoutTimes {
		if t.LayoutUse == u && t.Layout == l {
			return t.Seconds, true
		}
	}
	return 0, false
}

// String returns the use as it stands in a target file: OP:DTYPE:SHAPE:ROWS.
func (u LayoutUse) String() string {
	return fmt.Sprintf("%v:%v:%s:%d", u.Op, u.DType, u.Shape, u.Rows)
}

// String returns the form that a target file has: OP:DTYPE:SHAPE:ROWS:LAYOUT:SECONDS.
func (t LayoutTime) String() string {
	return fmt.Sprintf("%v:%v:%s", t.LayoutUse, t.Layout, strconv.FormatFloat(t.Seconds, 'g', -1, 64))
}

// setLayoutTimes reads what was measured of layouts, each use in each layout once.
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

// parseLayoutTime reads what LayoutTime.String gives.
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
		return t, fmt.Errorf("%s is no time: write seconds, more than 0, such as 2e-7", part[5])
	}
	return t, nil
}

// parseShape reads a shape of a rank as shapeText writes it.
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

// parseSize reads a whole number from 1 on.
func parseSize(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a whole number from 1 on", text)
	}
	return int64(n), nil
}

func layoutTimesText(d *Descriptor) string {
	texts := make([]string, len(d.LayoutTimes))
	for i, t := range d.LayoutTimes {
		texts[i] = t.String()
	}
	return strings.Join(texts, ",")
}

// setMeasured reads where the figures come from: GOOS/GOARCH/KERNELS.
func setMeasured(d *Descriptor, value string) error {
	part := strings.Split(value, "/")
	if len(part) != 3 || slices.Contains(part, "") {
		return fmt.Errorf("%q names no machine: write GOOS/GOARCH/KERNELS, such as linux/amd64/avx2", value)
	}
	for _, p := range part {
		if err := checkName("machine", p); err != nil {
			return err
		}
	}
	d.Measured = value
	return nil
}

package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/spell"
)

// The field ops is a list of items, separated by commas:
//
//	*              every op, with any operands; with like=, every op of that target, with its kernels
//	NAME           one op, with any operands; with like=, an op of that target with its kernels
//	NAME(F,...)    one op, with at most this many operands, in these formats
//	-NAME          not this op; if it is the first item, the list begins with all ops of the target of like=
//	foreign        all foreign ops
//	foreign.NAME   the foreign op of this name
//
// A format F is * for any operand. Otherwise it is dtypes separated by |, or * for any dtype. A dot and layouts
// separated by + follow if the layout is not plain, or * for any layout. At the end, /rows or /any allow strided
// operands.
//
// Examples:
//
//	*,-rope                       every op except rope
//	matmul(f32,q8_0|q4_0.r16)     products of f32 activations with q8_0 or q4_0 weights in layout r16
//	add(f32/rows,f32|f16/any)     sums of f32 with rows at equal distances, and f32 or f16 with any strides

// setOps reads the field ops.
func setOps(d *Descriptor, value string) error {
	switch {
	case !strings.HasPrefix(value, "-"):
		d.Rows = nil
	case d.Like == "":
		return fmt.Errorf("%s: without like= there is no list to leave ops out of: write ops=*,-NAME", value)
	}
	for _, item := range splitOutside(value, ',') {
		if err := d.addItem(item); err != nil {
			return err
		}
	}
	return nil
}

// addItem adds or removes the rows of one item of the field ops.
func (d *Descriptor) addItem(item string) error {
	if item == "*" {
		d.addAll()
		return nil
	}
	name, minus := strings.CutPrefix(item, "-")
	name, formats, _ := strings.Cut(name, "(")
	op, foreign, err := parseOp(name)
	if err != nil {
		return err
	}
	if minus && foreign != "" {
		return fmt.Errorf("%s: foreign ops are listed by name, or all of them are run", item)
	}
	// A row with formats replaces the row that accepts any operands.
	d.Rows = slices.DeleteFunc(d.Rows, func(r Row) bool {
		return r.Op == op && r.Name == foreign && (minus || r.Args == nil)
	})
	if minus {
		return nil
	}
	if rows := d.likeRows(op); formats == "" && foreign == "" && rows != nil {
		d.Rows = slices.DeleteFunc(d.Rows, func(r Row) bool { return r.Op == op })
		d.Rows = append(d.Rows, rows...)
		return nil
	}
	row := Row{Op: op, Name: foreign}
	if row.Args, err = parseFormats(formats); err != nil {
		return fmt.Errorf("%s: %w", item, err)
	}
	d.Rows = append(d.Rows, row)
	return nil
}

// addAll adds the rows of the item *.
func (d *Descriptor) addAll() {
	if d.Like != "" {
		d.Rows = slices.Clone(Builtin(d.Like).Rows)
		return
	}
	for op := range ir.Ops {
		if computes(op) {
			d.Rows = append(d.Rows, Row{Op: op})
		}
	}
}

// parseFormats reads the text after an opening bracket: formats and the closing bracket. It returns nil for an empty
// text.
func parseFormats(text string) ([]Format, error) {
	if text == "" {
		return nil, nil
	}
	list, closed := strings.CutSuffix(text, ")")
	if !closed {
		return nil, errors.New("the bracket is not closed")
	}
	var formats []Format
	for text := range strings.SplitSeq(list, ",") {
		f, err := parseFormat(text)
		if err != nil {
			return nil, err
		}
		formats = append(formats, f)
	}
	return formats, nil
}

// likeRows returns the rows of an op in the target of like=; nil if there are none.
func (d *Descriptor) likeRows(op ir.Op) []Row {
	if d.Like == "" {
		return nil
	}
	var rows []Row
	for _, r := range Builtin(d.Like).Rows {
		if r.Op == op {
			rows = append(rows, r)
		}
	}
	return rows
}

// asLike reports whether the rows of an op are the same as in the target of like=.
func (d *Descriptor) asLike(op ir.Op) bool {
	var rows []Row
	for _, r := range d.Rows {
		if r.Op == op {
			rows = append(rows, r)
		}
	}
	like := d.likeRows(op)
	return like != nil && slices.EqualFunc(rows, like, func(a, b Row) bool { return a.String() == b.String() })
}

// foreignPrefix is the prefix of the names of foreign ops.
const foreignPrefix = "foreign."

// parseOp reads the name of an op, or foreign and the name of a foreign op.
func parseOp(name string) (op ir.Op, foreign string, err error) {
	if foreign, ok := strings.CutPrefix(name, foreignPrefix); ok && foreign != "" {
		return ir.OpForeign, foreign, nil
	}
	op, ok := ir.OpByName(name)
	switch {
	case ok && !computes(op):
		return 0, "", fmt.Errorf("%s takes no kernel, so every target has it: leave it out of the list", name)
	case !ok && name == "":
		return 0, "", errors.New("the name of an op is missing: write NAME, NAME(FORMAT,...), -NAME or *, with a comma between two")
	case !ok:
		return 0, "", fmt.Errorf("unknown op %q:%s ggmlc ops lists them", name, spell.Hint(name, opNames()))
	}
	return op, "", nil
}

// opNames returns the names of the ops that targets can list.
func opNames() []string {
	var names []string
	for op := range ir.Ops {
		if computes(op) {
			names = append(names, op.String())
		}
	}
	return names
}

// splitOutside splits a text at each sep that is not in brackets.
func splitOutside(s string, sep byte) []string {
	var parts []string
	depth, start := 0, 0
	for i := range len(s) {
		switch {
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
		case s[i] == sep && depth == 0:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// parseFormat reads a format in the form that Format.String returns.
func parseFormat(text string) (Format, error) {
	if text == "*" {
		return Anything, nil
	}
	var f Format
	text, strides, _ := strings.Cut(text, "/")
	s := slices.Index(strideNames[:], strides)
	if s < 0 {
		return f, fmt.Errorf("unknown strides %q: write /rows or /any", strides)
	}
	f.Strides = Strides(s)
	dtypes, layouts, packed := strings.Cut(text, ".")
	if dtypes != "*" {
		for name := range strings.SplitSeq(dtypes, "|") {
			d, err := dtype.Parse(name)
			if err != nil {
				return f, err
			}
			f.DTypes = append(f.DTypes, d)
		}
	}
	if !packed {
		layouts = dtype.Plain.String()
	}
	if layouts == "*" {
		return f, nil
	}
	for name := range strings.SplitSeq(layouts, "+") {
		l, err := dtype.ParseLayout(name)
		if err != nil {
			return f, err
		}
		f.Layouts = append(f.Layouts, l)
	}
	return f, nil
}

// strideNames are the texts after the slash of a format.
var strideNames = [...]string{Dense: "", RowStrides: "rows", AnyStrides: "any"}

// String returns the format as in the field ops.
func (f Format) String() string {
	if f.DTypes == nil && f.Layouts == nil && f.Strides == AnyStrides {
		return "*"
	}
	text := joined(f.DTypes, "|")
	if layouts := joined(f.Layouts, "+"); layouts != dtype.Plain.String() {
		text += "." + layouts
	}
	if f.Strides != Dense {
		text += "/" + strideNames[f.Strides]
	}
	return text
}

// joined returns the items separated by sep; * for nil.
func joined[T fmt.Stringer](items []T, sep string) string {
	if items == nil {
		return "*"
	}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.String()
	}
	return strings.Join(names, sep)
}

// String returns the row as in the field ops.
func (r Row) String() string {
	name := listed(r.Op, r.Name)
	if r.Args == nil {
		return name
	}
	return name + "(" + joined(r.Args, ",") + ")"
}

// lessText returns the ops that the target of like=, from, has and d lacks, as items -NAME. It returns an empty text if
// there are none, if d has other rows for some op, or if the list of the ops that d has is shorter.
func lessText(d, from *Descriptor) string {
	var missing []string
	for op := range ir.Ops {
		switch has := d.Has(op); {
		case has && !d.asLike(op):
			return ""
		case !has && from.Has(op):
			missing = append(missing, "-"+op.String())
		}
	}
	if 2*len(missing) > len(from.Rows) {
		return ""
	}
	return strings.Join(missing, ",")
}

// opsText returns the text that setOps reads. If at least half of all ops run with any operands, it is * and the
// missing ops.
func opsText(d *Descriptor) string {
	if d.Like != "" {
		if less := lessText(d, Builtin(d.Like)); less != "" {
			return less
		}
	}
	open := make(map[ir.Op]bool)
	closed := make(map[ir.Op]bool)
	for _, r := range d.Rows {
		if r.Args == nil && r.Name == "" {
			open[r.Op] = true
		} else {
			closed[r.Op] = true
		}
	}
	var items, missing []string
	total := 0
	for op := range ir.Ops {
		if !computes(op) {
			continue
		}
		total++
		if !open[op] && !closed[op] {
			missing = append(missing, "-"+op.String())
		}
	}
	if d.Like == "" && 2*len(open) >= total { // with like=, * means other rows
		items = append([]string{"*"}, missing...)
		open = nil
	}
	return strings.Join(append(items, d.rowTexts(open)...), ",")
}

// rowTexts returns the items for rows: those with formats, those of foreign ops, and those of the ops in open. An op
// with the same rows as in the target of like= is its name.
func (d *Descriptor) rowTexts(open map[ir.Op]bool) []string {
	var items []string
	done := make(map[ir.Op]bool)
	for _, r := range d.Rows {
		switch {
		case r.Args == nil && r.Name == "" && !open[r.Op], done[r.Op]:
		case d.asLike(r.Op):
			done[r.Op] = true
			items = append(items, r.Op.String())
		default:
			items = append(items, r.String())
		}
	}
	return items
}

// computes reports whether targets list an op: it is neither a leaf nor a view.
func computes(op ir.Op) bool { return op.Info().Traits&(ir.Leaf|ir.View) == 0 }

package readback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Rows are the rows of a tensor of a source, along its innermost dimension.
type Rows interface {
	DType() dtype.DType
	Shape() (rows, cols int64)

	// ReadRows fills dst with n rows from first on, in the bytes of DType, without gaps.
	ReadRows(ctx context.Context, dst []byte, first, n int64) error
}

// Sources returns the rows of a tensor, by the names of its source and of itself.
type Sources func(source, tensor string) (Rows, error)

// CheckWeights compares the packed weights of a placed module with their sources: each weight
// and constant has to be where the plan places it. Of each matrix it looks at the first rows,
// those in the middle and the last ones, as many as are packed together. A difference is an *Error;
// other errors are those of sources and of the context.
func CheckWeights(ctx context.Context, m *ir.Module, src Sources, packed io.ReaderAt) error {
	c := &checker{m: m}
	c.countChunks()
	starts, size := c.blob()
	w := &weightReader{ctx: ctx, c: c, src: src, packed: packed, starts: starts}
	for _, weight := range m.Weights {
		if err := w.weight(weight); err != nil {
			return fmt.Errorf("weight %q: %w", weight.Name, err)
		}
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if a, ok := n.Attr.(*ir.ConstantAttr); ok {
				w.bytes(fmt.Sprintf("@%s: %v", f.Name, n), n.Result().Place, 0, a.Data)
			}
		}
	}
	if n, _ := packed.ReadAt(make([]byte, 1), size); n > 0 {
		c.report("the weights have more than the %d bytes of the plan's arenas", size)
	}
	if c.failed() {
		return &Error{c.findings, c.more}
	}
	return nil
}

// weightReader reads packed weights back.
type weightReader struct {
	ctx    context.Context
	c      *checker
	src    Sources
	packed io.ReaderAt
	starts map[chunk]int64 // where the chunks of the arenas begin
}

// weight compares the first panel, the middle one and the last one of each matrix of a weight
// with its rows.
func (w *weightReader) weight(weight *ir.Weight) error {
	if weight.Place == nil {
		return nil // nothing reads it
	}
	t := weight.Type
	cols, _ := t.Inner().IsConst()
	if cols == 0 {
		return nil // there are no bytes, and literals do not state how many rows that is
	}
	made, err := w.eval(weight.Expr, cols)
	if err != nil {
		return err
	}
	all, _ := t.Rows().IsConst()
	each := all // rows of one matrix of a list, which begins with a panel of its own
	if t.Layout != dtype.Plain {
		each, _ = t.Shape[t.Rank()-2].IsConst()
	}
	for from := int64(0); from < all; from += max(each, 1) {
		size := t.Layout.Rows() // of a panel
		last := (each - 1) / size
		for _, panel := range slices.Compact([]int64{0, last / 2, last}) {
			first := panel * size
			if err := w.panel(weight, made.rows, from, first, min(size, each-first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// panel compares count rows, from first on, of the matrix that begins at row from.
func (w *weightReader) panel(weight *ir.Weight, rows rowsOf, from, first, count int64) error {
	t := weight.Type
	cols, _ := t.Inner().IsConst()
	want, err := rows(from+first, count)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("weight %q: rows [%d,%d)", weight.Name, from+first, from+first+count)
	if t.Layout == dtype.Plain {
		w.bytes(what, weight.Place, (from+first)*int64(t.DType.RowBytes(int(cols))), want)
		return nil
	}
	each, _ := t.Shape[t.Rank()-2].IsConst()
	skip := from / max(each, 1) * dtype.PackedBytes(t.DType, t.Layout, each, cols)
	skip += dtype.PackedBytes(t.DType, t.Layout, first, cols)
	panel := make([]byte, dtype.PackedBytes(t.DType, t.Layout, count, cols))
	if !w.read(what, weight.Place, skip, panel) {
		return nil
	}
	if !bytes.Equal(unpack(t, panel, int(count), int(cols)), want) {
		w.c.report("%s are not packed where the plan has them", what)
	}
	return nil
}

// unpack returns the plain bytes of rows that are packed together.
func unpack(t ir.Type, packed []byte, rows, cols int) []byte {
	if t.Layout == dtype.Planar {
		return interleaved(t.DType, packed, cols)
	}
	plain := make([]byte, rows*t.DType.RowBytes(cols))
	if t.Layout != dtype.R16 { // of another module
		t.Layout.UnpackRows(t.DType, plain, packed, rows, cols)
		return plain
	}
	tile.UnpackPanel(t.DType, plain, packed, rows, cols)
	return plain
}

// planarBlock states the elements of a block and its parts, of which a row in layout planar has a plane each, in this
// order.
type planarBlock struct {
	elems int
	parts []blockPart
}

// blockPart is where a part begins in a block, and how many bytes it has.
type blockPart struct{ at, size int }

var planarBlocks = map[dtype.DType]planarBlock{
	dtype.Q8_0: {32, []blockPart{{2, 32}, {0, 2}}}, // signed bytes; scale
	dtype.Q4_0: {32, []blockPart{{2, 16}, {0, 2}}}, // nibbles; scale

	dtype.Q4_1:   {32, []blockPart{{4, 16}, {0, 4}}},         // nibbles; scale and min
	dtype.Q5_0:   {32, []blockPart{{6, 16}, {2, 4}, {0, 2}}}, // nibbles; fifth bits; scale
	dtype.IQ4_NL: {32, []blockPart{{2, 16}, {0, 2}}},         // nibbles; scale
	dtype.MXFP4:  {32, []blockPart{{1, 16}, {0, 1}}},         // nibbles; exponent

	dtype.Q2_K: {256, []blockPart{{16, 64}, {0, 16}, {80, 4}}},               // pairs; scales and mins of groups; scale and min
	dtype.Q3_K: {256, []blockPart{{32, 64}, {0, 32}, {96, 12}, {108, 2}}},    // pairs; third bits; scales of groups; scale
	dtype.Q6_K: {256, []blockPart{{0, 128}, {128, 64}, {192, 16}, {208, 2}}}, // nibbles; upper pairs; scales of groups; scale
}

// interleaved returns a plain row, given the row in layout planar. Each plane begins at a multiple of 16 bytes.
func interleaved(d dtype.DType, planar []byte, cols int) []byte {
	form := planarBlocks[d]
	blocks, each := cols/form.elems, 0
	for _, p := range form.parts {
		each += p.size
	}
	plain, from := make([]byte, blocks*each), 0
	for _, p := range form.parts {
		for b := range blocks {
			copy(plain[b*each+p.at:][:p.size], planar[from+b*p.size:])
		}
		from = (from + blocks*p.size + 15) &^ 15
	}
	return plain
}

// bytes compares bytes at a distance from a place.
func (w *weightReader) bytes(what string, at *ir.Place, skip int64, want []byte) {
	got := make([]byte, len(want))
	if w.read(what, at, skip, got) && !bytes.Equal(got, want) {
		w.c.report("%s are not where the plan has them", what)
	}
}

// read reads packed bytes at a distance from a place.
func (w *weightReader) read(what string, at *ir.Place, skip int64, dst []byte) bool {
	start, known := int64(0), false
	if at != nil {
		if number := w.c.memory(&place{arena: at.Arena, chunk: at.Chunk}); number >= 0 {
			start, known = w.starts[w.c.chunks[number]]
		}
	}
	if !known {
		w.c.report("%s are in no arena of weights", what)
		return false
	}
	if n, err := w.packed.ReadAt(dst, start+at.Offset+skip); n < len(dst) { // a reader may report the end with the last bytes
		w.c.report("%s: %w", what, err)
		return false
	}
	return true
}

// rowsOf returns count rows of a matrix from first on, in the bytes of its dtype.
type rowsOf func(first, count int64) ([]byte, error)

// unpacked is what an expression makes, before it is packed.
type unpacked struct {
	rows  rowsOf
	count int64
	dtype dtype.DType
}

// eval returns the matrix of an expression. Literals do not state how long their rows are.
func (w *weightReader) eval(e *ir.Expr, cols int64) (unpacked, error) {
	switch e.Op {
	case ir.ExprPack:
		return w.eval(e.Args[0], cols)
	case ir.ExprLiteral:
		size := int64(dtype.F32.RowBytes(int(cols)))
		rows := func(first, n int64) ([]byte, error) { return e.Data[first*size : (first+n)*size], nil }
		return unpacked{rows, int64(len(e.Data)) / size, dtype.F32}, nil
	case ir.ExprTensor:
		return w.tensor(e)
	case ir.ExprQuantize:
		return w.quantized(e, cols)
	case ir.ExprExpand:
		return w.expanded(e, cols)
	case ir.ExprConcat:
		return w.joined(e, cols)
	case ir.ExprRows:
		return w.someRows(e, cols)
	case ir.ExprColumns:
		return w.someColumns(e)
	}
	return unpacked{}, fmt.Errorf("an expression of kind %d cannot be read back", e.Op)
}

// someRows returns rows of a matrix.
func (w *weightReader) someRows(e *ir.Expr, cols int64) (unpacked, error) {
	from, err := w.eval(e.Args[0], cols)
	if err != nil {
		return unpacked{}, err
	}
	if e.First < 0 || e.Count < 0 || e.First > from.count || e.Count > from.count-e.First {
		return unpacked{}, fmt.Errorf("%v: there are %d rows", e, from.count)
	}
	return unpacked{func(first, n int64) ([]byte, error) { return from.rows(e.First+first, n) }, e.Count, from.dtype}, nil
}

// someColumns returns elements of each row of a matrix.
func (w *weightReader) someColumns(e *ir.Expr) (unpacked, error) {
	wide, err := w.width(e.Args[0])
	if err != nil {
		return unpacked{}, err
	}
	from, err := w.eval(e.Args[0], wide)
	if err != nil {
		return unpacked{}, err
	}
	if e.First < 0 || e.Count < 0 || e.First > wide || e.Count > wide-e.First {
		return unpacked{}, fmt.Errorf("%v: rows have %d elements", e, wide)
	}
	rows := func(first, n int64) ([]byte, error) {
		all, err := from.rows(first, n)
		if err != nil {
			return nil, err
		}
		var part []byte
		size := from.dtype.RowBytes(int(wide))
		lo, hi := from.dtype.RowBytes(int(e.First)), from.dtype.RowBytes(int(e.First+e.Count))
		for row := range slices.Chunk(all, size) {
			part = append(part, row[lo:hi]...)
		}
		return part, nil
	}
	return unpacked{rows, from.count, from.dtype}, nil
}

// width returns the number of elements of the rows of an expression, which is no literal.
func (w *weightReader) width(e *ir.Expr) (int64, error) {
	switch {
	case e.Op == ir.ExprTensor:
		t, err := w.src(e.Source, e.Tensor)
		if err != nil {
			return 0, err
		}
		_, k := t.Shape()
		return k, nil
	case e.Op == ir.ExprColumns:
		return e.Count, nil
	case len(e.Args) > 0:
		return w.width(e.Args[0])
	}
	return 0, fmt.Errorf("%v has no rows of a known length", e)
}

// tensor returns a tensor of a source.
func (w *weightReader) tensor(e *ir.Expr) (unpacked, error) {
	t, err := w.src(e.Source, e.Tensor)
	if err != nil {
		return unpacked{}, err
	}
	count, k := t.Shape()
	size := int64(t.DType().RowBytes(int(k)))
	rows := func(first, n int64) ([]byte, error) {
		b := make([]byte, n*size)
		return b, t.ReadRows(w.ctx, b, first, n)
	}
	return unpacked{rows, count, t.DType()}, nil
}

// quantized returns a matrix in another dtype.
func (w *weightReader) quantized(e *ir.Expr, cols int64) (unpacked, error) {
	return w.converted(e, cols, func(to dtype.DType, b []byte, from dtype.DType, plain []byte, n int64) error {
		floats := make([]float32, n)
		if err := dtype.DecodeFloat32(from, floats, plain); err != nil {
			return err
		}
		return dtype.Encode(to, b, floats)
	})
}

// expanded returns a matrix in another dtype with the same values. The written values are decoded and compared with the
// values of the source.
func (w *weightReader) expanded(e *ir.Expr, cols int64) (unpacked, error) {
	return w.converted(e, cols, func(to dtype.DType, b []byte, from dtype.DType, plain []byte, n int64) error {
		if err := dtype.Expand(from, b, plain); err != nil {
			return err
		}
		return sameValues(from, plain, to, b, n)
	})
}

// converted returns a matrix in the dtype that e names. convert writes n elements of another dtype to b.
func (w *weightReader) converted(e *ir.Expr, cols int64, convert func(to dtype.DType, b []byte, from dtype.DType, plain []byte, n int64) error) (unpacked, error) {
	from, err := w.eval(e.Args[0], cols)
	if err != nil {
		return unpacked{}, err
	}
	to, err := dtype.Parse(e.To)
	if err != nil {
		return unpacked{}, err
	}
	rows := func(first, n int64) ([]byte, error) {
		plain, err := from.rows(first, n)
		if err != nil {
			return nil, err
		}
		b := make([]byte, n*int64(to.RowBytes(int(cols))))
		return b, convert(to, b, from.dtype, plain, n*cols)
	}
	return unpacked{rows, from.count, to}, nil
}

// sameValues returns an error if n elements in two formats are not equal.
func sameValues(a dtype.DType, x []byte, b dtype.DType, y []byte, n int64) error {
	xs, ys := make([]float64, n), make([]float64, n)
	if err := errors.Join(dtype.Decode(a, xs, x), dtype.Decode(b, ys, y)); err != nil {
		return err
	}
	for i, v := range xs {
		if v != ys[i] && v == v {
			return fmt.Errorf("element %d of %v is %v, and %v as %v", i, a, v, ys[i], b)
		}
	}
	return nil
}

// joined returns the rows of several matrices, one matrix after the other.
func (w *weightReader) joined(e *ir.Expr, cols int64) (unpacked, error) {
	var parts []unpacked
	var all unpacked
	for _, a := range e.Args {
		part, err := w.eval(a, cols)
		if err != nil {
			return unpacked{}, err
		}
		parts = append(parts, part)
		all.count, all.dtype = all.count+part.count, part.dtype
	}
	all.rows = func(first, n int64) ([]byte, error) {
		var b []byte
		begin := int64(0) // of a part, among all rows
		for _, part := range parts {
			lo, hi := max(first, begin), min(first+n, begin+part.count)
			if lo < hi {
				rows, err := part.rows(lo-begin, hi-lo)
				if err != nil {
					return nil, err
				}
				b = append(b, rows...)
			}
			begin += part.count
		}
		return b, nil
	}
	return all, nil
}

package codegen

import (
	"context"
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// errNoValue is the error for a weight without an expression.
var errNoValue = errors.New("it has no value: the module does not state where its bytes come from: add an expression to its declaration, such as = m[\"name\"]")

// openExpr returns a reader of the rows that a weight expression makes, before they are packed. The
// rows of the weight have cols elements; a literal is cut into rows of that length.
func openExpr(e *ir.Expr, src Sources, cols int64) (Rows, error) {
	if e == nil {
		return nil, errNoValue
	}
	switch e.Op {
	case ir.ExprTensor:
		return src.Tensor(e.Source, e.Tensor)
	case ir.ExprLiteral:
		return openLiteral(e.Data, cols)
	case ir.ExprConcat:
		return openConcat(e, src, cols)
	case ir.ExprQuantize:
		return openQuantize(e, src, cols)
	case ir.ExprExpand:
		return openExpand(e, src, cols)
	case ir.ExprRows, ir.ExprColumns:
		return openPart(e, src, cols)
	}
	return nil, unmade(e)
}

// unmade returns the error for an expression that cannot be compiled, with what to write instead.
func unmade(e *ir.Expr) error {
	switch e.Op {
	case ir.ExprFile:
		return fmt.Errorf("file %q can be planned with and not compiled: write the bytes as a literal, or put the tensor into a GGUF file and write m[%q], after a line source m \"PATH\" 0", e.File, e.File)
	case ir.ExprPack:
		return errors.New("pack is inside another expression: write it outermost, as in pack(concat(a, b), r16)")
	}
	return fmt.Errorf("an expression of kind %d cannot be compiled", e.Op)
}

// literalRows are the bytes of a small f32 constant.
type literalRows struct {
	data []byte
	cols int64
}

func openLiteral(data []byte, cols int64) (Rows, error) {
	const f32Bytes = 4
	if cols <= 0 || int64(len(data))%(cols*f32Bytes) != 0 {
		return nil, fmt.Errorf("a literal of %d bytes is no whole number of rows of %d f32: correct the literal or the type", len(data), cols)
	}
	return literalRows{data, cols}, nil
}

func (l literalRows) DType() dtype.DType { return dtype.F32 }

func (l literalRows) Shape() (rows, cols int64) {
	return int64(len(l.data)) / l.rowBytes(), l.cols
}

func (l literalRows) rowBytes() int64 { return int64(dtype.F32.RowBytes(int(l.cols))) }

func (l literalRows) ReadRows(_ context.Context, dst []byte, first, n int64) error {
	copy(dst, l.data[first*l.rowBytes():(first+n)*l.rowBytes()])
	return nil
}

// concatRows are the rows of several matrices, one after another.
type concatRows []Rows

func openConcat(e *ir.Expr, src Sources, cols int64) (Rows, error) {
	var parts concatRows
	for _, a := range e.Args {
		r, err := openExpr(a, src, cols)
		if err != nil {
			return nil, err
		}
		if len(parts) > 0 {
			_, k0 := parts[0].Shape()
			if _, k := r.Shape(); k != k0 || r.DType() != parts[0].DType() {
				return nil, fmt.Errorf("concat of rows of %d %v and of %d %v", k0, parts[0].DType(), k, r.DType())
			}
		}
		parts = append(parts, r)
	}
	if len(parts) == 0 {
		return nil, errors.New("concat of nothing")
	}
	return parts, nil
}

func (c concatRows) DType() dtype.DType { return c[0].DType() }

func (c concatRows) Shape() (rows, cols int64) {
	for _, p := range c {
		n, k := p.Shape()
		rows, cols = rows+n, k
	}
	return rows, cols
}

func (c concatRows) ReadRows(ctx context.Context, dst []byte, first, n int64) error {
	for _, p := range c {
		have, k := p.Shape()
		if first >= have {
			first -= have
			continue
		}
		count := min(n, have-first)
		bytes := count * int64(p.DType().RowBytes(int(k)))
		if err := p.ReadRows(ctx, dst[:bytes], first, count); err != nil {
			return err
		}
		dst, n, first = dst[bytes:], n-count, 0
		if n == 0 {
			return nil
		}
	}
	return nil
}

// quantizeRows converts rows to another dtype with dtype.Encode.
type quantizeRows struct {
	from Rows
	to   dtype.DType
}

func openQuantize(e *ir.Expr, src Sources, cols int64) (Rows, error) {
	to, err := dtype.Parse(e.To)
	if err != nil {
		return nil, err
	}
	from, err := openExpr(e.Args[0], src, cols)
	if err != nil {
		return nil, err
	}
	if _, k := from.Shape(); k%int64(to.BlockElems()) != 0 {
		return nil, fmt.Errorf("rows of %d elements are no whole number of %v blocks of %d", k, to, to.BlockElems())
	}
	return quantizeRows{from, to}, nil
}

func (q quantizeRows) DType() dtype.DType        { return q.to }
func (q quantizeRows) Shape() (rows, cols int64) { return q.from.Shape() }

func (q quantizeRows) ReadRows(ctx context.Context, dst []byte, first, n int64) error {
	_, k := q.from.Shape()
	dt := q.from.DType()
	raw := make([]byte, int(n)*dt.RowBytes(int(k)))
	if err := q.from.ReadRows(ctx, raw, first, n); err != nil {
		return err
	}
	floats := make([]float32, n*k)
	if err := dtype.DecodeFloat32(dt, floats, raw); err != nil {
		return err
	}
	return dtype.CountFrom(first*k, dtype.Encode(q.to, dst, floats))
}

// expandRows converts rows to the format that their own is expanded to.
type expandRows struct{ from Rows }

func openExpand(e *ir.Expr, src Sources, cols int64) (Rows, error) {
	from, err := openExpr(e.Args[0], src, cols)
	if err != nil {
		return nil, err
	}
	if to := from.DType().Expansion(); !to.Valid() || to.String() != e.To {
		return nil, fmt.Errorf("%v is not expanded to %s: %s", from.DType(), e.To, insteadOf(to))
	}
	return expandRows{from}, nil
}

// insteadOf states what to write instead of a wrong expansion; to is the right one, if there is one.
func insteadOf(to dtype.DType) string {
	if to.Valid() {
		return fmt.Sprintf("write expand(…, %v)", to)
	}
	return "leave expand out, or write quantize"
}

func (x expandRows) DType() dtype.DType        { return x.from.DType().Expansion() }
func (x expandRows) Shape() (rows, cols int64) { return x.from.Shape() }

func (x expandRows) ReadRows(ctx context.Context, dst []byte, first, n int64) error {
	_, k := x.from.Shape()
	dt := x.from.DType()
	raw := make([]byte, int(n)*dt.RowBytes(int(k)))
	if err := x.from.ReadRows(ctx, raw, first, n); err != nil {
		return err
	}
	return dtype.Expand(dt, dst, raw)
}

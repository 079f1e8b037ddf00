package codegen

import (
	"context"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// partRows are some rows of a matrix, or some elements of each of its rows.
type partRows struct {
	from         Rows
	row, rows    int64 // first row, and how many
	column, cols int64 // first element of each row, and how many
}

// openPart opens the expression that it is a part of. A literal in columns has rows of unknown length.
func openPart(e *ir.Expr, src Sources, cols int64) (Rows, error) {
	a := e.Args[0]
	if e.Op == ir.ExprColumns && a.Op == ir.ExprLiteral {
		return nil, fmt.Errorf("columns of a literal, whose rows have no length: write the elements that are meant as a literal")
	}
	from, err := openExpr(a, src, cols)
	if err != nil {
		return nil, err
	}
	n, k := from.Shape()
	block := int64(from.DType().BlockElems())
	p, have := partRows{from, e.First, e.Count, 0, k}, n
	if e.Op == ir.ExprColumns {
		p, have = partRows{from, 0, n, e.First, e.Count}, k
	}
	switch {
	case e.First < 0 || e.Count < 0 || e.First > have || e.Count > have-e.First:
		return nil, fmt.Errorf("%v is not within the %d rows of %d elements of its argument", e, n, k)
	case p.column%block != 0 || p.cols%block != 0:
		return nil, fmt.Errorf("%v cuts blocks of %d elements of %v", e, block, from.DType())
	}
	return p, nil
}

func (p partRows) DType() dtype.DType { return p.from.DType() }

func (p partRows) Shape() (rows, cols int64) { return p.rows, p.cols }

func (p partRows) ReadRows(ctx context.Context, dst []byte, first, n int64) error {
	_, k := p.from.Shape()
	if p.cols == k {
		return p.from.ReadRows(ctx, dst, p.row+first, n)
	}
	d := p.DType()
	whole, size, skip := int64(d.RowBytes(int(k))), int64(d.RowBytes(int(p.cols))), int64(d.RowBytes(int(p.column)))
	step := max(1, chunkBytes/whole)
	buf := make([]byte, min(step, n)*whole)
	for done := int64(0); done < n; done += step {
		count := min(step, n-done)
		if err := p.from.ReadRows(ctx, buf[:count*whole], p.row+first+done, count); err != nil {
			return err
		}
		for i := range count {
			copy(dst[(done+i)*size:(done+i+1)*size], buf[i*whole+skip:])
		}
	}
	return nil
}

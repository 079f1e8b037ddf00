package codegen

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"runtime"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Sources finds the tensors that weight expressions name.
type Sources interface {
	// Tensor returns a reader of the tensor of that name in the source of that name.
	Tensor(source, name string) (Rows, error)
}

// Rows reads a matrix row by row: the flattened form of a tensor, whose rows run along
// the innermost dimension. Implementations allow calls from several goroutines.
type Rows interface {
	DType() dtype.DType
	Shape() (rows, cols int64)

	// ReadRows fills dst with n rows from first on, in the bytes of DType, without gaps.
	ReadRows(ctx context.Context, dst []byte, first, n int64) error
}

// chunkBytes is how much of the blob is made at a time: large enough to stream, small
// enough that the compiler's memory stays flat (a few chunks for each processor).
const chunkBytes = 1 << 20

// PackWeights writes the weights arena of a placed module to w, from offset 0 to the end
// of its chunk, gaps filled with zeros, and returns the SHA-256 of these bytes. Tensors are
// read, converted and laid out piece by piece; memory does not grow with the model.
// Progress, if not nil, is called with the bytes done so far.
func PackWeights(ctx context.Context, m *ir.Module, src Sources, w io.Writer, progress func(done int64)) ([32]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &blobWriter{w: newPageWriter(w), hash: sha256.New(), progress: progress}
	for _, c := range orderedChunks(ctx, blobPieces(m, src)) {
		if err := b.write(c); err != nil {
			return [32]byte{}, err
		}
	}
	if err := b.w.flush(); err != nil {
		return [32]byte{}, notWritten(err)
	}
	return [32]byte(b.hash.Sum(nil)), nil
}

// blobWriter appends chunks to the output and to its hash.
type blobWriter struct {
	w        *pageWriter
	hash     hash.Hash
	progress func(int64)
	done     int64
}

func (b *blobWriter) write(c chunk) error {
	if c.err != nil {
		return c.err
	}
	b.hash.Write(c.data)
	if _, err := b.w.Write(c.data); err != nil {
		return notWritten(err)
	}
	b.done += int64(len(c.data))
	if b.progress != nil {
		b.progress(b.done)
	}
	return nil
}

func notWritten(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) { // the name of a temporary file means nothing to anyone
		err = path.Err
	}
	return fmt.Errorf("writing the weights: %w", err)
}

// chunk is a finished piece of the blob, or why it could not be made.
type chunk struct {
	data []byte
	err  error
}

// piece makes one chunk.
type piece func(context.Context) ([]byte, error)

// orderedChunks runs pieces on all processors and yields their chunks in order. No more
// than two chunks for each processor are in memory at once.
func orderedChunks(ctx context.Context, pieces func(yield func(piece) bool)) func(yield func(int, chunk) bool) {
	return func(yield func(int, chunk) bool) {
		pending := make(chan chan chunk, 2*runtime.GOMAXPROCS(0))
		go func() {
			defer close(pending)
			for p := range pieces {
				out := make(chan chunk, 1)
				select {
				case pending <- out:
				case <-ctx.Done():
					return
				}
				go func() {
					data, err := p(ctx)
					out <- chunk{data, err}
				}()
			}
		}()
		i := 0
		for out := range pending {
			if !yield(i, <-out) {
				return
			}
			i++
		}
		if err := ctx.Err(); err != nil {
			yield(i, chunk{err: err})
		}
	}
}

func zeros(n int64) piece {
	return func(context.Context) ([]byte, error) { return make([]byte, n), nil }
}

func literal(data []byte) piece {
	return func(context.Context) ([]byte, error) { return data, nil }
}

// weightPieces cuts the making of one weight into pieces of about chunkBytes.
func weightPieces(w *ir.Weight, src Sources) []piece {
	fail := func(err error) []piece {
		err = fmt.Errorf("weight %q: %w", w.Name, err)
		return []piece{func(context.Context) ([]byte, error) { return nil, err }}
	}
	if w.Expr == nil {
		return fail(errNoValue)
	}
	e, packed := w.Expr, false
	if e.Op == ir.ExprPack {
		e, packed = e.Args[0], true
	}
	if packed != (w.Type.Layout != dtype.Plain) {
		return fail(fmt.Errorf("it is declared as %v, and its expression makes another layout: write pack(…, LAYOUT) for tiles, and only for them", w.Type))
	}
	cols, _ := w.Type.Inner().IsConst()
	rows, err := openExpr(e, src, cols)
	if err != nil {
		return fail(err)
	}
	if err := sameShape(w, e, rows); err != nil {
		return fail(err)
	}
	if packed {
		return packPieces(w, rows)
	}
	return rowPieces(w, rows)
}

// OpenWeight returns the rows of a weight as they are before they are packed.
func OpenWeight(w *ir.Weight, src Sources) (Rows, error) {
	e := w.Expr
	if e != nil && e.Op == ir.ExprPack {
		e = e.Args[0]
	}
	cols, _ := w.Type.Inner().IsConst()
	return openExpr(e, src, cols)
}

// sameShape checks that what the expression makes is what the module declares.
func sameShape(w *ir.Weight, e *ir.Expr, rows Rows) error {
	n, k := rows.Shape()
	wantN, _ := w.Type.Rows().IsConst()
	wantK, _ := w.Type.Inner().IsConst()
	if n == wantN && k == wantK && rows.DType() == w.Type.DType {
		return nil
	}
	if e.Op == ir.ExprLiteral {
		return fmt.Errorf("its literal has %d bytes, which are %d rows of %d f32, and the module declares %d rows of %d %v: correct the literal or the type; "+
			"quantize(literal …, DTYPE) makes another dtype than f32", len(e.Data), n, k, wantN, wantK, w.Type.DType)
	}
	return fmt.Errorf("its source has %d rows of %d %v, the module declares %d rows of %d %v: the file changed, or the dump names another one",
		n, k, rows.DType(), wantN, wantK, w.Type.DType)
}

// rowPieces copies rows as they are.
func rowPieces(w *ir.Weight, rows Rows) []piece {
	n, k := rows.Shape()
	rowBytes := int64(rows.DType().RowBytes(int(k)))
	step := max(1, chunkBytes/max(1, rowBytes))
	var ps []piece
	for first := int64(0); first < n; first += step {
		count := min(step, n-first)
		ps = append(ps, func(ctx context.Context) ([]byte, error) {
			buf := make([]byte, count*rowBytes)
			if err := readRows(ctx, rows, w.Name, buf, first, count); err != nil {
				return nil, err
			}
			return buf, nil
		})
	}
	return ps
}

// packPieces lays rows out matrix by matrix: panels do not reach over two of them.
func packPieces(w *ir.Weight, rows Rows) []piece {
	all, k := rows.Shape()
	n, _ := w.Type.Shape[w.Type.Rank()-2].IsConst()
	var ps []piece
	for first := int64(0); first < all; first += n {
		ps = append(ps, matrixPieces(w, rows, first, n, k)...)
	}
	return ps
}

// matrixPieces lays out the matrix of n rows that begins at row from.
func matrixPieces(w *ir.Weight, rows Rows, from, n, k int64) []piece {
	dt, layout := rows.DType(), w.Type.Layout
	rowBytes := int64(dt.RowBytes(int(k)))
	group := layout.Rows()
	step := group * max(1, chunkBytes/max(1, dtype.PackedBytes(dt, layout, group, k)))
	var ps []piece
	for first := int64(0); first < n; first += step {
		count := min(step, n-first)
		ps = append(ps, func(ctx context.Context) ([]byte, error) {
			buf := make([]byte, count*rowBytes)
			if err := readRows(ctx, rows, w.Name, buf, from+first, count); err != nil {
				return nil, err
			}
			out := make([]byte, dtype.PackedBytes(dt, layout, count, k))
			packInto(layout, dt, out, buf, int(count), int(k))
			return out, nil
		})
	}
	return ps
}

// packInto lays out plain rows of k elements.
func packInto(l dtype.Layout, dt dtype.DType, dst, src []byte, rows, k int) {
	switch l {
	case dtype.R16:
		tile.Pack(dt, dst, src, rows, k)
	case dtype.Planar:
		dtype.PackPlanes(dt, dst, src, rows, k)
	default:
		l.PackRows(dt, dst, src, rows, k)
	}
}

// readRows reads rows of a weight and refuses block scales that are not finite: every
// product with such a block would be NaN.
func readRows(ctx context.Context, rows Rows, name string, buf []byte, first, count int64) error {
	if err := rows.ReadRows(ctx, buf, first, count); err != nil {
		return fmt.Errorf("weight %q: %w", name, err)
	}
	dt := rows.DType()
	i, why := -1, "is not a finite number"
	for _, offset := range dt.ScaleOffsets() {
		if i = badScale(buf, dt, offset); i >= 0 {
			break
		}
	}
	if dt == dtype.MXFP4 {
		i, why = badPower(buf, dt), "is NaN, or makes products beyond float32"
	}
	if i < 0 {
		return nil
	}
	_, k := rows.Shape()
	perRow := int(k) / dt.BlockElems()
	return fmt.Errorf("weight %q: row %d, block %d: the scale %s: the file is damaged", name, first+int64(i/perRow), i%perRow, why)
}

// badScale returns the index of the first block whose f16 scale at an offset is NaN or infinite; -1
// where there is none.
func badScale(b []byte, dt dtype.DType, offset int) int {
	const exponent = 0x7c // the upper byte of a binary16 whose exponent bits are all set
	for i, at := 0, offset; at+2 <= len(b); i, at = i+1, at+dt.BlockBytes() {
		if b[at+1]&exponent == exponent {
			return i
		}
	}
	return -1
}

// badPower returns the index of the first MXFP4 block with a scale of 2^(e-128) that is too large for products in float32, or
// NaN, e = 255: OCP Microscaling Formats 1.0, section 5.4.1. It is -1 where there is none.
func badPower(b []byte, dt dtype.DType) int {
	for i, at := 0, 0; at < len(b); i, at = i+1, at+dt.BlockBytes() {
		if b[at] > dtype.LargestPower {
			return i
		}
	}
	return -1
}

package codegen

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// fakeRows is a matrix of bytes that follow from their position.
type fakeRows struct {
	dt         dtype.DType
	rows, cols int64
	read       func(dst []byte, first int64) error // nil: pattern
}

func (f fakeRows) DType() dtype.DType        { return f.dt }
func (f fakeRows) Shape() (rows, cols int64) { return f.rows, f.cols }
func (f fakeRows) rowBytes() int64           { return int64(f.dt.RowBytes(int(f.cols))) }

func (f fakeRows) row(i int64) []byte {
	b := make([]byte, f.rowBytes())
	pattern(b, i)
	return b
}

// pattern fills a row; no two bytes of it are the exponent of an f16 that is no number.
func pattern(b []byte, row int64) {
	rng := rand.New(rand.NewPCG(1, uint64(row)))
	for i := range b {
		b[i] = byte(rng.Uint32()) & 0x3f
	}
}

func (f fakeRows) ReadRows(ctx context.Context, dst []byte, first, n int64) error {
	if f.read != nil {
		return f.read(dst, first)
	}
	for i := range n {
		pattern(dst[i*f.rowBytes():(i+1)*f.rowBytes()], first+i)
	}
	return ctx.Err()
}

// fakeSource holds matrices by name.
type fakeSource map[string]fakeRows

func (s fakeSource) Tensor(_, name string) (Rows, error) {
	r, ok := s[name]
	if !ok {
		return nil, errors.New("missing")
	}
	return r, nil
}

// placed returns a module with weights at the given offsets in an arena of size bytes.
func placed(size int64, ws ...*ir.Weight) *ir.Module {
	return &ir.Module{Weights: ws, Plan: &ir.Plan{Arenas: []ir.Arena{{Space: "host", Class: ir.ClassWeights, Chunks: []int64{size}}}}}
}

func weightAt(offset int64, name string, dt dtype.DType, layout dtype.Layout, rows, cols int64) *ir.Weight {
	w := &ir.Weight{Name: name, Type: ir.Type{DType: dt, Layout: layout, Shape: ir.Dims(rows, cols)}, Expr: ir.Tensor("m", name), Place: &ir.Place{Offset: offset}}
	if layout != dtype.Plain {
		w.Expr = ir.Pack(w.Expr, layout.String())
	}
	return w
}

// TestPackWeightsWritesWhatThePlanPlaces packs weights of many rows, plain, in panels and in planes, out of order and
// with gaps, and compares every byte.
func TestPackWeightsWritesWhatThePlanPlaces(t *testing.T) {
	plain := fakeRows{dt: dtype.F32, rows: 5, cols: 300_000}  // a chunk holds no two rows
	panels := fakeRows{dt: dtype.Q8_0, rows: 4000, cols: 640} // several chunks; the last panel is whole
	ragged := fakeRows{dt: dtype.F16, rows: 37, cols: 32}     // the last panel has 5 rows
	planes := fakeRows{dt: dtype.Q4_0, rows: 5000, cols: 800} // several chunks; the scales of a row have padding
	p, q, r := int64(5*300_000*4), dtype.PackedBytes(dtype.Q8_0, dtype.R16, 4000, 640), dtype.PackedBytes(dtype.F16, dtype.R16, 37, 32)
	s := dtype.PackedBytes(dtype.Q4_0, dtype.Planar, 5000, 800)
	at := []int64{128, 128 + p + 192, 128 + p + 192 + q, 128 + p + 192 + q + r + 96}
	size := at[3] + s + 77
	m := placed(size,
		weightAt(at[1], "panels", dtype.Q8_0, dtype.R16, 4000, 640),
		weightAt(at[0], "plain", dtype.F32, dtype.Plain, 5, 300_000),
		weightAt(at[2], "ragged", dtype.F16, dtype.R16, 37, 32),
		weightAt(at[3], "planes", dtype.Q4_0, dtype.Planar, 5000, 800),
		&ir.Weight{Name: "unplaced"},
	)
	var got bytes.Buffer
	var progress []int64
	hash, err := PackWeights(t.Context(), m, fakeSource{"plain": plain, "panels": panels, "ragged": ragged, "planes": planes}, &got, func(n int64) { progress = append(progress, n) })
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, size) // gaps are zero
	for i := range plain.rows {
		copy(want[at[0]+i*plain.rowBytes():], plain.row(i))
	}
	packPanels(want[at[1]:at[1]+q], panels)
	packPanels(want[at[2]:at[2]+r], ragged)
	for i := range planes.rows {
		row := s / planes.rows
		dtype.PackPlanes(dtype.Q4_0, want[at[3]+i*row:][:row], planes.row(i), 1, 800)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes differ from the %d wanted, first at %d", got.Len(), len(want), firstDifference(got.Bytes(), want))
	}
	if hash != sha256.Sum256(want) {
		t.Error("the hash is not that of the bytes")
	}
	if n := len(progress); n < 5 || progress[n-1] != size {
		t.Errorf("progress was reported %d times, last %v", n, progress[max(0, n-1):])
	}
}

// packInto packs all panels of rows at once.
func packPanels(dst []byte, f fakeRows) {
	panelBytes := dtype.PackedBytes(f.dt, dtype.R16, dtype.PanelRows, f.cols)
	for first := int64(0); first < f.rows; first += dtype.PanelRows {
		n := min(dtype.PanelRows, f.rows-first)
		var raw []byte
		for i := range n {
			raw = append(raw, f.row(first+i)...)
		}
		at := first / dtype.PanelRows * panelBytes
		tile.PackPanel(f.dt, dst[at:at+panelBytes], raw, int(n), int(f.cols))
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func TestPackWeightsReportsFaults(t *testing.T) {
	nan := fakeRows{dt: dtype.Q8_0, rows: 40, cols: 64, read: func(dst []byte, first int64) error {
		clear(dst)
		if first == 0 {
			dst[17*68+34+1] = 0x7e // row 17, block 1: an f16 scale of NaN
		}
		return nil
	}}
	min := fakeRows{dt: dtype.Q4_K, rows: 3, cols: 512, read: func(dst []byte, _ int64) error {
		clear(dst)
		dst[2*288+144+3] = 0x7c // row 2, block 1: an infinite f16 scale of mins
		return nil
	}}
	power := fakeRows{dt: dtype.MXFP4, rows: 2, cols: 96, read: func(dst []byte, _ int64) error {
		clear(dst)
		dst[17], dst[3*17+2*17] = dtype.LargestPower, dtype.LargestPower+1 // row 0, block 1, and row 1, block 2
		return nil
	}}
	short := fakeRows{dt: dtype.F32, rows: 4, cols: 4, read: func([]byte, int64) error { return errors.New("the file became shorter") }}
	source := fakeSource{"w": {dt: dtype.F32, rows: 4, cols: 4}, "nan": nan, "min": min, "power": power, "short": short}
	literal := weightAt(0, "l", dtype.F32, dtype.Plain, 2, 3)
	literal.Expr = &ir.Expr{Op: ir.ExprLiteral, Data: make([]byte, 20)}
	larger := weightAt(0, "m", dtype.F32, dtype.Plain, 2, 3)
	larger.Expr = &ir.Expr{Op: ir.ExprLiteral, Data: make([]byte, 36)}
	half := weightAt(0, "h", dtype.F16, dtype.Plain, 2, 3)
	half.Expr = &ir.Expr{Op: ir.ExprLiteral, Data: make([]byte, 24)}
	bare := weightAt(0, "b", dtype.F32, dtype.Plain, 4, 4)
	bare.Expr = nil
	bareTiles := weightAt(0, "t", dtype.F32, dtype.R16, 4, 4)
	bareTiles.Expr = nil
	beside := weightAt(0, "f", dtype.F32, dtype.Plain, 4, 4)
	beside.Expr = &ir.Expr{Op: ir.ExprFile, File: "abc"}
	nested := weightAt(0, "n", dtype.F32, dtype.Plain, 4, 4)
	nested.Expr = &ir.Expr{Op: ir.ExprConcat, Args: []*ir.Expr{ir.Pack(ir.Tensor("m", "w"), "r16")}}
	unpacked := weightAt(0, "w", dtype.F32, dtype.R16, 4, 4)
	unpacked.Expr = ir.Tensor("m", "w")
	for _, c := range []struct {
		name string
		w    *ir.Weight
		want []string
	}{
		{"rows that the source has not", weightAt(0, "w", dtype.F32, dtype.Plain, 5, 4), []string{`weight "w"`, "4 rows of 4 f32", "declares 5 rows of 4 f32"}},
		{"another dtype", weightAt(0, "w", dtype.F16, dtype.Plain, 4, 4), []string{`weight "w"`, "declares 4 rows of 4 f16"}},
		{"absent", weightAt(0, "gone", dtype.F32, dtype.Plain, 4, 4), []string{`weight "gone"`, "missing"}},
		{"a scale that is no number", weightAt(0, "nan", dtype.Q8_0, dtype.R16, 40, 64), []string{`weight "nan"`, "row 17, block 1: the scale is not a finite number"}},
		{"a scale of mins that is no number", weightAt(0, "min", dtype.Q4_K, dtype.R16, 3, 512), []string{`weight "min"`, "row 2, block 1: the scale is not a finite number"}},
		{"a power of two that is too large", weightAt(0, "power", dtype.MXFP4, dtype.R16, 2, 96), []string{`weight "power"`, "row 1, block 2: the scale is NaN, or makes products beyond float32"}},
		{"a file that shrinks", weightAt(0, "short", dtype.F32, dtype.Plain, 4, 4), []string{`weight "short"`, "the file became shorter"}},
		{"no expression", bare, []string{`weight "b"`, "does not state where its bytes come from"}},
		{"no expression for tiles", bareTiles, []string{`weight "t": it has no value`, "does not state where its bytes come from"}},
		{"a literal of another size", literal, []string{`weight "l"`, "20 bytes is no whole number of rows of 3 f32"}},
		{"a literal of more rows", larger, []string{`weight "m": its literal has 36 bytes, which are 3 rows of 3 f32, and the module declares 2 rows of 3 f32`}},
		{"a literal of another dtype", half, []string{`weight "h": its literal`, "declares 2 rows of 3 f16", "quantize(literal"}},
		{"a file beside the text", beside, []string{`weight "f"`, `file "abc" can be planned with and not compiled`, `source m "PATH" 0`}},
		{"pack inside concat", nested, []string{`weight "n"`, "write it outermost"}},
		{"a tile that nobody packs", unpacked, []string{`weight "w"`, "write pack("}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := PackWeights(t.Context(), placed(1<<16, c.w), source, io.Discard, nil)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// full is a disk with room for n bytes.
type full struct{ n int }

var errFull = errors.New("no space")

func (f *full) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestPackWeightsStops(t *testing.T) {
	big := fakeRows{dt: dtype.F32, rows: 1 << 20, cols: 1 << 10, read: func(dst []byte, _ int64) error { return nil }}
	m := placed(1<<32, weightAt(0, "big", dtype.F32, dtype.Plain, 1<<20, 1<<10))
	if _, err := PackWeights(t.Context(), m, fakeSource{"big": big}, &full{n: 3 << 20}, nil); !errors.Is(err, errFull) {
		t.Errorf("full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := PackWeights(ctx, m, fakeSource{"big": big}, io.Discard, func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestPackWeightsMemoryDoesNotGrow packs 256 MiB and looks at the heap on the way: a few chunks for
// each processor are there, not the model.
func TestPackWeightsMemoryDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: takes a second")
	}
	const rows, cols = 1 << 16, 1 << 10
	big := fakeRows{dt: dtype.F32, rows: rows, cols: cols, read: func(dst []byte, _ int64) error { return nil }}
	m := placed(rows*cols*4, weightAt(0, "big", dtype.F32, dtype.R16, rows, cols))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	peak, calls := uint64(0), 0
	_, err := PackWeights(t.Context(), m, fakeSource{"big": big}, io.Discard, func(int64) {
		if calls++; calls%16 == 0 {
			runtime.GC() // what is left is in use
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each processor has two finished chunks and is making one, of its rows and its panels.
	if limit := uint64(runtime.GOMAXPROCS(0)*8*chunkBytes + 8<<20); peak > limit {
		t.Errorf("%s of heap in use, more than %s", mib(peak), mib(limit))
	}
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// TestExpressionsAreReadAcrossParts reads expressions across the borders of their parts.
func TestExpressionsAreReadAcrossParts(t *testing.T) {
	a, b := fakeRows{dt: dtype.F32, rows: 3, cols: 32}, fakeRows{dt: dtype.F32, rows: 5, cols: 32}
	src := fakeSource{"a": a, "b": b}
	rows, err := openExpr(ir.Concat(ir.Tensor("m", "a"), ir.Tensor("m", "b")), src, 32)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4*128)
	if err := rows.ReadRows(t.Context(), got, 1, 4); err != nil {
		t.Fatal(err)
	}
	if want := bytes.Join([][]byte{a.row(1), a.row(2), b.row(0), b.row(1)}, nil); !bytes.Equal(got, want) {
		t.Error("rows 1 to 4 of concat are not those of its parts")
	}

	values := make([]float32, 64)
	for i := range values {
		values[i] = float32(i%13) - 6
	}
	data := make([]byte, 256)
	if err := dtype.Encode(dtype.F32, data, values); err != nil {
		t.Fatal(err)
	}
	q, err := openExpr(ir.Quantize(&ir.Expr{Op: ir.ExprLiteral, Data: data}, "q8_0"), src, 32)
	if err != nil {
		t.Fatal(err)
	}
	second, want := make([]byte, 34), make([]byte, 68)
	if err := q.ReadRows(t.Context(), second, 1, 1); err != nil {
		t.Fatal(err)
	}
	if err := dtype.Encode(dtype.Q8_0, want, values); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(second, want[34:]) {
		t.Error("row 1 is not quantized as the format's reference does")
	}
}

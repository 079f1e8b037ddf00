package readback_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes"
)

// packed is a placed module, the blob that codegen packed of its weights, and their sources.
type packed struct {
	m    *ir.Module
	src  codegen.Sources
	blob []byte
}

// pack compiles a module and packs its weights.
func pack(t testing.TB, m *ir.Module, src codegen.Sources, targets string) *packed {
	t.Helper()
	list, err := targetsOf(targets)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := passes.Run(t.Context(), m, passes.RunOptions{Targets: list}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := codegen.PackWeights(t.Context(), m, src, &b, nil); err != nil {
		t.Fatal(err)
	}
	return &packed{m, src, b.Bytes()}
}

// check reads a blob back, with the module and the sources that p has by now.
func (p *packed) check(ctx context.Context, blob []byte) error {
	return readback.CheckWeights(ctx, p.m, func(source, tensor string) (readback.Rows, error) { return p.src.Tensor(source, tensor) }, bytes.NewReader(blob))
}

// span is where the plan has a weight's bytes in the blob of a module with one chunk of weights.
func span(w *ir.Weight) (from, to int64) {
	n, _ := w.Type.Bytes().IsConst()
	return w.Place.Offset, w.Place.Offset + n
}

// generated are tensors of a source whose elements follow from their names.
type generated map[string]ir.Type

func (g generated) Tensor(_, name string) (codegen.Rows, error) {
	t, ok := g[name]
	if !ok {
		return nil, fmt.Errorf("no tensor %q", name)
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	return generatedRows{t, h.Sum64()}, nil
}

// exchanged has each tensor of g under the name of another one of its type.
type exchanged struct{ g generated }

func (e exchanged) Tensor(source, name string) (codegen.Rows, error) {
	for other, t := range e.g {
		if other != name && t.Equal(e.g[name]) {
			return e.g.Tensor(source, other)
		}
	}
	return e.g.Tensor(source, name)
}

type generatedRows struct {
	typ  ir.Type
	seed uint64
}

func (r generatedRows) DType() dtype.DType { return r.typ.DType }

func (r generatedRows) Shape() (rows, cols int64) {
	rows, _ = r.typ.Rows().IsConst()
	cols, _ = r.typ.Inner().IsConst()
	return rows, cols
}

func (r generatedRows) ReadRows(_ context.Context, dst []byte, first, n int64) error {
	_, cols := r.Shape()
	size := r.typ.DType.RowBytes(int(cols))
	for i := range n {
		rng := rand.New(rand.NewPCG(r.seed, uint64(first+i)))
		row := make([]float32, cols)
		for k := range row {
			row[k] = rng.Float32() - 0.5
		}
		if err := dtype.Encode(r.typ.DType, dst[int(i)*size:][:size], row); err != nil {
			return err
		}
	}
	return nil
}

// packings has a weight for each form of expression, in each layout, and a constant.
const packings = `source m "none" 0
weight "gate" : f32[96,64] = m["gate"]
weight "up" : f32[96,64] = m["up"]
weight "both" : f32[192,64] = concat(m["gate"], m["up"])
weight "q8" : q8_0[40,64] = quantize(m["rows"], q8_0)
weight "q4" : q4_0[3,40,64] = m["q4"]
weight "half" : f16.r16[6,40,64] = pack(m["half"], r16)
weight "brain" : bf16[7,64] = quantize(m["seven"], bf16)
weight "empty" : f32[0,64] = literal ""
weight "flat" : f32[20,0] = literal ""
weight "some" : f32[24,64] = rows(m["gate"], 8, 24)
weight "narrow" : f32[96,32] = columns(m["up"], 16, 32)
weight "literal" : f32[2,2] = literal "000000000000803f0000004000004040"
func @f(%x: f32[4,64], %h: f32[3,2,64], %i: i32[3,2], %four: f32[4,3,64], %j: i32[4,3], %y: f32[4,2], %z: f32[4,32], %u: f32[4,0]) -> (a: f32[4,96], b: f32[4,96], c: f32[4,192], d: f32[4,40], e: f32[4,3,40], f: f32[3,2,40], g: f32[4,7], l: f32[2,2], n: f32[4,2], o: f32[0,2], p: f32[0,64], q: f32[4,24], r: f32[4,96], s: f32[4,20]) {
  %gate = weight "gate"
  %up = weight "up"
  %both = weight "both"
  %q8 = weight "q8"
  %q4 = weight "q4"
  %half = weight "half"
  %brain = weight "brain"
  %literal = weight "literal"
  %a = matmul %x, %gate
  %b = matmul %x, %up
  %c = matmul %x, %both
  %d = matmul %x, %q8
  %e = experts_matmul %four, %q4, %j
  %f = experts_matmul %h, %half, %i
  %g = matmul %x, %brain
  %l = add %literal, %literal
  %k = constant "0000803f00000040000040400000803f0000a0400000c0400000e04000000041" : f32[4,2]
  %n = add %y, %k
  %o = constant "" : f32[0,2]
  %p = weight "empty"
  %some = weight "some"
  %narrow = weight "narrow"
  %q = matmul %x, %some
  %r = matmul %z, %narrow
  %flat = weight "flat"
  %s = matmul %u, %flat
  return %a, %b, %c, %d, %e, %f, %g, %l, %n, %o, %p, %q, %r, %s
}
`

var packingSources = generated{
	"gate": f32Matrix(96), "up": f32Matrix(96), "rows": f32Matrix(40), "seven": f32Matrix(7),
	"q4":   {DType: dtype.Q4_0, Shape: ir.Dims(3, 40, 64)},
	"half": {DType: dtype.F16, Shape: ir.Dims(6, 40, 64)},
}

func f32Matrix(rows int64) ir.Type { return ir.Type{DType: dtype.F32, Shape: ir.Dims(rows, 64)} }

func packingsPacked(t testing.TB) *packed {
	t.Helper()
	m, err := ir.Parse("packings.ggir", []byte(packings))
	if err != nil {
		t.Fatal(err)
	}
	return pack(t, m, packingSources, "")
}

func packedLlama(t testing.TB) *packed {
	t.Helper()
	md, err := driver.Load(t.Context(), "../../../shared/data/aidreams260K.gguf", driver.LoadOptions{Context: 128, Batch: 16})
	if err != nil {
		t.Skipf("skip: %v", err)
	}
	t.Cleanup(func() { md.Close() })
	return pack(t, md.Module, md, "")
}

// TestPackedWeightsAreReadBack reads the weights of modules back as codegen packs them, on one device and on
// several, in one chunk and in many.
func TestPackedWeightsAreReadBack(t *testing.T) {
	for name, p := range map[string]*packed{"packings": packingsPacked(t), "llama": packedLlama(t)} {
		if err := p.check(t.Context(), p.blob); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, targets := range []string{twoFakes, chunked, sharing} {
		m, err := ir.Parse("packings.ggir", []byte(packings))
		if err != nil {
			t.Fatal(err)
		}
		p := pack(t, m, packingSources, targets)
		if err := p.check(t.Context(), p.blob); err != nil {
			t.Errorf("%s: %v", targets, err)
		}
		wantDifferent(t, p, slices.Concat(make([]byte, 64), p.blob[:len(p.blob)-64]), "a blob that comes late on "+targets)
	}
}

// wantDifferent demands that reading back finds a blob to be another one.
func wantDifferent(t *testing.T, p *packed, blob []byte, what string) {
	t.Helper()
	var differs *readback.Error
	if err := p.check(t.Context(), blob); !errors.As(err, &differs) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestMovedWeightsAreRefused has weights in each other's places, moved, and cut.
func TestMovedWeightsAreRefused(t *testing.T) {
	for name, p := range map[string]*packed{"packings": packingsPacked(t), "llama": packedLlama(t)} {
		swaps := 0
		for i, a := range p.m.Weights {
			for _, b := range p.m.Weights[:i] {
				from, to := span(a)
				start, end := span(b)
				if from == start || to-from != end-start || bytes.Equal(p.blob[from:to], p.blob[start:end]) {
					continue
				}
				blob := slices.Clone(p.blob)
				copy(blob[from:to], p.blob[start:end])
				copy(blob[start:end], p.blob[from:to])
				wantDifferent(t, p, blob, fmt.Sprintf("%s: %q where %q is", name, a.Name, b.Name))
				swaps++
			}
		}
		if swaps == 0 {
			t.Errorf("%s: no two weights of one size", name)
		}
		for _, by := range []int{64, 128, 4096} {
			wantDifferent(t, p, slices.Concat(p.blob[by:], make([]byte, by)), fmt.Sprintf("%s: %d bytes early", name, by))
			wantDifferent(t, p, slices.Concat(make([]byte, by), p.blob[:len(p.blob)-by]), fmt.Sprintf("%s: %d bytes late", name, by))
			wantDifferent(t, p, slices.Concat(p.blob, make([]byte, by)), fmt.Sprintf("%s: %d bytes more", name, by))
			wantDifferent(t, p, p.blob[:max(len(p.blob)-by, 0)], fmt.Sprintf("%s: %d bytes less", name, by))
		}
	}
}

// TestChangedWeightsAreRefused changes single bytes: the first and the last row of each matrix are read,
// and each constant whole.
func TestChangedWeightsAreRefused(t *testing.T) {
	p := packingsPacked(t)
	change := func(at int64, what string) {
		t.Helper()
		blob := slices.Clone(p.blob)
		blob[at] ^= 0x5a
		wantDifferent(t, p, blob, what)
	}
	for _, w := range p.m.Weights {
		from, to := span(w)
		if from == to {
			continue
		}
		matrices := int64(1)
		if w.Type.Rank() == 3 {
			matrices, _ = w.Type.Shape[0].IsConst()
		}
		for i := range matrices {
			at := from + (to-from)/matrices*i
			change(at, fmt.Sprintf("the first byte of matrix %d of %q", i, w.Name))
		}
		if w.Type.Layout == dtype.Plain {
			change(to-1, fmt.Sprintf("the last byte of %q", w.Name))
		}
	}
	constants := 0
	for _, n := range p.m.Funcs[0].Nodes {
		if a, ok := n.Attr.(*ir.ConstantAttr); ok {
			for i := range a.Data {
				change(n.Result().Place.Offset+int64(i), fmt.Sprintf("byte %d of %v", i, n))
			}
			constants++
		}
	}
	if constants == 0 {
		t.Error("no constant is left")
	}
}

// TestWeightsOfOtherTensorsAreRefused packs something else than the module states: other tensors, the parts of
// a concat in another order, a literal with another number.
func TestWeightsOfOtherTensorsAreRefused(t *testing.T) {
	p := packingsPacked(t)
	p.src = exchanged{packingSources}
	wantDifferent(t, p, p.blob, "tensors under each other's names")
	p.src = packingSources
	seen := make(map[ir.ExprOp]bool)
	for _, w := range p.m.Weights {
		for _, e := range expressions(w.Expr) {
			seen[e.Op] = true
			switch e.Op {
			case ir.ExprConcat:
				slices.Reverse(e.Args)
				wantDifferent(t, p, p.blob, "the parts of "+w.Name+" in another order")
				slices.Reverse(e.Args)
			case ir.ExprRows, ir.ExprColumns:
				e.First++
				wantDifferent(t, p, p.blob, "other parts in "+w.Name)
				e.First--
			case ir.ExprLiteral:
				if len(e.Data) == 0 {
					continue
				}
				binary.LittleEndian.PutUint32(e.Data, math.Float32bits(1.5))
				wantDifferent(t, p, p.blob, "another number in "+w.Name)
				binary.LittleEndian.PutUint32(e.Data, 0)
			case ir.ExprTensor:
				name := e.Tensor
				e.Tensor = map[string]string{"gate": "up", "up": "gate"}[name]
				if e.Tensor != "" {
					wantDifferent(t, p, p.blob, w.Name+" of another tensor")
				}
				e.Tensor = name
			}
		}
	}
	for _, op := range []ir.ExprOp{ir.ExprTensor, ir.ExprConcat, ir.ExprQuantize, ir.ExprPack, ir.ExprLiteral, ir.ExprRows, ir.ExprColumns} {
		if !seen[op] {
			t.Errorf("no expression of kind %d", op)
		}
	}
	if err := p.check(t.Context(), p.blob); err != nil {
		t.Error(err)
	}
}

// expressions returns an expression and all inside it.
func expressions(e *ir.Expr) []*ir.Expr {
	all := []*ir.Expr{e}
	for _, a := range e.Args {
		all = append(all, expressions(a)...)
	}
	return all
}

// TestUnreadableWeightsAreReported passes the errors of sources on.
func TestUnreadableWeightsAreReported(t *testing.T) {
	p := packingsPacked(t)
	p.src = generated{}
	var differs *readback.Error
	if err := p.check(t.Context(), p.blob); err == nil || errors.As(err, &differs) || !strings.Contains(err.Error(), `weight "gate": no tensor "gate"`) {
		t.Error(err)
	}
}

// planes has matrices, and lists of them, that a target reads in planes.
const planes = `source m "none" 0
weight "q8" : q8_0[40,96] = quantize(m["wide"], q8_0)
weight "q4" : q4_0[3,40,64] = m["q4"]
func @f(%x: f32[4,96], %y: f32[4,3,64], %j: i32[4,3]) -> (a: f32[4,40], b: f32[4,3,40]) {
  %q8 = weight "q8"
  %q4 = weight "q4"
  %a = matmul %x, %q8
  %b = experts_matmul %y, %q4, %j
  return %a, %b
}
`

// planesOf has a matrix of another format.
const planesOf = `source m "none" 0
weight "w" : FORMAT[5,768] = quantize(m["w"], FORMAT)
func @f(%x: f32[4,768]) -> (y: f32[4,5]) {
  %w = weight "w"
  %y = matmul %x, %w
  return %y
}
`

// TestPlanesOfAllFormatsAreReadBack changes each byte of the first and of the last row of a matrix, in each format that
// has planes.
func TestPlanesOfAllFormatsAreReadBack(t *testing.T) {
	for d := range dtype.NumDTypes {
		if d.Planes() == nil {
			continue
		}
		m, err := ir.Parse("planes.ggir", []byte(strings.ReplaceAll(planesOf, "FORMAT", d.String())))
		if err != nil {
			t.Fatal(err)
		}
		src := generated{"w": {DType: dtype.F32, Shape: ir.Dims(5, 768)}}
		p := pack(t, m, src, fmt.Sprintf("target cpu like=cpu ops=matmul(f32,%v.planar)\n", d))
		if err := p.check(t.Context(), p.blob); err != nil {
			t.Fatal(err)
		}
		from, to := span(p.m.Weights[0])
		size := (to - from) / 5
		for _, row := range []int64{0, 4} {
			for n, plane := range d.Planes() {
				at := from + row*size + int64(d.PlaneAt(n, 768))
				for i := range 768 / d.BlockElems() * plane.Bytes {
					blob := slices.Clone(p.blob)
					blob[at+int64(i)] ^= 0x5a
					wantDifferent(t, p, blob, fmt.Sprintf("%v: byte %d of plane %d of row %d", d, i, n, row))
				}
			}
		}
	}
}

// TestPlanesAreReadBack changes each byte of the rows of planes that are read back: the first, one in the middle and
// the last of each matrix. Bytes that pad a plane hold nothing. Rows at a wrong distance from each other are noticed.
func TestPlanesAreReadBack(t *testing.T) {
	m, err := ir.Parse("planes.ggir", []byte(planes))
	if err != nil {
		t.Fatal(err)
	}
	src := generated{"wide": {DType: dtype.F32, Shape: ir.Dims(40, 96)}, "q4": packingSources["q4"]}
	p := pack(t, m, src, "target cpu like=cpu ops=matmul(f32,q8_0.planar),experts_matmul(f32,q4_0.planar,i32)\n")
	if err := p.check(t.Context(), p.blob); err != nil {
		t.Fatal(err)
	}
	for _, w := range p.m.Weights {
		if w.Type.Layout != dtype.Planar {
			t.Errorf("%q is in layout %v", w.Name, w.Type.Layout)
		}
		from, to := span(w)
		rows, _ := w.Type.Rows().IsConst()
		size := (to - from) / rows
		for _, row := range []int64{0, 19, rows - 1} {
			for i := range size - 16 { // the last plane is one of scales, of less than 16 bytes
				blob := slices.Clone(p.blob)
				blob[from+row*size+i] ^= 0x5a
				wantDifferent(t, p, blob, fmt.Sprintf("byte %d of row %d of %q", i, row, w.Name))
			}
		}
		blob := slices.Clone(p.blob)
		copy(blob[from+size:to], p.blob[from+size+2:to])
		wantDifferent(t, p, blob, fmt.Sprintf("rows of %q that begin 2 bytes early", w.Name))
	}
}

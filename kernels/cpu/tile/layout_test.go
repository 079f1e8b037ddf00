package tile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

var packable = []dtype.DType{
	dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1,
	dtype.Q2_K, dtype.Q3_K, dtype.Q4_K, dtype.Q5_K, dtype.Q6_K, dtype.IQ4_NL, dtype.IQ4_XS, dtype.MXFP4,
	dtype.IQ2X, dtype.IQ2X16, dtype.IQ3X, dtype.IQ3SX,
}

// randomBytes are reproducible bytes.
func randomBytes(n int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestPackRoundTrip(t *testing.T) {
	for _, d := range packable {
		for _, n := range []int{1, 2, 15, 16, 17, 33, 48} {
			for _, k := range []int{32, 64, 96, 160, 256, 768, 1, 7, 33} {
				if k%d.BlockElems() != 0 {
					continue
				}
				plain := randomBytes(n * d.RowBytes(k))
				packed := make([]byte, dtype.PackedBytes(d, dtype.R16, int64(n), int64(k)))
				copy(packed, randomBytes(len(packed)))
				Pack(d, packed, plain, n, k)
				back := make([]byte, len(plain))
				Unpack(d, back, packed, n, k)
				if !bytes.Equal(plain, back) {
					t.Errorf("%v [%d, %d]: Unpack does not undo Pack", d, n, k)
				}
			}
		}
	}
}

// TestPackPutsElementsWhereTheLayoutHasThem looks up single elements where the description of the layout puts them.
func TestPackPutsElementsWhereTheLayoutHasThem(t *testing.T) {
	const n, k = 21, 64
	for _, c := range []struct {
		d     dtype.DType
		place func(r, k int) int // of the element's first byte, in the packed form
		plain func(r, k int) int
		flip  byte
	}{
		{dtype.F32, func(r, i int) int { return r/16*k*64 + (i*16+r%16)*4 }, func(r, i int) int { return (r*k + i) * 4 }, 0},
		{dtype.F16, func(r, i int) int { return r/16*k*32 + (i*16+r%16)*2 }, func(r, i int) int { return (r*k + i) * 2 }, 0},
		{dtype.BF16, func(r, i int) int { return r/16*k*32 + i/2*64 + r%16*4 + i%2*2 }, func(r, i int) int { return (r*k + i) * 2 }, 0},
		{dtype.Q8_0, func(r, i int) int { return (r/16*2+i/32)*544 + i%32/4*64 + r%16*4 + i%4 },
			func(r, i int) int { return (r*2+i/32)*34 + 2 + i%32 }, 0x80},
		{dtype.Q4_0, func(r, i int) int { return (r/16*2+i/32)*288 + i%16/4*64 + r%16*4 + i%4 },
			func(r, i int) int { return (r*2+i/32)*18 + 2 + i%16 }, 0},
	} {
		plain := randomBytes(n * c.d.RowBytes(k))
		packed := make([]byte, dtype.PackedBytes(c.d, dtype.R16, n, k))
		Pack(c.d, packed, plain, n, k)
		for r := range n {
			for i := range k {
				if got, want := packed[c.place(r, i)], plain[c.plain(r, i)]^c.flip; got != want {
					t.Fatalf("%v: row %d, k %d: byte %#x, want %#x", c.d, r, i, got, want)
				}
			}
		}
	}
}

// TestPackPutsBitsIntoPlanes looks up elements of formats with a scheme, and their scales, where blocks.go has them.
func TestPackPutsBitsIntoPlanes(t *testing.T) {
	const n, k = 16, 512
	for _, d := range packable {
		s := d.Scheme()
		if s == nil {
			continue
		}
		blocks, per := k/d.BlockElems(), d.BlockElems()
		plain := randomBytes(n * d.RowBytes(k))
		packed := make([]byte, dtype.PackedBytes(d, dtype.R16, n, k))
		Pack(d, packed, plain, n, k)
		for r := range n {
			for i := range k {
				var f dtype.Fields
				s.Split(&f, plain[(r*blocks+i/per)*d.BlockBytes():][:d.BlockBytes()])
				block := packed[i/per*d.PanelBlockBytes():]
				part, at := block[s.PanelHead()+i%per/32*s.PanelSub():], i%32
				got, low := byte(0), 0
				for _, b := range map[int][]int{2: {2}, 3: {2, 1}, 4: {4}, 5: {4, 1}, 6: {4, 2}}[s.Bits] {
					v := part[low*64+at/4%b*64+4*r+at%4]
					got |= v >> (b * (at / 4 / b)) & (1<<b - 1) << low
					low += b
				}
				if want := f.Q[i%per]; got != want {
					t.Fatalf("%v: row %d, k %d: %d, want %d", d, r, i, got, want)
				}
				if want := le.Uint16(block[2*r:]); want != f.D {
					t.Fatalf("%v: row %d, k %d: D %#x, want %#x", d, r, i, f.D, want)
				}
				if g := i % per / s.Group; s.Super && int8(part[s.Bits*64+i%32/s.Group*16+r]) != f.Scale[g] {
					t.Fatalf("%v: row %d, k %d: another scale than %d", d, r, i, f.Scale[g])
				}
			}
		}
	}
}

func TestPackPaddingIsZero(t *testing.T) {
	for _, d := range packable {
		const n, k = 3, 256
		packed := randomBytes(PanelBytes(d, k))
		Pack(d, packed, make([]byte, n*d.RowBytes(k)), n, k)
		rows := make([]byte, 16*d.RowBytes(k))
		UnpackPanel(d, rows, packed, 16, k)
		if !bytes.Equal(rows, make([]byte, len(rows))) {
			t.Errorf("%v: padding is not zero", d)
		}
	}
}

func TestPackPanelRefuses(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("PackPanel takes a short source")
		}
	}()
	PackPanel(dtype.F32, make([]byte, 64), make([]byte, 60), 16, 1)
}

func TestTilesAreOfTheirWeights(t *testing.T) {
	for _, e := range Table {
		if !e.Layout.Holds(e.Weight) {
			t.Errorf("%v has no layout %v", e.Weight, e.Layout)
		}
		if got, ok := Activation(e.Weight); !ok || got != e.Activation {
			t.Errorf("%v weights take %v on %s, %v elsewhere", e.Weight, e.Activation, e.Feature, got)
		}
		if e.N[0]%ColumnGranule != 0 || e.K0 != e.Weight.BlockElems() {
			t.Errorf("%v on %s: tile of %d columns, step %d", e.Weight, e.Feature, e.N[0], e.K0)
		}
	}
	if _, ok := Activation(dtype.I32); ok {
		t.Error("there is an activation dtype for i32 weights")
	}
}

func BenchmarkPackPanel(b *testing.B) {
	for _, d := range packable {
		b.Run(d.String(), func(b *testing.B) {
			const k = 4096
			src, dst := randomBytes(16*d.RowBytes(k)), make([]byte, PanelBytes(d, k))
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				PackPanel(d, dst, src, 16, k)
			}
		})
	}
}

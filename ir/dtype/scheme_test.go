package dtype

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schemed returns the formats with a scheme.
func schemed() (ds []DType) {
	for d := range NumDTypes {
		if d.Scheme() != nil {
			ds = append(ds, d)
		}
	}
	return ds
}

// knownBlock is a block of one of ggml's formats and what ggml makes of it.
type knownBlock struct {
	d     DType
	src   []byte
	elems []float32
}

// knownBlocks reads a file of blocks.
func knownBlocks(t *testing.T, name string) (blocks []knownBlock) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		d, err := Parse(f[0])
		if err != nil {
			t.Fatal(err)
		}
		src, err := hex.DecodeString(f[1])
		if err != nil {
			t.Fatal(err)
		}
		b := knownBlock{d: d, src: src, elems: make([]float32, d.BlockElems())}
		for i := range b.elems {
			bits, err := strconv.ParseUint(f[2][8*i:8*i+8], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			b.elems[i] = math.Float32frombits(uint32(bits))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// TestBlocksDecodeAsGGMLDecodes compares with what ggml's own functions made of the same bytes; the files state
// which. Every format of ggml's with a scheme or an expansion has blocks there.
func TestBlocksDecodeAsGGMLDecodes(t *testing.T) {
	tested := make(map[DType]int)
	for _, b := range append(knownBlocks(t, "testdata/ggml_blocks.txt"), knownBlocks(t, "testdata/ggml_expanded_blocks.txt")...) {
		got := make([]float32, len(b.elems))
		if err := DecodeFloat32(b.d, got, b.src); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if v != b.elems[i] {
				t.Fatalf("%v: block %x: element %d is %v, ggml's is %v", b.d, b.src, i, v, b.elems[i])
			}
		}
		tested[b.d]++
	}
	for d := range NumDTypes {
		if ggml := d.Scheme() != nil && !d.IsExpansion() || d.Expansion().Valid(); ggml && tested[d] < 3 {
			t.Errorf("%v: %d blocks of ggml's were compared, want 3", d, tested[d])
		}
	}
}

// TestJoinIsTheInverseOfSplit takes random bytes: every bit of a block is in one of the fields.
func TestJoinIsTheInverseOfSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range schemed() {
		src, back := make([]byte, d.BlockBytes()), make([]byte, d.BlockBytes())
		for range 100 {
			for i := range src {
				src[i], back[i] = byte(rng.Uint32()), byte(rng.Uint32())
			}
			var f Fields
			d.Scheme().Split(&f, src)
			d.Scheme().Join(back, &f)
			if !bytes.Equal(src, back) {
				t.Fatalf("%v:\n     %x\ngave %x", d, src, back)
			}
		}
	}
}

// TestEncodingWhatWasDecoded reaches a block that stays as it is.
func TestEncodingWhatWasDecoded(t *testing.T) {
	x := drawn(distributions[0].draw)
	for _, d := range schemed() {
		y := reencode(t, d, x)
		rounds := 0
		for z := reencode(t, d, y); !slices.Equal(y, z); z = reencode(t, d, y) {
			if y = z; rounds > 8 {
				t.Fatalf("%v: encoding what was decoded changes it again and again", d)
			}
			rounds++
		}
	}
}

// TestSmallElementsAreNotLost has elements whose scales, as float16, have few bits.
func TestSmallElementsAreNotLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	unit := make([]float32, 16*superLen)
	for i := range unit {
		unit[i] = float32(rng.NormFloat64())
	}
	for _, d := range schemed() {
		whole := math.Sqrt(meanSquare(unit, reencode(t, d, unit)))
		for _, sigma := range []float32{1e-3, 1e-4, 3e-5, 1e-5} {
			x := make([]float32, len(unit))
			for i := range x {
				x[i] = sigma * unit[i]
			}
			if rms := math.Sqrt(meanSquare(x, reencode(t, d, x))) / float64(sigma); rms > 1.25*whole {
				t.Errorf("%v: error %.4f of elements about %g, %.4f about 1", d, rms, sigma, whole)
			}
		}
	}
}

func meanSquare(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i]-y[i]) * float64(x[i]-y[i])
	}
	return sum / float64(len(x))
}

// reencode returns what the encoding of x is decoded to.
func reencode(t *testing.T, d DType, x []float32) []float32 {
	t.Helper()
	b, y := make([]byte, d.Bytes(len(x))), make([]float32, len(x))
	if err := Encode(d, b, x); err != nil {
		t.Fatal(err)
	}
	if err := DecodeFloat32(d, y, b); err != nil {
		t.Fatal(err)
	}
	return y
}

// TestEncodingRefusesWhatHasNoBlock takes elements for which there is no finite scale.
func TestEncodingRefusesWhatHasNoBlock(t *testing.T) {
	for _, d := range schemed() {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
			x := make([]float32, d.BlockElems())
			x[7] = bad
			if err := Encode(d, make([]byte, d.BlockBytes()), x); err == nil || !strings.Contains(err.Error(), "element 7") {
				t.Errorf("%v: %v gave the error %v", d, bad, err)
			}
		}
		x := make([]float32, d.BlockElems())
		if err := Encode(d, make([]byte, d.BlockBytes()), x); err != nil {
			t.Errorf("%v: zeros: %v", d, err)
		}
		if x[3] = math.MaxFloat32; d.Scheme().Power {
			continue
		}
		if err := Encode(d, make([]byte, d.BlockBytes()), x); err == nil || !strings.Contains(err.Error(), "element 3") {
			t.Errorf("%v: the largest float32 gave the error %v", d, err)
		}
	}
}

// TestScaleOffsetsNameTheScales makes each scale NaN in a block of zeros.
func TestScaleOffsetsNameTheScales(t *testing.T) {
	for _, d := range append(schemed(), Q8_0, Q4_0) {
		if s := d.Scheme(); s != nil && s.Power != (len(d.ScaleOffsets()) == 0) {
			t.Errorf("%v: %d scales", d, len(d.ScaleOffsets()))
		}
		for _, at := range d.ScaleOffsets() {
			b, y := make([]byte, d.BlockBytes()), make([]float64, d.BlockElems())
			le.PutUint16(b[at:], 0x7e00)
			if err := Decode(d, y, b); err != nil || y[0] == y[0] {
				t.Errorf("%v: NaN at byte %d gives %v, %v", d, at, y[0], err)
			}
		}
	}
}

// FuzzBlocks decodes blocks of any bytes. What is decoded with finite scales is finite, and no bit is lost on the way.
func FuzzBlocks(f *testing.F) {
	for _, d := range schemed() {
		f.Add(uint8(d), bytes.Repeat([]byte{0x5a}, 210))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		d := DType(kind)
		if d.Scheme() == nil || len(data) < d.BlockBytes() {
			return
		}
		src, back := data[:d.BlockBytes()], make([]byte, d.BlockBytes())
		var fields Fields
		d.Scheme().Split(&fields, src)
		if d.Scheme().Join(back, &fields); !bytes.Equal(src, back) {
			t.Fatalf("%v: %x became %x", d, src, back)
		}
		y := make([]float64, d.BlockElems())
		if err := Decode(d, y, src); err != nil {
			t.Fatal(err)
		}
		finite := true
		for _, at := range d.ScaleOffsets() {
			finite = finite && le.Uint16(src[at:])&0x7c00 != 0x7c00
		}
		for i, v := range y {
			if finite && v-v != 0 {
				t.Fatalf("%v: %x: element %d is %v", d, src, i, v)
			}
		}
	})
}

package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

// TestMatMulBlockExtremes multiplies blocks whose bits, scales and mins are all as large as they can be, or random, by
// x of 127 and -127: where sums of 16 bits would saturate, and where integer scales have their ends.
func TestMatMulBlockExtremes(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, p := range products {
			if p.weight.Scheme() == nil {
				continue
			}
			for _, fill := range []int{0x00, 0xff, 0x80, 0x7f, 0x22, 0x77, -1} { // 0x22 and 0x77 are the largest values of tables
				t.Run(fmt.Sprintf("%v %#x", p.weight, fill), func(t *testing.T) { testBlockExtreme(t, p.weight, p.matmul, fill) })
			}
		}
	})
}

// filledBlocks returns rows of blocks of a byte, or of random ones, with finite scales.
func filledBlocks(t *testing.T, d dtype.DType, rows, k, fill int) []byte {
	rng, b := kt.Rand(t), make([]byte, rows*d.RowBytes(k))
	for i := range b {
		b[i] = byte(fill)
		if fill < 0 {
			b[i] = byte(rng.Uint32())
		}
	}
	for at := 0; at < len(b); at += d.BlockBytes() {
		for i, offset := range d.ScaleOffsets() {
			binary.LittleEndian.PutUint16(b[at+offset:], dtype.F32ToF16([]float32{0.75, -1.5}[i]))
		}
		if d == dtype.MXFP4 {
			b[at] = 126
		}
	}
	return b
}

func testBlockExtreme(t *testing.T, weight dtype.DType, f product, fill int) {
	const n, k, rows = 24, 512, 30
	plain, wv := filledBlocks(t, weight, n, k, fill), make([]float64, n*k)
	if err := dtype.Decode(weight, wv, plain); err != nil {
		t.Fatal(err)
	}
	values := make([]float32, rows*k)
	for i := range values {
		switch i / k % 3 {
		case 0:
			values[i] = 127
		case 1:
			values[i] = -127
		default:
			values[i] = []float32{127, -127}[i*7%5%2]
		}
	}
	act, _ := tile.Activation(weight)
	x, xv := kt.EncodeValues(t, act, values)
	o := &operands{x: kt.NewBytes(x, 0), w: kt.NewBytes(kt.Pack(weight, plain, n, k), 0), xv: xv, wv: wv, rows: rows, n: n, k: k}
	for _, r := range [][2]int{{0, rows}, {0, 9}, {0, 1}, {1, 2}} {
		y := kt.NewBuffer(rows*n*4, 0)
		f(y.Pointer(), o.x.Pointer(), o.w.Pointer(), nil, weights(n, k), r[0], r[1], 0, n)
		for row := r[0]; row < r[1]; row++ {
			for c := range n {
				want, magnitude := o.dot(wv, row, c)
				// Sums of 32 are exact; 16 of them, with their offsets, are added in float32.
				tol := (magnitude + 127*512*256*0.75) * 16 / (1 << 24)
				if got := float64(y.Floats()[row*n+c]); math.Abs(got-want) > tol || got != got {
					t.Fatalf("rows %v: [%d, %d] is %v, want %v ± %v", r, row, c, got, want, tol)
				}
			}
		}
	}
}

// TestMatMulBlocksWithNaN multiplies a row of weights whose scale is NaN among others: its column is NaN, the others
// are as without it.
func TestMatMulBlocksWithNaN(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, p := range products {
			if len(p.weight.ScaleOffsets()) == 0 {
				continue
			}
			const n, k, rows, bad = 24, 512, 31, 5
			plain := filledBlocks(t, p.weight, n, k, -1)
			act, _ := tile.Activation(p.weight)
			x, _ := kt.Encode(t, kt.Rand(t), act, rows*k)
			var y [2]*kt.Buffer
			for i := range y {
				y[i] = kt.NewBuffer(rows*n*4, 0)
				w := kt.NewBytes(kt.Pack(p.weight, plain, n, k), 0)
				p.matmul(y[i].Pointer(), kt.NewBytes(x, 0).Pointer(), w.Pointer(), nil, weights(n, k), 0, rows, 0, n)
				binary.LittleEndian.PutUint16(plain[bad*p.weight.RowBytes(k)+p.weight.ScaleOffsets()[0]:], 0x7e00)
			}
			for j, v := range y[1].Floats() {
				if isNaN := v != v; isNaN != (j%n == bad) || !isNaN && v != y[0].Floats()[j] {
					t.Errorf("%v on %s: [%d, %d] is %v, without NaN %v", p.weight, cpu.Active(), j/n, j%n, v, y[0].Floats()[j])
				}
			}
		}
	})
}

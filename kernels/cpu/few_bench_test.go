package cpu_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

// BenchmarkFew multiplies as many rows as sequences that generate together have, by weights too large for the caches
// and by weights that the second-level cache holds.
func BenchmarkFew(b *testing.B) {
	for _, rows := range []int{1, 2, 4, 8, 12} {
		for _, from := range []struct {
			name  string
			bytes int
		}{{"memory", 60 << 20}, {"cache", 400 << 10}} {
			b.Run(fmt.Sprintf("%d/%s", rows, from.name), func(b *testing.B) {
				benchEach(b, func(b *testing.B) {
					for _, p := range products {
						b.Run(p.weight.String(), func(b *testing.B) { benchFew(b, p.weight, p.matmul, rows, from.bytes) })
					}
				})
			})
		}
	}
}

func benchFew(b *testing.B, weight dtype.DType, f product, rows, bytes int) {
	const k = 2048
	n := bytes / weight.RowBytes(k) &^ 15
	w := kt.NewBuffer(int(dtype.PackedBytes(weight, dtype.R16, int64(n), k)), 0)
	clear(w.Bytes())
	act, _ := tile.Activation(weight)
	x, y := kt.NewBuffer(rows*act.RowBytes(k), 0), kt.NewBuffer(rows*n*4, 0)
	clear(x.Bytes())
	seconds := fastest(b, func() {
		f(y.Pointer(), x.Pointer(), w.Pointer(), nil, weights(n, k), 0, rows, 0, n)
	})
	b.ReportMetric(2*float64(rows)*float64(n)*k/seconds/1e9, "best-Gop/s")
	b.ReportMetric(float64(len(w.Bytes()))/seconds/1e9, "best-GB/s")
}

// BenchmarkSquares multiplies as many rows as tile registers may take, by weights that the second-level cache holds.
func BenchmarkSquares(b *testing.B) {
	for _, rows := range []int{16, 24, 32, 64, 128, 256} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) { benchProducts(b, rows, 512, 2048) })
	}
}

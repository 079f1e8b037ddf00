package cpu_test

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

// peak returns operations per second of one thread, measured now; 0 if there is no probe.
func peak(probe func(n int) int) float64 {
	best := 0.0
	for range 100 {
		start := time.Now()
		ops := probe(50_000)
		best = max(best, float64(ops)/time.Since(start).Seconds())
	}
	return best
}

// readPeak returns bytes per second that one thread reads from memory, measured now.
func readPeak() float64 {
	data := make([]byte, 256<<20)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	best := 0.0
	for range 12 {
		start := time.Now()
		for at := 0; at < len(data); at += 1 << 20 {
			cpu.ProbeRead(unsafe.Pointer(&data[at]), 1<<20)
		}
		best = max(best, float64(len(data))/time.Since(start).Seconds())
	}
	return best
}

// fastest runs f as the benchmark's loop does and returns the seconds of its fastest call. On a
// machine with other load, means depend on that load.
func fastest(b *testing.B, f func()) float64 {
	least := math.Inf(1)
	for b.Loop() {
		start := time.Now()
		f()
		least = min(least, time.Since(start).Seconds())
	}
	return least
}

// benchEach runs f for each implementation as a sub-benchmark.
func benchEach(b *testing.B, f func(b *testing.B)) {
	before := cpu.Active()
	defer cpu.Select(before)
	for _, name := range cpu.Available() {
		if err := cpu.Select(name); err != nil {
			b.Fatal(err)
		}
		b.Run(name, f)
	}
}

// BenchmarkGEMM multiplies many rows; it reports the share of the arithmetic peak: of
// VPDPBUSD for quantized weights and of VDPBF16PS for bfloat16 where there are these, of
// multiply-adds otherwise.
func BenchmarkGEMM(b *testing.B) {
	for _, s := range []struct{ rows, k int }{{128, 2048}, {512, 2048}, {512, 5632}, {128, 8192}} {
		b.Run(fmt.Sprintf("%dx%d", s.rows, s.k), func(b *testing.B) { benchProducts(b, s.rows, 2048, s.k) })
	}
}

// BenchmarkGated is BenchmarkGEMM with two weights, also for one row and for few.
func BenchmarkGated(b *testing.B) {
	limit := peak(cpu.ProbeInt8)
	const n, k = 2048, 2048
	for _, rows := range []int{1, 8, 128} {
		b.Run(strconv.Itoa(rows), func(b *testing.B) {
			benchEach(b, func(b *testing.B) {
				for _, p := range products[3:] {
					b.Run(p.weight.String(), func(b *testing.B) {
						o, up := newOperandsOf(p.weight, rows, n, k), newOperandsOf(p.weight, 1, n, k)[1]
						y := kt.NewBuffer(rows*n*4, 0)
						ops := 4 * float64(rows*n*k) / fastest(b, func() {
							p.swiglu(y.Pointer(), o[0].Pointer(), o[1].Pointer(), up.Pointer(), weights(n, k), 0, rows, 0, n)
						})
						b.ReportMetric(ops/1e9, "best-Gop/s")
						b.ReportMetric(ops/limit, "of-peak")
					})
				}
			})
		})
	}
}

// BenchmarkGatedRow multiplies one row by two weights too large for the caches.
func BenchmarkGatedRow(b *testing.B) {
	const n, k = 16384, 2048
	benchEach(b, func(b *testing.B) {
		for _, p := range products[3:] {
			b.Run(p.weight.String(), func(b *testing.B) {
				o, up := newOperandsOf(p.weight, 1, n, k), newOperandsOf(p.weight, 1, n, k)[1]
				y := kt.NewBuffer(n*4, 0)
				seconds := fastest(b, func() {
					p.swiglu(y.Pointer(), o[0].Pointer(), o[1].Pointer(), up.Pointer(), weights(n, k), 0, 1, 0, n)
				})
				b.ReportMetric(2*float64(len(up.Bytes()))/seconds/1e9, "best-GB/s")
			})
		}
	})
}

// BenchmarkGEMV multiplies one row by weights too large for the caches; it reports the
// share of what the probe reads from memory.
func BenchmarkGEMV(b *testing.B) {
	read := readPeak()
	benchEach(b, func(b *testing.B) {
		for _, p := range products {
			b.Run(p.weight.String(), func(b *testing.B) {
				const k = 2048
				n := int(160<<20/p.weight.RowBytes(k)) &^ 15
				w := kt.NewBuffer(int(dtype.PackedBytes(p.weight, dtype.R16, int64(n), k)), 0)
				clear(w.Bytes())
				act, _ := tile.Activation(p.weight)
				x, y := kt.NewBuffer(act.RowBytes(k), 0), kt.NewBuffer(n*4, 0)
				clear(x.Bytes())
				speed := float64(len(w.Bytes())) / fastest(b, func() {
					p.matmul(y.Pointer(), x.Pointer(), w.Pointer(), nil, weights(n, k), 0, 1, 0, n)
				})
				b.ReportMetric(speed/1e9, "best-GB/s")
				b.ReportMetric(speed/read, "of-read")
			})
		}
	})
}

func benchProducts(b *testing.B, rows, n, k int) {
	limits := map[dtype.DType]float64{
		dtype.Q8A: peak(cpu.ProbeInt8), dtype.BF16: peak(cpu.ProbeBF16), dtype.F32: peak(cpu.ProbeF32),
	}
	benchEach(b, func(b *testing.B) {
		for _, p := range products {
			act, _ := tile.Activation(p.weight)
			limit := limits[act]
			if limit == 0 {
				limit = limits[dtype.F32]
			}
			b.Run(fmt.Sprintf("%v", p.weight), func(b *testing.B) {
				o := newOperandsOf(p.weight, rows, n, k)
				y := kt.NewBuffer(rows*n*4, 0)
				ops := 2 * float64(rows) * float64(n) * float64(k) / fastest(b, func() {
					p.matmul(y.Pointer(), o[0].Pointer(), o[1].Pointer(), nil, weights(n, k), 0, rows, 0, n)
				})
				b.ReportMetric(ops/1e9, "best-Gop/s")
				b.ReportMetric(ops/limit, "of-peak")
			})
		}
	})
}

// newOperandsOf returns x and w full of zeros: speed does not depend on values.
func newOperandsOf(weight dtype.DType, rows, n, k int) [2]*kt.Buffer {
	act, _ := tile.Activation(weight)
	x := kt.NewBuffer(rows*act.RowBytes(k), 0)
	w := kt.NewBuffer(int(dtype.PackedBytes(weight, dtype.R16, int64(n), int64(k))), 0)
	clear(x.Bytes())
	clear(w.Bytes())
	return [2]*kt.Buffer{x, w}
}

// BenchmarkSmall is the matrices of a 260 K parameter model, for one token.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{64, 172, 512} {
		b.Run(fmt.Sprintf("%dx64", n), func(b *testing.B) {
			o := newOperandsOf(dtype.F32, 1, n, 64)
			y := kt.NewBuffer(n*4, 0)
			for b.Loop() {
				cpu.MatMulF32(y.Pointer(), o[0].Pointer(), o[1].Pointer(), nil, weights(n, 64), 0, 1, 0, n)
			}
		})
	}
}

// BenchmarkRows is loops over rows of 2048 elements, with GB/s of what they read.
func BenchmarkRows(b *testing.B) {
	const n = 2048
	x, w, dst := kt.NewBuffer(n*4, 0), kt.NewBuffer(n*4, 0), kt.NewBuffer(n*4, 0)
	copy(x.Floats(), kt.Uniform(kt.Rand(b), n))
	copy(w.Floats(), kt.Uniform(kt.Rand(b), n))
	benchEach(b, func(b *testing.B) {
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"add", func() { cpu.AddF32(dst.Pointer(), x.Pointer(), w.Pointer(), n, 0, 1, 0, n) }},
			{"swiglu", func() { cpu.SwiGLUF32(dst.Pointer(), x.Pointer(), w.Pointer(), n, 0, 1, 0, n) }},
			{"rmsnorm", func() { cpu.RMSNormF32(dst.Pointer(), x.Pointer(), w.Pointer(), n, 1e-5, 0, 1) }},
			{"rmsnorm-q8a", func() { cpu.RMSNormQ8A(dst.Pointer(), x.Pointer(), w.Pointer(), n, 1e-5, 0, 1) }},
			{"rmsnorm-q8a_k", func() { cpu.RMSNormQ8AK(dst.Pointer(), x.Pointer(), w.Pointer(), n, 1e-5, 0, 1) }},
			{"quantize", func() { cpu.QuantizeQ8A(dst.Pointer(), x.Pointer(), n, 0, 1, 0, n) }},
			{"quantize-q8a_k", func() { cpu.QuantizeQ8AK(dst.Pointer(), x.Pointer(), n, 0, 1, 0, n) }},
			{"softmax", func() { cpu.SoftmaxF32(dst.Pointer(), x.Pointer(), n, 0, 1) }},
		} {
			b.Run(c.name, func(b *testing.B) {
				b.SetBytes(n * 4)
				for b.Loop() {
					c.run()
				}
			})
		}
	})
	runtime.KeepAlive(dst)
}

// BenchmarkAttention is a layer with 32 query and 8 KV heads of 64: one token after 4095
// positions, with the share of what the probe reads, and the last 512 tokens of 512 and of 4096, with the share
// of the arithmetic peak.
func BenchmarkAttention(b *testing.B) {
	f32, read := peak(cpu.ProbeF32), readPeak()
	benchEach(b, func(b *testing.B) {
		for _, c := range attentionCases {
			for _, rows := range []int{1, 512} {
				for _, ctx := range []int{512, 4096} {
					b.Run(fmt.Sprintf("%v/%d-of-%d", c, rows, ctx), func(b *testing.B) {
						benchAttention(b, c, rows, ctx, f32, read)
					})
				}
			}
		}
	})
}

func benchAttention(b *testing.B, c attentionCase, rows, ctx int, peak, read float64) {
	const heads, kvHeads, d, layers = 32, 8, 64, 8
	size := kvHeads * ctx * c.cache.RowBytes(d)
	dst := kt.NewBuffer(rows*heads*d*4, 0)
	k, v := kt.NewBuffer(layers*size, 0), kt.NewBuffer(layers*size, 0)
	rng := kt.Rand(b)
	q, _ := c.queries(b, kt.Uniform(rng, rows*heads*d))
	encoded, _ := kt.Encode(b, rng, c.cache, kvHeads*ctx*d) // with zeros no score would ever be the largest
	keys := c.keys(encoded, ctx, d)
	for i := range layers {
		copy(k.Bytes()[i*size:], keys.Bytes())
		copy(v.Bytes()[i*size:], encoded)
	}
	pos := make([]int32, rows)
	seen := 0
	for i := range pos {
		pos[i] = int32(ctx - rows + i)
		seen += ctx - rows + i + 1
	}
	slot, at := kt.NewInts(make([]int32, rows)...), kt.NewInts(pos...)
	shape := cpu.AttentionShape{Heads: heads, KVHeads: kvHeads, Context: ctx, KeyLen: d, ValueLen: d, Scale: 0.125}
	layer := 0
	seconds := fastest(b, func() { // each time another layer, so that one token reads memory
		c.run(dst.Pointer(), q.Pointer(), unsafe.Add(k.Pointer(), layer*size), unsafe.Add(v.Pointer(), layer*size), slot.Pointer(), at.Pointer(), nil,
			shape, 0, rows, 0, kvHeads)
		layer = (layer + 1) % layers
	})
	b.ReportMetric(seconds*1e6, "best-µs")
	if rows == 1 {
		b.ReportMetric(2*float64(size)/seconds/read, "of-read")
	} else {
		b.ReportMetric(float64(seen)*heads*d*4/seconds/peak, "of-peak")
	}
}

// BenchmarkAttentionSegments is one token of BenchmarkAttention, in segments that are added up: by
// one worker, and the units of the busiest of 16 workers with what it adds up.
func BenchmarkAttentionSegments(b *testing.B) {
	const heads, kvHeads, d = 32, 8, 64
	for _, ctx := range []int{16, 512, 4096} {
		for _, workers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%d/%d-workers", ctx, workers), func(b *testing.B) {
				const layers = 8
				size := kvHeads * ctx * d * 2
				k, v := kt.NewBuffer(layers*size, 0), kt.NewBuffer(layers*size, 0)
				encoded, _ := kt.Encode(b, kt.Rand(b), dtype.F16, kvHeads*ctx*d)
				for i := range layers {
					copy(k.Bytes()[i*size:], encoded)
					copy(v.Bytes()[i*size:], encoded)
				}
				q, dst := kt.NewFloats(kt.Uniform(kt.Rand(b), heads*d), 0), kt.NewBuffer(heads*d*4, 0)
				slot, pos := kt.NewInts(0), kt.NewInts(int32(ctx-1))
				segments := tile.Segments(ctx)
				sums := kt.NewBuffer(kvHeads*segments*heads/kvHeads*(d+2)*4, 0)
				_, u1 := tile.Range(kvHeads*segments, 1, 0, workers)
				u1 = max(u1, 1)
				shape := cpu.AttentionShape{Heads: heads, KVHeads: kvHeads, Context: ctx, KeyLen: d, ValueLen: d, Scale: 0.125}
				layer := 0
				seconds := fastest(b, func() {
					cpu.AttentionSegmentsF16(sums.Pointer(), q.Pointer(), unsafe.Add(k.Pointer(), layer*size), unsafe.Add(v.Pointer(), layer*size), slot.Pointer(), pos.Pointer(),
						shape, 1, segments, 0, u1)
					cpu.AttentionCombineF32(dst.Pointer(), sums.Pointer(), nil, cpu.CombineShape{KVHeads: kvHeads, Group: heads / kvHeads, ValueLen: d}, 1, segments, 0, 1, 0, heads/workers)
					layer = (layer + 1) % layers
				})
				b.ReportMetric(seconds*1e6, "best-µs")
			})
		}
	}
}

package tune

import (
	"context"
	"errors"
	"math"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// product is a kernel of kernels/cpu.
type product func(dst, x, w, res unsafe.Pointer, shape cpu.MatMulShape, r0, r1, c0, c1 int)

var products = map[dtype.DType]product{
	dtype.F32: cpu.MatMulF32, dtype.F16: cpu.MatMulF16, dtype.BF16: cpu.MatMulBF16,
	dtype.Q8_0: cpu.MatMulQ8_0, dtype.Q4_0: cpu.MatMulQ4_0,
	dtype.Q4_1:   cpu.MatMulQ4_1,
	dtype.Q5_0:   cpu.MatMulQ5_0,
	dtype.Q5_1:   cpu.MatMulQ5_1,
	dtype.Q2_K:   cpu.MatMulQ2_K,
	dtype.Q3_K:   cpu.MatMulQ3_K,
	dtype.Q4_K:   cpu.MatMulQ4_K,
	dtype.Q5_K:   cpu.MatMulQ5_K,
	dtype.Q6_K:   cpu.MatMulQ6_K,
	dtype.IQ4_NL: cpu.MatMulIQ4_NL,
	dtype.IQ4_XS: cpu.MatMulIQ4_XS,
	dtype.MXFP4:  cpu.MatMulMXFP4,
	dtype.IQ2X:   cpu.MatMulIQ2X,
	dtype.IQ2X16: cpu.MatMulIQ2X16,
	dtype.IQ3X:   cpu.MatMulIQ3X,
	dtype.IQ3SX:  cpu.MatMulIQ3SX,
}

const (
	manyRows = 96       // of x: divisible by the rows of all tiles
	mostRows = 512      // of w, with many rows of x: 20 ms of work at most with usual k
	coldRows = 32 << 20 // bytes of w that are read with one row of x: more than caches hold of it
	rounds   = 9        // in turn, of which the fastest counts
)

// measureProduct measures every tile that this machine has for weights of dtype w; nil if
// there is nothing to choose.
func measureProduct(ctx context.Context, w dtype.DType, shapes []Shape) (*Product, error) {
	run := products[w]
	all := choices(cpu.Active(), w)
	if run == nil || all == nil {
		return nil, nil
	}
	defer cpu.Choose(all[0])
	p := &Product{Weight: w, Shapes: shapes}
	// What has the tiles may not be what multiplies many rows: tile registers do so without a choice of tiles.
	active, chooses := cpu.Active(), string(all[0].Feature)
	defer cpu.Select(active)
	var ops, used float64
	for _, s := range shapes {
		o := newOperands(w, s)
		ops += 2 * manyRows * float64(o.manyN) * float64(s.K)
		if chooses != active {
			used += o.fastest(run)
		}
		if err := errors.Join(cpu.Select(chooses), o.measure(ctx, p, run, all), cpu.Select(active)); err != nil {
			return nil, err
		}
	}
	best := math.Inf(1)
	for _, c := range p.Many {
		best = min(best, c.Seconds)
	}
	if chooses != active {
		best = used
	}
	p.Ops = ops / best
	return p, nil
}

// fastest returns the time of many rows with the kernels in use.
func (o *operands) fastest(run product) float64 {
	best := math.Inf(1)
	for range rounds {
		best = min(best, o.time(run, manyRows, o.manyN))
	}
	return best
}

// operands of a shape, all zeros: speed does not depend on values, except that zeros are bounded blocks, as most models
// have them for q8_0 on AVX2.
type operands struct {
	k, manyN, singleN int
	x, w, y           []uint64 // words, so that they are aligned
}

func newOperands(w dtype.DType, s Shape) *operands {
	act, _ := tile.Activation(w)
	perRow := int(dtype.PackedBytes(w, dtype.R16, dtype.PanelRows, int64(s.K))) / dtype.PanelRows
	o := &operands{k: s.K, manyN: panels(min(s.N, mostRows)), singleN: panels(max(min(s.N, coldRows/perRow), dtype.PanelRows))}
	rows := max(o.manyN, o.singleN)
	o.x = words(manyRows * act.RowBytes(s.K))
	o.w = touched(int(dtype.PackedBytes(w, dtype.R16, int64(rows), int64(s.K))))
	o.y = words(max(manyRows*o.manyN, o.singleN) * 4)
	return o
}

func panels(n int) int {
	return (n + dtype.PanelRows - 1) / dtype.PanelRows * dtype.PanelRows
}

// touched returns words whose pages have all been written. Pages that were never written are one shared page.
func touched(bytes int) []uint64 {
	w := words(bytes)
	for i := 0; i < len(w); i += 512 {
		w[i] = 1
	}
	return w
}

func words(bytes int) []uint64 { return make([]uint64, (bytes+7)/8+8) }

// measure adds the fastest time of each candidate.
func (o *operands) measure(ctx context.Context, p *Product, run product, all []tile.Choice) error {
	entry := tile.Find(all[0].Feature, all[0].Weight)
	many := candidates(&p.Many, all[0].N, entry.N)
	single := candidates(&p.Single, all[0].V, entry.V)
	seconds := [2][]float64{infinite(len(many)), infinite(len(single))}
	for range rounds {
		for i, n := range many {
			if err := ctx.Err(); err != nil {
				return err
			}
			cpu.Choose(tile.Choice{Feature: all[0].Feature, Weight: all[0].Weight, N: n, V: all[0].V})
			seconds[0][i] = min(seconds[0][i], o.time(run, manyRows, o.manyN))
		}
		for i, v := range single {
			cpu.Choose(tile.Choice{Feature: all[0].Feature, Weight: all[0].Weight, N: all[0].N, V: v})
			seconds[1][i] = min(seconds[1][i], o.time(run, 1, o.singleN))
		}
	}
	for i := range p.Many {
		p.Many[i].Seconds += seconds[0][i]
	}
	for i := range p.Single {
		p.Single[i].Seconds += seconds[1][i]
	}
	return nil
}

// candidates returns rows of w to try, the default first, and makes places for them.
func candidates(to *[]Candidate, first int, all []int) []int {
	order := []int{first}
	for _, n := range all {
		if n != first {
			order = append(order, n)
		}
	}
	if *to == nil {
		for _, n := range order {
			*to = append(*to, Candidate{Rows: n})
		}
	}
	return order
}

func infinite(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Inf(1)
	}
	return v
}

func (o *operands) time(run product, rows, n int) float64 {
	begin := time.Now()
	run(unsafe.Pointer(&o.y[0]), unsafe.Pointer(&o.x[0]), unsafe.Pointer(&o.w[0]), nil, cpu.MatMulShape{In: o.k, Out: n}, 0, rows, 0, n)
	return time.Since(begin).Seconds()
}

// Package tune measures what the cost model otherwise predicts: this machine's rates,
// which of the tiles that kernels have are the fastest for a model's matrix products, and what
// its other operands take in each layout that kernels read.
//
// What it finds is a target: fields of passes/target's text form. So a dump shows it in
// its head, a file keeps it for later builds (--target-file), and passes need not know that
// it was measured. Alternatives that were left: measuring whole programs with each choice
// (minutes for a large model, and the products decide anyway); choosing for each product
// by itself (one tile is the fastest for all shapes of a dtype, within noise).
package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	"github.com/ggmlc/ggmlc/passes/target"
	ggmlcruntime "github.com/ggmlc/ggmlc/runtime"
)

// Result is what was measured.
type Result struct {
	Machine  ggmlcruntime.Machine
	Kernels  string // the implementation that this machine runs
	Products []Product
	Layouts  []target.LayoutTime // each use in all its layouts, in turn
}

// Product is what the products with weights of one dtype take with each choice of tiles.
type Product struct {
	Weight       dtype.DType
	Shapes       []Shape
	Ops          float64     // multiplies and adds a second with many rows and the fastest tiles
	Many, Single []Candidate // with many rows of x, with one
}

// Candidate is a tile: rows of w, and seconds for all shapes.
type Candidate struct {
	Rows    int
	Seconds float64
}

// Shape is that of a weight: [N, K].
type Shape struct{ N, K int }

// Measure measures the machine, with as many workers as there are processors, and the
// products of the module's weights, with the best of the named kernels, which a program is
// limited to; nil is all. It takes some seconds. progress, if not nil, is told what comes
// next. The error is ErrKernels or the context's.
func Measure(ctx context.Context, m *ir.Module, kernels []string, progress func(what string)) (*Result, error) {
	defer cpu.Select(cpu.Active())
	if !cpu.SelectAmong(kernels) {
		return nil, ErrKernels
	}
	say := func(format string, args ...any) {
		if progress != nil {
			progress(fmt.Sprintf(format, args...))
		}
	}
	workers := runtime.GOMAXPROCS(0)
	say("measuring this machine with %d workers", workers)
	machine, err := ggmlcruntime.MeasureMachine(ctx, workers)
	if err != nil {
		return nil, err
	}
	r := &Result{Machine: machine, Kernels: cpu.Active()}
	shapes := weightShapes(m)
	for _, w := range sortedDTypes(shapes) {
		say("measuring products with %v weights", w)
		p, err := measureProduct(ctx, w, shapes[w])
		if err != nil {
			return nil, err
		}
		if p != nil {
			r.Products = append(r.Products, *p)
		}
	}
	uses := layoutUses(m)
	if len(uses) > 0 {
		say("measuring layouts of %d operands", len(uses))
	}
	if r.Layouts, err = measureLayouts(ctx, uses); err != nil {
		return nil, err
	}
	return r, nil
}

// ErrKernels reports that nothing can be measured.
var ErrKernels = errors.New("this processor runs none of these kernels, so that there is nothing to measure")

// weightShapes returns the different shapes of the weights of matrix products.
func weightShapes(m *ir.Module) map[dtype.DType][]Shape {
	shapes := make(map[dtype.DType][]Shape)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op != ir.OpMatMul && n.Op != ir.OpMatMulSwiGLU {
				continue
			}
			for _, w := range n.Args[1:2] {
				t := w.Type
				s := Shape{int(t.Shape[0].Upper()), int(t.Shape[1].Upper())}
				if _, known := tile.Activation(t.DType); known && !slices.Contains(shapes[t.DType], s) {
					shapes[t.DType] = append(shapes[t.DType], s)
				}
			}
		}
	}
	return shapes
}

func sortedDTypes(shapes map[dtype.DType][]Shape) []dtype.DType {
	var all []dtype.DType
	for d := range shapes {
		all = append(all, d)
	}
	slices.Sort(all)
	return all
}

// Apply sets the rates and tiles of a descriptor of this processor to what was measured.
func (r *Result) Apply(d *target.Descriptor) {
	round(&d.Rates.Bandwidth, r.Machine.Read)
	round(&d.Rates.WorkerBW, r.Machine.ReadOne)
	round(&d.Rates.CacheBW, r.Machine.ReadCache)
	round(&d.Rates.Barrier, 2*r.Machine.Barrier) // as workers do not arrive together
	d.Hint = min(r.Machine.Workers, max(d.Threads, 1))
	round(&d.Rates.QuantOps, r.slowest(func(w dtype.DType) bool { return w.IsQuantized() }))
	round(&d.Rates.FLOPs, r.slowest(func(w dtype.DType) bool { return !w.IsQuantized() }))
	d.LayoutTimes = r.Layouts
	d.Measured = Machine(r.Kernels)
	d.Tiles = nil
	for i := range r.Products {
		p := &r.Products[i]
		if c := r.choice(p); c != r.entry(p.Weight)[0] {
			d.Tiles = append(d.Tiles, c)
		}
	}
}

// Machine returns the name of this machine for the figures of a target, with the kernels that it runs.
func Machine(kernels string) string {
	return runtime.GOOS + "/" + runtime.GOARCH + "/" + kernels
}

// Kernels returns the kernels that this processor runs of the named ones; nil is all. It is empty
// where it runs none.
func Kernels(names []string) string {
	defer cpu.Select(cpu.Active())
	if !cpu.SelectAmong(names) {
		return ""
	}
	return cpu.Active()
}

// slowest returns the rate of the slowest products with weights of some dtypes, +Inf if there are none. The
// cost model has one rate for all these products. With a higher rate it would consider work too small
// to be shared.
func (r *Result) slowest(has func(w dtype.DType) bool) float64 {
	ops := math.Inf(1)
	for _, p := range r.Products {
		if has(p.Weight) {
			ops = min(ops, p.Ops)
		}
	}
	return ops
}

// round sets a rate to two digits, as further digits are noise. Without a measurement the rate stays.
func round(to *float64, v float64) {
	if !(v > 0) || math.IsInf(v, 0) {
		return
	}
	*to, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
}

// entry returns the choices of tiles that this machine has for a dtype, the default first.
func (r *Result) entry(w dtype.DType) []tile.Choice { return choices(r.Kernels, w) }

// choices returns the choices of an implementation for a dtype, the default of this processor first. It is
// nil if there is only the default.
func choices(kernels string, w dtype.DType) []tile.Choice {
	usual, ok := cpu.Usual(kernels, w)
	if !ok {
		return nil
	}
	all := slices.DeleteFunc(tile.Choices(usual.Feature, w), func(c tile.Choice) bool { return c == usual })
	return append([]tile.Choice{usual}, all...)
}

// pays is how much faster than the default a tile has to be: less is noise.
const pays = 1.05

// choice returns the fastest tiles, or the default if no others are clearly faster.
func (r *Result) choice(p *Product) tile.Choice {
	c := r.entry(p.Weight)[0]
	c.N, c.V = fastest(p.Many), fastest(p.Single)
	return c
}

// fastest returns the rows of the best candidate. The default is the first candidate.
func fastest(all []Candidate) int {
	best := all[0]
	for _, c := range all[1:] {
		if c.Seconds*pays < min(best.Seconds, all[0].Seconds) {
			best = c
		}
	}
	return best.Rows
}

// Comments returns what was measured as lines of a target file.
func (r *Result) Comments() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "# measured on %s/%s with %s kernels and %d workers\n", runtime.GOOS, runtime.GOARCH, r.Kernels, m.Workers)
	fmt.Fprintf(&b, "# one worker: %.3g f32 and %.3g int8 operations/s, reads %.3g bytes/s, %.3g in its cache; all read %.3g; barrier %.2g s, empty step %.2g s\n",
		m.F32, m.Int8, m.ReadOne, m.ReadCache, m.Read, m.Barrier, m.Handoff)
	for _, p := range r.Products {
		fmt.Fprintf(&b, "# %v weights, %d shapes: many rows %s; one row %s\n", p.Weight, len(p.Shapes), ratios(p.Many), ratios(p.Single))
	}
	r.layoutComments(&b)
	return b.String()
}

// ratios prints candidates' times against the default's.
func ratios(all []Candidate) string {
	var s []string
	for _, c := range all {
		s = append(s, fmt.Sprintf("by %d: %.2f", c.Rows, c.Seconds/all[0].Seconds))
	}
	return strings.Join(s, ", ")
}

// layoutComments prints the times of layouts of each use on a line.
func (r *Result) layoutComments(b *strings.Builder) {
	for i, t := range r.Layouts {
		if i == 0 || r.Layouts[i-1].LayoutUse != t.LayoutUse {
			if i > 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "# %v of %v %s, %d rows, one worker: %v %.3g s", t.Op, t.DType, t.Shape, t.Rows, t.Layout, t.Seconds)
			continue
		}
		fmt.Fprintf(b, ", %v %.3g s", t.Layout, t.Seconds)
	}
	if len(r.Layouts) > 0 {
		b.WriteString("\n")
	}
}

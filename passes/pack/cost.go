package pack

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// The choice of a layout. If kernels read an operand in several layouts, the cheapest is taken. The options are the
// layouts in the kernel tables of the readers' targets. Matrices of the processor's products have one layout for each
// dtype, so nothing is decided for them. There are three cases with several:
//
//   - The table of a gather is in rows, of which each is a few cache lines, or in panels, where a row is spread over all
//     lines of the panel. A table that a product reads too is in panels. Rows are then a second form, which takes the
//     table's bytes once more.
//   - Keys of a cache are in rows, which attention transposes, or in panels, which it multiplies in place. All functions
//     share a state, so there is no second form.
//   - Matrices of a GPU's products are in rows of blocks, or in planes, which a thread loads 16 bytes at a time. Short
//     rows in planes take more bytes. A table that a product reads too is gathered from planes at no cost.
//
// An option costs the time of its readers for one item of a step (flow.StepWeights). The time is measured if the target
// has measurements of the reader in each of its layouts, and predicted otherwise. Small differences are errors of the
// prediction or noise, so the first option stays unless another one is cheaper by 5 %. A second form is made on
// measurements alone.
//
// Example: a table of 32000 rows that an output product and an embedding read. The product runs once for an item, the
// embedding too.
//
//	option            product    embedding    sum        decision
//	panels            900 µs     2.0 µs       902.0 µs   first option
//	panels and rows   900 µs     0.3 µs       900.3 µs   more bytes for 0.2 %: panels are taken
//
// Without the product, panels (2.0 µs) and rows (0.3 µs) are compared, and rows are taken.

// layoutPays is the ratio of the first option's time to that of a cheaper one from which on the latter is taken.
const layoutPays = 1.05

// layoutOption is an option: one layout, or two of which each reader reads the faster one.
type layoutOption struct {
	layouts  []dtype.Layout
	seconds  float64 // of all readers, for one item of a step
	extra    int64   // bytes of a second form
	measured bool    // the times of all readers that could read several layouts are measured
}

// layoutReader is a node that reads an operand.
type layoutReader struct {
	n       *ir.Node
	layouts []dtype.Layout // in which its kernels read the operand, the preferred one first
	weight  float64        // how often it runs for one item of a step
}

// reads reports whether the reader has a kernel for one of the layouts.
func (r *layoutReader) reads(layouts []dtype.Layout) bool {
	return slices.ContainsFunc(layouts, func(l dtype.Layout) bool { return slices.Contains(r.layouts, l) })
}

// best returns the one of some layouts in which the reader is fastest, its time for one item of a step, and whether
// that was measured. The reader has to have a kernel for one of them.
func (r *layoutReader) best(c *pass.Context, layouts []dtype.Layout) (best dtype.Layout, seconds float64, measured bool) {
	t := c.Target(r.n)
	found := false
	for _, l := range layouts {
		if !slices.Contains(r.layouts, l) {
			continue
		}
		s, known := measuredSeconds(t, r, l)
		if !known {
			s = predictedSeconds(c, t, r, l)
		}
		if !found || s*r.weight < seconds {
			found, best, seconds, measured = true, l, s*r.weight, known
		}
	}
	return best, seconds, measured || len(r.layouts) == 1
}

// measuredSeconds returns the measured time of a reader in a layout. It is not ok unless all layouts of the reader were
// measured, as a measurement cannot be compared with a prediction.
func measuredSeconds(t *target.Descriptor, r *layoutReader, l dtype.Layout) (seconds float64, ok bool) {
	if len(t.LayoutTimes) == 0 {
		return 0, false
	}
	u, ok := target.LayoutUseOf(r.n)
	for _, other := range r.layouts {
		if _, known := t.LayoutSeconds(u, other); !ok || !known {
			return 0, false
		}
	}
	return t.LayoutSeconds(u, l)
}

// predictedSeconds returns the time of a reader with its operand in a layout, by the rates of its target at the upper
// bounds of sizes.
func predictedSeconds(c *pass.Context, t *target.Descriptor, r *layoutReader, l dtype.Layout) float64 {
	n := r.n
	e := flow.EffortOf(n)
	switch n.Op {
	case ir.OpMatMul, ir.OpMatMulSwiGLU, ir.OpExpertsMatMul:
		if slices.Contains(r.layouts, dtype.Planar) {
			e.Read += planeBytes(n, l)
		}
	case ir.OpGather:
		if l == dtype.R16 {
			e.Read += spreadBytes(n)
		}
	case ir.OpAttention:
		e.Flops += keyFLOPs(t, n, l)
	}
	return t.Seconds(e.Flops, e.Read+e.Written, e.Weight, pass.AssumedWorkers(c, t))
}

// plainLoads is how much more time a GPU needs to read plain blocks than planes. A thread reads 32 elements of q4_0 by
// 8 loads of plain blocks and by 2 of planes, and those of q8_0 by 12 and by 4, since blocks are at multiples of 2
// bytes. How much of its bandwidth a GPU loses by that has not been measured: 2 is an assumption, of which only the
// order of the layouts follows, and from which length of rows on planes gain.
const plainLoads = 2

// planeBytes returns the bytes that a product on a GPU reads in a layout besides those of plain matrices, or loses.
func planeBytes(n *ir.Node, l dtype.Layout) float64 {
	read := flow.EffortOf(n).Read
	for i, a := range n.Args {
		if a != nil && !target.HasLayoutChoice(n.Op, i) {
			read -= float64(a.Type.MaxBytes())
		}
	}
	if l == dtype.Plain {
		return read * (plainLoads - 1)
	}
	w := n.Args[1].Type
	return read * float64(layoutBytes(w, l)-w.MaxBytes()) / float64(max(w.MaxBytes(), 1))
}

// spreadBytes returns the bytes that a gather reads of panels besides its rows: the other rows in the same cache lines.
func spreadBytes(n *ir.Node) float64 {
	rows := ir.Type{DType: n.Args[0].Type.DType, Shape: n.Result().Type.Shape}
	return float64((dtype.PanelRows - 1) * rows.MaxBytes())
}

// Operations of attention on keys in kernels/cpu.
const (
	queryBlock     = 256 // queries for which rows of keys are transposed once
	transposeFLOPs = 8   // of an element of rows that are transposed: four steps of 16 by 16 lanes
)

// keyFLOPs returns the operations that the layout of its keys adds to an attention: rows are transposed, and panels of
// bytes are multiplied at the rate of quantized products.
func keyFLOPs(t *target.Descriptor, n *ir.Node, l dtype.Layout) float64 {
	q, k := n.Args[0].Type.Shape, n.Args[1].Type
	if l == dtype.Plain {
		group := float64(q[1].Upper()) / float64(k.Shape[1].Upper())
		blocks := max(1, float64(q[0].Upper())*group/queryBlock)
		return transposeFLOPs * blocks * float64(k.Shape[1].Upper()*k.Shape[2].Upper()*k.Shape[3].Upper())
	}
	if !k.DType.IsQuantized() || t.Rates.QuantOps <= 0 {
		return 0
	}
	scores := 2 * float64(q[0].Upper()) * float64(q[1].Upper()) * float64(k.Shape[2].Upper()*k.Shape[3].Upper())
	return scores * (t.Rates.FLOPs/t.Rates.QuantOps - 1)
}

// newOption returns the option that the operand is in these layouts.
func newOption(c *pass.Context, readers []layoutReader, layouts ...dtype.Layout) layoutOption {
	o := layoutOption{layouts: layouts, measured: true}
	for i := range readers {
		_, s, measured := readers[i].best(c, layouts)
		o.seconds += s
		o.measured = o.measured && measured
	}
	return o
}

// cheapest returns the index of the option to take.
func cheapest(options []layoutOption) int {
	best := 0
	for i := range options[1:] {
		o := &options[i+1]
		if o.extra > 0 && !o.measured {
			continue
		}
		if o.seconds*layoutPays < min(options[best].seconds, options[0].seconds) {
			best = i + 1
		}
	}
	return best
}

// optionTexts returns the operands of the cause that records a comparison.
func optionTexts(options []layoutOption) []string {
	var texts []string
	measured := true
	for _, o := range options {
		text := ""
		for _, l := range o.layouts {
			if text != "" {
				text += "+"
			}
			text += l.String()
		}
		text += " " + strings.Replace(pass.SecondsText(o.seconds), "µ", "u", 1) // dumps escape what is not ASCII
		if o.extra > 0 {
			text += " and " + pass.BytesText(o.extra) + " more"
		}
		texts = append(texts, text)
		measured = measured && o.measured
	}
	if measured {
		return append(texts, "measured")
	}
	return append(texts, "predicted")
}

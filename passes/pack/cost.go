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

// Where kernels read an operand in several layouts, the cheapest is taken. Candidates are what
// rows of the readers' targets name, so a layout without a kernel is none: matrices of products
// have one layout for each dtype, and nothing is decided. What is left:
//
//   - a table of a gather: rows, of which one is a few cache lines, or panels, whose row is
//     spread over all lines of the panel. A table that a product reads too is in panels; rows
//     are then a second form, which costs the table's bytes once more.
//   - keys of a cache: rows, which attention turns round, or panels, which it multiplies where
//     they lie. All functions share a state, so there is no second form.
//
// A candidate costs what its readers take for an item of a step, as assign counts it
// (StepWeights): predicted, or, where the target has measurements of a reader in each of its
// layouts, measured. A prediction that is a few percent off must not turn what is known to be
// good round, and neither must noise: another candidate than the first has to be 5 % cheaper,
// and a second form is made on measurements alone.

// layoutPays is how much cheaper than the first another candidate has to be.
const layoutPays = 1.05

// layoutOption is a candidate: a layout, or two of which each reader takes what suits it.
type layoutOption struct {
	layouts  []dtype.Layout
	seconds  float64 // of all readers, for an item of a step
	extra    int64   // bytes of a second form
	measured bool    // nothing of what differs between options is a prediction
}

// layoutReader is a node that reads an operand.
type layoutReader struct {
	n       *ir.Node
	layouts []dtype.Layout // in which its kernels read the operand, the preferred first
	weight  float64        // how often it runs for an item of a step
}

// reads reports whether the reader has a kernel for one of the layouts.
func (r *layoutReader) reads(layouts []dtype.Layout) bool {
	return slices.ContainsFunc(layouts, func(l dtype.Layout) bool { return slices.Contains(r.layouts, l) })
}

// best returns the layout of some in which the reader is fastest, what that takes for an item of
// a step, and whether it was measured. It has a kernel for one of them.
func (r *layoutReader) best(c *pass.Context, layouts []dtype.Layout) (best dtype.Layout, seconds float64, measured bool) {
	t := c.Target(r.n)
	found := false
	for _, l := range layouts {
		if !slices.Contains(r.layouts, l) {
			continue
		}
		s, known := measuredSeconds(t, r, l)
		if !known {
			s = predictedSeconds(c, t, r.n, l)
		}
		if !found || s*r.weight < seconds {
			found, best, seconds, measured = true, l, s*r.weight, known
		}
	}
	return best, seconds, measured || len(r.layouts) == 1
}

// measuredSeconds returns what was measured of a reader in a layout; ok is false where not all of
// its layouts were: a measurement and a prediction cannot be compared.
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

// predictedSeconds is what a node takes with its operand in a layout, by the rates of its target
// at the upper bounds of sizes.
func predictedSeconds(c *pass.Context, t *target.Descriptor, n *ir.Node, l dtype.Layout) float64 {
	e := flow.EffortOf(n)
	switch n.Op {
	case ir.OpGather:
		if l != dtype.Plain {
			e.Read += spreadBytes(n)
		}
	case ir.OpAttention:
		e.Flops += keyFLOPs(t, n, l)
	}
	return t.Seconds(e.Flops, e.Read+e.Written, e.Weight, pass.AssumedWorkers(c, t))
}

// spreadBytes is what a gather reads of panels besides its rows: a row has a part of every line.
func spreadBytes(n *ir.Node) float64 {
	rows := ir.Type{DType: n.Args[0].Type.DType, Shape: n.Result().Type.Shape}
	return float64((dtype.PanelRows - 1) * rows.MaxBytes())
}

// What attention does with keys, as kernels/cpu does it.
const (
	queryBlock = 256 // most queries for which keys are brought into another form once
	turnFLOPs  = 8   // of an element of rows that are turned round: four steps of 16 by 16 lanes
)

// keyFLOPs is what the layout of its keys adds to the operations of an attention: rows are turned
// round, and panels of bytes are multiplied at the rate of quantized products.
func keyFLOPs(t *target.Descriptor, n *ir.Node, l dtype.Layout) float64 {
	q, k := n.Args[0].Type.Shape, n.Args[1].Type
	if l == dtype.Plain {
		group := float64(q[1].Upper()) / float64(k.Shape[1].Upper())
		blocks := max(1, float64(q[0].Upper())*group/queryBlock)
		return turnFLOPs * blocks * float64(k.Shape[1].Upper()*k.Shape[2].Upper()*k.Shape[3].Upper())
	}
	if !k.DType.IsQuantized() || t.Rates.QuantOps <= 0 {
		return 0
	}
	scores := 2 * float64(q[0].Upper()) * float64(q[1].Upper()) * float64(k.Shape[2].Upper()*k.Shape[3].Upper())
	return scores * (t.Rates.FLOPs/t.Rates.QuantOps - 1)
}

// newOption returns what the readers take with an operand in the layouts.
func newOption(c *pass.Context, readers []layoutReader, layouts ...dtype.Layout) layoutOption {
	o := layoutOption{layouts: layouts, measured: true}
	for i := range readers {
		_, s, measured := readers[i].best(c, layouts)
		o.seconds += s
		o.measured = o.measured && measured
	}
	return o
}

// cheapest returns the number of the option to take.
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

// optionTexts are the operands of the cause that shows what was compared.
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

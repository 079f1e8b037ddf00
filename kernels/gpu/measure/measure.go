// Package measure measures the rates of a GPU for the cost model, with the kernels that programs run on it.
package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Result is what was measured.
type Result struct {
	Products []Product
	Dispatch float64 // seconds from the beginning of one small kernel to that of the next
	Submit   float64 // seconds of a submission with one small kernel, until the host knows its end
	In, Out  float64 // bytes per second of copies to the device and from it
	Delay    float64 // seconds of a copy of 4 bytes, in the slower direction
}

// Product is the speed of matrix products with weights of one dtype.
type Product struct {
	Weight dtype.DType
	Bytes  float64 // of weights read per second, with one row
	Ops    float64 // multiplies and adds per second, with many rows
}

// Options bound the measurement.
type Options struct {
	Bytes    int64         // of the weights that are read with one row, and of copies
	Time     time.Duration // of one measurement
	Progress func(what string)
}

// Measure measures a device as a target of kind d. It takes some seconds.
func Measure(ctx context.Context, on *ondevice.Machine, d *target.Descriptor, o Options) (*Result, error) {
	return (&bench{ctx: ctx, m: on, target: d, now: time.Now, Options: o}).measure()
}

// Products measures products only.
func Products(ctx context.Context, on *ondevice.Machine, d *target.Descriptor, o Options) (*Result, error) {
	r := new(Result)
	return r, (&bench{ctx: ctx, m: on, target: d, now: time.Now, Options: o}).products(r)
}

func (b *bench) measure() (*Result, error) {
	r := new(Result)
	if err := b.products(r); err != nil {
		return nil, err
	}
	b.say("measuring dispatches and copies")
	if err := b.dispatches(r); err != nil {
		return nil, err
	}
	return r, b.copies(r)
}

// products measures products with weights of each format.
func (b *bench) products(r *Result) error {
	for _, f := range formats(b.target) {
		b.say("measuring products with %v weights", f.weight)
		p, err := b.product(f)
		if err != nil {
			return err
		}
		r.Products = append(r.Products, p)
	}
	return nil
}

// format is the dtype of a weight, with that of the rows that it is multiplied with.
type format struct{ weight, rows dtype.DType }

// formats returns the dtypes of weights that the target multiplies with. Nodes are run by the first row that reads one.
// Formats with a scheme are left out: a rate is that of the slowest format, and most of these take more instructions to
// decode than q4_0 and q8_0 do.
func formats(d *target.Descriptor) (list []format) {
	for _, r := range d.Rows {
		if r.Op != ir.OpMatMul || len(r.Args) < 2 || len(r.Args[0].DTypes) == 0 {
			continue
		}
		for _, w := range r.Args[1].DTypes {
			if w.Scheme() == nil && !slices.ContainsFunc(list, func(f format) bool { return f.weight == w }) {
				list = append(list, format{w, r.Args[0].DTypes[0]})
			}
		}
	}
	return list
}

// Apply sets the rates of a descriptor to what was measured. The cost model has one bandwidth and two rates of
// arithmetic, so each is that of the slowest format: with a higher one, work would go to the device that is done
// earlier elsewhere.
func (r *Result) Apply(d *target.Descriptor) {
	bytes, float, quant := math.Inf(1), math.Inf(1), math.Inf(1)
	for _, p := range r.Products {
		bytes = min(bytes, p.Bytes)
		if p.Weight.IsQuantized() {
			quant = min(quant, p.Ops)
		} else {
			float = min(float, p.Ops)
		}
	}
	round(&d.Rates.Bandwidth, bytes)
	round(&d.Rates.WorkerBW, bytes)
	round(&d.Rates.FLOPs, float)
	round(&d.Rates.QuantOps, quant)
	round(&d.Rates.Launch, r.Dispatch)
	round(&d.Rates.Link, r.In)
	round(&d.Rates.LinkOut, r.Out)
	round(&d.Rates.LinkDelay, r.Delay)
}

// round sets a rate to two digits, as further digits are noise. Without a measurement the rate stays.
func round(to *float64, v float64) {
	if v > 0 && !math.IsInf(v, 0) {
		*to, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	}
}

// Comments returns what was measured as lines of a target file.
func (r *Result) Comments() string {
	return r.ProductComments("") + fmt.Sprintf("# a dispatch %.2g s, a submission %.2g s; copies to the device %.3g bytes/s, from it %.3g, of 4 bytes %.2g s\n",
		r.Dispatch, r.Submit, r.In, r.Out, r.Delay)
}

// ProductComments returns what was measured of products as lines of a target file. Each begins with a text.
func (r *Result) ProductComments(with string) string {
	var b strings.Builder
	for _, p := range r.Products {
		fmt.Fprintf(&b, "# %s%v weights: one row reads %.3g bytes/s, many rows take %.3g operations/s\n", with, p.Weight, p.Bytes, p.Ops)
	}
	return b.String()
}

package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/passes/target"
)

// bench measures on an open device.
type bench struct {
	ctx    context.Context
	m      *ondevice.Machine
	target *target.Descriptor
	now    func() time.Time
	Options
}

func (b *bench) say(format string, args ...any) {
	if b.Progress != nil {
		b.Progress(fmt.Sprintf(format, args...))
	}
}

const (
	rounds   = 5   // of which the shortest counts
	maxTimes = 256 // most dispatches in one submission
	depth    = 4096
)

// product measures products with weights of a format.
func (b *bench) product(f format) (p Product, err error) {
	p.Weight = f.weight
	row := f.weight.Bytes(depth)
	var vectors, matrices []extent
	for _, bytes := range []int{1 << 16, 1 << 20, int(b.Bytes)} {
		n := max(min(bytes, int(b.Bytes))/row, 1)
		vectors = append(vectors, extent{1, n, float64(n * row)})
	}
	for _, e := range []extent{{rows: 16, n: 64}, {rows: 64, n: 512}, {rows: 512, n: depth}} {
		matrices = append(matrices, extent{e.rows, e.n, 2 * depth * float64(e.rows) * float64(e.n)})
	}
	if p.Bytes, err = b.rate(f, vectors); err == nil {
		p.Ops, err = b.rate(f, matrices)
	}
	return p, err
}

// extent is the size of a product, with the amount of work that its rate counts.
type extent struct {
	rows, n int
	amount  float64
}

// rate returns the rate of the largest of several products, each larger than the one before, that is expected to fit
// into the time.
func (b *bench) rate(f format, all []extent) (rate float64, err error) {
	for _, e := range all {
		if rate > 0 && e.amount/rate > b.Time.Seconds() {
			break
		}
		seconds, err := b.matMul(f, e.rows, e.n)
		if err != nil {
			return 0, err
		}
		rate = e.amount / seconds
	}
	return rate, nil
}

// matMul returns the seconds of a product of [rows, depth] with weights [n, depth].
func (b *bench) matMul(of format, rows, n int) (float64, error) {
	f := (&ir.Module{Name: "measure"}).AddFunc("f")
	x := f.AddParam("x", ir.Type{DType: of.rows, Shape: ir.Dims(int64(rows), depth)})
	layout := b.target.WeightLayout(ir.OpMatMul, 1, of.weight)
	y := f.AddParam("w", ir.Type{DType: of.weight, Layout: layout, Shape: ir.Dims(int64(n), depth)})
	node, err := appendNode(f, ir.OpMatMul, x, y)
	if err != nil {
		return 0, err
	}
	return b.node(node)
}

func appendNode(f *ir.Func, op ir.Op, args ...*ir.Value) (*ir.Node, error) {
	types, err := ir.Infer(&ir.Node{Op: op, Args: args, Func: f})
	if err != nil {
		return nil, err
	}
	return f.Append(f.NewNode(op, nil, args, "y", types...)), nil
}

// node returns the seconds of a node without symbols, on memory that is all zeros: speed does not depend on values.
func (b *bench) node(n *ir.Node) (float64, error) {
	b.m.Free()
	list, err := gpu.Lower(n, b.m.Assumes())
	if err != nil {
		return 0, err
	}
	var args []uint64
	for _, v := range gpu.Operands(n) {
		address := b.m.Alloc(int(v.Type.Bytes().Upper()))
		b.m.Zero(address)
		args = append(args, address)
	}
	var once []ondevice.Dispatch
	for _, d := range list {
		groups := int(min(d.Units.Upper(), gpu.MaxGroups))
		once = append(once, ondevice.Dispatch{Kernel: d.Kernel, Groups: groups, Args: args})
	}
	return b.repeated(once)
}

// repeated returns the seconds of dispatches in a submission of many, without those of the submission.
func (b *bench) repeated(once []ondevice.Dispatch) (float64, error) {
	one, err := b.times(once, 1)
	if err != nil || one > b.Time.Seconds() {
		return one, err
	}
	more := int(min(b.Time.Seconds()/one, maxTimes))
	many, err := b.times(once, 1+more)
	if err != nil {
		return 0, err
	}
	if many > one {
		return (many - one) / float64(more), nil
	}
	return many / float64(1+more), nil // within the noise of the clock
}

// times returns the shortest time of a submission that repeats dispatches n times.
func (b *bench) times(once []ondevice.Dispatch, n int) (float64, error) {
	var all []ondevice.Dispatch
	for range n {
		all = append(all, once...)
	}
	w, err := b.m.Dispatches(all)
	if err != nil {
		return 0, err
	}
	return b.shortest(w)
}

// shortest returns the seconds of the fastest of several runs, after one that prepares the device.
func (b *bench) shortest(w *ondevice.Work) (float64, error) {
	best := math.Inf(1)
	for i := range 1 + rounds {
		if err := b.ctx.Err(); err != nil {
			return 0, err
		}
		begin := b.now()
		if err := w.Run(); err != nil {
			return 0, err
		}
		if i > 0 {
			best = min(best, max(b.now().Sub(begin), 1).Seconds())
		}
	}
	return best, nil
}

// dispatches measures what it takes to start a kernel.
func (b *bench) dispatches(r *Result) error {
	f := (&ir.Module{Name: "measure"}).AddFunc("f")
	node, err := appendNode(f, ir.OpNeg, f.AddParam("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(1)}))
	if err != nil {
		return err
	}
	if r.Dispatch, err = b.node(node); err != nil {
		return err
	}
	list, err := gpu.Lower(node, b.m.Assumes())
	if err != nil {
		return err
	}
	b.m.Free()
	one := ondevice.Dispatch{Kernel: list[0].Kernel, Groups: 1, Args: []uint64{b.m.Alloc(4), b.m.Alloc(4)}}
	r.Submit, err = b.times([]ondevice.Dispatch{one}, 1)
	return err
}

// copies measures the link between the memories of the host and the device.
func (b *bench) copies(r *Result) (err error) {
	b.m.Free()
	at := b.m.Alloc(int(b.Bytes))
	b.m.Zero(at)
	for _, c := range []struct {
		d    ondevice.Direction
		rate *float64
	}{{ondevice.In, &r.In}, {ondevice.Out, &r.Out}} {
		small, err := b.copy(c.d, at, 4)
		if err != nil {
			return err
		}
		r.Delay = max(r.Delay, small)
		large, err := b.copy(c.d, at, int(b.Bytes))
		if err != nil {
			return err
		}
		*c.rate = float64(b.Bytes) / max(large-small, large/2)
	}
	return nil
}

func (b *bench) copy(d ondevice.Direction, at uint64, bytes int) (float64, error) {
	w, err := b.m.Copy(d, at, bytes)
	if err != nil {
		return 0, err
	}
	return b.shortest(w)
}

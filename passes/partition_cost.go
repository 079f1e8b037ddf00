package passes

import (
	"math/bits"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// eachLimit is the most seconds for which every worker may compute the same: beyond it the
// others' memory traffic slows down whoever shares caches with them. A norm of 8192
// numbers is predicted to take half of it.
const eachLimit = 1e-5

// payLimit is how much faster more workers have to be in order to be asked for.
const payLimit = 1.02

// work is what one execution of a node costs at the symbols' upper bounds.
type work struct {
	d      *target.Descriptor
	weight dtype.DType
	flops  float64
	shared float64 // bytes that every worker reads
	split  float64 // bytes that are divided among workers
}

// effort is what one execution of a node takes, whoever shares it.
type effort struct {
	known         bool // the op says what it takes
	weight        dtype.DType
	flops         float64
	read, written float64 // bytes
}

func effortOf(n *ir.Node) effort {
	e := effort{weight: weightOf(n)}
	if cost := n.Op.Info().Cost; cost != nil {
		c := cost(n)
		e.known = true
		e.flops, e.read, e.written = float64(c.FLOPs.Upper()), float64(c.Read.Upper()), float64(c.Written.Upper())
	}
	return e
}

// weightOf returns the format of the last weight that n reads; f32 where it reads none.
func weightOf(n *ir.Node) dtype.DType {
	w := dtype.F32
	for _, a := range n.Args {
		if a != nil && a.Type.DType != w && isLeaf(a, ir.OpWeight) { // who is of this format changes nothing
			w = a.Type.DType
		}
	}
	return w
}

// along returns the work of n, whose effort e is, when it is divided along ax; nil is not divided.
func (e *effort) along(d *target.Descriptor, n *ir.Node, ax *ir.Axis) work {
	w := work{d: d, weight: e.weight}
	if ax != nil {
		for i, a := range n.Args {
			if a != nil && i < len(ax.Reads) && ax.Reads[i].Kind == ir.ReadAll {
				w.shared += float64(a.Type.MaxBytes())
			}
		}
	}
	if e.known {
		w.flops = e.flops
		w.shared = min(w.shared, e.read)
		w.split = e.read - w.shared + e.written
	}
	return w
}

// workOf returns the work of n when it is divided along ax; nil is not divided.
func workOf(d *target.Descriptor, n *ir.Node, ax *ir.Axis) work {
	e := effortOf(n)
	return e.along(d, n, ax)
}

// seconds predicts the time with units of equal size, shared by workers workers: the one
// that has most units counts, and each reads what is shared.
func (w *work) seconds(units int64, workers int) float64 {
	r := &w.d.Rates
	rate := r.FLOPs
	if w.weight.IsQuantized() {
		rate = r.QuantOps
	}
	busy := parallel(units, workers)
	bandwidth := r.WorkerBW * busy
	if r.Bandwidth > 0 {
		bandwidth = min(bandwidth, r.Bandwidth)
	}
	return r.Launch + max(ratio(w.flops, rate*busy), ratio(w.split, bandwidth)) + ratio(w.shared, r.WorkerBW)
}

// parallel returns how many workers' worth of progress units make: units over the most
// that one worker has.
func parallel(units int64, workers int) float64 {
	if units <= 1 || workers <= 1 {
		return 1
	}
	most := (units + int64(workers) - 1) / int64(workers)
	return float64(units) / float64(most)
}

// ratio is a/b, and 0 for a rate that is not known.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// hint returns the workers that the cost model reckons with.
func hint(c *Context, d *target.Descriptor) int {
	h := max(d.Hint, 1)
	if c.Options.Threads > 0 {
		h = min(h, c.Options.Threads)
	}
	return h
}

// threadBound returns the most workers that the program may use.
func threadBound(c *Context, d *target.Descriptor) int {
	if c.Options.Threads > 0 {
		return min(c.Options.Threads, max(d.Threads, 1))
	}
	return max(d.Threads, 1)
}

// maxParts returns the smallest number of workers whose predicted time for f is about the
// best; 0 where that is the bound. Only the last target's nodes are shared.
func maxParts(c *Context, f *ir.Func) int64 {
	d := c.Targets.Last()
	bound := threadBound(c, d)
	best, at := 0.0, 1
	for i, t := range newStepClock(c, stepRates(d, f), bound).seconds(f) {
		if i == 0 || t*payLimit < best {
			best, at = t, i+1
		}
	}
	if at == bound {
		return 0
	}
	return int64(at)
}

// stepRates returns the rates at which steps of f run one after another: what fits into
// one worker's cache stays there, so that reading it is no matter of memory. A bound on the
// bandwidth of all workers together is left out: processors with more cores have more of
// it, and workers beyond what memory can feed do no harm.
func stepRates(d *target.Descriptor, f *ir.Func) target.Rates {
	r := d.Rates
	r.Bandwidth = 0
	if r.Cache > 0 && bytesWithin(f, r.Cache) >= 0 {
		r.WorkerBW = r.CacheBW
	}
	return r
}

// bytesWithin returns what is left of so many bytes when all weights and results of f and its
// bodies have theirs, at the symbols' upper bounds: no less than what a step touches. It is
// negative where they do not suffice.
func bytesWithin(f *ir.Func, left int64) int64 {
	for _, n := range f.Nodes {
		for _, r := range n.Results {
			if r.Source() == nil && n.Op != ir.OpState {
				left -= r.Type.MaxBytes()
			}
		}
		if n.Body != nil {
			left = bytesWithin(n.Body, left)
		}
		if left < 0 {
			break // large graphs have far more
		}
	}
	return left
}

// stepClock predicts how long functions take that workers of some rates share.
type stepClock struct {
	c       *Context
	rates   target.Rates
	barrier []float64                     // seconds of one, by the number of workers less 1
	changed map[string]*target.Descriptor // targets with these rates, by name
}

// newStepClock returns the clock for up to so many workers.
func newStepClock(c *Context, rates target.Rates, workers int) *stepClock {
	s := &stepClock{c: c, rates: rates, barrier: make([]float64, workers), changed: make(map[string]*target.Descriptor)}
	for i := range s.barrier {
		s.barrier[i] = barrierSeconds(rates, i+1)
	}
	return s
}

// with returns a target with the rates of the clock.
func (s *stepClock) with(d *target.Descriptor) *target.Descriptor {
	if s.changed[d.Name] == nil {
		with := *d
		with.Rates = s.rates
		s.changed[d.Name] = &with
	}
	return s.changed[d.Name]
}

// seconds predicts how long f takes, by the number of workers less 1.
func (s *stepClock) seconds(f *ir.Func) []float64 {
	sums := make([]float64, len(s.barrier))
	for i, n := range f.Nodes {
		if n.Body != nil {
			for k, t := range s.seconds(n.Body) {
				sums[k] += float64(rounds(n)) * t
			}
		} else if d := s.c.Target(n); d != nil && !aloneOn(s.c.Target(n), n) {
			s.add(sums, s.with(d), n, i > 0 && n.Epoch > f.Nodes[i-1].Epoch)
		}
	}
	if f.HeadBarrier {
		for k, t := range s.barrier {
			sums[k] += t
		}
	}
	return sums
}

// add adds the time of a node, and that of a barrier before it if there is one.
func (s *stepClock) add(sums []float64, d *target.Descriptor, n *ir.Node, barrier bool) {
	w, units := nodeWork(d, n)
	for k := range sums {
		sums[k] += w.seconds(units, k+1)
		if barrier {
			sums[k] += s.barrier[k]
		}
	}
}

// barrierSeconds is what a barrier of so many workers takes in a running step: each
// doubling passes the counter's cache line on once more, and the workers do not arrive
// together, which costs as much again (aidreams260K: 17 barriers made a step of 11 µs on
// one worker no shorter on two).
func barrierSeconds(r target.Rates, workers int) float64 {
	return 2 * r.Barrier * float64(bits.Len(uint(workers-1)))
}

func nodeSeconds(d *target.Descriptor, n *ir.Node, workers int) float64 {
	w, units := nodeWork(d, n)
	return w.seconds(units, workers)
}

// nodeWork returns the work of a node that has been partitioned, and in how many units.
func nodeWork(d *target.Descriptor, n *ir.Node) (work, int64) {
	if n.Part.Mode != ir.PartSplit {
		return workOf(d, n, nil), 1
	}
	return workOf(d, n, chosenAxis(n)), n.Part.N.CeilDiv(n.Part.Granule).Upper()
}

// rounds returns how often the body of n runs per execution of n.
func rounds(n *ir.Node) int64 {
	if a, ok := n.Attr.(*ir.RepeatAttr); ok {
		return a.Count
	}
	return 1
}

package passes

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// oracle runs a planned entry point cell by cell, with every worker's reads and writes,
// and notes races and reads of bytes that hold something else. It is written without the
// passes' ownership and liveness, and slowly: it enumerates elements.
type oracle struct {
	m       *ir.Module
	sizes   map[string]int64
	workers int

	barrier int // barriers passed
	run     int // nodes run
	memory  map[[3]int][]cell
	env     []map[*ir.Value]tag
	err     error
}

// cellBytes is the unit of the simulation: no dtype used here has smaller elements.
const cellBytes = 2

// cell is a piece of memory.
type cell struct {
	holds            content
	wroteAt, wroteBy int // barrier and worker of the last write
	readAt           int
	readers          uint64 // workers that have read it since barrier readAt
}

// content is what a cell holds: which element of what.
type content struct {
	tag  tag
	elem int64
}

// tag names one execution of a node, or a parameter.
type tag int

// simulate returns the first violation.
func simulate(m *ir.Module, f *ir.Func, workers int, sizes map[string]int64) error {
	o := &oracle{m: m, sizes: sizes, workers: workers, barrier: 1, memory: make(map[[3]int][]cell), env: []map[*ir.Value]tag{{}}}
	for _, p := range f.Params {
		o.run++
		o.define(p, tag(o.run))
		o.fill(p, tag(o.run))
	}
	o.function(f, 0)
	for _, r := range f.Results {
		o.barrier++
		o.each(r, -1, 0, 0, func(at int64, elem int64, a *area) { o.expect(r, a.cell(0, at), elem) })
	}
	return o.err
}

func (o *oracle) dim(d ir.Dim) int64 {
	return d.Eval(func(s *ir.Symbol) int64 { return o.sizes[s.Name] })
}

// function runs the nodes of f, in one iteration of the repeat that holds it.
func (o *oracle) function(f *ir.Func, iteration int) {
	epoch := 0
	for _, n := range f.Nodes {
		if n.Epoch > epoch && !n.Is(ir.Leaf) && !n.Is(ir.View) {
			o.barrier += n.Epoch - epoch
			epoch = n.Epoch
		}
		switch {
		case n.Op == ir.OpState || n.Op == ir.OpWeight || n.Op == ir.OpConstant || n.Is(ir.View):
		case n.Op == ir.OpRepeat:
			o.repeat(n)
		default:
			o.node(n)
		}
	}
}

func (o *oracle) repeat(n *ir.Node) {
	a := n.Attr.(*ir.RepeatAttr)
	now := make([]tag, a.Carried)
	for i := range now {
		now[i] = o.tagOf(n.Args[i])
	}
	for iteration := range int(a.Count) {
		if n.Body.HeadBarrier {
			o.barrier++
		}
		scope := map[*ir.Value]tag{}
		for i, t := range now {
			scope[n.Body.Params[i]] = t
		}
		o.env = append(o.env, scope)
		iterationOf[n.Body] = iteration
		o.function(n.Body, iteration)
		for i := range now {
			now[i] = o.tagOf(n.Body.Results[i])
		}
		o.env = o.env[:len(o.env)-1]
	}
	for i, t := range now {
		o.define(n.Results[i], t)
	}
}

// iterationOf is the iteration of a body that is running.
var iterationOf = map[*ir.Func]int{}

func (o *oracle) define(v *ir.Value, t tag) { o.env[len(o.env)-1][v] = t }

// tagOf returns what defined the bytes that v names.
func (o *oracle) tagOf(v *ir.Value) tag {
	for {
		for i := len(o.env) - 1; i >= 0; i-- {
			if t, ok := o.env[i][v]; ok {
				return t
			}
		}
		switch {
		case v.Def == nil:
			v = o.passed(v)
		case v.Def.Is(ir.View):
			v = v.Def.Args[0]
		default:
			return 0 // a leaf
		}
		if v == nil {
			return 0
		}
	}
}

// passed returns what the repeat passes for a parameter in this iteration; nil for an entry point's.
func (o *oracle) passed(p *ir.Value) *ir.Value {
	n := p.Func.Owner
	if n == nil {
		return nil
	}
	a := n.Attr.(*ir.RepeatAttr)
	fixed := a.Carried + a.Invariant
	if p.Index < fixed {
		return n.Args[p.Index]
	}
	return n.Args[fixed+(p.Index-fixed)*int(a.Count)+iterationOf[p.Func]]
}

// node runs a node: first what all workers read, then what they write.
func (o *oracle) node(n *ir.Node) {
	o.run++
	for w := range o.workers {
		for i, v := range n.Args {
			if v != nil && !o.isWeight(v) {
				o.read(n, w, i, v)
			}
		}
	}
	for w := range o.workers {
		o.write(n, w)
	}
	for _, r := range n.Results {
		o.define(r, tag(o.run))
	}
}

func (o *oracle) isWeight(v *ir.Value) bool {
	for v != nil {
		switch {
		case v.Def == nil:
			v = o.passed(v)
		case v.Def.Is(ir.View):
			v = v.Def.Args[0]
		default:
			return v.Def.Op == ir.OpWeight || v.Def.Op == ir.OpConstant
		}
	}
	return false
}

// part returns the range of the axis that worker w computes; ok is false where it does
// nothing, axis is -1 where it computes all.
func (o *oracle) part(n *ir.Node, w int) (axis int, lo, hi int64, ok bool) {
	switch n.Part.Mode {
	case ir.PartReplicated:
		return -1, 0, 0, true
	case ir.PartSplit:
		total, g := o.dim(n.Part.N), n.Part.Granule
		units := (total + g - 1) / g
		lo = min(total, units*int64(w)/int64(o.workers)*g)
		hi = min(total, units*int64(w+1)/int64(o.workers)*g)
		return n.Part.Axis, lo, hi, lo < hi
	}
	return -1, 0, 0, w == 0
}

func (o *oracle) read(n *ir.Node, w, arg int, v *ir.Value) {
	axis, lo, hi, ok := o.part(n, w)
	if !ok {
		return
	}
	from := -1
	for _, ax := range axesOf(n) {
		if axis >= 0 && ax.Axis == axis && ax.Reads[arg].Kind == ir.ReadRange {
			r := ax.Reads[arg]
			from, lo, hi = r.Axis, lo*r.Num/r.Den, (hi*r.Num+r.Den-1)/r.Den
		} else if axis >= 0 && ax.Axis == axis && ax.Reads[arg].Kind == ir.ReadNone {
			return
		}
	}
	o.each(v, from, lo, hi, func(at, elem int64, a *area) {
		c := a.cell(w, at)
		o.expect(v, c, elem)
		if c.wroteAt == o.barrier && c.wroteBy != w {
			o.fail("%v: worker %d reads %v, which worker %d writes in the same epoch", n, w, v, c.wroteBy)
		}
		if c.readAt != o.barrier {
			c.readAt, c.readers = o.barrier, 0
		}
		c.readers |= 1 << w
	})
}

func axesOf(n *ir.Node) []ir.Axis {
	if n.Op.Info().Axes == nil {
		return nil
	}
	return n.Op.Info().Axes(n)
}

func (o *oracle) write(n *ir.Node, w int) {
	axis, lo, hi, ok := o.part(n, w)
	if !ok {
		return
	}
	for _, r := range n.Results {
		o.each(r, axis, lo, hi, func(at, elem int64, a *area) {
			c := a.cell(w, at)
			switch {
			case c.wroteAt == o.barrier && c.wroteBy != w:
				o.fail("%v: worker %d writes what worker %d writes in the same epoch", n, w, c.wroteBy)
			case c.readAt == o.barrier && c.readers&^(1<<w) != 0:
				o.fail("%v: worker %d writes what workers %b read in the same epoch", n, w, c.readers)
			}
			c.holds, c.wroteAt, c.wroteBy = content{tag(o.run), elem}, o.barrier, w
		})
	}
}

func (o *oracle) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf("%d workers, %v: "+format, append([]any{o.workers, o.sizes}, args...)...)
	}
}

func (o *oracle) expect(v *ir.Value, c *cell, elem int64) {
	if want := (content{o.tagOf(v), elem}); want.tag != 0 && c.holds != want {
		o.fail("%v: a cell holds %v, not %v", v, c.holds, want)
	}
}

// fill writes a parameter, as the caller does.
func (o *oracle) fill(v *ir.Value, t tag) {
	o.each(v, -1, 0, 0, func(at, elem int64, a *area) { a.cell(0, at).holds = content{t, elem} })
}

// area is the chunk of a value; each worker has its own of scratch.
type area struct {
	o       *oracle
	arena   int
	chunk   int
	private bool
}

func (a *area) cell(worker int, at int64) *cell {
	key := [3]int{a.arena, a.chunk, 0}
	if a.private {
		key[2] = worker
	}
	cells := a.o.memory[key]
	if cells == nil {
		cells = make([]cell, a.o.m.Plan.Arenas[a.arena].Chunks[a.chunk]/cellBytes)
		a.o.memory[key] = cells
	}
	return &cells[at]
}

// each calls do for every cell of the elements of v whose index on axis (-1 is any) is
// in [lo,hi), with the element's number in the value that owns the bytes.
func (o *oracle) each(v *ir.Value, axis int, lo, hi int64, do func(at, elem int64, a *area)) {
	shape := o.shape(v)
	index := make([]int64, len(shape))
	seen := map[int64]bool{} // blocks
	for {
		if axis < 0 || index[axis] >= lo && index[axis] < hi {
			o.element(v, slices.Clone(index), seen, do)
		}
		i := len(index) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func (o *oracle) shape(v *ir.Value) []int64 {
	shape := make([]int64, v.Type.Rank())
	for i, d := range v.Type.Shape {
		shape[i] = o.dim(d)
	}
	return shape
}

// element follows views to the value that owns the bytes.
func (o *oracle) element(v *ir.Value, index []int64, seen map[int64]bool, do func(at, elem int64, a *area)) {
	for {
		var next *ir.Value
		switch {
		case v.Def == nil:
			if a := v.Func.Owner; a == nil || v.Index < a.Attr.(*ir.RepeatAttr).Carried {
				break // owns its bytes
			}
			next = o.passed(v)
		case v.Def.Op == ir.OpReshape:
			next = v.Def.Args[0]
			index = unflatten(flatten(index, o.shape(v)), o.shape(next))
		case v.Def.Op == ir.OpPermute:
			next = v.Def.Args[0]
			from := make([]int64, len(index))
			for i, p := range v.Def.Attr.(*ir.PermuteAttr).Perm {
				from[p] = index[i]
			}
			index = from
		case v.Def.Op == ir.OpSlice:
			next = v.Def.Args[0]
			s := v.Def.Attr.(*ir.SliceAttr)
			index[s.Axis] += o.dim(s.Start)
		case v.Def.Op == ir.OpStateWrite:
			next = v.Def.Args[0]
		}
		if next == nil {
			break
		}
		v = next
	}
	o.bytes(v, index, seen, do)
}

// bytes calls do for the cells of an element; those of a block once.
func (o *oracle) bytes(v *ir.Value, index []int64, seen map[int64]bool, do func(at, elem int64, a *area)) {
	bound := make([]int64, len(index)) // inner symbolic dimensions stride by their bound
	for i, d := range v.Type.Shape {
		bound[i] = d.Upper()
	}
	elem := flatten(index, bound)
	block := elem / int64(v.Type.DType.BlockElems())
	if v.Type.DType.BlockElems() > 1 {
		if seen[block] {
			return
		}
		seen[block] = true
	}
	place := v.Place
	if v.Def != nil && v.Def.Op == ir.OpState {
		place = o.m.State(v.Def.Attr.(*ir.StateAttr).Name).Place
	}
	if place == nil || v.Type.Layout != dtype.Plain {
		o.fail("%v has no address, or is packed", v)
		return
	}
	class := o.m.Plan.Arenas[place.Arena].Class
	a := &area{o, place.Arena, place.Chunk, class == ir.ClassScratch}
	bytes := int64(v.Type.DType.BlockBytes())
	if (block+1)*bytes > place.Bytes || place.Offset+place.Bytes > o.m.Plan.Arenas[a.arena].Chunks[a.chunk] {
		o.fail("%v: element %d lies outside of its place or arena", v, elem)
	}
	for b := int64(0); b < bytes; b += cellBytes {
		do((place.Offset+block*bytes+b)/cellBytes, block, a)
	}
}

func flatten(index, shape []int64) int64 {
	var n int64
	for i := range index {
		n = n*shape[i] + index[i]
	}
	return n
}

func unflatten(n int64, shape []int64) []int64 {
	index := make([]int64, len(shape))
	for i := range slices.Backward(shape) {
		index[i] = n % shape[i]
		n /= shape[i]
	}
	return index
}

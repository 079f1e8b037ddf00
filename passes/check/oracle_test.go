package check_test

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// oracle runs a plan cell by cell with a number of workers and actual sizes, and finds
// reads of bytes that hold something else and conflicts between workers. It is the slow
// and obvious way to ask what package check proves; it decides whether a mutant that the checker accepts is as good as
// the original plan.
type oracle struct {
	m       *ir.Module
	size    func(*ir.Symbol) int64
	workers int

	memory  map[[2]int][]oracleCell
	region  int32 // barriers so far, plus 1
	pending bool  // there is a barrier before the next node
	serial  int32 // of the node that runs
	objects int32
	leaves  map[any]instance
	problem string
}

// oracleCell is two bytes: no dtype here has smaller elements.
type oracleCell struct {
	object, index   int32  // which cell of which object it holds
	wrote, writer   int32  // region and worker of the last write
	read            int32  // region of the readers
	readers         uint64 // workers
	reading         int32  // the last node that read it
	readArgs, readE int32  // by which operands, and which element; -1 if several
}

const cellBytes = 2

// instance is an object that a value names.
type instance struct {
	object int32
	place  ir.Place
	shared bool
	memory []oracleCell // of the chunk
}

// runOracle returns what is wrong with a call of f; empty if nothing is.
func runOracle(m *ir.Module, f *ir.Func, workers int, size func(*ir.Symbol) int64) string {
	o := &oracle{m: m, size: size, workers: workers, memory: make(map[[2]int][]oracleCell), region: 1, leaves: make(map[any]instance)}
	env := make(map[*ir.Value]instance)
	for _, p := range f.Params {
		env[p] = o.initial(p.Type, *p.Place)
	}
	o.run(f, env)
	for _, r := range f.Results {
		in := env[r]
		o.elements(r.Type, rootBytes(r, size), 0, -1, -1, func(e, at int64) {
			o.expect(&in, at, func() string { return fmt.Sprintf("the caller reads %v", r) })
		})
	}
	return o.problem
}

func (o *oracle) fail(format string, args ...any) {
	if o.problem == "" {
		o.problem = fmt.Sprintf(format, args...)
	}
}

// initial puts an object into memory before the call.
func (o *oracle) initial(t ir.Type, p ir.Place) instance {
	in := o.instance(p)
	size := t.MaxBytes()
	if in.memory == nil {
		size = 0
	}
	for i := int64(0); i < size; i += cellBytes {
		if c := o.cell(&in, i); c != nil {
			c.object, c.index = in.object, int32(i)
		}
	}
	return in
}

func (o *oracle) instance(p ir.Place) instance {
	o.objects++
	in := instance{object: o.objects, shared: o.m.Plan.Arenas[p.Arena].Class != ir.ClassScratch}
	return o.moved(in, p)
}

// moved returns the object as it is found at another place.
func (o *oracle) moved(in instance, p ir.Place) instance {
	in.place, in.memory = p, nil
	key := [2]int{p.Arena, p.Chunk}
	if o.m.Plan.Arenas[p.Arena].Class == ir.ClassWeights {
		return in // nothing writes there: the checker makes sure of it by class
	}
	if o.memory[key] == nil {
		o.memory[key] = make([]oracleCell, o.m.Plan.Arenas[key[0]].Chunks[key[1]]/cellBytes)
	}
	in.memory = o.memory[key]
	return in
}

// cell returns a cell of an object; nil where it is outside of its chunk.
func (o *oracle) cell(in *instance, at int64) *oracleCell {
	i := (in.place.Offset + at) / cellBytes
	if at < 0 || i < 0 || i >= int64(len(in.memory)) {
		o.fail("outside of the chunk")
		return nil
	}
	return &in.memory[i]
}

func (o *oracle) run(f *ir.Func, env map[*ir.Value]instance) {
	epoch := 0
	for _, n := range f.Nodes {
		switch {
		case o.problem != "":
			return
		case n.Is(ir.Leaf):
			env[n.Result()] = o.leaf(n)
			continue
		case n.Is(ir.View):
			env[n.Result()] = env[n.Args[0]]
			continue
		}
		if n.Epoch > epoch {
			epoch, o.pending = n.Epoch, true
		}
		if n.Op == ir.OpRepeat {
			o.repeat(n, env)
			continue
		}
		if o.pending {
			o.region, o.pending = o.region+1, false
		}
		o.node(n, env)
	}
}

func (o *oracle) leaf(n *ir.Node) instance {
	var key any = n
	t, p := n.Result().Type, n.Result().Place
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		key, p = a.Name, o.m.Weight(a.Name).Place
	case *ir.StateAttr:
		key, p = "state "+a.Name, o.m.State(a.Name).Place
	}
	in, ok := o.leaves[key]
	if !ok {
		in = o.initial(t, *p)
		o.leaves[key] = in
	}
	return in
}

func (o *oracle) repeat(n *ir.Node, env map[*ir.Value]instance) {
	a := n.Attr.(*ir.RepeatAttr)
	fixed := a.Carried + a.Invariant
	args := slices.Clone(n.Args[:a.Carried])
	from := env
	for iteration := range int(a.Count) {
		in := make(map[*ir.Value]instance)
		for i, p := range n.Body.Params {
			switch {
			case i < a.Carried:
				in[p] = from[args[i]]
			case i < fixed:
				in[p] = env[n.Args[i]]
			default:
				in[p] = env[n.Args[fixed+(i-fixed)*int(a.Count)+iteration]]
			}
			if i < fixed && p.Place != nil {
				in[p] = o.moved(in[p], *p.Place)
			}
		}
		o.pending = o.pending || n.Body.HeadBarrier
		o.run(n.Body, in)
		from, args = in, n.Body.Results
	}
	for i, r := range n.Results {
		env[r] = o.moved(from[args[i]], *r.Place)
	}
}

// node runs a node: first what its workers read, then what they write.
func (o *oracle) node(n *ir.Node, env map[*ir.Value]instance) {
	o.serial++
	for _, p := range o.parts(n) {
		for i, a := range n.Args {
			if a != nil && env[a].memory != nil {
				o.readArg(n, i, env[a], p)
			}
		}
	}
	for i, r := range n.Results {
		switch {
		case n.Is(ir.Alias):
			old := env[n.Args[n.Op.Info().AliasArg]]
			env[r] = o.instance(old.place)
		default:
			env[r] = o.instance(*r.Place)
		}
		in := env[r]
		for _, p := range o.parts(n) {
			axis, lo, hi := resultRange(n, i, p)
			o.elements(r.Type, rootBytes(r, o.size), axis, lo, hi, func(e, at int64) { o.write(n, &in, e, at, p.worker) })
		}
	}
}

// part is what one worker computes of a node: a range of the divided axis.
type part struct {
	worker int32
	lo, hi int64
}

func (o *oracle) parts(n *ir.Node) []part {
	switch n.Part.Mode {
	case ir.PartReplicated, ir.PartSplit:
	default:
		return []part{{}}
	}
	var list []part
	size, granule := n.Part.N.Eval(o.size), max(n.Part.Granule, 1)
	units, workers := (size+granule-1)/granule, int64(o.workers)
	for p := range workers {
		at := part{worker: int32(p), lo: -1, hi: -1}
		if n.Part.Mode == ir.PartSplit {
			at.lo, at.hi = min(size, units*p/workers*granule), min(size, units*(p+1)/workers*granule)
			if at.lo == at.hi {
				continue
			}
		}
		list = append(list, at)
	}
	return list
}

// argRange returns which range of which axis of operand i a part reads; lo is negative
// where it reads all.
func argRange(n *ir.Node, i int, p part) (axis int, lo, hi int64) {
	axis, lo, hi = 0, -1, -1
	if n.Part.Mode == ir.PartSplit {
		for _, ax := range n.Op.Info().Axes(n) {
			if ax.Axis == n.Part.Axis && i < len(ax.Reads) && ax.Reads[i].Kind == ir.ReadRange {
				r := ax.Reads[i]
				axis, lo, hi = r.Axis, p.lo*r.Num/r.Den, p.hi*r.Num/r.Den
			}
		}
	}
	return axis, lo, hi
}

// resultRange is argRange for result i, which a part writes.
func resultRange(n *ir.Node, i int, p part) (axis int, lo, hi int64) {
	if n.Part.Mode != ir.PartSplit || i > 0 {
		return n.Part.Axis, -1, -1
	}
	return n.Part.Axis, p.lo, p.hi
}

func (o *oracle) readArg(n *ir.Node, i int, in instance, p part) {
	t := n.Args[i].Type
	axis, lo, hi := argRange(n, i, p)
	o.elements(t, rootBytes(n.Args[i], o.size), axis, lo, hi, func(e, at int64) {
		c := o.expect(&in, at, func() string { return fmt.Sprintf("%v reads %v", n, n.Args[i]) })
		if c == nil {
			return
		}
		o.noteRead(n, &in, c, p.worker)
		if c.reading != o.serial {
			c.reading, c.readArgs, c.readE = o.serial, 0, int32(e)
		}
		c.readArgs |= 1 << i
		if c.readE != int32(e) {
			c.readE = -1
		}
	})
}

func (o *oracle) noteRead(n *ir.Node, in *instance, c *oracleCell, worker int32) {
	if !in.shared {
		return
	}
	if c.wrote == o.region && c.writer != worker {
		o.fail("%v reads what another worker writes", n)
	}
	if c.read != o.region {
		c.read, c.readers = o.region, 0
	}
	c.readers |= 1 << worker
}

// expect checks that a cell holds that of the object.
func (o *oracle) expect(in *instance, at int64, who func() string) *oracleCell {
	c := o.cell(in, at)
	if c != nil && (c.object != in.object || c.index != int32(at)) {
		o.fail("%s: cell %#x holds something else", who(), at)
	}
	return c
}

func (o *oracle) write(n *ir.Node, in *instance, e, at int64, worker int32) {
	c := o.cell(in, at)
	if c == nil {
		return
	}
	if c.reading == o.serial && !movesBytes(n) {
		for i := range n.Args {
			alias := n.Is(ir.Alias) && i == n.Op.Info().AliasArg
			if c.readArgs&(1<<i) != 0 && !alias && !(slices.Contains(n.Op.Info().InPlace, i) && c.readE == int32(e)) {
				o.fail("%v overwrites its operand %d", n, i)
			}
		}
	}
	if in.shared {
		if c.wrote == o.region && c.writer != worker {
			o.fail("%v writes what another worker writes", n)
		}
		if c.read == o.region && c.readers&^(1<<worker) != 0 {
			o.fail("%v writes what another worker reads", n)
		}
	}
	c.object, c.index, c.wrote, c.writer = in.object, int32(at), o.region, worker
}

// movesBytes reports whether one worker copies dense bytes: those it reads may overlap those
// it writes, as with Go's copy.
func movesBytes(n *ir.Node) bool {
	return n.Op == ir.OpCopy && n.Queue() == "" && n.Part.Mode == ir.PartOne && n.Args[0].Type.Dense() && n.Args[0].Type.Space == n.Result().Type.Space
}

// rootBytes returns how many bytes after its root a value begins.
func rootBytes(v *ir.Value, size func(*ir.Symbol) int64) int64 {
	var sum int64
	for ; v.Source() != nil; v = v.Source() {
		if a, ok := v.Def.Attr.(*ir.SliceAttr); ok {
			t := v.Source().Type
			sum += a.Start.Eval(size) * t.StrideDims()[a.Axis].Eval(size) * int64(t.DType.BlockBytes()) / int64(t.DType.BlockElems())
		}
	}
	return sum
}

// elements calls yield for every cell of a value, or of a range of one axis unless lo is
// negative: with the element in row order and the distance from the root's first byte.
func (o *oracle) elements(t ir.Type, start int64, axis int, lo, hi int64, yield func(e, at int64)) {
	rank := t.Rank()
	block, blockBytes := int64(t.DType.BlockElems()), int64(t.DType.BlockBytes())
	shape, strides := make([]int64, rank), make([]int64, rank)
	for i, s := range t.StrideDims() {
		shape[i], strides[i] = t.Shape[i].Eval(o.size), s.Eval(o.size)
	}
	var walk func(i int, e, at int64)
	walk = func(i int, e, at int64) {
		if i == rank {
			for b := int64(0); b < blockBytes; b += cellBytes {
				yield(e, start+at/block*blockBytes+b)
			}
			return
		}
		from, to, step := int64(0), shape[i], int64(1)
		if i == axis && lo >= 0 {
			from, to = lo, hi
		}
		if i == rank-1 {
			step, from = block, from/block*block
		}
		for k := from; k < to; k += step {
			walk(i+1, e*shape[i]+k, at+k*strides[i])
		}
	}
	walk(0, 0, 0)
}

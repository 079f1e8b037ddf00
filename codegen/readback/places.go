package readback

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// place is where the bytes of a value begin in one execution of a function.
type place struct {
	arena, chunk int
	offset       ir.Dim // bytes; what a step under way adds for its instance included
}

// frame is one execution of a function: of an entry point, or one iteration of a body.
type frame struct {
	f         *ir.Func
	iteration ir.Dim
	places    []*place // by value id; nil where nothing has defined the value yet
}

func newFrame(f *ir.Func, iteration ir.Dim) *frame {
	return &frame{f: f, iteration: iteration, places: make([]*place, f.NumValues())}
}

// of returns where a value of the frame's function is.
func (fr *frame) of(v *ir.Value) *place {
	p := fr.places[v.ID]
	if p == nil {
		fail("%v is used before it is defined", v)
	}
	return p
}

// placed returns the place that the plan gives to a value. Of a result with several
// instances each step under way uses another one.
func (c *checker) placed(at *ir.Place, n *ir.Node) *place {
	if at == nil {
		fail("%v has no place in the plan", n)
	}
	p := &place{arena: at.Arena, chunk: at.Chunk, offset: ir.Const(at.Offset)}
	if n != nil && n.Submit != nil && n.Submit.Slots > 1 {
		stride := c.m.Plan.Arenas[at.Arena].Stride(at)
		p.offset = p.offset.Add(slot.Mul(ir.Const(stride)))
	}
	return p
}

// define gives the results of a node their places: those of leaves are the module's, views
// begin inside of what they show, in-place results are the next version of an operand.
func (c *checker) define(fr *frame, n *ir.Node) {
	for i, r := range n.Results {
		fr.places[r.ID] = c.resultPlace(fr, n, i)
	}
}

func (c *checker) resultPlace(fr *frame, n *ir.Node, i int) *place {
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return c.placed(c.m.Weight(a.Name).Place, nil)
	case *ir.StateAttr:
		return c.placed(c.m.State(a.Name).Place, nil)
	case *ir.SliceAttr:
		from := fr.of(n.Args[0])
		return &place{from.arena, from.chunk, from.offset.Add(skipped(n, a))}
	}
	switch {
	case n.Is(ir.View):
		return fr.of(n.Args[0])
	case n.Is(ir.Alias) && i == 0:
		return fr.of(n.Args[n.Op.Info().AliasArg])
	}
	return c.placed(n.Results[i].Place, n)
}

// skipped returns how many bytes of its operand a slice leaves out at the beginning.
func skipped(n *ir.Node, a *ir.SliceAttr) ir.Dim {
	t := n.Args[0].Type
	between := ir.Const(1) // elements from one index of the axis to the next
	if t.Strides != nil {
		between = t.Strides[a.Axis]
	} else {
		for _, d := range t.Shape[a.Axis+1:] {
			between = between.Mul(d)
		}
	}
	blocks := a.Start.Mul(between).Mul(ir.Const(int64(t.DType.BlockBytes())))
	return blocks.FloorDiv(ir.Const(int64(t.DType.BlockElems())))
}

// fields are the names that runtime.Args has for the host's arenas.
var fields = map[ir.Class]string{
	ir.ClassWeights: "Weights", ir.ClassState: "State", ir.ClassIO: "IO",
	ir.ClassActivations: "Arena", ir.ClassScratch: "Scratch",
}

// pointerTo returns the pointer that a kernel is to be given for a place: on the host into
// the arena of the class, of which each worker has its own scratch, on a device into
// numbered memory.
func (c *checker) pointerTo(p *place, on *device) (value, error) {
	a := &c.m.Plan.Arenas[p.arena]
	if on != nil {
		number := c.memory(p)
		if !c.sees(on, number) {
			return value{}, fmt.Errorf("%s does not address the space %s", on.Name, a.Space)
		}
		return value{kind: pointer, base: base{memory: number}, n: p.offset}, nil
	}
	if a.Space != target.Host || p.chunk != 0 {
		return value{}, fmt.Errorf("the host does not address chunk %d of the space %s", p.chunk, a.Space)
	}
	v := value{kind: pointer, base: base{class: fields[a.Class]}, n: p.offset}
	if a.Class == ir.ClassScratch {
		v.n = v.n.Add(part.Mul(ir.Const(c.scratchBytes())))
	}
	return v, nil
}

// scratchBytes returns the bytes from the scratch of one worker to that of the next: whole cache lines.
func (c *checker) scratchBytes() int64 {
	const line = 64
	return (c.hostBytes(ir.ClassScratch) + line - 1) / line * line
}

// hostBytes returns the bytes that the program allocates for a class of the host's memory.
func (c *checker) hostBytes(class ir.Class) int64 {
	var sum int64
	for i := range c.m.Plan.Arenas {
		if a := &c.m.Plan.Arenas[i]; a.Space == target.Host && a.Class == class {
			sum += a.Bytes()
		}
	}
	return sum
}

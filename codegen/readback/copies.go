package readback

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// axis is one axis of a box that is copied: how many indices, and the bytes from one to the
// next on both sides.
type axis struct{ n, dst, src ir.Dim }

func (x axis) String() string {
	return fmt.Sprintf("%s (%s, %s)", readable(x.n), readable(x.dst), readable(x.src))
}

// box returns the axes of what a copy moves, and the bytes of an element. The elements of a
// block format are its blocks, which are dense along the innermost axis.
func box(n *ir.Node) (axes []axis, elem int64) {
	src, dst := n.Args[0].Type, n.Result().Type
	block, bytes := ir.Const(int64(dst.DType.BlockElems())), ir.Const(int64(dst.DType.BlockBytes()))
	dense := dst.DenseStrides()
	for i, d := range dst.Shape {
		x := axis{n: d, dst: dense[i].Mul(bytes).FloorDiv(block), src: src.StrideDims()[i].Mul(bytes).FloorDiv(block)}
		if i == len(dst.Shape)-1 && !block.Is(1) {
			x = axis{d.FloorDiv(block), bytes, bytes}
		}
		axes = append(axes, x)
	}
	return axes, int64(dst.DType.BlockBytes())
}

// stridedCopy demands that CopyStrided moves the box of a copy. Its first axis has to be the divided
// one; the order of the others does not matter.
func stridedCopy(a *arguments, n *ir.Node) {
	a.ptr("dst", n.Result())
	a.ptr("src", n.Args[0])
	want, elem := box(n)
	a.dim("elem", ir.Const(elem))
	shape, dst, src := a.four("shape"), a.four("dstStride"), a.four("srcStride")
	r0, r1 := a.number("r0"), a.number("r1")
	a.once()
	if len(a.wrong) > 0 {
		return
	}
	var got []axis
	for i := range shape {
		got = append(got, axis{shape[i], dst[i], src[i]})
	}
	if a.part.Mode == ir.PartSplit {
		x := want[a.part.Axis]
		if !got[0].same(x) || !r0.Equal(a.lo) || !r1.Equal(a.hi) {
			a.differ("of the axis %v it copies [%s,%s), and the worker owns [%s,%s) of %v", got[0], readable(r0), readable(r1), readable(a.lo), readable(a.hi), x)
		}
		got, want = got[1:], slices.Delete(slices.Clone(want), a.part.Axis, a.part.Axis+1)
	} else if !r0.Is(0) || !r1.Equal(shape[0]) {
		a.differ("it copies [%s,%s) of %s", readable(r0), readable(r1), readable(shape[0]))
	}
	if g, w := sorted(got), sorted(want); !slices.Equal(g, w) {
		a.differ("it copies the axes %v, not %v", g, w)
	}
}

func (x axis) same(y axis) bool {
	return x.n.Equal(y.n) && (x.n.Is(1) || x.dst.Equal(y.dst) && x.src.Equal(y.src))
}

// sorted returns the axes with more than one index as texts, in an order of their own.
func sorted(axes []axis) []string {
	var list []string
	for _, x := range axes {
		if !x.n.Is(1) {
			list = append(list, x.String())
		}
	}
	slices.Sort(list)
	return list
}

// four returns an argument that is four numbers.
func (a *arguments) four(param string) []ir.Dim {
	return a.numbers(param, a.take(param), 4)
}

func (a *arguments) numbers(param string, v value, count int) []ir.Dim {
	ds := make([]ir.Dim, count)
	if v.kind != composite || v.text != fmt.Sprintf("[%d]int", count) || len(v.list) != count {
		a.differ("%s is %v, not %d numbers", param, v, count)
		return ds
	}
	for i, e := range v.list {
		if e.kind != number {
			a.differ("%s has the element %v", param, e)
		}
		ds[i] = e.n
	}
	return ds
}

// run is the bytes that a transfer moves: dense bytes that repeat along axes of the source. Transfers
// of the same bytes have equal runs, as axes that follow each other without a gap are joined. The
// destination is dense.
type run struct {
	bytes ir.Dim
	axes  []axis // outermost first; dst is not used
}

// runOf joins axes that follow each other without gaps in the source.
func runOf(elem ir.Dim, axes []axis) run {
	r := run{bytes: elem}
	for _, x := range slices.Backward(axes) {
		switch {
		case x.n.Is(1):
		case r.axes == nil && x.src.Equal(r.bytes):
			r.bytes = r.bytes.Mul(x.n)
		case r.axes != nil && x.src.Equal(r.axes[0].src.Mul(r.axes[0].n)):
			r.axes[0].n = r.axes[0].n.Mul(x.n)
		default:
			r.axes = slices.Insert(r.axes, 0, axis{n: x.n, src: x.src})
		}
	}
	return r
}

func (r run) equal(o run) bool {
	return r.bytes.Equal(o.bytes) && slices.EqualFunc(r.axes, o.axes, func(a, b axis) bool { return a.n.Equal(b.n) && a.src.Equal(b.src) })
}

func (r run) String() string {
	text := readable(r.bytes) + " bytes"
	for _, x := range r.axes {
		text += fmt.Sprintf(" by %s, each %s after the one before", readable(x.n), readable(x.src))
	}
	return text
}

// transfer demands that a queue moves the bytes of a copy between memories.
func (a *arguments) transfer(n *ir.Node) {
	src := a.fr.of(n.Args[0])
	a.span("dst", a.fr.of(n.Result()))
	a.span("src", src)
	if n.Op == ir.OpCopyExperts {
		w := n.Args[0].Type
		a.dim("elem", w.WithShape(append([]ir.Dim{ir.Const(1)}, w.Shape[1:]...)...).Bytes())
		a.dim("n", w.Shape[0])
		a.span("index", a.fr.of(n.Args[1]))
		a.dim("count", product(n.Args[1].Type.Shape))
		return
	}
	got := a.moved()
	want := run{bytes: n.Args[0].Type.Bytes()}
	if n.Args[0].Type.Strides != nil {
		axes, elem := box(n)
		want = runOf(ir.Const(elem), axes)
	}
	if !got.equal(want) {
		a.differ("it moves %v, not %v", got, want)
	}
}

// moved returns what Copy or CopyBox move.
func (a *arguments) moved() run {
	if a.e.what == "Copy" {
		return run{bytes: a.number("bytes")}
	}
	shape, stride := a.four("shape"), a.four("stride")
	var axes []axis
	for i := range shape {
		axes = append(axes, axis{n: shape[i], src: stride[i]})
	}
	return runOf(a.number("elem"), axes)
}

// span demands a place in numbered memory.
func (a *arguments) span(param string, p *place) {
	a.dim(param, ir.Const(int64(a.c.memory(p))))
	a.dim(param+"Offset", p.offset)
}

// transfers are the parameters of the queues' methods that copy.
var transfers = map[string]string{
	"Copy":       "queue label iteration dst dstOffset src srcOffset bytes",
	"CopyBox":    "queue label iteration dst dstOffset src srcOffset elem shape stride",
	"CopyPicked": "queue label iteration dst dstOffset src srcOffset elem n index indexOffset count",
}

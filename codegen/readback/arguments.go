package readback

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// arguments are the arguments of one call of a kernel. Its methods compare one of them with what the
// node demands.
type arguments struct {
	c      *checker
	p      *program
	fr     *frame
	n      *ir.Node
	e      *event
	on     *device
	kernel *kernel
	part   ir.Partition
	lo, hi ir.Dim // the borders of what the worker owns

	byName map[string]value
	wrong  []string
}

func (a *arguments) differ(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// bind gives the arguments the names of the kernel's parameters.
func (a *arguments) bind() bool {
	names := strings.Fields(a.kernel.params)
	if len(names) != len(a.e.args) {
		a.differ("%d arguments, not %d", len(a.e.args), len(names))
		return false
	}
	a.byName = make(map[string]value, len(names))
	for i, id := range names {
		if _, typ, isShape := strings.Cut(id, ":"); isShape {
			a.shape(typ, a.e.args[i])
		} else {
			a.byName[id] = a.e.args[i]
		}
	}
	return len(a.wrong) == 0
}

// shape gives the fields of a shape their names. It is a variable of the package, or written in the call. Fields that
// it does not have are 0.
func (a *arguments) shape(typ string, v value) {
	if v.kind == name && !v.addr {
		x := &runner{c: a.c, p: a.p}
		v = x.variable(v.text)
	}
	fields := strings.Fields(shapes[typ])
	if v.kind != composite || v.text != "cpu."+typ || v.addr {
		a.differ("the shape is %v, not a cpu.%s", v, typ)
		return
	}
	for id := range v.fields {
		if !slices.Contains(fields, id) {
			a.differ("the shape has a field %s", id)
		}
	}
	for _, id := range fields {
		f, has := v.fields[id]
		if !has {
			f = value{kind: number, n: ir.Const(0)}
		}
		a.byName[id] = f
	}
}

// take returns an argument for a comparison. Each argument is taken once.
func (a *arguments) take(param string) value {
	v, ok := a.byName[param]
	if !ok {
		panic("readback: internal error: no parameter " + param)
	}
	delete(a.byName, param)
	return v
}

// ptr demands the address of a value; nil for an operand that is absent.
func (a *arguments) ptr(param string, v *ir.Value) {
	got, want := a.take(param), value{kind: null}
	if v != nil {
		var err error
		if want, err = a.c.pointerTo(a.fr.of(v), a.on); err != nil {
			a.differ("%s of %v: %v", param, v, err)
			return
		}
	}
	if got.kind != want.kind || got.kind == pointer && (got.base != want.base || !got.n.Equal(want.n)) {
		a.differ("%s is %v, and %v is at %v", param, got, v, want)
	}
}

// dim demands a size.
func (a *arguments) dim(param string, want ir.Dim) {
	if got := a.take(param); got.kind != number || !got.n.Equal(want) {
		a.differ("%s is %v, not %s", param, got, readable(want))
	}
}

// float demands a constant, bit by bit.
func (a *arguments) float(param string, want float32) {
	got := a.take(param)
	f, ok := float32Of(got)
	if !ok || math.Float32bits(f) != math.Float32bits(want) {
		a.differ("%s is %v, not %v", param, got, want)
	}
}

// boolean demands true or false.
func (a *arguments) boolean(param, want string) {
	if got := a.take(param); got.kind != boolean || got.text != want {
		a.differ("%s is %v, not %s", param, got, want)
	}
}

// number returns an argument that is a number.
func (a *arguments) number(param string) ir.Dim {
	v := a.take(param)
	if v.kind != number {
		a.differ("%s is %v, no number", param, v)
	}
	return v.n
}

// area demands that the kernel computes exactly what the worker owns. Four parameters are the
// borders of rows and of columns, two are the borders of rows.
func (a *arguments) area(params string, cols, unit ir.Dim) {
	b := matrix{cols: cols, unit: unit, c1: cols, times: a.e.times}
	switch p := strings.Fields(params); len(p) {
	case 4:
		b.c0, b.c1 = a.number(p[2]), a.number(p[3])
		fallthrough
	default:
		b.r0, b.r1 = a.number(p[0]), a.number(p[1])
	}
	a.covers(b)
}

func (a *arguments) covers(b matrix) {
	got, err := b.strips()
	want := owned(a.n.Result().Type.Shape, a.part, a.lo, a.hi)
	if err != nil {
		a.differ("%v", err)
	} else if !got.equal(want) {
		a.differ("it computes %v, not %v", got, want)
	}
}

// indices demands a range of indices of an axis: the indices that the worker owns where the axis is
// divided, and otherwise all n of them.
func (a *arguments) indices(from, to string, n ir.Dim) {
	lo, hi := ir.Const(0), n
	if a.part.Mode == ir.PartSplit {
		lo, hi = a.lo, a.hi
	}
	a.dim(from, lo)
	a.dim(to, hi)
	a.once()
}

// once demands that the call is made once.
func (a *arguments) once() {
	if a.e.times != nil {
		a.differ("it is called %s times", readable(*a.e.times))
	}
}

// rows demands rows of the innermost axis.
func (a *arguments) rows(n *ir.Node) {
	a.area("r0 r1", ir.Const(1), n.Result().Type.Inner())
}

// columns demands rows and columns of the innermost axis, whose length a parameter is.
func (a *arguments) columns(param string, n *ir.Node) {
	cols := n.Result().Type.Inner()
	a.dim(param, cols)
	a.area("r0 r1 c0 c1", cols, ir.Const(1))
}

// attention demands the arguments that all kernels of attention have, and returns the
// numbers of heads.
func (a *arguments) attention(n *ir.Node) (heads, kvHeads ir.Dim) {
	q, k, v := n.Args[0].Type.Shape, n.Args[1].Type.Shape, n.Args[2].Type.Shape
	for i, p := range []string{"q", "k", "v", "slot", "pos"} {
		a.ptr(p, n.Args[i])
	}
	a.ptr("dst", n.Result())
	a.dim("Heads", q[1])
	a.dim("KVHeads", k[1])
	a.dim("Context", k[2])
	a.dim("KeyLen", k[3])
	a.dim("ValueLen", v[3])
	s := ir.ScoringOf(n)
	a.float("Scale", s.Scale)
	a.float("Cap", s.Cap)
	a.dim("Window", ir.Const(s.Window))
	a.float("Alibi", s.Alibi)
	first, all := s.Head, s.Heads
	if s.Alibi == 0 || q[1].Is(all) {
		first, all = 0, 0 // those of the queries
	}
	a.dim("AlibiHead", ir.Const(first))
	a.dim("AlibiHeads", ir.Const(all))
	a.dim("Around", ir.Const(s.Around))
	return q[1], k[1]
}

package readback

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
)

// Commands of backends from other modules. Their kernels are methods:
//
//	func decodeSplit1Kernels(e *npurt.Env, l int) {
//		e.Add(runtime.Span{Memory: 2, Offset: 0x40}, runtime.Span{Memory: 2, Offset: 0}, …, 64) // %v3 blk.0
//	}
//
// The backend states which call computes a node. What is compared here is that call with the one that was written: the
// method, the addresses by the plan, sizes and numbers.

// foreign returns the backends of other modules whose devices the program has.
func (c *checker) foreign() []*backend.Backend {
	return slices.DeleteFunc(backend.All(), func(b *backend.Backend) bool {
		return !slices.ContainsFunc(c.devices, func(d device) bool { return d.Kind == b.Name() })
	})
}

// isForeign reports whether a package is the one that the program links of a backend of another module.
func (c *checker) isForeign(pkg string) bool {
	return slices.ContainsFunc(c.foreign(), func(b *backend.Backend) bool { return b.Package == pkg })
}

// commandsOf returns the package whose commands a type is of, such as npurt for npurt.Kernel; "" if it is no such type.
func (c *checker) commandsOf(typ string) string {
	for _, b := range c.foreign() {
		if typ == b.PackageName()+".Kernel" {
			return b.PackageName()
		}
	}
	return ""
}

// foreign compares the call of a kernel with the node that is due.
func (w *walker) foreign(a *arguments, queue int) error {
	e := a.e
	a.part = ir.Partition{}
	a.on = &w.c.devices[w.c.queues[queue].device]
	b := backend.Get(a.on.Kind)
	want, err := b.Call(a.n)
	if err != nil {
		return err
	}
	if e.kind != kernelEvent || e.what != want.Method || e.on == nil || e.on.backend != b.PackageName() {
		return fmt.Errorf("%s, where %s of %s is due", e, want.Method, b.Name())
	}
	w.command(a, queue)
	if e.node.kind != text || e.node.text != nameOf(a.n) {
		a.differ("the command names it %v, not %q", e.node, nameOf(a.n))
	}
	if len(e.args) != len(want.Args) {
		a.differ("%d arguments, not %d", len(e.args), len(want.Args))
		return a.result()
	}
	for i, arg := range want.Args {
		a.foreignArg(fmt.Sprintf("argument %d", i), e.args[i], arg)
	}
	return a.result()
}

// foreignArg demands an argument.
func (a *arguments) foreignArg(what string, got value, want backend.Arg) {
	switch want.Kind {
	case backend.AddressArg:
		a.spanOf(what, got, want.Value)
	case backend.SizeArg:
		if got.kind != number || !got.n.Equal(want.Dim) {
			a.differ("%s is %v, not %s", what, got, readable(want.Dim))
		}
	case backend.FloatArg:
		if f, ok := float32Of(got); !ok || math.Float32bits(f) != math.Float32bits(want.Float) {
			a.differ("%s is %v, not %v", what, got, want.Float)
		}
	case backend.BoolArg:
		if got.kind != boolean || got.text != strconv.FormatBool(want.Bool) {
			a.differ("%s is %v, not %v", what, got, want.Bool)
		}
	}
}

// spanOf demands the memory and the offset of a value; memory -1 for one that is absent.
func (a *arguments) spanOf(what string, got value, v *ir.Value) {
	memory, offset := ir.Const(-1), ir.Const(0)
	if v != nil {
		p, err := a.c.pointerTo(a.fr.of(v), a.on)
		if err != nil {
			a.differ("%s, %v: %v", what, v, err)
			return
		}
		memory, offset = ir.Const(int64(p.base.memory)), p.n
	}
	m, o := got.fields["Memory"], got.fields["Offset"]
	if got.kind != composite || got.text != "runtime.Span" || got.addr || len(got.fields) != 2 || m.kind != number || o.kind != number {
		a.differ("%s is %v, not a runtime.Span", what, got)
		return
	}
	if !m.n.Equal(memory) || !o.n.Equal(offset) {
		a.differ("%s is memory %s, offset %s, not memory %s, offset %s, where %v is",
			what, readable(m.n), readable(o.n), readable(memory), readable(offset), v)
	}
}

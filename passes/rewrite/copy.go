package rewrite

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// CopyNode returns a new node that copies v into dense bytes of its own. The caller puts it into the order. It runs on
// the backend that made v or, for a parameter or leaf, on the last target.
func CopyNode(c *pass.Context, f *ir.Func, v *ir.Value) *ir.Node {
	return CopyNodeOn(c, f, v, CopiesOn(c, v))
}

// CopyNodeOn is CopyNode on another backend, which has to address the memory of v.
func CopyNodeOn(c *pass.Context, f *ir.Func, v *ir.Value, backend string) *ir.Node {
	n := f.NewNode(ir.OpCopy, nil, []*ir.Value{v}, v.Name()+".copy", v.Type.WithShape(v.Type.Shape...))
	n.Backend, n.Split = backend, 0
	if o := v.Root(); o.Def != nil && o.Def.Backend != "" {
		n.Split, n.Pos = o.Def.Split, o.Def.Pos
	}
	n.Result().Type.Space = c.Targets.Get(n.Backend).Home()
	SetQueue(c, n)
	return n
}

// CopiesOn returns the backend of the node that CopyNode makes for v. A result of a repeat is made by a node of the body,
// which may be on another backend than the repeat.
func CopiesOn(c *pass.Context, v *ir.Value) string {
	o := v.Root()
	for o.Def != nil && o.Def.Body != nil {
		o = o.Def.Body.Results[o.Index].Root()
	}
	if o.Def != nil && o.Def.Backend != "" {
		return o.Def.Backend
	}
	return c.Targets.Last().Name
}

package sched

import (
	"context"
	"errors"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// checkTraced assigns the addresses of the traces to all values, and returns the violations that passes/check finds,
// by case.
func (g *Graph) checkTraced(ctx context.Context) ([][]*check.Violation, error) {
	g.Module.Plan = &ir.Plan{}
	g.placeLeaves()
	for i := range g.Cases {
		g.read(i).place(g.Module.Plan)
	}
	err := check.Check(ctx, g.Module, g.Targets)
	var wrong *check.Error
	if err != nil && !errors.As(err, &wrong) {
		return nil, err
	}
	found := make([][]*check.Violation, len(g.Cases))
	if wrong == nil {
		return found, nil
	}
	for _, v := range wrong.Violations {
		i := slices.IndexFunc(g.Module.Funcs, func(f *ir.Func) bool { return f.Name == v.Func })
		if i < 0 {
			return nil, wrong
		}
		found[i] = append(found[i], v)
	}
	return found, nil
}

// Found returns the violations that passes/check found in case i at the addresses of its trace.
func (g *Graph) Found(i int) []*check.Violation { return g.found[i] }

// pinned reports whether the user chose the backend of the node of case i that messages call name.
func (g *Graph) pinned(i int, name string) bool {
	return slices.ContainsFunc(g.Module.Funcs[i].Nodes, func(n *ir.Node) bool {
		return n.String() == name && n.HasCause("usr")
	})
}

// placeLeaves places weights and states one after another in arenas of their spaces. ggml does not decide their
// addresses.
func (g *Graph) placeLeaves() {
	for _, w := range g.Module.Weights {
		w.Place = g.append(ir.ClassWeights, w.Type)
	}
	for _, s := range g.Module.States {
		s.Place = g.append(ir.ClassState, s.Type)
	}
}

// append reserves bytes for a type at the end of the arena of a class in its space.
func (g *Graph) append(class ir.Class, t ir.Type) *ir.Place {
	plan := g.Module.Plan
	i := slices.IndexFunc(plan.Arenas, func(a ir.Arena) bool { return a.Class == class && a.Space == t.Space })
	if i < 0 {
		i = len(plan.Arenas)
		plan.Arenas = append(plan.Arenas, ir.Arena{Space: t.Space, Class: class, Align: g.Targets.Space(t.Space).Align, Chunks: []int64{0}})
	}
	a := &plan.Arenas[i]
	p := &ir.Place{Arena: i, Offset: a.Chunks[0], Bytes: t.MaxBytes()}
	a.Chunks[0] += a.Stride(p)
	return p
}

// place assigns the addresses of ggml's allocator, in an arena for each of the case's buffers, and the space of the
// buffer: the allocator may let a result take bytes in another space than that of its backend.
func (r *reading) place(plan *ir.Plan) {
	arenas := len(plan.Arenas)
	for i, b := range r.c.Expect.Buffers {
		s := r.c.space(r.c.bufferSpace(i))
		plan.Arenas = append(plan.Arenas, ir.Arena{Space: s.Name, Class: ir.ClassActivations, Align: s.Alignment, Chunks: []int64{b.Bytes}})
	}
	put := func(v *ir.Value, bytes int64, at [2]int64) {
		v.Place = &ir.Place{Arena: arenas + int(at[0]), Offset: at[1], Bytes: bytes}
		v.Type.Space = plan.Arenas[v.Place.Arena].Space
	}
	for t, at := range r.c.Expect.At {
		if at != nil {
			put(r.values[t], r.c.Tensors[t].Bytes, *at)
		}
	}
	for _, nodes := range r.copies {
		for _, n := range nodes {
			if of, at, ok := r.firstSlot(n); ok {
				put(n.Result(), r.c.Tensors[of].Bytes, at)
			}
		}
	}
	r.placeInputs(plan)
	for _, n := range r.f.Nodes {
		if !n.Is(ir.Leaf) && !n.Is(ir.View) {
			n.Part.Mode = ir.PartOne
		}
		for _, v := range n.Results {
			if s := v.Source(); s != nil {
				v.Type.Space = s.Type.Space
			}
		}
	}
}

// firstSlot returns the place of the first slot of a copy. ggml allocates the slots one after another, before
// everything else, so that they follow each other as the instances of a value do.
func (r *reading) firstSlot(n *ir.Node) (of int, at [2]int64, ok bool) {
	want := r.copyOf(n)
	for _, cp := range r.c.Expect.Copies {
		if cp.Of == want.Of && cp.Backend == want.Backend && cp.Slot == 0 {
			return cp.Of, cp.At, true
		}
	}
	return 0, at, false
}

// placeInputs sets the place of the first copy of graph inputs with several copies. The tensor itself is the current
// copy.
func (r *reading) placeInputs(plan *ir.Plan) {
	if r.c.Copies == 1 {
		return
	}
	for _, t := range r.graphInputs() {
		if v := r.values[t]; v.Place != nil {
			v.Place.Offset -= int64(r.c.CurrentCopy) * plan.Arenas[v.Place.Arena].Stride(v.Place)
		}
	}
}

// space returns the space of that name.
func (c *Case) space(name string) Space {
	if i := slices.IndexFunc(c.Spaces, func(s Space) bool { return s.Name == name }); i >= 0 {
		return c.Spaces[i]
	}
	return Space{Name: name, Alignment: 1}
}

// bufferSpace returns the space of a compute buffer.
func (c *Case) bufferSpace(i int) string {
	b := &c.Expect.Buffers[i]
	for _, d := range c.Backends {
		if b.Space == "" && slices.Contains(b.Backends, d.Name) {
			return d.Space
		}
	}
	return b.Space
}

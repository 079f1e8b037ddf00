package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// arenas claims: every arena is aligned for all backends that address its space, and no
// chunk is larger than the largest allocation.
func (c *checker) arenas() {
	for i := range c.m.Plan.Arenas {
		a := &c.m.Plan.Arenas[i]
		s, known := c.spaces[a.Space]
		bad := func(format string, args ...any) {
			c.report("", &Violation{Rule: RuleAddress, Range: a.Space + " " + a.Class.String(), What: fmt.Sprintf(format, args...)})
		}
		if !known {
			bad("no target addresses the space")
		}
		if a.Align < 1 || s.Align > 0 && a.Align%s.Align != 0 {
			bad("the alignment %d is no multiple of %d", a.Align, s.Align)
		}
		for _, n := range a.Chunks {
			if n < 0 || s.MaxAlloc > 0 && n > s.MaxAlloc {
				bad("a chunk of %d bytes, the largest allocation is %d", n, s.MaxAlloc)
			}
		}
	}
}

// resident is something whose bytes outlive calls.
type resident struct {
	kind, name string // of a constant, its function and node
	place      ir.Place
}

func (r resident) String() string { return r.kind + " " + r.name }

// leaves claims: weights, constants and states lie in arenas of their class, and no two of
// them share bytes.
func (c *checker) leaves() {
	all := make([]resident, 0, len(c.m.Weights)+len(c.m.States))
	add := func(r resident, t ir.Type, p *ir.Place, class ir.Class) {
		if at, ok := c.inside("", r.String, t, t.MaxBytes(), p, class); ok && at.Bytes > 0 {
			r.place = at
			all = append(all, r)
		}
	}
	for _, w := range c.m.Weights {
		add(resident{kind: "weight", name: w.Name}, w.Type, w.Place, ir.ClassWeights)
	}
	for _, s := range c.m.States {
		add(resident{kind: "state", name: s.Name}, s.Type, s.Place, ir.ClassState)
	}
	for _, f := range c.m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpConstant {
				add(resident{kind: f.Name, name: n.String()}, n.Result().Type, n.Result().Place, ir.ClassWeights)
			}
		}
	}
	slices.SortFunc(all, func(a, b resident) int { return comparePlaces(a.place, b.place) })
	for i := 1; i < len(all); i++ {
		// In order of offset, a later one that meets an earlier one meets its neighbour or
		// the neighbour meets an earlier one: some violation is found.
		if a, b := &all[i-1], &all[i]; overlap(a.place, b.place) {
			c.report("", &Violation{Rule: RuleOverlap, Nodes: []string{a.String(), b.String()}, Range: c.inRange(b.place), What: "share bytes for ever"})
		}
	}
}

func comparePlaces(a, b ir.Place) int {
	switch {
	case a.Arena != b.Arena:
		return a.Arena - b.Arena
	case a.Chunk != b.Chunk:
		return a.Chunk - b.Chunk
	case a.Offset < b.Offset:
		return -1
	}
	return int(min(a.Offset-b.Offset, 1))
}

// overlap reports whether two ranges share bytes.
func overlap(a, b ir.Place) bool {
	return a.Arena == b.Arena && a.Chunk == b.Chunk && a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes
}

// sameStart reports whether two ranges begin at one address.
func sameStart(a, b ir.Place) bool {
	return a.Arena == b.Arena && a.Chunk == b.Chunk && a.Offset == b.Offset
}

// paramAddresses claims: every parameter of f that owns bytes has an address inside a chunk of an
// arena of its space and of a class that fits what it is; what names the bytes of others has none,
// or theirs.
func (c *checker) paramAddresses(f *ir.Func) {
	for _, p := range f.Params {
		if f.Owner == nil {
			c.inside(f.Name, p.String, p.Type, p.MaxBytes(), p.Place, ir.ClassIO)
		} else if p.Place != nil {
			c.inside(f.Name, p.String, p.Type, p.MaxBytes(), p.Place)
		}
	}
}

// nodeAddresses claims the same of the results of a node.
func (c *checker) nodeAddresses(n *ir.Node) {
	for _, v := range n.Results {
		c.valueAddress(n, v)
	}
}

// resultAddresses claims: the results of an entry point are where the caller looks for them.
func (c *checker) resultAddresses(f *ir.Func) {
	if f.Owner == nil {
		for i, r := range f.Results {
			c.resultAddress(f, i, r)
		}
	}
}

func (c *checker) valueAddress(n *ir.Node, v *ir.Value) {
	switch from := c.behind(v); {
	case n.Op == ir.OpConstant: // with the leaves
	case from == nil && v.Source() == nil:
		c.inside(n.Func.Name, v.String, v.Type, v.MaxBytes(), v.Place, classesFor(n)...)
	case from != nil && v.Place != nil && !sameStart(*from, *v.Place):
		c.fail(RuleAddress, n, "%v names other bytes than those of what it stands for", v)
	}
	if s := v.Source(); s != nil && spaceName(s.Type) != spaceName(v.Type) {
		c.fail(RuleAddress, n, "%v lies in space %s, the bytes that it names in %s", v, spaceName(v.Type), spaceName(s.Type))
	}
}

// behind returns the place of the weight or state that v is, and nil for others.
func (c *checker) behind(v *ir.Value) *ir.Place {
	switch a := v.Def.Attr.(type) {
	case *ir.WeightAttr:
		w := c.m.WeightIndex(a.Name, c.likely)
		c.likely = w + 1
		return c.m.Weights[w].Place
	case *ir.StateAttr:
		return c.m.State(a.Name).Place
	}
	return nil
}

// Classes where results of nodes may lie: of those that every worker computes for itself, and
// of others.
var (
	ownClasses  = []ir.Class{ir.ClassScratch}
	madeClasses = []ir.Class{ir.ClassActivations, ir.ClassIO}
)

// classesFor returns the classes where a node's results may lie.
func classesFor(n *ir.Node) []ir.Class {
	if n.Part.Mode == ir.PartEach {
		return ownClasses
	}
	return madeClasses
}

// resultAddress claims that of result i. The caller of a foreign graph reads it where it lies.
func (c *checker) resultAddress(f *ir.Func, i int, r *ir.Value) {
	root := r.Root()
	if r.Def != nil && r.Def.Op == ir.OpForeign {
		return
	}
	ok := root.Place != nil && c.class(*root.Place) == ir.ClassIO && startsAtRoot(r) && r.Type.Dense() &&
		(root.Def == nil || root.Def.Op == ir.OpRepeat || works(root.Def))
	if !ok {
		c.report("", &Violation{Rule: RuleAddress, Func: f.Name, Nodes: []string{r.String()},
			What: fmt.Sprintf("result %d is not dense bytes among inputs and outputs", i)})
	}
}

// startsAtRoot reports whether v begins where the value begins that owns its bytes.
func startsAtRoot(v *ir.Value) bool { return viewOffset(v).Is(0) }

// inside claims: p is an address in a chunk, aligned, for a value of type t that needs so
// many bytes, in an arena of one of the classes (any if none is given).
func (c *checker) inside(fn string, name func() string, t ir.Type, need int64, p *ir.Place, classes ...ir.Class) (ir.Place, bool) {
	rule := RuleAddress
	bad := func(format string, args ...any) (ir.Place, bool) {
		c.report("", &Violation{Rule: rule, Func: fn, Nodes: []string{name()}, What: fmt.Sprintf(format, args...)})
		return ir.Place{}, false
	}
	if p == nil {
		return bad("has no address")
	}
	arenas := c.m.Plan.Arenas
	if p.Arena < 0 || p.Arena >= len(arenas) || p.Chunk < 0 || p.Chunk >= len(arenas[p.Arena].Chunks) {
		return bad("lies in chunk %d of arena %d, which does not exist", p.Chunk, p.Arena)
	}
	a := &arenas[p.Arena]
	switch {
	case len(classes) > 0 && !slices.Contains(classes, a.Class):
		return bad("lies in the arena %v, and belongs to %v", a.Class, classes)
	case a.Space != spaceName(t):
		return bad("lies in space %s, its type says %s", a.Space, spaceName(t))
	case p.Bytes < need:
		return bad("has %d bytes, and needs %d", p.Bytes, need)
	case p.Offset < 0 || p.Offset > a.Chunks[p.Chunk]-p.Bytes:
		return bad("ends at %#x, its chunk at %#x", p.Offset+p.Bytes, a.Chunks[p.Chunk])
	case p.Offset%max(a.Align, 1) != 0:
		rule = RuleAlign
		return bad("lies at %#x, which is no multiple of %d", p.Offset, a.Align)
	}
	return *p, true
}

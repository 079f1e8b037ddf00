package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: every address is inside a chunk of an arena that exists, in the space of the value's type, in an arena of a
// class for such values, and aligned.
//
// In
//
//	arena host activations align=64 chunks=[4096]
//	%a = silu %x : f32[2,64] @host part=replicated at 0:0xf00+512
//
// both parts of the address are wrong: 512 bytes from 0xf00 on end outside of the chunk, and a replicated value
// (part=replicated) belongs into scratch, which each worker has for itself.

// arenas claims: every arena is aligned for all backends that address its space, and no chunk is larger than the
// largest allocation.
func (c *checker) arenas() {
	for i := range c.m.Plan.Arenas {
		a := &c.m.Plan.Arenas[i]
		s, known := c.spaces[a.Space]
		bad := func(format string, args ...any) {
			arena := a.Space + " " + a.Class.String()
			c.report("", &Violation{Rule: RuleAddress, Range: arena, What: fmt.Sprintf(format, args...)})
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

// paramAddresses claims: the parameters of an entry point are inputs of the caller; those of a body that have an
// address have a valid one. (Whether it is that of the value which is passed, expand.go checks.)
func (c *checker) paramAddresses(f *ir.Func) {
	for _, p := range f.Params {
		if f.Owner == nil {
			c.inside(f.Name, p, p.Type, p.MaxBytes(), p.Place, ir.ClassIO)
		} else if p.Place != nil {
			c.inside(f.Name, p, p.Type, p.MaxBytes(), p.Place)
		}
	}
}

// nodeAddresses claims: a result that owns bytes has an address for them. A weight or state that records an address
// records that of its leaf. A view is in the space of the bytes that it names.
func (c *checker) nodeAddresses(n *ir.Node) {
	for _, v := range n.Results {
		leaf, source := c.leafPlace(n), v.Source()
		switch {
		case n.Op == ir.OpConstant: // see leaves
		case leaf == nil && source == nil:
			c.inside(n.Func.Name, v, v.Type, v.MaxBytes(), v.Place, classesFor(n)...)
		case leaf != nil && v.Place != nil && !sameStart(*leaf, *v.Place):
			c.fail(RuleAddress, n, "%v has another address than the weight or state that it names", v)
		}
		if source != nil && spaceName(source.Type) != spaceName(v.Type) {
			c.fail(RuleAddress, n, "%v is in space %s, the bytes that it names are in %s",
				v, spaceName(v.Type), spaceName(source.Type))
		}
	}
}

// leafPlace returns the address of the weight or state that a node names; nil for other nodes.
func (c *checker) leafPlace(n *ir.Node) *ir.Place {
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return c.m.Weight(a.Name).Place
	case *ir.StateAttr:
		return c.m.State(a.Name).Place
	}
	return nil
}

// classesFor returns the classes of arenas for the results of a node. Replicated ones are in scratch.
func classesFor(n *ir.Node) []ir.Class {
	if n.Part.Mode == ir.PartReplicated {
		return []ir.Class{ir.ClassScratch}
	}
	return []ir.Class{ir.ClassActivations, ir.ClassIO}
}

// resultAddresses claims: the results of an entry point are where the caller looks for them, in dense bytes among
// inputs and outputs. The caller of a foreign graph reads a leaf where it is.
func (c *checker) resultAddresses(f *ir.Func) {
	if f.Owner != nil {
		return
	}
	for i, r := range f.Results {
		if r.Def != nil && r.Def.Op == ir.OpForeign {
			continue
		}
		root := r.Root()
		made := root.Def == nil || root.Def.Op == ir.OpRepeat || works(root.Def)
		if root.Place == nil || c.class(*root.Place) != ir.ClassIO || !startsAtRoot(r) || !r.Type.Dense() || !made {
			c.report("", &Violation{Rule: RuleAddress, Func: f.Name, Nodes: []string{r.String()},
				What: fmt.Sprintf("result %d is not dense bytes among inputs and outputs", i)})
		}
	}
}

// startsAtRoot reports whether v begins where the value begins that owns its bytes.
func startsAtRoot(v *ir.Value) bool { return viewOffset(v).Is(0) }

// inside claims: p is a valid address for a value of type t that needs so many bytes, in an arena of one of the classes
// (of any class if none is given). It reports whether that holds. The name is a text or a value.
func (c *checker) inside(fn string, name any, t ir.Type, need int64, p *ir.Place, classes ...ir.Class) bool {
	bad := func(rule, format string, args ...any) bool {
		c.report("", &Violation{Rule: rule, Func: fn, Nodes: []string{fmt.Sprint(name)}, What: fmt.Sprintf(format, args...)})
		return false
	}
	if p == nil {
		return bad(RuleAddress, "has no address")
	}
	arenas := c.m.Plan.Arenas
	if p.Arena < 0 || p.Arena >= len(arenas) || p.Chunk < 0 || p.Chunk >= len(arenas[p.Arena].Chunks) {
		return bad(RuleAddress, "is in chunk %d of arena %d, which does not exist", p.Chunk, p.Arena)
	}
	a := &arenas[p.Arena]
	switch {
	case len(classes) > 0 && !slices.Contains(classes, a.Class):
		return bad(RuleAddress, "is in the arena %v, and belongs to %v", a.Class, classes)
	case a.Space != spaceName(t):
		return bad(RuleAddress, "is in space %s, its type is in %s", a.Space, spaceName(t))
	case p.Bytes < need:
		return bad(RuleAddress, "has %d bytes, and needs %d", p.Bytes, need)
	case p.Offset < 0 || p.Offset > a.Chunks[p.Chunk]-p.Bytes:
		return bad(RuleAddress, "ends at %#x, its chunk at %#x", p.Offset+p.Bytes, a.Chunks[p.Chunk])
	case p.Offset%max(a.Align, 1) != 0:
		return bad(RuleAlign, "is at %#x, which is no multiple of %d", p.Offset, a.Align)
	}
	return true
}

// comparePlaces orders ranges by arena, chunk and offset.
func comparePlaces(a, b ir.Place) int {
	return cmp.Or(cmp.Compare(a.Arena, b.Arena), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Offset, b.Offset))
}

// overlap reports whether two ranges share bytes.
func overlap(a, b ir.Place) bool {
	return a.Arena == b.Arena && a.Chunk == b.Chunk && a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes
}

// sameStart reports whether two ranges begin at one address.
func sameStart(a, b ir.Place) bool {
	return a.Arena == b.Arena && a.Chunk == b.Chunk && a.Offset == b.Offset
}

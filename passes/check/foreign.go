package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: in a foreign graph, all instances of a value are inside of its chunk, and nothing else of the entry point uses
// their bytes. While a call uses one of them, other calls use the others, at times that the plan of a foreign graph
// does not record. (For other graphs race.go claims exactly what is needed.)
//
// With
//
//	%in = foreign  slots=2 at 0x000+256     0x000 to 0x1ff
//	%a  = foreign  slots=1 at 0x100+256
//
// the copy of the next input into the second instance of %in destroys %a.

// span is the bytes of all instances of a value.
type span struct {
	val     *ir.Value
	place   ir.Place
	several bool // instances
}

// foreignInstances checks the claim above.
func (c *checker) foreignInstances(t *trace) {
	if t.maxSlots() == 1 || !slices.ContainsFunc(t.f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpForeign }) {
		return
	}
	spans := c.spans(t)
	slices.SortFunc(spans, func(a, b span) int { return comparePlaces(a.place, b.place) })
	var any, several *span // of the spans before, and of those with several instances, the one that ends last
	for i := range spans {
		s := &spans[i]
		before := several
		if s.several {
			before = any
		}
		if before != nil && before.val != s.val && overlap(before.place, s.place) {
			c.report(fmt.Sprintf("instances %p %p", before.val, s.val), &Violation{
				Rule: RuleOverlap, Func: t.f.Name, Nodes: []string{before.val.String(), s.val.String()}, Range: c.inRange(s.place),
				What: "another step uses an instance there",
			})
		}
		any = later(any, s)
		if s.several {
			several = later(several, s)
		}
	}
}

// later returns which of two spans ends later in the chunk of b; a, which begins earlier, may be nil.
func later(a, b *span) *span {
	switch {
	case a == nil || a.place.Arena != b.place.Arena || a.place.Chunk != b.place.Chunk:
		return b
	case a.place.Offset+a.place.Bytes < b.place.Offset+b.place.Bytes:
		return b
	}
	return a
}

// spans returns the spans of all objects but weights and states, each value once at each place.
func (c *checker) spans(t *trace) []span {
	type key struct {
		val *ir.Value
		at  ir.Place
	}
	seen := make(map[key]bool)
	var spans []span
	for _, o := range t.objects {
		k := key{o.val.Root(), o.place}
		if o.kind == weight || o.kind == state || seen[k] {
			continue
		}
		seen[k] = true
		in := o.instances()
		s := span{k.val, o.place, in.slots > 1}
		s.place.Bytes += (in.slots - 1) * in.stride
		chunk := c.m.Plan.Arenas[o.place.Arena].Chunks[o.place.Chunk]
		if s.several && s.place.Offset+s.place.Bytes > chunk {
			c.report("", &Violation{
				Rule: RuleAddress, Func: t.f.Name, Nodes: []string{o.val.String()}, Range: c.inRange(s.place),
				What: fmt.Sprintf("%d instances do not fit into the chunk, which ends at %#x", in.slots, chunk),
			})
		}
		spans = append(spans, s)
	}
	return spans
}

package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// span is the bytes of all instances of a value.
type span struct {
	val   *ir.Value
	place ir.Place
	many  bool // there are several
}

// foreignInstances claims of a foreign graph: where a value has several instances, all of
// them lie in its chunk, and nothing else of the entry point lies there. While this step
// uses one of them, other steps use the others, at times that nobody says. (Of other graphs
// more is known: race has what is claimed.)
func (c *checker) foreignInstances(t *trace) {
	if !t.severalSlots() || !slices.ContainsFunc(t.f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpForeign }) {
		return
	}
	spans := c.spans(t)
	slices.SortFunc(spans, func(a, b span) int { return comparePlaces(a.place, b.place) })
	var any, many *span // of those before, the one that ends last, and the last of several instances
	for i := range spans {
		s := &spans[i]
		before := many
		if s.many {
			before = any
		}
		if before != nil && before.val != s.val && overlap(before.place, s.place) {
			c.report(fmt.Sprintf("instances %p %p", before.val, s.val), &Violation{
				Rule: RuleOverlap, Func: t.f.Name, Nodes: []string{before.val.String(), s.val.String()}, Range: c.inRange(s.place),
				What: "another step uses an instance there",
			})
		}
		any = later(any, s)
		if s.many {
			many = later(many, s)
		}
	}
}

// later returns which of two spans ends later in the last chunk; a may be nil.
func later(a, b *span) *span {
	if a == nil || a.place.Arena != b.place.Arena || a.place.Chunk != b.place.Chunk || a.place.Offset+a.place.Bytes < b.place.Offset+b.place.Bytes {
		return b
	}
	return a
}

// spans returns those of all objects, each value once at each place.
func (c *checker) spans(t *trace) []span {
	type key struct {
		val *ir.Value
		at  ir.Place
	}
	seen := make(map[key]bool, len(t.objects))
	var spans []span
	for i := range t.objects {
		o := &t.objects[i]
		if t.spots[i].kind == weight || t.spots[i].kind == state || seen[key{o.val.Root(), o.place}] {
			continue
		}
		seen[key{o.val.Root(), o.place}] = true
		s := span{o.val.Root(), o.place, false}
		if in := o.instances(); in.slots > 1 {
			s.many = true
			s.place.Bytes += (in.slots - 1) * in.stride
			if end, most := s.place.Offset+s.place.Bytes, c.m.Plan.Arenas[o.place.Arena].Chunks[o.place.Chunk]; end > most {
				c.report("", &Violation{Rule: RuleAddress, Func: t.f.Name, Nodes: []string{o.val.String()}, Range: c.inRange(s.place),
					What: fmt.Sprintf("%d instances do not fit into the chunk, which ends at %#x", in.slots, most)})
			}
		}
		spans = append(spans, s)
	}
	return spans
}

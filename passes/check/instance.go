package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// This file determines the bytes that a value has in each of several calls, and how many calls have to be laid out.
//
// With several calls under way at once (ir.Plan.Pipeline), a value can have several instances: call s uses instance s
// mod n of n. In
//
//	plan pipeline=2
//	%up = copy %x  slots=2 at 0x000+512     0x000 in calls 0, 2, 4, …; 0x200 in calls 1, 3, 5, …
//	%a  = silu %up         at 0x400+512     0x400 in all calls
//
// call 1 copies its input while call 0 still computes %a.
//
// Claim: a parameter of a body has as many instances as the object that it names, at the same distance. If %up were
// passed to a body as %h, and %h had one instance at 0x000, the code of call 1 would read the input of call 0.

// instances describes the instances of an object.
type instances struct {
	first  int64 // offset of the first one in the chunk
	slots  int64 // instances in the chunk, one after the other
	stride int64 // bytes from one to the next
	chunks int   // instances of the chunk as a whole
}

// instancesOf returns those of a value with a number of slots at a place; nil where there is one instance. Of an arena
// of inputs and outputs each call under way has its own.
func (c *checker) instancesOf(at ir.Place, slots int) *instances {
	a, chunks := &c.m.Plan.Arenas[at.Arena], 1
	if a.Class == ir.ClassIO {
		chunks = c.underWay()
	}
	if slots == 1 && chunks == 1 {
		return nil
	}
	return &instances{first: at.Offset, slots: int64(slots), stride: a.Stride(&at), chunks: chunks}
}

// instances returns those of an object.
func (o *object) instances() instances {
	if o.several == nil {
		return instances{first: o.place.Offset, slots: 1, chunks: 1}
	}
	return *o.several
}

// offset returns where the object begins in a call.
func (o *object) offset(call int) int64 {
	in := o.instances()
	return in.first + int64(call)%in.slots*in.stride
}

// key returns the chunk that has the object in a call.
func (o *object) key(call int) chunkKey {
	return chunkKey{o.place.Arena, o.place.Chunk, call % o.instances().chunks}
}

// period returns the number of calls after which the object is where it was.
func (o *object) period() int {
	in := o.instances()
	return int(in.slots) * in.chunks // one of them is mostly 1
}

// sameInstances checks the claim above for v, which names the object.
func (x *expander) sameInstances(v *ir.Value, fr *frame, o *object) {
	if o == nil {
		return
	}
	bad := func(what, format string, args ...any) {
		x.c.report(fmt.Sprintf("%s %p %p", what, v, o.val), &Violation{
			Rule: RuleQueue, Func: fr.String(), Nodes: []string{v.String(), o.val.String()}, Range: x.c.inRange(o.place),
			What: fmt.Sprintf(format, args...),
		})
	}
	want, in := int64(v.Slots()), o.instances()
	if want != in.slots {
		bad("slots", "%v has %d instances, and is %v by its definition, which has %d", v, want, o.val, in.slots)
		return
	}
	at := ownPlace(v)
	if in.slots == 1 || at == nil {
		return
	}
	if stride := x.c.m.Plan.Arenas[at.Arena].Stride(at); stride != in.stride {
		bad("stride", "the instances of %v are %d bytes apart, and those of %v, which it is by its definition, %d",
			v, stride, o.val, in.stride)
	}
}

// ownPlace returns the place of v. A parameter of a body without one has that of the operand of the first iteration.
func ownPlace(v *ir.Value) *ir.Place {
	if v.Place != nil || !v.IsParam() || v.Func.Owner == nil {
		return v.Place
	}
	return ownPlace(operandOf(v.Func.Owner, v.Index, 0).Root())
}

// underWay returns how many calls may be under way at once.
func (c *checker) underWay() int { return max(c.m.Plan.Pipeline, 1) }

// calls returns the number of calls to lay out one after the other.
//
// With n calls under way at once, call s begins when call s-n has ended on all queues. All calls do the same, but with
// other instances. Assume that each value either has one instance, or has at least n and shares their bytes with
// nothing else. Then calls that are under way together meet only in bytes with one instance, and two calls represent
// all calls: what orders a step of one call before a step of the next orders it before that step in any later call, as
// its queue runs it in every call. For n > 1 a third call is laid out: with n = 2 it is the first one that begins only
// after the end of another.
//
// Where there are fewer instances, or they share bytes, 2m calls are laid out, where m is the largest number of
// instances, or n if that is larger: so every instance meets every other one.
func (c *checker) calls(t *trace) int {
	n := c.underWay()
	switch {
	case n == 1 && t.maxSlots() == 1:
		return 1
	case t.separate(n):
		return min(n, 2) + 1
	}
	most := max(n, t.maxSlots())
	if most > maxSteps/2/max(len(t.steps), 1) {
		what := fmt.Sprintf("%d instances share bytes, and twice as many calls of %d nodes are too many to prove",
			most, len(t.steps))
		c.report("", &Violation{Rule: RuleQueue, Func: t.f.Name, What: what})
		return 1
	}
	return 2 * most
}

// maxSlots returns the largest number of slots of an object.
func (t *trace) maxSlots() int {
	most := int64(1)
	for _, o := range t.objects {
		most = max(most, o.instances().slots)
	}
	return int(most)
}

// extent is the bytes [lo,hi) from the first to the last instance of an object in a chunk.
type extent struct {
	arena, chunk  int
	lo, hi        int64
	slots, stride int64
}

// separate reports whether every object with several slots has at least n of them, and shares bytes only with objects
// that have theirs at the same addresses: then instances of different numbers share nothing.
func (t *trace) separate(n int) bool {
	var all []extent
	for _, o := range t.objects {
		in := o.instances()
		if in.slots > 1 && in.slots < int64(n) {
			return false
		}
		end := in.first + (in.slots-1)*in.stride + o.place.Bytes
		all = append(all, extent{o.place.Arena, o.place.Chunk, in.first, end, in.slots, in.stride})
	}
	slices.SortFunc(all, compareExtents)
	all = slices.CompactFunc(all, func(a, b extent) bool { return a.slots > 1 && a.sameInstances(b) })
	var single, several extent // of those with one slot and with several, the one before that ends last
	for _, e := range all {
		if e.slots > 1 && (e.meets(single) || e.meets(several)) || e.slots == 1 && e.meets(several) {
			return false
		}
		last := &single
		if e.slots > 1 {
			last = &several
		}
		if !e.sameChunk(*last) || e.hi > last.hi {
			*last = e
		}
	}
	return true
}

// compareExtents orders extents by address. Of those with the same instances, which are neighbours, the longest is
// first.
func compareExtents(a, b extent) int {
	return cmp.Or(cmp.Compare(a.arena, b.arena), cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.lo, b.lo),
		cmp.Compare(a.slots, b.slots), cmp.Compare(a.stride, b.stride), cmp.Compare(b.hi, a.hi))
}

func (e extent) sameChunk(b extent) bool { return e.arena == b.arena && e.chunk == b.chunk }

// sameInstances reports whether each instance of e begins where that of b does.
func (e extent) sameInstances(b extent) bool {
	return e.sameChunk(b) && e.lo == b.lo && e.slots == b.slots && e.stride == b.stride
}

// meets reports whether e begins before b, an earlier one, ends.
func (e extent) meets(b extent) bool { return e.sameChunk(b) && e.lo < b.hi }

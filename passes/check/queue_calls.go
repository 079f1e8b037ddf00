package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// This file says which bytes a value has in which of the calls (steps) that are under way
// at once: call s uses instance s mod n of whatever there are n instances of.

// instances says how many instances of an object there are, where there is more than one.
type instances struct {
	first  int64 // offset of the first in the chunk
	slots  int64 // in the chunk, one after the other
	stride int64 // bytes from one to the next
	chunks int   // of the chunk as a whole
}

// instancesOf returns those of a value with so many slots at a place; nil where there is one.
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

// slots returns how many instances there are in the object's chunk.
func (o *object) slots() int64 {
	if o.several == nil {
		return 1
	}
	return o.several.slots
}

// sameInstances claims: a value has as many instances as what it stands for, the same distance apart.
func (x *expander) sameInstances(v *ir.Value, fr *frame, got *object) {
	bad := func(what, format string, args ...any) {
		x.c.report(fmt.Sprintf("%s %p %p", what, v, got.val), &Violation{
			Rule: RuleQueue, Func: fr.String(), Nodes: []string{v.String(), got.val.String()}, Range: x.c.inRange(got.place),
			What: fmt.Sprintf(format, args...),
		})
	}
	want, in := int64(v.Slots()), got.instances()
	if want != in.slots {
		bad("slots", "%v has %d instances, and is %v by its definition, which has %d", v, want, got.val, in.slots)
		return
	}
	at := ownPlace(v)
	if in.slots == 1 || at == nil {
		return
	}
	if apart := x.c.m.Plan.Arenas[at.Arena].Stride(at); apart != in.stride {
		bad("stride", "the instances of %v are %d bytes apart, and those of %v, which it is by its definition, %d", v, apart, got.val, in.stride)
	}
}

// ownPlace returns the place of v, and where v is a parameter of a body without one, that of the
// operand that the first iteration finds there.
func ownPlace(v *ir.Value) *ir.Place {
	if v.Place != nil || !v.IsParam() || v.Func.Owner == nil {
		return v.Place
	}
	n := v.Func.Owner
	a, i := n.Attr.(*ir.RepeatAttr), v.Index
	if fixed := a.Carried + a.Invariant; i >= fixed {
		i = fixed + (i-fixed)*int(a.Count)
	}
	return ownPlace(n.Args[i].Root())
}

// underWay returns how many calls may be under way at once.
func (c *checker) underWay() int { return max(c.m.Plan.Pipeline, 1) }

// offset returns where the object begins in a call.
func (o *object) offset(call int) int64 {
	if o.several == nil {
		return o.place.Offset
	}
	return o.several.first + int64(call)%o.several.slots*o.several.stride
}

// key returns the chunk in which the object lies in a call.
func (o *object) key(call int) chunkKey {
	instance := 0
	if o.several != nil {
		instance = call % o.several.chunks
	}
	return chunkKey{o.place.Arena, o.place.Chunk, instance}
}

// period returns how many calls find the object in different places.
func (o *object) period() int {
	if in := o.several; in != nil {
		return int(in.slots) * in.chunks // one of them is mostly 1
	}
	return 1
}

// move puts the objects where a call has them.
func (t *trace) move(l *layout, call int) {
	for i := range t.objects {
		if o := &t.objects[i]; o.period() > 1 {
			l.move(t, int32(i), call)
		}
	}
}

// calls returns how many calls are laid out one after the other.
//
// With n under way at once, call s begins when call s-n has ended on all queues. All calls
// are alike but for the instances that they use. If each value either has one instance, or
// has n and shares them with nothing else, calls that are under way together meet only in
// bytes with one instance. Then two calls stand for all: what orders a in one call before b
// in the next orders it before b in any later one, as a's queue runs a in every call, one
// after the other. A third one is there for n = 2, whose beginning waits for the first.
//
// Where instances are fewer or share bytes, as many are laid out as have every instance
// meet every other one: 2n.
func (c *checker) calls(t *trace) int {
	n := c.underWay()
	switch {
	case n == 1 && !t.severalSlots():
		return 1
	case t.apart(n):
		return min(n, 2) + 1
	}
	most := max(n, t.maxSlots())
	if most > maxSteps/2/max(len(t.steps), 1) {
		c.report("", &Violation{Rule: RuleQueue, Func: t.f.Name, What: fmt.Sprintf("%d instances share bytes, and twice as many calls of %d nodes are too many to prove", most, len(t.steps))})
		return 1
	}
	return 2 * most
}

func (t *trace) severalSlots() bool { return t.maxSlots() > 1 }

// maxSlots returns the most slots that an object has.
func (t *trace) maxSlots() int {
	most := int64(1)
	for i := range t.objects {
		most = max(most, t.objects[i].slots())
	}
	return int(most)
}

// extent is all that an object's instances take of a chunk.
type extent struct {
	arena, chunk  int
	lo, hi        int64
	slots, stride int64
}

// apart reports whether every object with slots has at least n of them, and shares bytes
// only with objects that have theirs in the same places: then instances of different
// numbers share nothing.
func (t *trace) apart(n int) bool {
	var all []extent
	for i := range t.objects {
		o := &t.objects[i]
		in := o.instances()
		if in.slots > 1 && in.slots < int64(n) {
			return false
		}
		all = append(all, extent{o.place.Arena, o.place.Chunk, in.first, in.first + (in.slots-1)*in.stride + o.place.Bytes, in.slots, in.stride})
	}
	slices.SortFunc(all, compareExtents)
	all = slices.CompactFunc(all, func(a, b extent) bool { return a.slots > 1 && a.same(b) })
	var single, several extent // those before that end last
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

func compareExtents(a, b extent) int {
	return cmp.Or(cmp.Compare(a.arena, b.arena), cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.lo, b.lo),
		cmp.Compare(a.slots, b.slots), cmp.Compare(a.stride, b.stride), cmp.Compare(b.hi, a.hi))
}

func (e extent) sameChunk(b extent) bool { return e.arena == b.arena && e.chunk == b.chunk }

// same reports whether each instance of e begins where that of b does.
func (e extent) same(b extent) bool {
	return e.sameChunk(b) && e.lo == b.lo && e.slots == b.slots && e.stride == b.stride
}

// meets reports whether e begins before b, an earlier one, ends.
func (e extent) meets(b extent) bool { return e.sameChunk(b) && e.lo < b.hi }

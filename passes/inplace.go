package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// reuse lets results take the bytes of operands, where the op can and nothing else
// changes: see docs/plan.md, "Buffers and in-place".
func (p *planner) reuse() {
	for _, s := range p.time.steps {
		for _, arg := range s.node.InPlace() {
			if p.takeOver(s.node, arg) {
				break
			}
		}
	}
	if p.taken > 0 {
		p.c.Count("inplace", p.taken)
	}
	p.moveViews()
}

// takeOver makes the result of n the next value of the operand's buffer, if that is legal.
func (p *planner) takeOver(n *ir.Node, arg int) bool {
	operand, result := n.Arg(arg), n.Result()
	if operand == nil || source(result) != nil || !sameShape(operand, result) {
		return false
	}
	from, to := p.bufs.get(operand), p.bufs.get(result)
	switch {
	case from == to:
		return false
	case !p.mayShare(from, to) || p.space(from) != p.space(to) && !p.mayMove(n, from, to):
		return false
	case !p.onOneQueue(from, n):
		return false
	}
	p.both = mergeEvents(p.both[:0], p.time.eventsOf(from), p.time.eventsOf(to))
	if !p.legal(p.both, from.class) || !p.c.Allow("plan.inplace", n) {
		return false
	}
	if p.space(from) != p.space(to) {
		result.Type.Space = p.space(from)
		p.moved = true
	}
	p.join(from, to)
	p.c.Cause(n, "plan.inplace", operand.String())
	return true
}

// join makes one buffer of two that may share bytes, whose events are in p.both.
func (p *planner) join(x, y *buffer) {
	class := min(x.class, y.class) // io, if one of them is
	b := p.bufs.join(x, y)
	b.class, b.events = class, slices.Clone(p.both)
	p.taken++
}

// sameShape reports whether the operand names all bytes of its origin and element i of
// the result fills exactly those of its element i.
func sameShape(operand, result *ir.Value) bool {
	a, b := operand.Type, result.Type
	return a.Layout == dtype.Plain && b.Layout == dtype.Plain &&
		a.DType.BlockBytes() == b.DType.BlockBytes() && a.DType.BlockElems() == b.DType.BlockElems() &&
		ir.EqualDims(a.Shape, b.Shape) && a.Dense() && b.Dense() && sameBytes(origin(operand), operand)
}

// mayShare reports whether buffers are of one kind: private or not, of one space, and not
// the caller's or the program's.
func (p *planner) mayShare(x, y *buffer) bool {
	loose := func(b *buffer) bool {
		return b.slots == 1 && (b.class == ir.ClassActivations || b.class == ir.ClassScratch || b.class == ir.ClassIO && !holdsParam(b))
	}
	return loose(x) && loose(y) && (x.class == ir.ClassScratch) == (y.class == ir.ClassScratch)
}

// mayMove reports whether the result of a foreign node may lie in the space of an operand
// instead of that of its backend: whoever touches it addresses both, or copies it. ggml's
// allocator does likewise. Whether that is slower nobody knows of foreign nodes; of others
// assign has decided.
func (p *planner) mayMove(n *ir.Node, from, to *buffer) bool {
	if n.Op != ir.OpForeign || len(to.values) > 1 {
		return false
	}
	for _, e := range p.time.of(to.values[0]) {
		reached := e.node == nil || e.node.Op == ir.OpCopy && !e.write
		if !reached && !p.c.Target(e.node).Addresses(p.space(from)) {
			return false
		}
	}
	return true
}

// moveViews gives the views of foreign results that lie in another space now their space.
func (p *planner) moveViews() {
	if !p.moved {
		return
	}
	for _, s := range p.time.steps {
		for _, v := range s.node.Results {
			if from := v.Source(); from != nil && isForeign(v) {
				v.Type.Space = from.Type.Space
			}
		}
	}
}

func holdsParam(b *buffer) bool {
	return slices.ContainsFunc(b.values, func(v *ir.Value) bool {
		kind, _ := paramKind(v)
		return kind == paramEntry
	})
}

// legal reports whether values with such events, in order, can live in the same bytes.
func (p *planner) legal(list []event, class ir.Class) bool {
	return p.readsFind(list) && (class == ir.ClassScratch || p.noRace(list))
}

// onOneQueue reports whether n, which is to overwrite a buffer, orders nobody by that: the
// queue that runs n, or the host, is the only one that uses it. What a queue writes the host
// has waited for anyway.
func (p *planner) onOneQueue(b *buffer, n *ir.Node) bool {
	for _, e := range p.time.eventsOf(b) {
		if e.node != nil && e.node.Queue() != n.Queue() && (n.Queue() != "" || !e.write) {
			return false
		}
	}
	return true
}

// readsFind walks the events of one buffer and checks that every read finds the version it
// names. Versions follow each other in the order, and what the last round of a loop leaves
// is what the first one started with, as far as the next round can tell.
func (p *planner) readsFind(list []event) bool {
	var now *ir.Value
	for i, e := range list {
		v := p.time.version(e.value)
		if e.write {
			if v != now && !p.onlyInPlace(list[:i], e) {
				return false
			}
			now = v
			continue
		}
		if now != nil && v != now {
			return false
		}
		now = v
	}
	return true
}

// onlyInPlace reports whether the writing node reads the buffer, if it does at all, as an
// operand that it may overwrite, and only where the same worker writes. Before are the
// events before the write.
func (p *planner) onlyInPlace(before []event, write event) bool {
	for _, e := range slices.Backward(before) {
		if e.node != write.node {
			break
		}
		ok := slices.Contains(e.node.InPlace(), e.arg) && sameShape(e.node.Args[e.arg], e.node.Result())
		if !ok || e.node.Part.Mode != ir.PartEach && !sameOwner(e.access, write.access) {
			return false
		}
	}
	return true
}

// noRace checks that in no tick two workers access the buffer, one of them writing.
func (p *planner) noRace(list []event) bool {
	if !slices.ContainsFunc(list, event.shared) {
		return true // worker 0 does one after the other
	}
	byTick := make(map[int][]event)
	for _, e := range list {
		if e.node == nil {
			continue
		}
		at := p.time.shared[e.tick]
		for _, before := range byTick[at] {
			if (before.write || e.write) && before.node != e.node && !sameOwner(before.access, e.access) {
				return false
			}
		}
		byTick[at] = append(byTick[at], e)
	}
	return true
}

package passes

import (
	"slices"
	"sort"

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
	case !p.canFollow(n, from, to) || !p.c.Allow("plan.inplace", n):
		return false
	}
	if p.space(from) != p.space(to) {
		result.Type.Space = p.space(from)
		p.moved = true
	}
	p.join(n, from, to)
	p.c.Cause(n, "plan.inplace", operand.String())
	return true
}

// chain is what is known of a buffer that join has made, so that a long chain of nodes in
// place is not looked at again for each of them. Its events are legal.
type chain struct {
	queue string  // of the node that wrote in place last
	known int     // so many of the events, the first ones, allow writes in place on queue
	users []event // those that stand for all of the last tick
}

// canFollow reports whether the result of n, which is all of to or a value of it, can live in
// the bytes of from.
func (p *planner) canFollow(n *ir.Node, from, to *buffer) bool {
	x, y := p.time.eventsOf(from), p.time.eventsOf(to)
	fresh := len(to.values) == 1 && len(y) > 0 && y[0].write
	if fresh && p.isLate(x, y[0]) || !p.onOneQueue(from, n) {
		return false
	}
	if fresh && !p.time.merged && comesAfter(x, y) {
		return p.canAppend(from, x, y)
	}
	p.both = mergeEvents(p.both[:0], x, y)
	return p.legal(p.both, from.class)
}

// isLate reports whether a read in x comes next after a write that it must not see.
func (p *planner) isLate(x []event, write event) bool {
	at := sort.Search(len(x), func(i int) bool { return compareEvents(write, x[i]) < 0 })
	return at < len(x) && !x[at].write && p.time.version(x[at].value) != p.time.version(write.value)
}

// comesAfter reports whether merging y with x is to append it.
func comesAfter(x, y []event) bool {
	return len(x) > 0 && len(y) > 0 && compareEvents(y[0], x[len(x)-1]) >= 0
}

// canAppend is legal for the events x of from followed by y, those of a single value, of which
// the first one is a write. It looks at y and where it begins; ticks are not merged.
func (p *planner) canAppend(from *buffer, x, y []event) bool {
	if from.chain == nil && !p.legal(x, from.class) {
		return false
	}
	if p.time.version(y[0].value) != p.time.version(x[len(x)-1].value) && !p.onlyInPlace(x, y[0]) {
		return false
	}
	return from.class == ir.ClassScratch || p.noRace(y) && p.noRaceAt(from, x[len(x)-1].tick, y)
}

// noRaceAt checks that nobody of list races with the users of a buffer in its last tick.
func (p *planner) noRaceAt(b *buffer, tick int, list []event) bool {
	users := p.lastUsers(b)
	for i := range list {
		if e := &list[i]; e.tick == tick && e.node != nil && races(users, e) {
			return false
		}
	}
	return true
}

// lastUsers returns events that stand for all of a buffer's last tick.
func (p *planner) lastUsers(b *buffer) []event {
	if b.chain != nil {
		return b.chain.users
	}
	return usersOf(nil, lastTick(p.time.eventsOf(b)))
}

// lastTick returns those events of a list that are in the tick of the last one.
func lastTick(list []event) []event {
	from := len(list)
	for from > 0 && list[from-1].tick == list[len(list)-1].tick {
		from--
	}
	return list[from:]
}

// usersOf adds events to those that stand for all of a tick.
func usersOf(users, list []event) []event {
	for i := range list {
		if list[i].node != nil {
			users = withUser(users, &list[i])
		}
	}
	return users
}

// withUser adds e, unless an event before races with whatever e does: with later ones of
// other nodes, as those of one node are next to each other.
func withUser(users []event, e *event) []event {
	for i := range users {
		u := &users[i]
		alike := u.by == everyone && e.by == everyone || sameOwner(u.access, e.access)
		if alike && (u.write || !e.write) {
			return users
		}
	}
	return append(users, *e)
}

// races reports whether e and an event before, in the same tick, may be of two workers, one of
// them writing.
func races(users []event, e *event) bool {
	for i := range users {
		u := &users[i]
		if (u.write || e.write) && u.node != e.node && !sameOwner(u.access, e.access) {
			return true
		}
	}
	return false
}

// join makes one buffer of two that may share bytes: n writes to those of x in place.
func (p *planner) join(n *ir.Node, x, y *buffer) {
	class := min(x.class, y.class) // io, if one of them is
	events, known := p.joined(x, y)
	b := p.bufs.join(x, y)
	b.class, b.events, b.chain = class, events, known
	b.chain.queue = n.Queue()
	p.taken++
}

// joined returns the events of both buffers together, and what is known of them.
func (p *planner) joined(from, to *buffer) ([]event, *chain) {
	x, y := p.time.eventsOf(from), p.time.eventsOf(to)
	if !comesAfter(x, y) {
		all := mergeEvents(make([]event, 0, len(x)+len(y)), x, y)
		return all, &chain{users: usersOf(nil, lastTick(all))}
	}
	c := &chain{users: p.lastUsers(from), known: len(x)}
	last := lastTick(y)
	if x[len(x)-1].tick != last[0].tick {
		c.users = nil
	}
	c.users = usersOf(c.users, last)
	return append(x, y...), c
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
	list := p.time.eventsOf(b)
	if b.chain != nil && b.chain.queue == n.Queue() {
		list = list[b.chain.known:]
	}
	for i := range list {
		if e := &list[i]; e.node != nil && e.node.Queue() != n.Queue() && (n.Queue() != "" || !e.write) {
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
	if p.users == nil {
		p.users = make([][]event, len(p.time.shared))
	}
	defer p.clearUsers(list)
	for i := range list {
		e := &list[i]
		if e.node == nil {
			continue
		}
		users := &p.users[p.time.shared[e.tick]]
		if races(*users, e) {
			return false
		}
		*users = withUser(*users, e)
	}
	return true
}

// clearUsers makes the scratch of noRace empty again.
func (p *planner) clearUsers(list []event) {
	for i := range list {
		users := &p.users[p.time.shared[list[i].tick]]
		*users = (*users)[:0]
	}
}

package plan

import (
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// reuse lets results take the bytes of operands, where the op can and nothing else
// changes: see docs/explanation/plan.md, "Buffers and in-place".
func (p *planner) reuse() {
	for _, s := range p.time.Steps {
		for _, arg := range s.Node.InPlace() {
			if p.takeOver(s.Node, arg) {
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
	if operand == nil || flow.Source(result) != nil || !flow.SameShape(operand, result) {
		return false
	}
	from, to := p.bufs.get(operand), p.bufs.get(result)
	switch {
	case from == to:
		return false
	case !p.mayShare(from, to) || p.space(from) != p.space(to) && !p.mayMove(n, operand):
		return false
	case !p.canFollow(n, from, to) || !p.c.Allow(pass.RulePlanInplace, n):
		return false
	}
	if p.space(from) != p.space(to) {
		result.Type.Space = p.space(from)
		p.moved = true
	}
	p.join(n, from, to)
	p.c.Cause(n, pass.RulePlanInplace, operand.String())
	return true
}

// canFollow reports whether the result of n, which is all of to or a value of it, can live in
// the bytes of from.
func (p *planner) canFollow(n *ir.Node, from, to *buffer) bool {
	if !p.onOneQueue(from, n) {
		return false
	}
	y := p.time.eventsOf(to)
	fresh := to.next == nil && len(y) > 0 && y[0].write
	if fresh && !p.time.merged && comesAfter(p.time.tail(from), y) {
		return p.canAppend(from, y)
	}
	if fresh && p.isLate(from, &y[0]) {
		return false
	}
	p.both = mergeEvents(p.both[:0], p.time.eventsOf(from), y)
	return p.legal(p.both, from.class)
}

// isLate reports whether a read of a buffer comes next after a write that it must not see.
func (p *planner) isLate(b *buffer, write *event) bool {
	x := p.time.tail(b)
	if len(x) == 0 || compareEvents(*write, x[0]) < 0 {
		x = p.time.eventsOf(b)
	}
	at := sort.Search(len(x), func(i int) bool { return compareEvents(*write, x[i]) < 0 })
	return at < len(x) && !x[at].write && p.time.version(&x[at]) != p.time.version(write)
}

// comesAfter reports whether merging y with x is to append it.
func comesAfter(x, y []event) bool {
	return len(x) > 0 && len(y) > 0 && compareEvents(y[0], x[len(x)-1]) >= 0
}

// canAppend is legal for the events of from followed by y, those of a single value, of which
// the first one is a write. It looks at y and where it begins; ticks are not merged.
func (p *planner) canAppend(from *buffer, y []event) bool {
	if !from.isLegal() && !p.legal(p.time.eventsOf(from), from.class) {
		return false
	}
	x := p.time.tail(from)
	if p.time.version(&y[0]) != p.time.version(&x[len(x)-1]) && !p.onlyInPlace(x, &y[0]) {
		return false
	}
	return from.class == ir.ClassScratch || p.noRace(y) && p.noRaceAt(from, x[len(x)-1].Tick, y)
}

// isLegal reports whether join has made the buffer.
func (b *buffer) isLegal() bool { return b.chain != nil && b.chain.legal }

// noRaceAt checks that nobody of list races with the users of a buffer in its last tick.
func (p *planner) noRaceAt(b *buffer, tick int32, list []event) bool {
	users := p.lastUsers(b)
	for i := range list {
		if e := &list[i]; e.Tick == tick && !e.needed && p.races(users, e) {
			return false
		}
	}
	return true
}

// lastUsers returns events that stand for all of a buffer's last tick, until it is called again.
func (p *planner) lastUsers(b *buffer) []*event {
	if b.isLegal() {
		return b.chain.users
	}
	p.last = p.usersOf(p.last[:0], lastTick(p.time.eventsOf(b)))
	return p.last
}

// lastTick returns those events of a list that are in the tick of the last one.
func lastTick(list []event) []event {
	from := len(list)
	for from > 0 && list[from-1].Tick == list[len(list)-1].Tick {
		from--
	}
	return list[from:]
}

// usersOf adds events to those that stand for all of a tick.
func (p *planner) usersOf(users []*event, list []event) []*event {
	for i := range list {
		if !list[i].needed {
			users = p.withUser(users, &list[i])
		}
	}
	return users
}

// withUser adds e, unless an event before races with whatever e does: with later ones of
// other nodes, as those of one node are next to each other.
func (p *planner) withUser(users []*event, e *event) []*event {
	for _, u := range users {
		alike := u.by == flow.Everyone && e.by == flow.Everyone || p.time.sameOwner(u, e)
		if alike && (u.write || !e.write) {
			return users
		}
	}
	return append(users, e)
}

// races reports whether e and an event before, in the same tick, may be of two workers, one of
// them writing.
func (p *planner) races(users []*event, e *event) bool {
	for _, u := range users {
		if (u.write || e.write) && u.Pos != e.Pos && !p.time.sameOwner(u, e) {
			return true
		}
	}
	return false
}

// join makes one buffer of two that may share bytes: n writes to those of x in place.
func (p *planner) join(n *ir.Node, x, y *buffer) {
	class := min(x.class, y.class) // io, if one of them is
	after := y.next == nil && x.id < y.id && comesAfter(p.time.tail(x), p.time.Of(y.id))
	known := p.merged
	if after {
		known = p.appended
	}
	c := known(x, y)
	c.legal, c.appended, c.queue = true, after, n.Queue()
	b := p.bufs.join(x, y)
	if !after {
		c.upTo = b.last
	}
	b.class, b.chain = class, c
	p.taken++
}

// appended returns what is known of x and, behind it, the single value of y.
func (p *planner) appended(x, y *buffer) *chain {
	before, last := p.time.tail(x), lastTick(p.time.Of(y.id))
	users := p.lastUsers(x)
	if before[len(before)-1].Tick != last[0].Tick {
		users = users[:0]
	}
	c := x.chain
	if c == nil {
		c = &chain{events: p.time.Of(x.id), upTo: x}
	}
	c.users = p.usersOf(append(c.users[:0], users...), last)
	return c
}

// merged returns what is known of both buffers together.
func (p *planner) merged(x, y *buffer) *chain {
	a, b := p.time.eventsOf(x), p.time.eventsOf(y)
	all := mergeEvents(make([]event, 0, len(a)+len(b)), a, b)
	return &chain{events: all, users: p.usersOf(nil, lastTick(all))}
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
// allocator does likewise, but for an operand that is read twice; to go further would only take
// from one space what it gives to another. Whether that is slower nobody knows of foreign nodes; of
// others assign has decided.
func (p *planner) mayMove(n *ir.Node, operand *ir.Value) bool {
	from, to := p.bufs.get(operand), p.bufs.get(n.Result())
	if n.Op != ir.OpForeign || to.next != nil || readTwice(n, operand) {
		return false
	}
	list := p.time.Of(to.id)
	for i := range list {
		by := p.time.node(&list[i])
		reached := by == nil || by.Op == ir.OpCopy && !list[i].write
		if !reached && !p.c.Target(by).Addresses(p.space(from)) {
			return false
		}
	}
	return true
}

// readTwice reports whether several operands of n are the same value.
func readTwice(n *ir.Node, operand *ir.Value) bool {
	first := slices.Index(n.Args, operand)
	return slices.Contains(n.Args[first+1:], operand)
}

// moveViews gives the views of foreign results that lie in another space now their space.
func (p *planner) moveViews() {
	if !p.moved {
		return
	}
	for _, s := range p.time.Steps {
		for _, v := range s.Node.Results {
			if from := v.Source(); from != nil && flow.IsForeign(v) {
				v.Type.Space = from.Type.Space
			}
		}
	}
}

func holdsParam(b *buffer) bool {
	for v := range b.values {
		if kind, _ := flow.ParamKind(v); kind == flow.ParamEntry {
			return true
		}
	}
	return false
}

// legal reports whether values with such events, in order, can live in the same bytes.
func (p *planner) legal(list []event, class ir.Class) bool {
	return p.readsFind(list) && (class == ir.ClassScratch || p.noRace(list))
}

// onOneQueue reports whether n, which is to overwrite a buffer, orders nobody by that: the
// queue that runs n, or the host, is the only one that uses it. What a queue writes the host
// has waited for anyway.
func (p *planner) onOneQueue(b *buffer, n *ir.Node) bool {
	if b.isLegal() && b.chain.appended && b.chain.queue == n.Queue() {
		return p.onlyOn(p.time.Of(b.last.id), n.Queue()) // of the others it was asked before
	}
	for list := range p.time.lists(b) {
		if !p.onlyOn(list, n.Queue()) {
			return false
		}
	}
	return true
}

// onlyOn reports whether no other queue than one uses bytes at some of the events; the host, whose
// name is empty, may read what queues write.
func (p *planner) onlyOn(list []event, queue string) bool {
	for i := range list {
		if n := p.time.node(&list[i]); n != nil && n.Queue() != queue && (queue != "" || !list[i].write) {
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
	for i := range list {
		e := &list[i]
		v := p.time.version(e)
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
func (p *planner) onlyInPlace(before []event, write *event) bool {
	n := p.time.node(write)
	for i := len(before) - 1; i >= 0 && p.time.node(&before[i]) == n; i-- {
		e := &before[i]
		ok := slices.Contains(n.InPlace(), int(e.arg)) && flow.SameShape(n.Args[e.arg], n.Result())
		if !ok || n.Part.Mode != ir.PartEach && !p.time.sameOwner(e, write) {
			return false
		}
	}
	return true
}

// noRace checks that in no tick two workers access the buffer, one of them writing.
func (p *planner) noRace(list []event) bool {
	if !anyShared(list) {
		return true // worker 0 does one after the other
	}
	if p.users == nil {
		p.users = make([][]*event, len(p.time.shared))
	}
	defer p.clearUsers(list)
	for i := range list {
		e := &list[i]
		if e.needed {
			continue
		}
		users := &p.users[p.time.shared[e.Tick]]
		if p.races(*users, e) {
			return false
		}
		*users = p.withUser(*users, e)
	}
	return true
}

func anyShared(list []event) bool {
	for i := range list {
		if list[i].shared() {
			return true
		}
	}
	return false
}

// clearUsers makes the scratch of noRace empty again.
func (p *planner) clearUsers(list []event) {
	for i := range list {
		users := &p.users[p.time.shared[list[i].Tick]]
		*users = (*users)[:0]
	}
}

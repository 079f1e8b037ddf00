package plan

import (
	"slices"
	"sort"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// takeOverOperands lets results take over the bytes of operands, where the op allows it and no node can tell the
// difference. See docs/explanation/plan.md, "Buffers and in-place".
//
// Each possible result is tried in the order of the steps. Its buffer and that of the operand become one if the events
// of both together are legal. In
//
//	%b = silu %a     0
//	%c = neg %a      1
//	%d = add %b, %c  2
//
// %b cannot have the bytes of %a: the events would be read %a at 0, write %b at 0, read %a at 1, and this read finds
// %b. %c can, because nothing reads %a after it. %d can have the bytes of %b then: read %b at 2, write %d at 2, where
// worker p reads only the units of %b that it writes in %d. If %d read all of %b for each unit, another worker's unit
// might be overwritten already.
func (p *planner) takeOverOperands() {
	taken, moved := int64(0), false
	for _, s := range p.time.Steps {
		for _, arg := range s.Node.InPlace() {
			space := s.Node.Result().Type.Space
			if p.takeOver(s.Node, arg) {
				taken++
				moved = moved || s.Node.Result().Type.Space != space
				break
			}
		}
	}
	if taken > 0 {
		p.c.Count("inplace", taken)
	}
	if moved {
		p.moveViews()
	}
}

// takeOver makes the result of n the next value of the operand's buffer, if that is legal.
func (p *planner) takeOver(n *ir.Node, arg int) bool {
	operand, result := n.Arg(arg), n.Result()
	if operand == nil || flow.Source(result) != nil || !flow.SameShape(operand, result) {
		return false
	}
	from, to := p.bufs.get(operand), p.bufs.get(result)
	sameSpace := from.space() == to.space()
	switch {
	case from == to:
		return false
	case !mayShare(from, to) || !sameSpace && !p.mayMove(n, operand):
		return false
	case !p.canFollow(n, from, to) || !p.c.Allow(pass.RulePlanInplace, n):
		return false
	}
	if !sameSpace {
		result.Type.Space = from.space()
	}
	p.join(n, from, to)
	p.c.Cause(n, pass.RulePlanInplace, operand.String())
	return true
}

// mayShare reports whether two buffers are of one kind: both private to each worker or neither, and neither the
// caller's nor the program's.
func mayShare(x, y *buffer) bool {
	return mayChange(x) && mayChange(y) && (x.class == ir.ClassScratch) == (y.class == ir.ClassScratch)
}

// mayChange reports whether results may take over the bytes of a buffer, or its values those of another one.
func mayChange(b *buffer) bool {
	switch {
	case b.slots > 1:
		return false
	case b.class == ir.ClassIO: // results of the entry point, but not its parameters
		return !slices.ContainsFunc(b.values, func(v *ir.Value) bool {
			kind, _ := flow.ParamKind(v)
			return kind == flow.ParamEntry
		})
	}
	return b.class == ir.ClassActivations || b.class == ir.ClassScratch
}

// mayMove reports whether the result of a foreign node may be in the space of an operand instead of the space of its
// backend: the backend of every node that touches it addresses both, or the node copies it. ggml's allocator moves such
// results too, except if the operand is read twice. Results of other nodes stay where assign has put them.
func (p *planner) mayMove(n *ir.Node, operand *ir.Value) bool {
	from, to := p.bufs.get(operand), p.bufs.get(n.Result())
	if n.Op != ir.OpForeign || len(to.values) > 1 || isReadTwice(n, operand) {
		return false
	}
	for i := range to.events {
		e := &to.events[i]
		reached := e.needed || e.Node.Op == ir.OpCopy && !e.Write
		if !reached && !p.c.Target(e.Node).Addresses(from.space()) {
			return false
		}
	}
	return true
}

// isReadTwice reports whether several operands of n are the same value.
func isReadTwice(n *ir.Node, operand *ir.Value) bool {
	first := slices.Index(n.Args, operand)
	return slices.Contains(n.Args[first+1:], operand)
}

// moveViews gives views of foreign results the space of what they show, which may have moved.
func (p *planner) moveViews() {
	for _, s := range p.time.Steps {
		for _, v := range s.Node.Results {
			if from := v.Source(); from != nil && flow.IsForeign(v) {
				v.Type.Space = from.Type.Space
			}
		}
	}
}

// canFollow reports whether the result of n, which is all of to or a value of it, can have the bytes of from. In most
// cases to is a single value whose events come after those of from: then they alone are looked at.
func (p *planner) canFollow(n *ir.Node, from, to *buffer) bool {
	if !onOneQueue(from, n) {
		return false
	}
	isNew := len(to.values) == 1 && len(to.events) > 0 && to.events[0].Write
	if isNew && !p.time.merged && comesAfter(from.events, to.events) {
		return p.canAppend(from, to.events)
	}
	if isNew && isReadNext(from.events, &to.events[0]) {
		return false // most cases that are not legal, found quickly
	}
	return p.time.isLegal(mergeEvents(from.events, to.events), from.class)
}

// comesAfter reports whether all events of y come after those of x.
func comesAfter(x, y []event) bool {
	return len(x) > 0 && len(y) > 0 && compareEvents(y[0], x[len(x)-1]) >= 0
}

// isReadNext reports whether the next event after a write would be a read of another version.
func isReadNext(list []event, write *event) bool {
	at := sort.Search(len(list), func(i int) bool { return compareEvents(*write, list[i]) < 0 })
	return at < len(list) && !list[at].Write && version(&list[at]) != version(write)
}

// canAppend is isLegal for the events of a buffer followed by those of a new value. It looks at the new ones, and at
// the last tick of the buffer. No ticks are merged.
func (p *planner) canAppend(b *buffer, list []event) bool {
	if b.taken == nil && !p.time.isLegal(b.events, b.class) {
		return false
	}
	last := &b.events[len(b.events)-1]
	if version(&list[0]) != version(last) && !onlyInPlace(b.events, &list[0]) {
		return false
	}
	if b.class == ir.ClassScratch {
		return true
	}
	if !p.time.noRace(list) {
		return false
	}
	users := lastUsers(b)
	for i := range list {
		if e := &list[i]; e.Tick == last.Tick && !e.needed && races(users, e) {
			return false
		}
	}
	return true
}

// takeover is what is known of a buffer after a result has taken over its bytes: all its events are legal. Without it,
// a chain of n nodes in place would take time that grows with n².
type takeover struct {
	queue string  // of the node of the result
	from  int     // index of the first event that this queue was not asked about; see onOneQueue
	users []event // of the last tick; see addUser
}

// join makes one buffer of two that may share bytes. n writes to those of x in place.
func (p *planner) join(n *ir.Node, x, y *buffer) {
	class := min(x.class, y.class) // io, if one of them is
	taken := &takeover{queue: n.Queue()}
	events := x.events
	if len(y.values) == 1 && comesAfter(x.events, y.events) {
		taken.from = len(x.events)
		last := lastTick(y.events)
		if x.events[len(x.events)-1].Tick == last[0].Tick {
			taken.users = slices.Clone(lastUsers(x))
		}
		taken.users = usersOf(taken.users, last)
		events = append(events, y.events...)
	} else {
		events = mergeEvents(x.events, y.events)
		taken.users = usersOf(nil, lastTick(events))
	}
	if y.id < x.id {
		x, y = y, x
	}
	p.bufs.join(x, y, events)
	x.class, x.taken = class, taken
}

// isLegal reports whether values with these events, in order, can have the same bytes: every read finds the version
// that it names, and no two workers race. Each worker has scratch of its own, so there is no race in it.
func (t *Timeline) isLegal(list []event, class ir.Class) bool {
	return readsFind(list) && (class == ir.ClassScratch || t.noRace(list))
}

// readsFind reports whether every read finds the version that it names. What the last iteration of a loop leaves is the
// version that the first one started with, so the next iteration finds what it expects.
func readsFind(list []event) bool {
	var now *ir.Value // the version in the bytes; nil before the first event
	for i := range list {
		e := &list[i]
		v := version(e)
		switch {
		case e.Write && v != now && !onlyInPlace(list[:i], e):
			return false
		case !e.Write && now != nil && v != now:
			return false
		}
		now = v
	}
	return true
}

// onlyInPlace reports whether the writing node reads the bytes, if at all, only as an operand that it may overwrite and
// only where the same worker writes. before are the events before the write.
func onlyInPlace(before []event, write *event) bool {
	n := write.Node
	for i := len(before) - 1; i >= 0 && before[i].Node == n; i-- {
		e := &before[i]
		mayOverwrite := slices.Contains(n.InPlace(), e.Arg) && flow.SameShape(n.Args[e.Arg], n.Result())
		if !mayOverwrite || !flow.OwnUnitsWithin(n, e.Arg) || n.Part.Mode != ir.PartReplicated && !flow.SameOwner(e.Access, write.Access) {
			return false
		}
	}
	return true
}

// noRace reports whether in no tick two workers access the bytes and one of them writes.
func (t *Timeline) noRace(list []event) bool {
	if !slices.ContainsFunc(list, func(e event) bool { return e.isShared() }) {
		return true // worker 0 does one after the other
	}
	users := make(map[int][]event) // by class of ticks
	for i := range list {
		e := &list[i]
		if e.needed {
			continue
		}
		tick := t.shared[e.Tick]
		if races(users[tick], e) {
			return false
		}
		users[tick] = addUser(users[tick], e)
	}
	return true
}

// races reports whether e and an event of users, which are in the same tick, may be of two workers, one of which
// writes.
func races(users []event, e *event) bool {
	for i := range users {
		if u := &users[i]; (u.Write || e.Write) && u.Pos != e.Pos && !flow.SameOwner(u.Access, e.Access) {
			return true
		}
	}
	return false
}

// addUser adds an event to the representatives of a tick's events, unless one of them races with everything that e
// races with. Later events are of other nodes, because the events of one node follow each other.
func addUser(users []event, e *event) []event {
	for i := range users {
		u := &users[i]
		alike := u.By == flow.Everyone && e.By == flow.Everyone || flow.SameOwner(u.Access, e.Access)
		if alike && (u.Write || !e.Write) {
			return users
		}
	}
	return append(users, *e)
}

// usersOf adds events of one tick to the representatives of its events.
func usersOf(users, list []event) []event {
	for i := range list {
		if !list[i].needed {
			users = addUser(users, &list[i])
		}
	}
	return users
}

// lastUsers returns the representatives of the events in a buffer's last tick.
func lastUsers(b *buffer) []event {
	if b.taken != nil {
		return b.taken.users
	}
	return usersOf(nil, lastTick(b.events))
}

// lastTick returns those events of a list that are in the tick of the last one.
func lastTick(list []event) []event {
	from := len(list)
	for from > 0 && list[from-1].Tick == list[len(list)-1].Tick {
		from--
	}
	return list[from:]
}

// onOneQueue reports whether n, which is to overwrite a buffer, makes no queue wait by that: the queue of n, or the
// host, is the only one that uses the buffer. The host may read what queues write, because it has waited for them
// anyway.
func onOneQueue(b *buffer, n *ir.Node) bool {
	list, queue := b.events, n.Queue()
	if b.taken != nil && b.taken.queue == queue {
		list = list[b.taken.from:] // of the others it was asked before
	}
	for i := range list {
		e := &list[i]
		if !e.needed && e.Node.Queue() != queue && (queue != "" || !e.Write) {
			return false
		}
	}
	return true
}

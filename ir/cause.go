package ir

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Cause says why a pass decided as it did about a node. Causes are appended, never
// overwritten.
type Cause struct {
	Pass     string
	Rule     string   // a rule that the pass declares, such as 1.wgt
	Operands []string // values, nodes or backends that the rule looked at, as text
	Before   string   // what was there before, where that is not plain
	After    string   // what was decided
}

// Equal reports whether c and d are the same in every field.
func (c Cause) Equal(d Cause) bool {
	return c.Pass == d.Pass && c.Rule == d.Rule && slices.Equal(c.Operands, d.Operands) &&
		c.Before == d.Before && c.After == d.After
}

func (c Cause) clone() Cause {
	c.Operands = slices.Clone(c.Operands)
	return c
}

// Cause appends a cause to a node of a function, with operands behind those of c; earlier causes
// stay. Operands that are not in c cost no list that has to outlive the call.
func (n *Node) Cause(c Cause, operands ...string) {
	room := &n.Func.causes
	head := room.head(causeKey{c.Pass, c.Rule, c.Before, c.After, len(c.Operands) + len(operands)})
	if head.operands == 0 {
		n.causes = room.plain(n.causes, head)
		return
	}
	l := room.link(n.causes)
	l.head = head
	free := true
	for _, list := range [2][]string{c.Operands, operands} {
		for _, o := range list {
			if !free {
				l = room.link(l)
			}
			l.operand, free = o, false
		}
	}
	n.causes = l
}

// CausedAs gives n the causes of another node in place of its own.
func (n *Node) CausedAs(other *Node) { n.causes = other.causes }

// Causes returns all causes, in the order in which they were given.
func (n *Node) Causes() []Cause {
	count := 0
	for l := n.causes; l != nil; l = l.before {
		count += l.begins()
	}
	if count == 0 {
		return nil
	}
	list := make([]Cause, count)
	for l := n.causes; l != nil; {
		count--
		list[count], l = l.cause()
	}
	return list
}

// LastCause returns the cause that was given last; ok is false where there is none.
func (n *Node) LastCause() (c Cause, ok bool) {
	if n.causes == nil {
		return Cause{}, false
	}
	c, _ = n.causes.cause()
	return c, true
}

// FirstCause returns the first cause that match takes; ok is false where it takes none.
func (n *Node) FirstCause(match func(pass, rule string) bool) (c Cause, ok bool) {
	var found *causeLink
	end := n.causes // of the cause that l belongs to
	for l := n.causes; l != nil; l = l.before {
		if l.head == nil {
			continue
		}
		if match(l.head.pass, l.head.rule) {
			found = end
		}
		end = l.before
	}
	if found == nil {
		return Cause{}, false
	}
	c, _ = found.cause()
	return c, true
}

// HasCause reports whether the node has a cause by that rule, of whatever pass.
func (n *Node) HasCause(rule string) bool {
	for l := n.causes; l != nil; l = l.before {
		if l.head != nil && l.head.rule == rule {
			return true
		}
	}
	return false
}

// causeLink is what a node keeps of a cause: what it has in common with others, and one operand. The
// other operands have links of their own, which come first, as what was added last does. A
// link is never changed when others know it, so that nodes and copies of modules share links.
type causeLink struct {
	before  *causeLink
	head    *causeHead // nil for a further operand of the cause before
	operand string
}

// causeHead is what very many causes share.
type causeHead struct {
	causeKey

	// Of a cause without operands: links of it behind others without, which whoever has the same
	// causes shares. Those made last stand here.
	plain [8]atomic.Pointer[causeLink]
	made  atomic.Uint32 // how many such links were
}

type causeKey struct {
	pass, rule, before, after string
	operands                  int // how many
}

// begins returns 1 for the first link of a cause, 0 for others.
func (l *causeLink) begins() int {
	if l.head == nil {
		return 0
	}
	return 1
}

// cause returns the cause that ends at l, and the link before it.
func (l *causeLink) cause() (c Cause, before *causeLink) {
	var operands []string
	for ; l.head == nil; l = l.before {
		operands = append(operands, l.operand)
	}
	if l.head.operands > 0 {
		operands = append(operands, l.operand)
	}
	slices.Reverse(operands)
	h := l.head
	return Cause{Pass: h.pass, Rule: h.rule, Operands: operands, Before: h.before, After: h.after}, l.before
}

// causeRoom hands out what causes of nodes are kept in. It may be asked by several goroutines that
// look at different nodes: only for another block do they wait for each other.
type causeRoom struct {
	block atomic.Pointer[causeBlock]
	grow  sync.Mutex
	heads atomic.Pointer[knownHeads]
}

// causeBlock is links, of which so many were handed out, or asked for in vain.
type causeBlock struct {
	used  atomic.Int32
	links []causeLink
}

const (
	maxCauseBlock = 256 // links: 8 KiB
	headSlots     = 128 // passes make about as many different ones, and one that is made again is no harm
)

// link returns a new link behind before.
func (r *causeRoom) link(before *causeLink) *causeLink {
	for {
		b := r.block.Load()
		if b != nil {
			if i := int(b.used.Add(1)) - 1; i < len(b.links) {
				b.links[i].before = before
				return &b.links[i]
			}
		}
		r.another(b)
	}
}

// another puts a new block in the place of one that is used up, unless someone did already.
func (r *causeRoom) another(last *causeBlock) {
	r.grow.Lock()
	defer r.grow.Unlock()
	if r.block.Load() != last {
		return
	}
	size := minBlock
	if last != nil {
		size = min(2*len(last.links), maxCauseBlock)
	}
	r.block.Store(&causeBlock{links: make([]causeLink, size)})
}

// plain returns a link of a cause without operands behind before; nobody changes it.
func (r *causeRoom) plain(before *causeLink, h *causeHead) *causeLink {
	for i := range h.plain {
		if l := h.plain[i].Load(); l != nil && l.before == before {
			return l
		}
	}
	l := r.link(before)
	l.head = h
	if before == nil || before.head != nil && before.head.operands == 0 { // else hardly anybody else has the same
		h.plain[int(h.made.Add(1))%len(h.plain)].Store(l)
	}
	return l
}

// knownHeads are the heads that were asked for last.
type knownHeads [headSlots]atomic.Pointer[causeHead]

// head returns the head with that key, or one that is equal.
func (r *causeRoom) head(k causeKey) *causeHead {
	heads := r.heads.Load()
	if heads == nil {
		r.heads.CompareAndSwap(nil, new(knownHeads))
		heads = r.heads.Load()
	}
	slot := &heads[k.slot()]
	if known := slot.Load(); known != nil && known.causeKey == k {
		return known
	}
	made := &causeHead{causeKey: k}
	slot.Store(made)
	return made
}

// slot returns where a head is remembered. It looks only at what costs little.
func (k *causeKey) slot() uint32 {
	x := uint32(k.operands)
	for _, s := range [...]string{k.rule, k.before, k.after} {
		x = x*31 + uint32(len(s))
		if s != "" {
			x = x*31 + uint32(s[len(s)-1])
		}
	}
	return x % headSlots
}

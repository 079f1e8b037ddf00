package jinja

// loop is the variable loop. It reads one element ahead only if it is asked for what that tells, since the condition
// of a loop may depend on what its body does.
type loop struct {
	stmt  *forStmt
	outer *scope
	next  func() (any, bool)

	index       int // counted from 0
	depth       int
	prev, value any
	ahead       any
	hasAhead    bool
	total       int64 // the number of elements, from the time that it is asked for
	changed     []any
	asked       bool // changed was called
}

func (s forStmt) exec(m *machine) flow {
	over := m.eval(s.over)
	m.at = s.at
	return m.forEach(&s, over, m.scope, 0)
}

// forEach runs a loop in the scope around it. What follows else is outside the loop: break and continue there are of the
// loop around this one, and are returned.
func (m *machine) forEach(s *forStmt, over any, outer *scope, depth int) flow {
	l := &loop{stmt: s, outer: outer, index: -1, depth: depth}
	l.next = m.source(s, over, outer)
	l.value = m.undefined("there is no %[1]s item", "previous", nil)
	was := m.scope
	defer func() { m.scope = was }()
	other := true // as in jinja2, until the end of the body is reached once: continue and break do not
	for f := flowNext; f != flowBreak && l.advance(); {
		m.scope = &scope{parent: outer, vars: map[string]any{"loop": l}}
		m.assign(s.target, l.value)
		m.step(1)
		f = m.run(s.body)
		other = other && f != flowNext
	}
	if !other {
		return flowNext
	}
	m.scope = &scope{parent: outer}
	return m.run(s.other)
}

// source returns the elements of a loop that meet its condition, one by one.
func (m *machine) source(s *forStmt, over any, outer *scope) func() (any, bool) {
	next := m.each(over)
	if s.only == nil {
		return next
	}
	return func() (v any, ok bool) {
		for v, ok = next(); ok; v, ok = next() {
			m.step(1)
			was := m.scope
			m.scope = &scope{parent: outer}
			m.assign(s.target, v)
			wanted := truth(m.eval(s.only))
			m.scope = was
			if wanted {
				return v, true
			}
		}
		return nil, false
	}
}

// each returns the elements of a value one by one.
func (m *machine) each(v any) func() (any, bool) {
	if it, ok := v.(*iterator); ok {
		return it.next
	}
	return iteratorOf(m.elements(v)).next
}

// advance moves to the next element.
func (l *loop) advance() bool {
	v, ok := l.ahead, l.hasAhead
	if ok {
		l.ahead, l.hasAhead = nil, false
	} else if v, ok = l.next(); !ok {
		return false
	}
	l.prev, l.value = l.value, v
	l.index++
	return true
}

// peek returns the element after the present one.
func (l *loop) peek() (any, bool) {
	if !l.hasAhead {
		l.ahead, l.hasAhead = l.next()
	}
	return l.ahead, l.hasAhead
}

// length returns the number of elements. It reads all remaining ones.
func (l *loop) length(m *machine) int64 {
	if l.total > 0 {
		return l.total
	}
	var rest []any
	for v, ok := l.peek(); ok; v, ok = l.peek() {
		m.step(1)
		rest = append(rest, v)
		l.ahead, l.hasAhead = nil, false
	}
	l.next = iteratorOf(rest).next
	l.total = int64(l.index + 1 + len(rest))
	return l.total
}

func (l *loop) attr(m *machine, name string) (any, bool) {
	at := int64(l.index)
	switch name {
	case "index":
		return at + 1, true
	case "index0":
		return at, true
	case "first":
		return at == 0, true
	case "last":
		_, more := l.peek()
		return !more, true
	case "length":
		return l.length(m), true
	case "revindex":
		return l.length(m) - at, true
	case "revindex0":
		return l.length(m) - at - 1, true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		return l.prev, true
	case "nextitem":
		if v, ok := l.peek(); ok {
			return v, true
		}
		return m.undefined("there is no %[1]s item", "next", nil), true
	case "cycle":
		return &function{"cycle", l.cycle}, true
	case "changed":
		return &function{"changed", l.hasChanged}, true
	}
	return nil, false
}

// cycle returns one of its arguments after the other.
func (l *loop) cycle(m *machine, a *args) any {
	if len(a.pos) == 0 {
		m.fail("loop.cycle needs an argument")
	}
	return a.pos[l.index%len(a.pos)]
}

// hasChanged reports whether its arguments differ from those of the call before.
func (l *loop) hasChanged(m *machine, a *args) any {
	if l.asked && m.equalLists(l.changed, a.pos) {
		return false
	}
	l.changed, l.asked = a.pos, true
	return true
}

// again runs a recursive loop over other elements, and returns what it prints.
func (l *loop) again(m *machine, a *args) any {
	if !l.stmt.recursive {
		m.fail("loop is called, but its statement lacks the word recursive")
	}
	if len(a.pos) != 1 || len(a.named) > 0 {
		m.fail("loop takes one argument")
	}
	return m.capture(func() { m.forEach(l.stmt, a.pos[0], l.outer, l.depth+1) })
}

package jsonschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// automaton reads a text character by character, as those of package grammar do byte by byte. Step accept ends it.
type automaton []automatonStep

// automatonStep reads a character of a set and continues at x. Without a set it continues at x and at y.
type automatonStep struct {
	of   set
	x, y int
}

const accept = 0

// add adds the steps of an expression that continues at next. It returns where they begin.
func (a *automaton) add(e expression, next int) int {
	switch e := e.(type) {
	case set:
		return a.step(automatonStep{of: e, x: next})
	case series:
		for i := len(e) - 1; i >= 0; i-- {
			next = a.add(e[i], next)
		}
	case either:
		at := a.add(e[0], next)
		for _, part := range e[1:] {
			at = a.step(automatonStep{x: at, y: a.add(part, next)})
		}
		return at
	case repeated:
		end := next
		least := e.min
		if e.max < 0 {
			next = a.step(automatonStep{y: end})
			again := a.add(e.of, next)
			(*a)[next].x = again
			if least > 0 { // the loop's steps are those of the last of the least ones, too
				least, next = least-1, again
			}
		}
		for range e.max - e.min {
			next = a.step(automatonStep{x: a.add(e.of, next), y: end})
		}
		for range least {
			next = a.add(e.of, next)
		}
	}
	return next
}

func (a *automaton) step(s automatonStep) int {
	*a = append(*a, s)
	return len(*a) - 1
}

// walk finds what is reached from steps of an automaton without reading.
type walk struct {
	automaton
	seen  []int // the number of the walk that reached a step last
	walks int
	todo  []int
}

func newWalk(a automaton) *walk { return &walk{automaton: a, seen: make([]int, len(a))} }

// reads appends to list the steps that read a character and are reached from some steps. It returns false if these are
// more than limit.
func (w *walk) reads(list, from []int, limit int) ([]int, bool) {
	w.walks++
	w.todo = append(w.todo[:0], from...)
	for len(w.todo) > 0 {
		at := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if w.seen[at] == w.walks {
			continue
		}
		w.seen[at] = w.walks
		switch s := &w.automaton[at]; {
		case at == accept:
		case s.of == nil:
			w.todo = append(w.todo, s.y, s.x)
		case len(list) == limit:
			return nil, false
		default:
			list = append(list, at)
		}
	}
	return list, true
}

// reached reports whether the last walk reached a step.
func (w *walk) reached(at int) bool { return w.seen[at] == w.walks }

// accepting reports of each step whether accept is reached from it without reading.
func (a automaton) accepting() []bool {
	before := make([][]int, len(a))
	for at, s := range a[1:] {
		if s.of == nil {
			before[s.x] = append(before[s.x], at+1)
			before[s.y] = append(before[s.y], at+1)
		}
	}
	return reachedFrom([]int{accept}, before)
}

// reachedFrom marks some numbers, and the predecessors of marked numbers.
func reachedFrom(todo []int, before [][]int) []bool {
	marked := make([]bool, len(before))
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !marked[i] {
			marked[i] = true
			todo = append(todo, before[i]...)
		}
	}
	return marked
}

// counted is a state of the product of an automaton and a counter of characters.
type counted struct{ at, length int }

// arc is a character of a product, from one state to another.
type arc struct {
	of       set
	from, to int
}

// maxArcs bounds a product.
const maxArcs = 1 << 14

// product is the states of an automaton with the number of characters that lead to each.
type product struct {
	states []counted
	number map[counted]int
	arcs   []arc
	ends   map[int]bool // states that may end the text
	live   []bool       // states from which an end is reached
}

// multiply returns the product of an automaton, from a step on, with lengths from lo to hi; hi below 0 is no limit, and
// lengths above lo are then one. It returns nil if there are too many arcs.
func (a automaton) multiply(start, lo, hi int) *product {
	m := &product{number: make(map[counted]int), ends: make(map[int]bool)}
	m.state(counted{start, 0})
	lists, walk, accepting := make(map[int][]int), newWalk(a), a.accepting()
	for i := 0; i < len(m.states); i++ {
		at, length := m.states[i].at, m.states[i].length
		if length >= lo && accepting[at] {
			m.ends[i] = true
		}
		if length == hi {
			continue
		}
		list, known := lists[at]
		if !known {
			var ok bool
			if list, ok = walk.reads(nil, []int{at}, maxArcs-len(m.arcs)); !ok {
				return nil
			}
			lists[at] = list
		}
		if len(m.arcs)+len(list) > maxArcs {
			return nil
		}
		next := length + 1
		if hi < 0 {
			next = min(next, lo)
		}
		for _, at := range list {
			m.arcs = append(m.arcs, arc{a[at].of, i, m.state(counted{a[at].x, next})})
		}
	}
	m.findLive()
	return m
}

// state returns the number of a state.
func (m *product) state(c counted) int {
	i, ok := m.number[c]
	if !ok {
		i = len(m.states)
		m.states = append(m.states, c)
		m.number[c] = i
	}
	return i
}

// findLive finds the states from which an end is reached.
func (m *product) findLive() {
	before := make([][]int, len(m.states))
	for _, x := range m.arcs {
		before[x.to] = append(before[x.to], x.from)
	}
	m.live = reachedFrom(slices.Collect(maps.Keys(m.ends)), before)
}

// product returns the rule of the texts of e with a length from lo to hi, with the quotation mark after them: a rule
// for each place in e and number of characters before it.
//
// For example, those of a* "-" b* with at most 2 characters are
//
//	p-0 ::= "a" p-1 | "-" p-2
//	p-1 ::= "-" p-3
//	p-2 ::= "b" p-3 | "\""
//	p-3 ::= "\""
func (p *part) product(e expression, lo, hi int) string {
	a := make(automaton, 1)
	m := a.multiply(a.add(e, accept), lo, hi)
	if m == nil {
		p.fail(p.path, "pattern: with minLength and maxLength it needs more than %d steps: use smaller numbers, or leave them out",
			maxArcs)
		return ""
	}
	if !m.live[0] {
		p.fail(p.path, "pattern: no text that it matches has a length within minLength and maxLength")
		return ""
	}
	alternatives := make([][]string, len(m.states))
	base := fmt.Sprintf("pattern-%d", len(p.patterns))
	name := func(i int) string { return fmt.Sprintf("%s-%d", base, i) }
	for _, x := range m.arcs {
		if m.live[x.to] {
			alternatives[x.from] = append(alternatives[x.from], p.write(x.of)+" "+name(x.to))
		}
	}
	for i := range m.states {
		if m.ends[i] {
			alternatives[i] = append(alternatives[i], `"\""`)
		}
		if m.live[i] {
			p.define(name(i), strings.Join(alternatives[i], " | "))
		}
	}
	return name(0)
}

package jsonschema

import (
	"fmt"
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

// closure returns the steps that are reached from some without reading, those included. It marks them in seen.
func (a automaton) closure(from []int, seen []bool) (all []int) {
	todo := slices.Clone(from)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		all = append(all, at)
		if s := a[at]; at != accept && s.of == nil {
			todo = append(todo, s.y, s.x)
		}
	}
	return all
}

func (a *automaton) step(s automatonStep) int {
	*a = append(*a, s)
	return len(*a) - 1
}

// reads returns the steps that read a character, and perhaps accept, that are reached from one without reading. It
// returns nil if there are more than limit.
func (a automaton) reads(at, limit int, seen map[int]bool) (list []int) {
	clear(seen)
	todo := []int{at}
	for len(todo) > 0 {
		at = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		switch s := a[at]; {
		case at == accept || s.of != nil:
			if list = append(list, at); len(list) > limit {
				return nil
			}
		default:
			todo = append(todo, s.y, s.x)
		}
	}
	return list
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
	lists, seen := make(map[int][]int), make(map[int]bool)
	for i := 0; i < len(m.states); i++ {
		at, length := m.states[i].at, m.states[i].length
		list, known := lists[at]
		if !known {
			list = a.reads(at, maxArcs, seen)
			lists[at] = list
		}
		if len(m.arcs)+len(list) > maxArcs || list == nil {
			return nil
		}
		for _, at := range list {
			next := length + 1
			if hi < 0 {
				next = min(next, lo)
			}
			switch {
			case at == accept && length >= lo:
				m.ends[i] = true
			case at != accept && (hi < 0 || next <= hi):
				m.arcs = append(m.arcs, arc{a[at].of, i, m.state(counted{a[at].x, next})})
			}
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
	m.live = make([]bool, len(m.states))
	before := make([][]int, len(m.states))
	for _, x := range m.arcs {
		before[x.to] = append(before[x.to], x.from)
	}
	var todo []int
	for i := range m.states {
		if m.ends[i] {
			todo = append(todo, i)
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !m.live[i] {
			m.live[i] = true
			todo = append(todo, before[i]...)
		}
	}
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

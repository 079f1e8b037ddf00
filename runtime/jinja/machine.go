package jinja

import (
	"fmt"
	"strings"
	"time"
)

// Limits bound what a rendering may take. A limit of 0 is that of DefaultLimits.
type Limits struct {
	Steps  int // expressions, statements and elements that are visited
	Memory int // bytes of all texts and lists that are made on the way
	Output int // bytes of the result
	Depth  int // levels of expressions, statements and calls in each other
}

// DefaultLimits returns the limits that are used where none are given. They are far above what a conversation that fits
// a model takes. A template that reaches Steps has run for about a second.
func DefaultLimits() Limits {
	return Limits{Steps: 10_000_000, Memory: 256 << 20, Output: 64 << 20, Depth: 1000}
}

// or returns the limits with those of d in place of zeros.
func (l Limits) or(d Limits) Limits {
	for _, one := range []struct {
		to   *int
		from int
	}{{&l.Steps, d.Steps}, {&l.Memory, d.Memory}, {&l.Output, d.Output}, {&l.Depth, d.Depth}} {
		if *one.to == 0 {
			*one.to = one.from
		}
	}
	return l
}

// Options are what a rendering may use besides its variables.
type Options struct {
	Limits Limits
	Now    time.Time // the time that strftime_now prints; the zero time makes it an error
}

// Render returns the text of the template for some variables. The error is an *Error.
func (t *Template) Render(vars *Dict, o Options) (s string, err error) {
	m := &machine{src: t.src, limits: o.Limits.or(DefaultLimits()), now: o.Now}
	defer caught(&err)
	m.scope = &scope{vars: m.globals()}
	for i, k := range vars.keys {
		if name, ok := k.(string); ok {
			m.scope.vars[name] = vars.vals[i]
		}
	}
	m.scope = &scope{parent: m.scope, vars: map[string]any{}}
	m.out = &strings.Builder{}
	m.run(t.body)
	return m.out.String(), nil
}

// machine is one rendering.
type machine struct {
	src    string
	limits Limits
	now    time.Time
	at     int // the place of the node that is evaluated, for messages

	scope *scope
	out   *strings.Builder

	steps, memory, output, depth int
}

// fail ends the rendering.
func (m *machine) fail(format string, args ...any) {
	panic(stop{fault(m.src, m.at, fmt.Sprintf(format, args...))})
}

// step counts n steps. It is not inlined, and neither are other functions with many calls: an emitted program would
// have 34 KB more.
//
//go:noinline
func (m *machine) step(n int) {
	if m.steps += n; m.steps > m.limits.Steps {
		m.fail("the template takes more than %d steps", m.limits.Steps)
	}
}

// read counts the steps of work on each character of a text, which is about to be done.
//
//go:noinline
func (m *machine) read(s string) { m.step(len(s) / 4) }

// change counts the steps of a filter or method that changes a text. Those that treat letters one by one take longer.
//
//go:noinline
func (m *machine) change(a *args, s string) {
	m.read(s)
	if a.of == "title" || a.of == "swapcase" {
		m.step(len(s))
	}
}

// made counts the bytes of a text that was made.
//
//go:noinline
func (m *machine) made(n int) {
	if m.memory += n; m.memory > m.limits.Memory {
		m.fail("the template makes more than %d bytes of text", m.limits.Memory)
	}
}

// room fails if a text that is being made is larger than all texts may be.
//
//go:noinline
func (m *machine) room(n int) {
	if m.memory+n > m.limits.Memory {
		m.made(n)
	}
}

// enter counts a level of evaluation, which ends with leave.
//
//go:noinline
func (m *machine) enter() {
	m.step(1)
	if m.depth++; m.depth > m.limits.Depth {
		m.fail("the template is more than %d levels deep", m.limits.Depth)
	}
}

//go:noinline
func (m *machine) leave() { m.depth-- }

// print appends text to the output, or to the text that a macro or block makes.
func (m *machine) print(s string) {
	if m.output += len(s); m.output > m.limits.Output {
		m.fail("the template prints more than %d bytes", m.limits.Output)
	}
	m.out.WriteString(s)
}

// capture returns what a function prints.
func (m *machine) capture(f func()) string {
	out := m.out
	m.out = &strings.Builder{}
	f()
	s := m.out.String()
	m.out = out
	m.output -= len(s)
	m.made(len(s))
	return s
}

// scope is the variables of a block. Those of the blocks around it can be read, not set.
type scope struct {
	vars   map[string]any
	parent *scope
}

// find returns a variable, and the number of scopes that were searched.
func (s *scope) find(name string) (v any, searched int, ok bool) {
	for ; s != nil && !ok; s = s.parent {
		v, ok = s.vars[name]
		searched++
	}
	return v, searched, ok
}

// set sets a variable of the present scope.
func (m *machine) set(name string, v any) {
	if m.scope.vars == nil {
		m.scope.vars = map[string]any{}
	}
	m.scope.vars[name] = v
}

// within runs a function in a scope of its own, inside another one.
func (m *machine) within(parent *scope, f func()) {
	was := m.scope
	m.scope = &scope{parent: parent}
	f()
	m.scope = was
}

// run executes statements.
func (m *machine) run(body []stmt) flow {
	for _, s := range body {
		m.enter()
		f := s.exec(m)
		m.leave()
		if f != flowNext {
			return f
		}
	}
	return flowNext
}

// eval returns the value of an expression.
func (m *machine) eval(e expr) any {
	m.enter()
	v := e.eval(m)
	m.leave()
	return v
}

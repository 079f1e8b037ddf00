package jinja

import (
	"strings"
)

// maxRange is the most elements of a range, as in jinja2's sandbox.
const maxRange = 100000

// globals returns the variables that all templates have.
func (m *machine) globals() map[string]any {
	all := map[string]any{}
	for name, call := range map[string]func(*machine, *args) any{
		"range": rangeOf, "dict": dictOf, "namespace": namespaceOf, "cycler": cyclerOf, "joiner": joinerOf,
		"raise_exception": raise, "strftime_now": strftimeNow,
	} {
		all[name] = &function{name, call}
	}
	return all
}

func rangeOf(m *machine, a *args) any {
	bounds := []int{}
	for _, v := range a.pos {
		bounds = append(bounds, m.integer(v, "a bound of range"))
	}
	start, stop, step := 0, 0, 1
	switch len(bounds) {
	case 1:
		stop = bounds[0]
	case 2:
		start, stop = bounds[0], bounds[1]
	case 3:
		start, stop, step = bounds[0], bounds[1], bounds[2]
	default:
		m.fail("range takes 1 to 3 arguments, not %d", len(bounds))
	}
	if step == 0 {
		m.fail("the step of range is 0")
	}
	list := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(list) == maxRange {
			m.fail("range has more than %d elements", maxRange)
		}
		m.step(1)
		list = append(list, int64(i))
		if sum := i + step; (sum > i) != (step > 0) {
			break // the largest integer
		}
	}
	return &view{"range", list, start, stop, step}
}

func dictOf(m *machine, a *args) any {
	d := &Dict{}
	if len(a.pos) > 1 {
		m.fail("dict takes one argument without a name")
	}
	for _, from := range a.pos {
		m.addPairs(d, from)
	}
	for _, n := range a.named {
		d.set(n.name, n.value)
	}
	return d
}

// addPairs adds the items of a dictionary, or pairs of a key and a value.
func (m *machine) addPairs(to *Dict, from any) {
	if d, ok := m.use(from).(*Dict); ok {
		m.step(d.Len())
		for i, k := range d.keys {
			m.setKey(to, k, d.vals[i])
		}
		return
	}
	for _, pair := range m.elements(from) {
		p := m.elements(pair)
		if len(p) != 2 {
			m.fail("dict needs pairs of a key and a value")
		}
		m.setKey(to, p[0], p[1])
	}
}

func namespaceOf(m *machine, a *args) any {
	return &namespace{dictOf(m, a).(*Dict)}
}

// cycler is the value of cycler(a, b): next returns one of the values after the other.
type cycler struct {
	vals []any
	i    int
}

func cyclerOf(m *machine, a *args) any {
	if len(a.pos) == 0 {
		m.fail("cycler needs a value")
	}
	return &cycler{vals: a.pos}
}

func (c *cycler) attr(_ *machine, name string) (any, bool) {
	switch name {
	case "pos":
		return int64(c.i), true
	case "items":
		return tuple(c.vals), true
	case "current":
		return c.vals[c.i], true
	case "next":
		return &function{name, func(*machine, *args) any {
			v := c.vals[c.i]
			c.i = (c.i + 1) % len(c.vals)
			return v
		}}, true
	case "reset":
		return &function{name, func(*machine, *args) any { c.i = 0; return nil }}, true
	}
	return nil, false
}

// joinerOf returns a function that returns nothing the first time, then a separator.
func joinerOf(m *machine, a *args) any {
	sep := orElse(m.bind(a, "sep")[0], ", ")
	used := false
	return &function{"joiner", func(*machine, *args) any {
		if !used {
			used = true
			return ""
		}
		return sep
	}}
}

// raise ends the rendering with a message of the template.
func raise(m *machine, a *args) any {
	text := m.str(orElse(m.bind(a, "message")[0], ""))
	e := fault(m.src, m.at, strings.TrimSpace(text))
	e.Raised = true
	panic(stop{e})
}

func strftimeNow(m *machine, a *args) any {
	format, ok := m.bind(a, "format")[0].(string)
	if !ok {
		m.fail("strftime_now needs a format")
	}
	if m.now.IsZero() {
		m.fail("strftime_now: no time is given")
	}
	m.step(len(format))
	s := strftime(m.now, format)
	m.made(len(s))
	return s
}

package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// listFilterOf returns the filter of lists or dictionaries that has a name, or nil.
func listFilterOf(name string) filter {
	switch name {
	case "batch":
		return filterBatch
	case "dictsort":
		return filterDictSort
	case "first":
		return filterFirst
	case "groupby":
		return filterGroup
	case "items":
		return filterItems
	case "join":
		return filterJoin
	case "last":
		return filterLast
	case "list":
		return func(m *machine, v any, a *args) any { m.bind(a); return slices.Clone(m.elements(v)) }
	case "map":
		return filterMap
	case "max", "min":
		return filterExtreme
	case "reject", "select":
		return filterSelect
	case "rejectattr", "selectattr":
		return filterSelectAttr
	case "reverse":
		return filterReverse
	case "slice":
		return filterSlice
	case "sort":
		return filterSort
	case "sum":
		return filterSum
	case "unique":
		return filterUnique
	}
	return nil
}

// getter returns the function that finds an attribute such as a.0.b in a value; nil gives the value itself.
func (m *machine) getter(path any) func(v any) any { return m.attributeOr(path, nil) }

// attributeOr is getter with a value in place of each attribute on the path that is undefined; nil for none.
func (m *machine) attributeOr(path, other any) func(v any) any {
	if path == nil {
		return func(v any) any { return v }
	}
	if i, ok := path.(int64); ok {
		path = strconv.FormatInt(i, 10)
	}
	name, ok := path.(string)
	if !ok {
		m.fail("the name of an attribute is a text, not a value of type %s", typeName(path))
	}
	m.step(4 + len(name)/4)
	parts := strings.Split(name, ".")
	return func(v any) any {
		for _, part := range parts {
			m.step(1 + len(part)/16)
			v = m.item(v, part)
			if _, ok := v.(*undefined); ok && other != nil {
				v = other
			}
		}
		return v
	}
}

// item returns an element or attribute of a value by its name, or its number written as text.
func (m *machine) item(of any, name string) any {
	m.use(of)
	if i, err := strconv.ParseInt(name, 10, 64); err == nil {
		if v, ok := m.element(of, i); ok {
			return v
		}
		return m.missing(of, i)
	}
	if v, ok := m.element(of, name); ok {
		return v
	}
	if v, ok := m.attribute(of, name); ok {
		return v
	}
	return m.missing(of, name)
}

// folded returns the function that makes texts lower case, for comparisons, unless their case counts.
func (m *machine) folded(caseSensitive any) func(v any) any {
	if truth(caseSensitive) {
		return func(v any) any { return v }
	}
	return func(v any) any {
		if s, ok := unmarked(v).(string); ok {
			m.read(s)
			m.made(len(s))
			return lower(s)
		}
		return v
	}
}

// sorted returns a list in the order of what a function gives for its elements, or in reverse. Equal elements keep their
// order.
func (m *machine) sorted(list []any, reverse bool, key func(any) any) []any {
	type keyed struct{ key, v any }
	all := make([]keyed, len(list))
	for i, v := range list {
		all[i] = keyed{key(v), v}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		cmp, _ := m.order(a.key, b.key, "sort")
		if reverse {
			return -cmp
		}
		return cmp
	})
	out := make([]any, len(all))
	for i, k := range all {
		out[i] = k.v
	}
	m.made(elementBytes * len(out))
	return out
}

func filterBatch(m *machine, v any, a *args) any {
	b := m.bind(a, "linecount", "fill_with")
	n := m.integer(b[0], "the number of elements")
	if n < 1 {
		m.fail("batch: a batch has at least one element")
	}
	out := []any{}
	for part := range slices.Chunk(m.elements(v), n) {
		if fill := orElse(b[1], nil); fill != nil && len(part) < n {
			m.product(elementBytes, int64(n))
			part = slices.Concat(part, slices.Repeat([]any{fill}, n-len(part)))
		}
		out = append(out, part)
	}
	return iteratorOf(out)
}

func filterDictSort(m *machine, v any, a *args) any {
	b := m.bind(a, "case_sensitive", "by", "reverse")
	at := slices.Index([]string{"key", "value"}, m.str(orElse(b[1], "key")))
	if at < 0 {
		m.fail("dictsort: by is key or value")
	}
	fold := m.folded(orElse(b[0], false))
	return m.sorted(m.pairs(v), truth(orElse(b[2], false)), func(p any) any { return fold(p.(tuple)[at]) })
}

// pairs returns the items of a dictionary.
func (m *machine) pairs(v any) []any {
	d, ok := m.use(v).(*Dict)
	if !ok {
		m.fail("items are those of a dict, not of a value of type %s", typeName(v))
	}
	m.step(d.Len())
	m.made(3 * elementBytes * d.Len())
	list := make([]any, d.Len())
	for i, k := range d.keys {
		list[i] = tuple{k, d.vals[i]}
	}
	return list
}

func filterFirst(m *machine, v any, a *args) any {
	m.bind(a)
	if first, ok := m.each(v)(); ok {
		return first
	}
	return m.undefined(noElement, "first", nil)
}

const noElement = "there is no %[1]s element of an empty sequence"

func filterLast(m *machine, v any, a *args) any {
	m.bind(a)
	if list := m.elements(v); len(list) > 0 {
		return list[len(list)-1]
	}
	return m.undefined(noElement, "last", nil)
}

// grouped is after the end of the tuples that groupby returns: it marks those whose elements have names.
type grouped struct{}

// groupAttr returns the attribute grouper or list of a tuple that groupby returned.
func groupAttr(t tuple, name string) (any, bool) {
	at := slices.Index([]string{"grouper", "list"}, name)
	if at < 0 || cap(t) < 3 || t[:3][2] != any(grouped{}) {
		return nil, false
	}
	return t[at], true
}

// filterGroup returns pairs of a value of an attribute and the elements that have it.
func filterGroup(m *machine, v any, a *args) any {
	b := m.bind(a, "attribute", "default", "case_sensitive")
	get, fold := m.attributeOr(b[0], orElse(b[1], nil)), m.folded(orElse(b[2], false))
	var groups []any
	var last any
	for _, e := range m.sorted(m.elements(v), false, func(e any) any { return fold(get(e)) }) {
		key := fold(get(e))
		if n := len(groups); n > 0 && m.equal(key, last) {
			g := groups[n-1].(tuple)
			g[1] = append(g[1].([]any), e)
			continue
		}
		groups, last = append(groups, tuple{get(e), []any{e}, grouped{}}[:2]), key
	}
	return groups
}

func filterItems(m *machine, v any, a *args) any {
	m.bind(a)
	if _, ok := v.(*undefined); ok {
		return iteratorOf(nil)
	}
	return iteratorOf(m.pairs(v))
}

func filterJoin(m *machine, v any, a *args) any {
	b := m.bind(a, "d", "attribute")
	sep, get := m.str(orElse(b[0], "")), m.getter(orElse(b[1], nil))
	var out strings.Builder
	for i, e := range m.elements(v) {
		if i > 0 {
			out.WriteString(sep)
		}
		out.WriteString(m.str(get(e)))
		m.room(out.Len())
	}
	m.made(out.Len())
	return out.String()
}

// filterMap applies a filter to each element, or takes an attribute of it.
func filterMap(m *machine, v any, a *args) any {
	var f func(any) any
	if attr, ok := m.takeNamed(a, "attribute"); ok && len(a.pos) == 0 {
		other, _ := m.takeNamed(a, "default")
		m.bind(a)
		f = m.attributeOr(attr, other)
	} else if len(a.pos) > 0 {
		name := m.str(a.pos[0])
		f = func(v any) any { return m.apply(name, v, &args{pos: a.pos[1:], named: slices.Clone(a.named)}) }
	} else {
		m.fail("map needs a filter or an attribute")
	}
	next := m.eachIfAny(v)
	return &iterator{func() (any, bool) {
		m.enter() // one iterator in another one, and so on, is a recursion
		defer m.leave()
		e, ok := next()
		if !ok {
			return nil, false
		}
		return f(e), true
	}}
}

// eachIfAny is each, where values that count as false, such as none, have no elements.
func (m *machine) eachIfAny(v any) func() (any, bool) {
	if !truth(v) {
		v = []any(nil)
	}
	return m.each(v)
}

// filterExtreme returns the smallest or the largest element.
func filterExtreme(m *machine, v any, a *args) any {
	sign := 1
	if a.of == "max" {
		sign = -1
	}
	b := m.bind(a, "case_sensitive", "attribute")
	fold, get := m.folded(orElse(b[0], false)), m.getter(orElse(b[1], nil))
	var best any = m.undefined(noElement, a.of, nil)
	for i, e := range m.elements(v) {
		if i == 0 {
			best = e
		} else if cmp, _ := m.order(fold(get(e)), fold(get(best)), a.of); sign*cmp < 0 {
			best = e
		}
	}
	return best
}

// chosen returns the function that tells whether an element meets a test; without a test, whether it is true.
func (m *machine) chosen(a *args) func(v any) bool {
	if len(a.pos) == 0 {
		return truth
	}
	name := m.str(a.pos[0])
	return func(v any) bool {
		return m.test(name, v, &args{pos: a.pos[1:], named: slices.Clone(a.named)})
	}
}

// selected returns the elements for which wanted is true.
func (m *machine) selected(v any, wanted func(any) bool) any {
	next := m.eachIfAny(v)
	return &iterator{func() (any, bool) {
		m.enter()
		defer m.leave()
		for e, ok := next(); ok; e, ok = next() {
			m.step(1)
			if wanted(e) {
				return e, true
			}
		}
		return nil, false
	}}
}

func filterSelect(m *machine, v any, a *args) any {
	keep, test := a.of == "select", m.chosen(a)
	return m.selected(v, func(e any) bool { return test(e) == keep })
}

func filterSelectAttr(m *machine, v any, a *args) any {
	if len(a.pos) == 0 {
		m.fail("%s needs an attribute", a.of)
	}
	keep, get, test := a.of == "selectattr", m.getter(a.pos[0]), m.chosen(&args{pos: a.pos[1:], named: a.named})
	return m.selected(v, func(e any) bool { return test(get(e)) == keep })
}

func filterReverse(m *machine, v any, a *args) any {
	m.bind(a)
	list := slices.Clone(m.elements(v))
	slices.Reverse(list)
	if _, ok := v.(string); !ok {
		return iteratorOf(list)
	}
	var b strings.Builder
	for _, r := range list {
		b.WriteString(r.(string))
	}
	m.made(b.Len())
	return b.String()
}

// filterSlice cuts a list into a number of parts.
func filterSlice(m *machine, v any, a *args) any {
	b := m.bind(a, "slices", "fill_with")
	list, n := m.elements(v), m.integer(b[0], "the number of slices")
	if n < 1 || n > maxRange {
		m.fail("slice: the number of slices is not between 1 and %d", maxRange)
	}
	m.step(n)
	out, size, more := []any{}, len(list)/n, len(list)%n
	for i := range n {
		k := size
		if i < more {
			k++
		}
		part := slices.Clone(list[:k])
		if fill := orElse(b[1], nil); fill != nil && i >= more {
			part = append(part, fill)
		}
		out, list = append(out, part), list[k:]
	}
	return iteratorOf(out)
}

func filterSort(m *machine, v any, a *args) any {
	b := m.bind(a, "reverse", "case_sensitive", "attribute")
	fold := m.folded(orElse(b[1], false))
	keys := []func(any) any{m.getter(nil)}
	if s, ok := orElse(b[2], nil).(string); ok {
		keys = nil
		for part := range strings.SplitSeq(s, ",") {
			keys = append(keys, m.getter(part))
		}
	} else if given(b[2]) {
		keys = []func(any) any{m.getter(b[2])}
	}
	return m.sorted(m.elements(v), truth(orElse(b[0], false)), func(v any) any {
		var t tuple
		for _, key := range keys {
			t = append(t, fold(key(v)))
		}
		return t
	})
}

func filterSum(m *machine, v any, a *args) any {
	b := m.bind(a, "attribute", "start")
	get, sum := m.getter(orElse(b[0], nil)), orElse(b[1], int64(0))
	if _, ok := sum.(string); ok {
		m.fail("sum adds no texts: use join")
	}
	for _, e := range m.elements(v) {
		sum = m.binary("+", sum, get(e))
	}
	return sum
}

// filterUnique returns the elements that are equal to none before them.
func filterUnique(m *machine, v any, a *args) any {
	b := m.bind(a, "case_sensitive", "attribute")
	fold, get, seen := m.folded(orElse(b[0], false)), m.getter(orElse(b[1], nil)), &Dict{}
	return m.selected(v, func(e any) bool {
		key := fold(get(e))
		if _, ok := m.find(seen, key); ok {
			return false
		}
		seen.set(key, true)
		return true
	})
}

package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tuple is a tuple. It is equal to no list.
type tuple []any

// undefined is the value of what there is not. It prints nothing and is false; other uses are an error with its text,
// which is made only then.
type undefined struct {
	format string // of the name and the key, by their numbers
	name   string
	key    any
}

// undefined returns an undefined value, whose bytes it counts.
//
//go:noinline
func (m *machine) undefined(format, name string, key any) *undefined {
	m.made(4 * elementBytes)
	return &undefined{format, name, key}
}

func (u *undefined) text() string { return fmt.Sprintf(u.format, u.name, short(u.key)) }

// namespace is a value whose attributes a template can set.
type namespace struct{ attrs *Dict }

// iterator is a sequence whose elements are used once, as of a filter that selects.
type iterator struct{ next func() (v any, ok bool) }

// function is a value that can be called.
type function struct {
	name string
	call func(m *machine, a *args) any
}

// attributed is a value with attributes.
type attributed interface {
	attr(m *machine, name string) (v any, ok bool)
}

// iteratorOf returns an iterator over the elements of a list.
func iteratorOf(list []any) *iterator {
	return &iterator{func() (any, bool) {
		if len(list) == 0 {
			return nil, false
		}
		v := list[0]
		list = list[1:]
		return v, true
	}}
}

// typeName returns the name of a value's type in Python.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, bigInt:
		return "int"
	case float64:
		return "float"
	case string, markup:
		return "str"
	case []any:
		return "list"
	case tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *view:
		return v.name
	case *undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	case *iterator:
		return "generator"
	case *function:
		return "function"
	case *macro:
		return "Macro"
	case *loop:
		return "LoopContext"
	}
	return "object"
}

// truth returns whether a value counts as true.
//
//go:noinline
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case []any:
		return len(v) > 0
	case tuple:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	case *view:
		return len(v.list) > 0
	case *undefined:
		return false
	}
	return true
}

// use fails if a value is undefined.
//
//go:noinline
func (m *machine) use(v any) any {
	if u, ok := v.(*undefined); ok {
		m.fail("%s", u.text())
	}
	return v
}

// term fails if nothing can be computed with a value.
//
//go:noinline
func (m *machine) term(v any) any {
	if _, ok := m.use(v).(bigInt); ok {
		m.overflow()
	}
	return v
}

// missing returns the undefined value of an attribute or element.
func (m *machine) missing(of any, name any) *undefined {
	format := "the %[1]s has no element %[2]s"
	if _, ok := name.(string); ok {
		format = "the %[1]s has no attribute %[2]s"
	}
	return m.undefined(format, typeName(of), name)
}

// short is a value in a message.
func short(v any) string {
	switch v := v.(type) {
	case nil, bool, int64, bigInt, float64:
		return text(v)
	case string:
		if len(v) > 40 {
			v = strings.ToValidUTF8(v[:40], "") + "..."
		}
		return quote(v)
	}
	return "of type " + typeName(v)
}

// number returns a value as a number: whole is valid if it is an integer.
//
//go:noinline
func number(v any) (whole int64, x float64, isInt, ok bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return 1, 1, true, true
		}
		return 0, 0, true, true
	case int64:
		return v, float64(v), true, true
	case float64:
		return 0, v, false, true
	}
	return 0, 0, false, false
}

// integer returns a value that has to be an integer.
func (m *machine) integer(v any, what string) int {
	n, _, isInt, ok := number(m.use(v))
	if !ok || !isInt || int64(int(n)) != n {
		m.fail("%s has to be an integer, it is %s", what, short(v))
	}
	return int(n)
}

// length returns the number of elements of a value.
func (m *machine) length(v any) int {
	switch v := v.(type) {
	case string:
		m.step(len(v) / 64)
		return utf8.RuneCountInString(v)
	case []any:
		return len(v)
	case tuple:
		return len(v)
	case *Dict:
		return v.Len()
	case *view:
		return len(v.list)
	case *undefined:
		return 0
	}
	m.fail("a value of type %s has no length", typeName(v))
	return 0
}

// elements returns the elements of a value: of a dict its keys, of a text its characters.
func (m *machine) elements(v any) []any {
	list := m.iterate(unmarked(v))
	m.step(len(list))
	return list
}

func (m *machine) iterate(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case tuple:
		return v
	case *Dict:
		return v.keyList()
	case *view:
		return v.list
	case *undefined:
		return nil
	case string:
		m.step(len(v))
		list := make([]any, 0, len(v))
		for _, r := range v {
			list = append(list, string(r))
		}
		return list
	case *iterator:
		var list []any
		for e, ok := v.next(); ok; e, ok = v.next() {
			m.step(1)
			list = append(list, e)
		}
		return list
	}
	m.fail("a value of type %s has no elements", typeName(v))
	return nil
}

// iterable reports whether a value has elements.
func iterable(v any) bool {
	switch v.(type) {
	case []any, tuple, *Dict, *view, *undefined, string, *iterator, *loop:
		return true
	}
	return false
}

// equal reports whether two values are equal. Numbers of all types are compared by value.
func (m *machine) equal(a, b any) bool {
	m.enter()
	defer m.leave()
	a, b = unmarked(a), unmarked(b)
	if cmp, ordered, ok := m.orderNumbers(a, b); ok {
		return ordered && cmp == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		m.step(min(len(a), len(b)) / 64)
		return ok && a == b
	case []any:
		b, ok := b.([]any)
		return ok && m.equalLists(a, b)
	case tuple:
		b, ok := b.(tuple)
		return ok && m.equalLists(a, b)
	case *Dict:
		b, ok := b.(*Dict)
		return ok && (a == b || m.equalDicts(a, b))
	case *view:
		return a.equal(m, b)
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	}
	return a == b // both are pointers, or of different types
}

func (m *machine) equalLists(a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !m.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (m *machine) equalDicts(a, b *Dict) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i, k := range a.keys {
		v, ok := m.find(b, k)
		if !ok || !m.equal(a.vals[i], v) {
			return false
		}
	}
	return true
}

// same reports whether two values are one object. Of empty lists this is not known.
func (m *machine) same(a, b any) bool {
	switch a := a.(type) {
	case string:
		m.step(len(a) / 64)
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
	case tuple:
		b, ok := b.(tuple)
		return ok && len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
	case *undefined:
		return false
	}
	switch b.(type) {
	case []any, tuple:
		return false
	}
	return a == b
}

// order compares two values: negative if a is before b. NaN is after nothing and before nothing.
func (m *machine) order(a, b any, op string) (cmp int, ordered bool) {
	m.enter()
	defer m.leave()
	a, b = unmarked(m.use(a)), unmarked(m.use(b))
	if cmp, ordered, ok := m.orderNumbers(a, b); ok {
		return cmp, ordered
	}
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			m.step(min(len(a), len(b)) / 64)
			return strings.Compare(a, b), true
		}
	case []any:
		if b, ok := b.([]any); ok {
			return m.orderLists(a, b, op)
		}
	case tuple:
		if b, ok := b.(tuple); ok {
			return m.orderLists(a, b, op)
		}
	}
	m.fail("%s does not compare values of types %s and %s", op, typeName(a), typeName(b))
	return 0, false
}

func (m *machine) orderLists(a, b []any, op string) (int, bool) {
	for i := range min(len(a), len(b)) {
		if !m.equal(a[i], b[i]) {
			return m.order(a[i], b[i], op)
		}
	}
	return len(a) - len(b), true
}

// contains reports whether a container has an element.
func (m *machine) contains(in, v any) bool {
	in, v = unmarked(in), unmarked(v)
	switch in := in.(type) {
	case string:
		s, ok := m.use(v).(string)
		if !ok {
			m.fail("in: a text contains texts, not a value of type %s", typeName(v))
		}
		m.step(len(in) / 16)
		return strings.Contains(in, s)
	case *Dict:
		_, ok := m.find(in, v)
		return ok
	case *namespace, *function, *macro, nil, bool, int64, float64:
		m.fail("in: a value of type %s contains nothing", typeName(in))
	}
	next := m.each(in)
	for e, ok := next(); ok; e, ok = next() {
		if m.equal(e, v) {
			return true
		}
	}
	return false
}

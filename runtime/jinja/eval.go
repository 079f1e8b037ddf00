package jinja

import "slices"

func (e constant) eval(*machine) any { return e.value }

func (e *nameExpr) eval(m *machine) any {
	m.at = e.at
	v, searched, ok := m.scope.find(e.name)
	if m.step(searched * (1 + len(e.name)/32) / 8); ok {
		return v
	}
	return m.undefined("%[1]s is undefined", e.name, nil)
}

func (e listExpr) eval(m *machine) any { return m.evalAll(e) }

// eval keeps markup, which a format may escape or not.
func (e tupleExpr) eval(m *machine) any {
	t := make(tuple, len(e))
	for i, of := range e {
		t[i] = m.eval(of)
	}
	return t
}

func (m *machine) evalAll(list []expr) []any {
	m.made(elementBytes * len(list))
	vals := make([]any, len(list))
	for i, e := range list {
		vals[i] = unmarked(m.eval(e))
	}
	return vals
}

func (e *dictExpr) eval(m *machine) any {
	d := &Dict{}
	for i := range e.keys {
		k := m.eval(e.keys[i])
		v := m.eval(e.vals[i])
		m.at = e.at
		m.setKey(d, k, v)
	}
	return d
}

// eval looks for an attribute of the type first, such as a method, then for an element.
func (e *attrExpr) eval(m *machine) any {
	of := m.eval(e.of)
	m.at = e.at
	m.use(of)
	if v, ok := m.attribute(of, e.name); ok {
		return v
	}
	if d, ok := of.(*Dict); ok {
		if v, ok := d.find(e.name); ok {
			return v
		}
	}
	return m.missing(of, e.name)
}

// eval looks for an element first, then for an attribute of the type.
func (e *itemExpr) eval(m *machine) any {
	of := m.eval(e.of)
	if s, ok := e.index.(sliceExpr); ok {
		return m.slice(of, s, e.at)
	}
	i := m.eval(e.index)
	m.at = e.at
	m.use(of)
	if v, ok := m.element(of, i); ok {
		return v
	}
	if name, ok := i.(string); ok {
		if v, ok := m.attribute(of, name); ok {
			return v
		}
	}
	return m.missing(of, i)
}

// element returns an element of a list, text or dictionary.
func (m *machine) element(of, i any) (any, bool) {
	if d, ok := of.(*Dict); ok {
		i = unmarked(i)
		m.keyed(i, 1)
		return d.find(i)
	}
	n, _, isInt, ok := number(i)
	if !ok || !isInt {
		return nil, false
	}
	if s, ok := unmarked(of).(string); ok {
		v, ok := m.character(s, n)
		return marked(of, v), ok
	}
	list, _ := indexed(of)
	return at(list, n)
}

// at returns the element of a list. A negative number counts from the end.
func at(list []any, n int64) (any, bool) {
	if n < 0 {
		n += int64(len(list))
	}
	if n < 0 || n >= int64(len(list)) {
		return nil, false
	}
	return list[n], true
}

// character returns a character of a text.
func (m *machine) character(s string, n int64) (any, bool) {
	m.step(len(s) / 16)
	if n < 0 {
		n += int64(m.length(s))
	}
	for _, r := range s {
		if n == 0 {
			return string(r), true
		}
		n--
	}
	return nil, false
}

// attribute returns an attribute of a value's type.
func (m *machine) attribute(of any, name string) (any, bool) {
	m.step(len(name) / 64)
	safe := isMarkup(of)
	of = unmarked(of)
	switch of := of.(type) {
	case *namespace:
		return of.attrs.find(name)
	case attributed:
		return of.attr(m, name)
	case tuple:
		if v, ok := groupAttr(of, name); ok {
			return v, true
		}
	case *view:
		if v, ok := of.bound(name); ok {
			return v, true
		}
	case bool, int64, bigInt, float64:
		switch name {
		case "real", "imag", "numerator", "denominator":
			m.fail("the attribute %s of numbers is not supported", name)
		}
	}
	if f := method(of, name); f != nil {
		if safe {
			f = markedMethod(f)
		}
		return f, true
	}
	if v, ok := changes[name]; ok && v == typeName(of) {
		m.fail("%s would change a %s: values of a template do not change", name, v)
	}
	return nil, false
}

func (e *callExpr) eval(m *machine) any {
	fn := m.eval(e.fn)
	a := m.args(e.args)
	m.at = e.at
	return m.call(fn, a)
}

// call calls a value.
func (m *machine) call(fn any, a *args) any {
	switch fn := m.use(fn).(type) {
	case *function:
		a.of = fn.name
		return fn.call(m, a)
	case *macro:
		return fn.call(m, a)
	case *loop:
		return fn.again(m, a)
	}
	m.fail("a value of type %s is called, which is no function", typeName(fn))
	return nil
}

func (e *filterExpr) eval(m *machine) any { return m.filter(e, m.eval(e.of)) }

// filter applies a filter to a value.
func (m *machine) filter(e *filterExpr, v any) any {
	a := m.args(e.args)
	m.at = e.at
	return m.apply(e.name, v, a)
}

// apply applies the filter of a name.
func (m *machine) apply(name string, v any, a *args) any {
	f := filterOf(name)
	if f == nil {
		m.fail("there is no filter %s", name)
	}
	return f(m, m.begin(name, v, a, "escape", "e", "format"), a)
}

// begin counts a step for a filter or a test, and returns its value. Only those of some names see whether a text is
// marked as safe.
func (m *machine) begin(name string, v any, a *args, see ...string) any {
	a.of = name
	m.step(1)
	if slices.Contains(see, name) {
		return v
	}
	return unmarked(v)
}

func (e *testExpr) eval(m *machine) any {
	v := m.eval(e.of)
	a := m.args(e.args)
	m.at = e.at
	return m.test(e.name, v, a)
}

// test applies the test of a name.
func (m *machine) test(name string, v any, a *args) bool {
	f := testOf(name)
	if f == nil {
		m.fail("there is no test %s", name)
	}
	return f(m, m.begin(name, v, a, "escaped"), a)
}

func (e notExpr) eval(m *machine) any { return !truth(m.eval(e.of)) }

func (e logicExpr) eval(m *machine) any {
	if v := m.eval(e.left); truth(v) == e.or {
		return v
	}
	return m.eval(e.right)
}

func (e condExpr) eval(m *machine) any {
	if truth(m.eval(e.test)) {
		return m.eval(e.yes)
	}
	if e.no == nil {
		return m.undefined("the condition is false and has no %[1]s", "else", nil)
	}
	return m.eval(e.no)
}

func (e compareExpr) eval(m *machine) any {
	left := m.eval(e.first)
	for _, c := range e.rest {
		right := m.eval(c.of)
		if m.at = c.at; !m.compare(c.op, left, right) {
			return false
		}
		left = right
	}
	return true
}

// compare applies the operator of a comparison.
func (m *machine) compare(op string, a, b any) bool {
	switch op {
	case "==":
		return m.equal(a, b)
	case "!=":
		return !m.equal(a, b)
	case "in":
		return m.contains(b, a)
	case "not in":
		return !m.contains(b, a)
	}
	cmp, ordered := m.order(a, b, op)
	return ordered && (op[0] == '<' && cmp < 0 || op[0] == '>' && cmp > 0 || len(op) == 2 && cmp == 0)
}

// args is the values of arguments.
type args struct {
	of    string // what is called
	pos   []any
	named []namedArg
}

type namedArg struct {
	name  string
	value any
}

// args evaluates arguments.
func (m *machine) args(list argList) *args {
	a := &args{pos: m.evalAll(list.pos)}
	if list.spread != nil {
		a.pos = append(a.pos, m.elements(m.eval(list.spread))...)
	}
	for _, n := range list.named {
		a.named = append(a.named, namedArg{n.name, unmarked(m.eval(n.of))})
	}
	if list.dicts != nil {
		m.spreadDict(a, m.eval(list.dicts))
	}
	return a
}

// spreadDict adds the arguments of **v.
func (m *machine) spreadDict(a *args, v any) {
	d, ok := m.use(v).(*Dict)
	if !ok {
		m.fail("** needs a dict, not a value of type %s", typeName(v))
	}
	m.step(4 * d.Len())
	for i, k := range d.keys {
		m.keyed(k, 1)
		name, ok := k.(string)
		if !ok {
			m.fail("** needs names as keys, not %s", short(k))
		}
		a.named = append(a.named, namedArg{name, d.vals[i]})
	}
}

// findNamed returns the number of the argument of a name, or -1. Names of one length are compared in full.
func (m *machine) findNamed(a *args, name string) int {
	m.step(len(a.named) * (1 + len(name)/64) / 16)
	return slices.IndexFunc(a.named, func(n namedArg) bool { return n.name == name })
}

// takeNamed removes and returns the argument of a name.
func (m *machine) takeNamed(a *args, name string) (any, bool) {
	i := m.findNamed(a, name)
	if i < 0 {
		return nil, false
	}
	v := a.named[i].value
	m.step(len(a.named) / 16)
	a.named = slices.Concat(a.named[:i], a.named[i+1:])
	return v, true
}

// absent is the value of an argument that was not given.
type absent struct{}

// bind returns the arguments in the order of their names, absent ones included. It fails if there are others.
func (m *machine) bind(a *args, names ...string) []any {
	if len(a.pos) > len(names) {
		m.fail("%s takes at most %d arguments, not %d", a.of, len(names), len(a.pos))
	}
	vals := make([]any, len(names))
	for i, name := range names {
		v, named := m.takeNamed(a, name)
		switch {
		case i < len(a.pos) && named:
			m.fail("%s gets its argument %s twice", a.of, name)
		case i < len(a.pos):
			v = a.pos[i]
		case !named:
			v = absent{}
		}
		vals[i] = v
	}
	if len(a.named) > 0 {
		m.fail("%s has no argument %s", a.of, a.named[0].name)
	}
	return vals
}

// given returns whether an argument was given.
func given(v any) bool { return v != absent{} }

// orElse returns an argument, or a value in its place if it was not given.
//
//go:noinline
func orElse(v, other any) any {
	if _, ok := v.(absent); ok {
		return other
	}
	return v
}

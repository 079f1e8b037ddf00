package jinja

// test is a test: a question about a value.
type test func(m *machine, v any, a *args) bool

// testOf returns the test of a name, or nil.
func testOf(name string) test {
	switch name {
	case "boolean", "callable", "defined", "escaped", "false", "float", "integer", "iterable", "mapping", "none", "number",
		"sequence", "string", "true", "undefined":
		return func(m *machine, v any, a *args) bool { m.bind(a); return isOf(name, v) }
	case "even", "odd":
		return func(m *machine, v any, a *args) bool {
			m.bind(a)
			rest := int64(0)
			if name == "odd" {
				rest = 1
			}
			return m.equal(m.binary("%", v, int64(2)), rest)
		}
	case "divisibleby":
		return func(m *machine, v any, a *args) bool { return m.equal(m.binary("%", v, m.bind(a, "num")[0]), int64(0)) }
	case "in":
		return func(m *machine, v any, a *args) bool { return m.contains(m.bind(a, "seq")[0], v) }
	case "lower", "upper":
		return func(m *machine, v any, a *args) bool {
			m.bind(a)
			s := m.str(v)
			m.read(s)
			return cased(s, name == "upper")
		}
	case "sameas":
		return func(m *machine, v any, a *args) bool { return m.same(v, m.bind(a, "other")[0]) }
	case "filter":
		return func(m *machine, v any, a *args) bool { m.bind(a); return filterOf(m.str(v)) != nil }
	case "test":
		return func(m *machine, v any, a *args) bool { m.bind(a); return testOf(m.str(v)) != nil }
	}
	if op := comparisonOf(name); op != "" {
		return func(m *machine, v any, a *args) bool { return m.compare(op, v, m.bind(a, "other")[0]) }
	}
	return nil
}

// comparisonOf returns the operator that a test is another name of.
func comparisonOf(name string) string {
	switch name {
	case "==", "eq", "equalto":
		return "=="
	case "!=", "ne":
		return "!="
	case "<", "lt", "lessthan":
		return "<"
	case "<=", "le":
		return "<="
	case ">", "gt", "greaterthan":
		return ">"
	case ">=", "ge":
		return ">="
	}
	return ""
}

// isOf answers questions about a value's type, and whether it is a constant.
func isOf(name string, v any) bool {
	switch name {
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "callable":
		return callable(v)
	case "defined", "undefined":
		_, un := v.(*undefined)
		return un == (name == "undefined")
	case "true", "false":
		b, ok := v.(bool)
		return ok && b == (name == "true")
	case "float":
		_, ok := v.(float64)
		return ok
	case "integer":
		return typeName(v) == "int"
	case "iterable":
		return iterable(v)
	case "mapping":
		_, ok := v.(*Dict)
		return ok
	case "none":
		return v == nil
	case "number":
		_, _, _, ok := number(v)
		return ok || typeName(v) == "int"
	case "sequence":
		return isSequence(v)
	case "string":
		_, ok := v.(string)
		return ok
	}
	return name == "escaped" && isMarkup(v)
}

// callable reports whether a value can be called.
func callable(v any) bool {
	switch v.(type) {
	case *function, *macro, *loop, *undefined: // an undefined value is a function that fails
		return true
	}
	return false
}

// isSequence reports whether a value has a length and elements.
func isSequence(v any) bool {
	switch v.(type) {
	case string, *Dict, *undefined:
		return true
	}
	_, ok := indexed(v)
	return ok
}

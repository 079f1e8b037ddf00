package jinja

import "strconv"

// view is what range and the methods keys, values and items return: a sequence that is no list, and that JSON has no
// form of. Those of a dictionary have no indexes.
type view struct {
	name              string // of its type in Python
	list              []any
	start, stop, step int // of a range
}

// indexed returns the elements of a value that has them by number.
func indexed(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case tuple:
		return v, true
	case *view:
		if v.name == "range" {
			return v.list, true
		}
	}
	return nil, false
}

// slice returns some elements of a range, which are a range.
func (v *view) slice(m *machine, bounds [3]any) any {
	start, stop, step := m.bounds(len(v.list), bounds)
	if bounds[2] != nil {
		step = m.integer(bounds[2], "the step") // bounds makes it smaller
	}
	return &view{v.name, m.pick(v.list, bounds), v.start + start*v.step, v.start + stop*v.step, v.step * step}
}

// equal compares the elements, of keys and items in any order. Values of dictionaries are equal to no others.
func (v *view) equal(m *machine, b any) bool {
	w, ok := b.(*view)
	switch {
	case !ok || (v.name == "range") != (w.name == "range") || len(v.list) != len(w.list):
		return false
	case v == w:
		return true
	case v.name == "range":
		return m.equalLists(v.list, w.list)
	case v.name == "dict_values" || w.name == "dict_values":
		return false
	}
	for _, e := range v.list {
		if !m.contains(w, e) {
			return false
		}
	}
	return true
}

// bound returns an attribute of a range.
//
//go:noinline
func (v *view) bound(name string) (any, bool) {
	n := v.step
	switch name {
	case "start":
		n = v.start
	case "stop":
		n = v.stop
	}
	return int64(n), v.name == "range" && (name == "start" || name == "stop" || name == "step")
}

// text is a range as Python prints it.
func (v *view) text() string {
	s := "range(" + strconv.Itoa(v.start) + ", " + strconv.Itoa(v.stop)
	if v.step != 1 {
		s += ", " + strconv.Itoa(v.step)
	}
	return s + ")"
}

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
	return &view{v.name, m.pick(v.list, bounds), v.start + start*v.step, v.start + stop*v.step, v.step * step}
}

// equal compares the elements. Values of dictionaries are equal to no others.
func (v *view) equal(m *machine, b any) bool {
	w, ok := b.(*view)
	return ok && (v == w || v.name == w.name && v.name != "dict_values" && m.equalLists(v.list, w.list))
}

// text is a range as Python prints it.
func (v *view) text() string {
	s := "range(" + strconv.Itoa(v.start) + ", " + strconv.Itoa(v.stop)
	if v.step != 1 {
		s += ", " + strconv.Itoa(v.step)
	}
	return s + ")"
}

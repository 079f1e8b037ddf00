package jinja

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Dict is a dictionary that keeps the order of its keys. Keys are nil, bool, int64, float64, string, or tuples of
// these. The zero Dict is empty. A template does not change it.
type Dict struct {
	keys, vals []any
	index      map[any]int // by the key in the form of canonical
}

// NewDict returns a dictionary of keys and values, which alternate. It panics if a key is of no such type.
func NewDict(pairs ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Set(pairs[i], pairs[i+1])
	}
	return d
}

// Set sets the value of a key. It panics if the key has a type that no key has.
func (d *Dict) Set(key, value any) {
	if !d.set(key, value) {
		panic(fmt.Sprintf("jinja: a key of type %s", typeName(key)))
	}
}

// set is Set. It reports whether the key can be one.
func (d *Dict) set(key, value any) bool {
	k, ok := canonical(key, 0)
	if !ok {
		return false
	}
	if i, ok := d.index[k]; ok {
		d.vals[i] = value
		return true
	}
	if d.index == nil {
		d.index = map[any]int{}
	}
	d.index[k] = len(d.keys)
	d.keys, d.vals = append(d.keys, key), append(d.vals, value)
	return true
}

// Len returns the number of keys.
func (d *Dict) Len() int { return len(d.keys) }

// Get returns the value of a key.
func (d *Dict) Get(key any) (value any, ok bool) { return d.find(key) }

// All yields the keys in order with their values.
func (d *Dict) All() iter.Seq2[any, any] {
	return func(yield func(key, value any) bool) {
		for i, k := range d.keys {
			if !yield(k, d.vals[i]) {
				return
			}
		}
	}
}

func (d *Dict) find(key any) (any, bool) {
	k, ok := canonical(key, 0)
	if !ok {
		return nil, false
	}
	i, ok := d.index[k]
	if !ok {
		return nil, false
	}
	return d.vals[i], true
}

// keyList returns the keys in order.
func (d *Dict) keyList() []any { return d.keys[:len(d.keys):len(d.keys)] }

// tupleKey is a tuple as the key of a Go map.
type tupleKey string

// canonical returns a form of a key that Go compares as Python does: 1, 1.0 and True are one key.
func canonical(key any, depth int) (any, bool) {
	switch k := key.(type) {
	case nil, string, bigInt:
		return k, true
	case markup:
		return string(k), true
	case bool, int64:
		n, _, _, _ := number(k)
		return n, true
	case float64:
		return exact(k, true), true
	case tuple:
		return canonicalTuple(k, depth)
	case *undefined: // all are equal
		return absent{}, true
	case *namespace, *function, *macro, *loop, *iterator:
		return k, true
	}
	return nil, false
}

// canonicalTuple spells the elements with their lengths.
func canonicalTuple(t tuple, depth int) (any, bool) {
	if depth > maxNesting {
		return nil, false
	}
	var b strings.Builder
	for _, e := range t {
		c, ok := canonical(e, depth+1)
		if !ok {
			return nil, false
		}
		s := fmt.Sprintf("%T %v", c, c)
		b.WriteString(strconv.Itoa(len(s)) + ":" + s)
	}
	return tupleKey(b.String()), true
}

// keyed counts what looking up a key takes: the texts in tuples are copied at each level.
func (m *machine) keyed(key any, level int) {
	switch k := key.(type) {
	case string:
		m.step(len(k) / 64 * level)
	case bigInt:
		m.step(len(k) / 64 * level)
	case float64:
		m.step(floatSteps)
	case tuple:
		m.enter()
		defer m.leave()
		m.step(4 * len(k) * level)
		for _, e := range k {
			m.keyed(e, level+8)
		}
	}
}

// setKey sets the value of a key, which has to have the type of one.
func (m *machine) setKey(d *Dict, key, value any) {
	m.step(4)
	if m.keyed(key, 1); !d.set(key, value) {
		m.fail("a value of type %s is no key", typeName(key))
	}
}

// find returns the value of a key, which has to have the type of one.
func (m *machine) find(d *Dict, key any) (any, bool) {
	m.keyed(key, 1)
	if _, ok := canonical(key, 0); !ok {
		m.fail("a value of type %s is no key", typeName(key))
	}
	return d.find(key)
}

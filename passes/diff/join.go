package diff

import (
	"slices"
	"strings"
)

// joined collects things that are alike: equal but for numbers in their places.
type joined[T comparable] struct {
	groups []*group[T]
	index  map[groupKey[T]]*group[T]
}

type group[T comparable] struct {
	value  T
	op     string
	places [][]string // parts of places, which differ in numbers only
}

type groupKey[T comparable] struct {
	value    T
	op, like string
	parts    int
}

// add adds a thing to the group of a value, and returns the group's value, which has its count and the name of all
// things.
func (j *joined[T]) add(value T, k key, count func(value *T, thing string)) *T {
	split := parts(k.place)
	at := groupKey[T]{value, k.op, likeness(split), len(split)}
	g := j.index[at]
	if g == nil {
		g = &group[T]{value: value, op: k.op}
		if j.index == nil {
			j.index = make(map[groupKey[T]]*group[T])
		}
		j.index[at] = g
		j.groups = append(j.groups, g)
	}
	g.places = append(g.places, split)
	count(&g.value, g.name())
	return &g.value
}

func (j *joined[T]) list() []T {
	var list []T
	for _, g := range j.groups {
		list = append(list, g.value)
	}
	return list
}

// name returns the op and the places, with * for numbers that differ.
func (g *group[T]) name() string {
	place := slices.Clone(g.places[0])
	for i := range place {
		if last := g.places[len(g.places)-1]; last[i] != place[i] {
			place[i] = "*"
		}
	}
	g.places = [][]string{place}
	return strings.TrimSpace(g.op + " " + strings.Join(place, ""))
}

// parts splits a place into runs of digits and what is between them.
func parts(place string) []string {
	var list []string
	start := 0
	for i := 1; i <= len(place); i++ {
		if i == len(place) || isDigit(place[i]) != isDigit(place[i-1]) {
			list = append(list, place[start:i])
			start = i
		}
	}
	return list
}

// likeness returns the parts of a place with # for those of digits.
func likeness(parts []string) string {
	list := slices.Clone(parts)
	for i, p := range list {
		if isDigit(p[0]) {
			list[i] = "#"
		}
	}
	return strings.Join(list, "")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

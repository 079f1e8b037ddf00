package group

import (
	"slices"
)

// layout describes which elements of a whole value the devices have. The elements of the whole, in the order of its
// dimensions, are units of equal size, and the units repeat with a period. Each device has the same spans of units of
// every period, one after another.
//
// For example, with dimensions 8 and 3 (the fastest first), of which the first is split into 6 and 2 elements, the unit
// is 2 elements, the period 4 units, and the devices have the spans [0,3) and [3,4).
type layout struct {
	unit, period int64
	spans        [][]span // by device
}

// span is a run of units.
type span struct{ begin, n int64 }

// count returns the number of units of a period that a device has.
func (l *layout) count(device int) int64 { return size(l.spans[device]) }

func size(spans []span) int64 {
	n := int64(0)
	for _, s := range spans {
		n += s.n
	}
	return n
}

// only returns the device that has everything, if the others have nothing; else -1.
func (l *layout) only() int {
	at := -1
	for j := range l.spans {
		switch n := l.count(j); {
		case n == 0:
		case n < l.period || at >= 0:
			return -1
		default:
			at = j
		}
	}
	return at
}

// equal reports whether two layouts are the same, however they are written down.
func (l *layout) equal(m *layout) bool {
	a, b := l.shortest(), m.shortest()
	return a.unit == b.unit && a.period == b.period && slices.EqualFunc(a.spans, b.spans, slices.Equal[[]span])
}

// shortest returns the layout with the largest unit and the shortest period.
func (l *layout) shortest() *layout {
	r := l.coarser()
	for {
		p := r.repeats()
		if p == r.period {
			break
		}
		s := &layout{unit: r.unit, period: p}
		for _, spans := range r.spans {
			s.spans = append(s.spans, within(spans, 0, p))
		}
		r = s.coarser()
	}
	if r.period == 1 {
		r.unit = 1 // one device has everything
	}
	return r
}

// coarser returns the layout with the largest unit for the same period, and spans that are joined where they can be.
func (l *layout) coarser() *layout {
	g := l.period
	r := &layout{}
	for _, spans := range l.spans {
		list := joined(spans)
		for _, s := range list {
			g = gcd(gcd(g, s.begin), s.n)
		}
		r.spans = append(r.spans, list)
	}
	r.unit, r.period = l.unit*g, l.period/g
	for _, spans := range r.spans {
		for i := range spans {
			spans[i] = span{spans[i].begin / g, spans[i].n / g}
		}
	}
	return r
}

// finer returns the layout with a smaller unit, which divides its own.
func (l *layout) finer(unit int64) *layout {
	k := l.unit / unit
	r := &layout{unit: unit, period: l.period * k}
	for _, spans := range l.spans {
		list := slices.Clone(spans)
		for i := range list {
			list[i] = span{list[i].begin * k, list[i].n * k}
		}
		r.spans = append(r.spans, list)
	}
	return r
}

// longer returns the layout with a period that is a multiple of its own.
func (l *layout) longer(period int64) *layout {
	r := &layout{unit: l.unit, period: period}
	for _, spans := range l.spans {
		r.spans = append(r.spans, repeated(spans, l.period, period))
	}
	return r
}

// repeats returns the shortest period after which the spans of all devices repeat.
func (l *layout) repeats() int64 {
	for p := int64(1); p <= l.period/2; p++ {
		if l.period%p != 0 {
			continue
		}
		same := func(spans []span) bool {
			first := within(spans, 0, p)
			return size(first)*(l.period/p) == size(spans) && slices.Equal(repeated(first, p, l.period), spans)
		}
		if !slices.ContainsFunc(l.spans, func(spans []span) bool { return !same(spans) }) {
			return p
		}
	}
	return l.period
}

// repeated returns the spans of a period as those of a multiple of it.
func repeated(spans []span, period, of int64) []span {
	var list []span
	for at := int64(0); at < of; at += period {
		for _, s := range spans {
			list = append(list, span{s.begin + at, s.n})
		}
	}
	return joined(list)
}

// within returns the parts of spans in [from, to).
func within(spans []span, from, to int64) []span {
	var list []span
	for _, s := range spans {
		begin, end := max(s.begin, from), min(s.begin+s.n, to)
		if begin < end {
			list = append(list, span{begin, end - begin})
		}
	}
	return list
}

// part returns n units of what a device has, from its own unit at on.
func part(spans []span, at, n int64) []span {
	var list []span
	for _, s := range spans {
		skip := min(at, s.n)
		take := min(s.n-skip, n)
		if take > 0 {
			list = append(list, span{s.begin + skip, take})
		}
		at, n = at-skip, n-take
	}
	return list
}

// joined returns spans without empty ones, with those joined that continue the one before.
func joined(spans []span) []span {
	var list []span
	for _, s := range spans {
		switch last := len(list) - 1; {
		case s.n == 0:
		case last >= 0 && list[last].begin+list[last].n == s.begin:
			list[last].n += s.n
		default:
			list = append(list, s)
		}
	}
	return list
}

// covers reports whether the devices together have every unit of the period once.
func (l *layout) covers() bool {
	var all []span
	for _, spans := range l.spans {
		all = append(all, spans...)
	}
	slices.SortFunc(all, func(a, b span) int { return int(a.begin - b.begin) })
	all = joined(all)
	return len(all) == 1 && all[0] == span{0, l.period}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// axisLayout returns the layout of a value of which one axis is split, with spans of its elements.
func axisLayout(ne [4]int64, axis int, spans [][]span) *layout {
	l := &layout{unit: 1, period: ne[axis], spans: spans}
	for _, n := range ne[:axis] {
		l.unit *= n
	}
	return l
}

// axis returns the axis of a value which its layout splits, and the spans of its elements. It is -1 if the layout does
// not split the value along one axis, but cuts through several.
func (l *layout) axis(ne [4]int64) (int, [][]span) {
	s := l.shortest()
	below := int64(1)
	for a, n := range ne {
		if n > 1 && s.unit%below == 0 && (below*n)%(s.unit*s.period) == 0 {
			return a, s.finer(below).longer(n).spans
		}
		below *= n
	}
	return -1, nil
}

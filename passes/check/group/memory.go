package group

import (
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// content is what the devices have of a value.
type content struct {
	kind   kind
	layout *layout // of parts
}

// kind is the kind of a content.
type kind uint8

const (
	unknown kind = iota // nothing is known about it
	whole               // every device has all of it
	parts               // each has its part
	sum                 // each has a summand
)

// region is a range of the memory of a tensor that is no view. Memory is one region, except where an op stores two
// results in one tensor. Positions are in elements.
type region struct {
	begin, end int64   // in the whole
	at         []int64 // where it begins on each device
	content
}

// strided is a part of memory: extents and strides of dimensions, the fastest first, in elements, from an offset on.
type strided struct {
	n, stride []int64
	offset    int64
}

// elements converts dimensions and strides in bytes to elements. It reports false if one of them cuts an element; then
// a device would read bytes of two.
func elements(t *foreign.Tensor, p foreign.Part) (s strided, ok bool) {
	block, bytes := int64(t.DType.BlockElems()), int64(t.DType.BlockBytes())
	ok = p.Offset%bytes == 0
	s.offset = p.Offset / bytes * block
	for i, n := range p.NE {
		stride := p.NB[i] * block / bytes
		if i == 0 && p.NB[0] == bytes {
			stride = 1
		}
		ok = ok && (n <= 1 || p.NB[i]%bytes == 0)
		s.n, s.stride = append(s.n, n), append(s.stride, stride)
	}
	return s, ok || s.isEmpty()
}

// isEmpty reports whether there are no elements.
func (s *strided) isEmpty() bool {
	for _, n := range s.n {
		if n == 0 {
			return true
		}
	}
	return false
}

// end returns the position after the last element.
func (s *strided) end() int64 {
	end := s.offset + 1
	for i, n := range s.n {
		end += (n - 1) * s.stride[i]
	}
	return end
}

// viewer finds which elements of a view the devices have, from the layout of the memory that it names.
type viewer struct {
	mem   *layout
	all   strided   // the view of the whole
	local []strided // the view on each device that has something
	on    []int     // these devices
}

// viewContent returns the content of a view of memory. local are the parts that the devices use.
func viewContent(mem []region, t *foreign.Tensor, local []foreign.Part) content {
	all, ok := elements(t, foreign.Part{NE: t.NE, NB: t.NB, Offset: t.Offset})
	if !ok {
		return content{}
	}
	for _, r := range mem {
		if all.offset < r.begin || all.end() > r.end {
			continue
		}
		all.offset -= r.begin
		v := &viewer{mem: r.layout, all: all}
		for j, p := range local {
			s, ok := elements(t, p)
			if !ok {
				return content{}
			}
			if s.offset -= r.at[j]; !s.isEmpty() {
				v.local, v.on = append(v.local, s), append(v.on, j)
			}
		}
		if r.kind != parts {
			return v.ofWhole(r.content)
		}
		return v.find(r.layout, len(local))
	}
	return content{}
}

// ofWhole returns the content of a view of what all devices have: they have to look at the same elements.
func (v *viewer) ofWhole(c content) content {
	for _, s := range v.local {
		if s.offset != v.all.offset {
			return content{}
		}
		for i, n := range v.all.n {
			if s.n[i] != n || n > 1 && s.stride[i] != v.all.stride[i] {
				return content{}
			}
		}
	}
	return c
}

// find returns the content of a view of split memory.
func (v *viewer) find(mem *layout, devices int) content {
	if at := mem.only(); at >= 0 {
		return v.onOne(at, devices)
	}
	v.merge()
	short := mem.shortest()
	below := int64(1)
	for i, n := range v.all.n {
		if l := v.along(short, i, devices); l != nil && l.covers() {
			l.unit *= below
			return content{kind: parts, layout: l}
		}
		below *= n
	}
	return content{}
}

// onOne returns the content of a view of memory that one device has alone.
func (v *viewer) onOne(device, devices int) content {
	if len(v.on) != 1 || v.on[0] != device || v.ofWhole(content{kind: whole}).kind != whole {
		return content{}
	}
	return content{kind: parts, layout: oneHasAll(device, devices)}
}

// oneHasAll returns the layout of a value that one device has alone.
func oneHasAll(device, devices int) *layout {
	l := &layout{unit: 1, period: 1, spans: make([][]span, devices)}
	l.spans[device] = []span{{0, 1}}
	return l
}

// merge joins dimensions that continue each other in the whole and on all devices, and drops those of extent 1.
func (v *viewer) merge() {
	views := append([]*strided{&v.all}, pointers(v.local)...)
	var keep []int // the first dimension of each merged one
	merged := make([]strided, len(views))
	for i := range v.all.n {
		if v.all.n[i] == 1 {
			continue
		}
		continues := len(keep) > 0
		for k, s := range views {
			last := len(merged[k].n) - 1
			continues = continues && s.stride[i] == merged[k].n[last]*merged[k].stride[last]
		}
		if !continues {
			keep = append(keep, i)
		}
		for k, s := range views {
			m := &merged[k]
			if continues {
				m.n[len(m.n)-1] *= s.n[i]
				continue
			}
			m.n, m.stride = append(m.n, s.n[i]), append(m.stride, s.stride[i])
		}
	}
	for k, s := range views {
		s.n, s.stride = merged[k].n, merged[k].stride
	}
}

func pointers(list []strided) []*strided {
	var ps []*strided
	for i := range list {
		ps = append(ps, &list[i])
	}
	return ps
}

// along returns the layout of dimension d of the view in units of its elements, if that is where the view is split and
// all other dimensions are the same on every device; else nil.
func (v *viewer) along(mem *layout, d int, devices int) *layout {
	step := v.all.stride[d]
	switch {
	case step == 0:
		return nil
	case step < mem.unit && mem.unit%step == 0:
		mem = mem.finer(step)
	case step%mem.unit != 0:
		return nil
	}
	l := &layout{unit: 1, period: v.all.n[d], spans: make([][]span, devices)}
	wholes := 0 // devices that have whole periods
	for k, j := range v.on {
		w := walk{mem: mem, spans: mem.spans[j], all: &v.all, local: &v.local[k], dim: d}
		if !w.othersAgree() {
			return nil
		}
		spans, periods := w.spansOf()
		if spans == nil {
			return nil
		}
		l.spans[j] = spans
		if periods {
			wholes++
		}
	}
	if wholes == len(v.on) {
		l.period = mem.period
	} else if wholes > 0 {
		return nil
	}
	return l
}

// walk compares the view of one device with that of the whole.
type walk struct {
	mem        *layout
	spans      []span
	all, local *strided
	dim        int // the dimension along which the view is split
}

// digits returns an offset as a number of periods, units in the last one, and elements in the last unit.
func digits(offset, unit, period int64) (periods, units, rest int64) {
	return offset / (unit * period), offset / unit % period, offset % unit
}

// othersAgree reports whether the offset and all dimensions but one are the same on the device as in the whole.
func (w *walk) othersAgree() bool {
	u, c := w.mem.unit, size(w.spans)
	if c == 0 {
		return false
	}
	q, _, r := digits(w.all.offset, u, w.mem.period)
	q2, _, r2 := digits(w.local.offset, u, c)
	inside := r
	for i, n := range w.all.n {
		if i == w.dim {
			continue
		}
		s, s2 := w.all.stride[i], w.local.stride[i]
		switch full := u * w.mem.period; {
		case w.local.n[i] != n:
			return false
		case s%full == 0:
			if s2 != s/full*c*u {
				return false
			}
		case s != s2:
			return false
		default:
			inside += (n - 1) * s
		}
	}
	return q == q2 && r == r2 && inside < u
}

// spansOf returns which elements of the split dimension the device has. They are those of one period if the dimension
// has whole periods.
func (w *walk) spansOf() (spans []span, periods bool) {
	u, c := w.mem.unit, size(w.spans)
	n, n2, step := w.all.n[w.dim], w.local.n[w.dim], w.all.stride[w.dim]
	_, first, _ := digits(w.all.offset, u, w.mem.period)
	_, first2, _ := digits(w.local.offset, u, c)
	if step != w.local.stride[w.dim] {
		return nil, false
	}
	if step == u && first == 0 && first2 == 0 && n%w.mem.period == 0 && n2 == n/w.mem.period*c {
		return w.spans, true
	}
	m := step / u
	if first+(n-1)*m >= w.mem.period || first2+(n2-1)*m >= c {
		return nil, false
	}
	if m == 1 {
		for _, s := range part(w.spans, first2, n2) {
			spans = append(spans, span{s.begin - first, s.n})
		}
	} else {
		for i := range n2 {
			at := part(w.spans, first2+i*m, 1)[0].begin - first
			if at%m != 0 {
				return nil, false
			}
			spans = append(spans, span{at / m, 1})
		}
	}
	for _, s := range spans {
		if s.begin < 0 || s.begin+s.n > n {
			return nil, false
		}
	}
	return joined(spans), false
}

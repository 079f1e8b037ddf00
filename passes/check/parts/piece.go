package parts

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// piece is what a value of the module after is of a value before: all of it, ranges of one axis, or a summand of
// either.
type piece struct {
	of   *ir.Value
	axis int // -1: all
	runs runs

	// sums, if there are any, mean that the piece is a summand: of each of these sums it has a part. A value that is
	// linear in several sums has several. They may be complete: a device can have all of a sum to which others add
	// nothing.
	sums []summand

	// lacking are operands of additions of which the device has nothing: another device has to add them.
	lacking []*ir.Value

	how *additions // of a summand: what was added so far; nil for the value itself
}

// summand is a part of a sum: the ranges, in the order in which they were added, of the dimension over which the node
// at sums.
type summand struct {
	at    *ir.Value
	runs  runs
	total int64
}

// run is a range of elements: from begin on, without end. runs are ranges one after another.
type (
	run  struct{ begin, end int64 }
	runs []run
)

// add appends a range, which may continue the last one.
func (r runs) add(begin, end int64) runs {
	if begin == end {
		return r
	}
	if n := len(r); n > 0 && r[n-1].end == begin {
		r = slices.Clone(r)
		r[n-1].end = end
		return r
	}
	return append(slices.Clone(r), run{begin, end})
}

func (r runs) join(s runs) runs {
	for _, x := range s {
		r = r.add(x.begin, x.end)
	}
	return r
}

// len returns the number of elements.
func (r runs) len() int64 {
	n := int64(0)
	for _, x := range r {
		n += x.end - x.begin
	}
	return n
}

// at returns the element at a place.
func (r runs) at(i int64) int64 {
	for _, x := range r {
		if n := x.end - x.begin; i >= n {
			i -= n
			continue
		}
		return x.begin + i
	}
	return -1
}

// covers reports whether the ranges, in any order, are exactly those from 0 to n, each element once.
func (r runs) covers(n int64) bool {
	sorted := slices.SortedFunc(slices.Values(r), func(a, b run) int { return int(a.begin - b.begin) })
	at := int64(0)
	for _, x := range sorted {
		if x.begin != at {
			return false
		}
		at = x.end
	}
	return at == n
}

// overlaps reports whether two lists have an element in common.
func (r runs) overlaps(s runs) bool {
	for _, a := range r {
		for _, b := range s {
			if a.begin < b.end && b.begin < a.end {
				return true
			}
		}
	}
	return false
}

// scale returns the ranges of another axis, of which num elements belong to den of this one, such as the
// heads of queries of which some share a head of keys.
func (r runs) scale(num, den int64) (runs, bool) {
	var list runs
	for _, x := range r {
		if den == 0 || x.begin*num%den != 0 || x.end*num%den != 0 {
			return nil, false
		}
		list = list.add(x.begin*num/den, x.end*num/den)
	}
	return list, true
}

// sub returns n elements from the one at start on.
func (r runs) sub(start, n int64) (runs, bool) {
	var list runs
	for _, x := range r {
		size := x.end - x.begin
		lo, hi := min(max(start, 0), size), min(max(start+n, 0), size)
		list = list.add(x.begin+lo, x.begin+hi)
		start -= size
	}
	return list, list.len() == n
}

func whole(v *ir.Value) piece { return piece{of: v, axis: -1} }

// isWhole reports whether a piece is all of a value, added up.
func (p piece) isWhole() bool { return p.axis < 0 && p.isComplete() }

// isComplete reports whether nothing has to be added to a piece.
func (p piece) isComplete() bool { return len(p.lacking) == 0 && complete(p.sums) }

// common returns the values that two lists have in common.
func common(a, b []*ir.Value) []*ir.Value {
	return slices.DeleteFunc(slices.Clone(a), func(v *ir.Value) bool { return !slices.Contains(b, v) })
}

// lifted returns a summand of an operand of the sum v as one of v, where a device has nothing of the other operand; p
// itself if it is none. An operand may be a sum, too. An operand of a concatenation is a range of it.
func lifted(p piece, v *ir.Value) piece {
	if p.of == v || v.Def == nil {
		return p
	}
	if v.Def.Op == ir.OpConcat { // of which the device has one operand
		if q, ok := gathered(v.Def, v.Def, []piece{p}); ok {
			return q
		}
	}
	if v.Def.Op != ir.OpAdd {
		return p
	}
	for i, a := range v.Def.Args {
		if q := lifted(p, same(a)); q.of == same(a) {
			q.sums = q.summands()
			q.of, q.lacking = v, append(slices.Clone(q.lacking), same(v.Def.Args[1-i]))
			return q
		}
	}
	return p
}

// normal returns a piece of which all ranges are there as a whole.
func (p piece) normal() piece {
	if p.axis >= 0 && p.of.Type.Shape[p.axis].Is(p.runs.len()) && len(p.runs) == 1 && p.runs[0].begin == 0 {
		p.axis, p.runs = -1, nil
	}
	return p
}

// summands returns the sums of which a piece has parts. Of a value that is no sum, it is the only summand.
func (p piece) summands() []summand {
	if p.sums != nil {
		return p.sums
	}
	const all = 1 << 62 // overlaps with any part
	return []summand{{p.of, runs{{0, all}}, all}}
}

// complete reports whether every sum has all of its summands.
func complete(sums []summand) bool {
	return !slices.ContainsFunc(sums, func(s summand) bool { return !s.runs.covers(s.total) })
}

// equalSums reports whether two pieces are the same summands.
func equalSums(a, b []summand) bool {
	return slices.EqualFunc(a, b, func(s, t summand) bool { return s.at == t.at && slices.Equal(s.runs, t.runs) })
}

// both returns the sums of two operands in which a result is linear. If both have parts of one sum, they have to be the
// same.
func both(a, b []summand) ([]summand, bool) {
	all := slices.Clone(a)
	for _, s := range b {
		i := slices.IndexFunc(all, func(t summand) bool { return t.at == s.at })
		switch {
		case i < 0:
			all = append(all, s)
		case !slices.Equal(all[i].runs, s.runs):
			return nil, false
		}
	}
	slices.SortFunc(all, func(s, t summand) int { return s.at.ID - t.at.ID })
	return all, true
}

// together returns the sums of two summands that are added up: what both have is disjoint. A device may have no part of
// a sum.
func together(a, b []summand) ([]summand, error) {
	all := slices.Clone(a)
	for _, s := range b {
		i := slices.IndexFunc(all, func(t summand) bool { return t.at == s.at })
		switch {
		case i < 0:
			all = append(all, s)
		case all[i].runs.overlaps(s.runs):
			return nil, fmt.Errorf("both have a part of %v of the sum of %v", s.runs, s.at)
		default:
			all[i].runs = all[i].runs.join(s.runs)
		}
	}
	slices.SortFunc(all, func(s, t summand) int { return s.at.ID - t.at.ID })
	return all, nil
}

// sameRange reports whether two pieces are the same elements of the same value.
func (p piece) sameRange(q piece) bool {
	return p.of == q.of && p.axis == q.axis && slices.Equal(p.runs, q.runs)
}

func (p piece) String() string {
	text := p.of.String()
	if p.axis >= 0 {
		text += fmt.Sprintf(" %v of axis %d", p.runs, p.axis)
	}
	for _, s := range p.sums {
		text += fmt.Sprintf(", of the sum of %v only %v", s.at, s.runs)
	}
	return text
}

func (r runs) String() string {
	text := ""
	for i, x := range r {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("[%d,%d)", x.begin, x.end)
	}
	return text
}

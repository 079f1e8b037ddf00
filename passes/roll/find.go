package roll

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// maxPeriods is how many lengths of a group are tried.
const maxPeriods = 8

// findRepeat returns the repetition that saves most nodes, nil where there is none.
func findRepeat(f *ir.Func) *repetition {
	s := newSequence(f)
	var best *repetition
	for _, period := range s.periods() {
		for _, run := range s.runs(period) {
			if r := s.bestIn(run, period); r != nil && (best == nil || r.better(best)) {
				best = r
			}
		}
	}
	return best
}

// periods returns likely lengths of a group, likeliest first: how far apart equal nodes
// follow each other.
func (s *sequence) periods() []int {
	last := make([]int32, len(s.key)) // by key: where it was last, counted from 1
	count := make([]int32, len(s.key))
	for i, k := range s.key {
		if j := last[k]; j > 0 {
			count[int32(i+1)-j]++
		}
		last[k] = int32(i + 1)
	}
	var list []int
	for d, n := range count {
		if n > 0 && 2*int(n) >= d { // in two groups half of the nodes may have equals within their group
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Or(int(count[b]-count[a]), a-b) })
	return list[:min(len(list), maxPeriods)]
}

// runs returns the maximal ranges [from, to) of nodes in which nodes at distance period
// are equal, where two groups or more fit. They stay until it is called again.
func (s *sequence) runs(period int) [][2]int {
	list := s.ranges[:0]
	from := 0
	for i := 0; i+period <= len(s.key); i++ {
		if i+period < len(s.key) && s.key[i] == s.key[i+period] {
			continue
		}
		if i-from >= period {
			list = append(list, [2]int{from, i + period})
		}
		from = i + 1
	}
	s.ranges = list
	return list
}

// bestIn returns the best repetition in a run.
func (s *sequence) bestIn(run [2]int, period int) *repetition {
	var best *repetition
	for _, start := range s.starts(run, period) {
		for count := (run[1] - start) / period; count >= 2; {
			r := s.try(start, period, count)
			if r == nil {
				break
			}
			if r.count == count {
				if best == nil || r.better(best) {
					best = r
				}
				break
			}
			count = r.count
		}
	}
	return best
}

// repetition is groups of nodes that can become a repeat.
type repetition struct {
	s       *sequence
	start   int
	period  int          // nodes of a group
	count   int          // of groups
	sites   []siteSource // what stands for the operands of the body's nodes; see at
	carried []carried
	fixed   []*ir.Value   // invariant values
	tables  [][]*ir.Value // an entry for each group
}

// site is an operand of a node of the body.
type site struct{ node, arg int }

// at returns what stands for an operand.
func (r *repetition) at(s site) *siteSource {
	return &r.sites[int(r.s.first[r.start+s.node]-r.s.first[r.start])+s.arg]
}

// siteSource is what an operand of a body's node becomes.
type siteSource struct {
	kind  sourceKind
	index int       // which carried value, invariant or table; the node within the group
	leaf  *ir.Value // of a leaf that all groups share
}

type sourceKind uint8

const (
	fromNothing sourceKind = iota // an absent operand
	fromGroup                     // defined in the body
	fromCarried
	fromInvariant
	fromTable
	fromLeaf // the same leaf in all groups: it moves into the body
)

// carried is a value that a group takes over from the one before.
type carried struct {
	node, result int // within the group
	init         *ir.Value
}

// better prefers what saves more nodes, then what carries fewer bytes, then what begins
// earlier.
func (r *repetition) better(o *repetition) bool {
	return cmp.Or(cmp.Compare(o.saved(), r.saved()), cmp.Compare(r.carriedBytes(), o.carriedBytes()),
		cmp.Compare(r.period, o.period), cmp.Compare(r.start, o.start)) < 0
}

func (r *repetition) saved() int { return (r.count - 1) * r.period }

func (r *repetition) carriedBytes() int64 {
	var sum int64
	for _, c := range r.carried {
		sum += c.init.Type.MaxBytes()
	}
	return sum
}

// try returns the repetition of groups from start, with fewer than count groups where only
// these fit together; nil where not even two do.
func (s *sequence) try(start, period, count int) *repetition {
	likely := repetition{s: s, start: start, period: period}
	if likely.count = likely.agreeing(count); likely.count < 2 {
		return nil // as nearly always: nothing is made for it
	}
	r := new(repetition)
	if *r = likely; r.count < count {
		return r
	}
	r.sites, s.sites = rewrite.WithIDs(s.sites[:0], int(s.first[start+period]-s.first[start])), nil
	if !r.classified() || !r.makesNext() || !r.closed() {
		s.sites = r.sites
		return nil
	}
	return r
}

// classified decides what the operands of the body become, and reports whether it may become a repeat's.
func (r *repetition) classified() bool {
	for j, n := range r.group(0) {
		for arg := range n.Args {
			if !r.classify(site{j, arg}) {
				return false
			}
		}
	}
	return true
}

// makesNext reports whether every carried value's next one is computed in the group, and
// not a view of what the group was given: then bytes would change hands among carried
// values, which takes more copies than one each.
func (r *repetition) makesNext() bool {
	for _, c := range r.carried {
		for j := c.node; r.group(0)[j].Is(ir.View); {
			src := r.at(site{j, 0})
			if src.kind != fromGroup {
				return false
			}
			j = src.index
		}
	}
	return true
}

// where says where operand arg of node j of group g comes from, so that equal answers mean
// equal data flow.
type where struct {
	group, node, result int   // group: 0 the same, 1 the one before
	outside             int32 // the value's id, counted from 1; 0 for one of the groups
	leaf                bool
}

func (r *repetition) where(g, j, arg int) where {
	period := r.period
	begin := r.start + g*period
	o := r.s.operands[int(r.s.first[begin+j])+arg]
	at := int(o.at)
	switch {
	case o.value < 0:
		return where{}
	case o.at == isLeafValue:
		return where{leaf: true}
	case at >= begin:
		return where{0, at - begin, int(o.result), 0, false}
	case at >= begin-period && at >= r.start:
		return where{1, at - begin + period, int(o.result), 0, false}
	}
	return where{outside: o.value + 1}
}

// group returns the nodes of group g.
func (r *repetition) group(g int) []*ir.Node {
	return r.s.nodes[r.start+g*r.period : r.start+(g+1)*r.period]
}

// agreeing returns how many groups of count, from the first, have the same data flow. Most beginnings that
// are tried are none: 1 is found at the first operand that differs.
func (r *repetition) agreeing(count int) int {
	for j, n := range r.group(0) {
		for arg := range n.Args {
			if count = r.agree(j, arg, count); count < 2 {
				return count
			}
		}
	}
	return count
}

// agree returns how many groups of count, from the first, have the same data flow at an operand.
func (r *repetition) agree(j, arg, count int) int {
	if count < 2 {
		return count
	}
	first, second := r.where(0, j, arg), r.where(1, j, arg)
	starts := second.group == 1 && first.outside != 0 // what is carried starts outside
	if first != second && !starts {
		return 1
	}
	for g := 2; g < count; g++ {
		if r.where(g, j, arg) != second {
			return g
		}
	}
	return count
}

// classify decides what an operand of the body becomes.
func (r *repetition) classify(at site) bool {
	v := r.group(0)[at.node].Args[at.arg]
	w := r.where(1, at.node, at.arg)
	src := siteSource{}
	ok := true
	switch {
	case v == nil:
	case w.leaf:
		src, ok = r.leaves(at)
	case w.outside != 0:
		src = siteSource{kind: fromInvariant, index: indexOrAdd(&r.fixed, v)}
	case w.group == 0:
		src = siteSource{kind: fromGroup, index: w.node}
	default:
		src, ok = r.carry(carried{w.node, w.result, v})
	}
	*r.at(at) = src
	return ok
}

func indexOrAdd[T comparable](list *[]T, x T) int {
	i := slices.Index(*list, x)
	if i < 0 {
		i = len(*list)
		*list = append(*list, x)
	}
	return i
}

// carry notes a carried value. One that starts with different values at different
// operands, and versions of states, cannot be carried.
func (r *repetition) carry(c carried) (siteSource, bool) {
	if flow.IsLeaf(c.init, ir.OpState) || flow.IsLeaf(r.group(0)[c.node].Results[c.result], ir.OpState) {
		return siteSource{}, false
	}
	for i, o := range r.carried {
		if o.node == c.node && o.result == c.result {
			return siteSource{kind: fromCarried, index: i}, o.init == c.init
		}
	}
	r.carried = append(r.carried, c)
	return siteSource{kind: fromCarried, index: len(r.carried) - 1}, true
}

// leaves makes a table of the leaves at an operand, or one leaf in the body.
func (r *repetition) leaves(at site) (siteSource, bool) {
	entries := make([]*ir.Value, r.count)
	for g := range entries {
		entries[g] = r.s.leaf(r.group(g)[at.node].Args[at.arg])
	}
	op := entries[0].Def.Op
	same := !slices.ContainsFunc(entries, func(v *ir.Value) bool { return v != entries[0] })
	switch {
	case op == ir.OpState && !r.ownStates(entries), op == ir.OpConstant && !same:
		return siteSource{}, false
	case same:
		return siteSource{kind: fromLeaf, leaf: entries[0]}, true
	}
	for i, t := range r.tables {
		if slices.Equal(t, entries) {
			return siteSource{kind: fromTable, index: i}, true
		}
	}
	r.tables = append(r.tables, entries)
	return siteSource{kind: fromTable, index: len(r.tables) - 1}, true
}

// ownStates reports whether each state is used in its group only.
func (r *repetition) ownStates(entries []*ir.Value) bool {
	period := r.period
	for g, v := range entries {
		begin := r.start + g*period
		if slices.ContainsFunc(r.s.states[v], func(at int) bool { return at < begin || at >= begin+period }) {
			return false
		}
	}
	return true
}

// closed checks what leaves the groups: only carried values do, from the last one. Where
// the last group gives away more, it is left out; false where that leaves too few.
func (r *repetition) closed() bool {
	for g := range r.count {
		for j, n := range r.group(g) {
			for k, v := range n.Results {
				if r.staysIn(g, v) || g == r.count-1 && r.isCarried(j, k) {
					continue
				}
				fit := min(g+1, r.count-1)
				if fit >= 2 {
					r.count = fit
				}
				return fit >= 2
			}
		}
	}
	return true
}

func (r *repetition) isCarried(node, result int) bool {
	return slices.ContainsFunc(r.carried, func(c carried) bool { return c.node == node && c.result == result })
}

// staysIn reports whether only group g and the next one, in the repetition, read v.
func (r *repetition) staysIn(g int, v *ir.Value) bool {
	period := r.period
	begin := r.start + g*period
	end := min(begin+2*period, r.start+r.count*period)
	outside := func(at int32) bool { return int(at) < begin || int(at) >= end }
	return !slices.ContainsFunc(r.s.readersOf(v), outside) && !slices.Contains(r.s.f.Results, v)
}

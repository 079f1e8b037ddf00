package roll

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// repetition is consecutive groups that can become a repeat. The first group becomes the body. A node of a group has
// its place in the group as its number.
type repetition struct {
	s      *sequence
	start  int // position of the first group
	period int // number of nodes of a group
	count  int // number of groups

	sources [][]source // what the operands of the body become, by node and operand
	carried []carried
	fixed   []*ir.Value   // invariant values
	tables  [][]*ir.Value // each with an entry for each group
}

// source is what an operand of a node of the body becomes.
type source struct {
	kind  sourceKind
	index int       // of the node of the body, the carried value, the invariant or the table
	leaf  *ir.Value // for fromLeaf
}

type sourceKind uint8

const (
	fromNothing   sourceKind = iota // an absent operand
	fromBody                        // a result of a node of the body
	fromCarried                     // a parameter of the body that is carried
	fromInvariant                   // a parameter that is invariant
	fromTable                       // a parameter that is an entry of a table
	fromLeaf                        // a leaf that all groups share: it moves into the body
)

// carried is a value that a group takes over from the group before.
type carried struct {
	node, result int       // that make it in the group before
	init         *ir.Value // for the first group
}

// longest returns the repetition with the most groups, at most count, whose first group is at start; nil if not even
// two groups fit together.
func (s *sequence) longest(start, period, count int) *repetition {
	candidate := repetition{s: s, start: start, period: period}
	count = candidate.sameFlow(count)
	for count >= 2 {
		r := &repetition{s: s, start: start, period: period, count: count}
		if !r.findSources() || !r.makesCarried() {
			return nil
		}
		fit := r.closed()
		if fit == count {
			return r
		}
		count = fit // with other tables
	}
	return nil
}

// group returns the nodes of group g.
func (r *repetition) group(g int) []*ir.Node {
	return r.s.nodes[r.start+g*r.period : r.start+(g+1)*r.period]
}

// saved returns the number of nodes that the repeat saves.
func (r *repetition) saved() int { return (r.count - 1) * r.period }

// carriedBytes returns the bytes of the carried values.
func (r *repetition) carriedBytes() int64 {
	var sum int64
	for _, c := range r.carried {
		sum += c.init.Type.MaxBytes()
	}
	return sum
}

// better reports whether r is better than o: it saves more nodes, or else carries fewer bytes, or else has shorter
// groups, or else starts earlier.
func (r *repetition) better(o *repetition) bool {
	return cmp.Or(cmp.Compare(o.saved(), r.saved()), cmp.Compare(r.carriedBytes(), o.carriedBytes()),
		cmp.Compare(r.period, o.period), cmp.Compare(r.start, o.start)) < 0
}

// origin is where an operand comes from, seen from its group. Two groups have the same data flow if all origins are
// equal.
type origin struct {
	kind         originKind
	node, result int   // for sameGroup and groupBefore
	value        int32 // for outside: id
}

type originKind uint8

const (
	absent      originKind = iota
	leaf                   // any leaf: it may differ from group to group
	sameGroup              // made in the group of the reader
	groupBefore            // made in the group before
	outside                // made elsewhere: before the first group, or two groups or more before
)

// originOf returns the origin of an operand of a node in group g.
func (r *repetition) originOf(g, node, arg int) origin {
	begin := r.start + g*r.period
	o := r.s.operands[begin+node][arg]
	maker := int(o.maker)
	switch {
	case o.value < 0:
		return origin{kind: absent}
	case o.maker == madeByLeaf:
		return origin{kind: leaf}
	case maker >= begin:
		return origin{kind: sameGroup, node: maker - begin, result: int(o.result)}
	case maker >= begin-r.period && maker >= r.start:
		return origin{kind: groupBefore, node: maker - begin + r.period, result: int(o.result)}
	}
	return origin{kind: outside, value: o.value}
}

// sameFlow returns how many of count groups, from the first on, have the same data flow.
func (r *repetition) sameFlow(count int) int {
	for j, n := range r.group(0) {
		for arg := range n.Args {
			if count = r.sameOrigin(j, arg, count); count < 2 {
				return count
			}
		}
	}
	return count
}

// sameOrigin returns how many of count groups, which are two or more, from the first on, have the same origin of an
// operand. The first group may differ from the others if the operand is carried: its value comes from outside then.
//
//	group  operand of the matmul     origin
//	0      %x                        outside
//	1      %b0                       groupBefore, node 1
//	2      %b1                       groupBefore, node 1
func (r *repetition) sameOrigin(node, arg, count int) int {
	first, second := r.originOf(0, node, arg), r.originOf(1, node, arg)
	isCarried := first.kind == outside && second.kind == groupBefore
	if first != second && !isCarried {
		return 1
	}
	for g := 2; g < count; g++ {
		if r.originOf(g, node, arg) != second {
			return g
		}
	}
	return count
}

// findSources finds what the operands of the body become. It reports whether all of them can be operands of a body.
func (r *repetition) findSources() bool {
	r.sources = make([][]source, r.period)
	for j, n := range r.group(0) {
		r.sources[j] = make([]source, len(n.Args))
		for arg, v := range n.Args {
			ok := true
			if r.sources[j][arg], ok = r.sourceOf(j, arg, v); !ok {
				return false
			}
		}
	}
	return true
}

// sourceOf returns what an operand of the body becomes, which is v in the first group. The second group decides, as
// carried values have another origin in the first one. ok is false if v can be no operand of a body.
func (r *repetition) sourceOf(node, arg int, v *ir.Value) (src source, ok bool) {
	switch o := r.originOf(1, node, arg); o.kind {
	case absent:
		return source{kind: fromNothing}, true
	case leaf:
		return r.leafSource(node, arg)
	case outside:
		return source{kind: fromInvariant, index: indexOrAdd(&r.fixed, v)}, true
	case sameGroup:
		return source{kind: fromBody, index: o.node}, true
	default: // groupBefore
		return r.carriedSource(carried{o.node, o.result, v})
	}
}

func indexOrAdd[T comparable](list *[]T, x T) int {
	i := slices.Index(*list, x)
	if i < 0 {
		i = len(*list)
		*list = append(*list, x)
	}
	return i
}

// carriedSource adds a carried value. A version of a state cannot be carried, nor a value that has different initial
// values at different operands.
func (r *repetition) carriedSource(c carried) (src source, ok bool) {
	if flow.IsLeaf(c.init, ir.OpState) || flow.IsLeaf(r.group(0)[c.node].Results[c.result], ir.OpState) {
		return source{}, false
	}
	for i, o := range r.carried {
		if o.node == c.node && o.result == c.result {
			return source{kind: fromCarried, index: i}, o.init == c.init
		}
	}
	r.carried = append(r.carried, c)
	return source{kind: fromCarried, index: len(r.carried) - 1}, true
}

// leafSource adds a table of the leaves that an operand has in the groups. If all groups have the same leaf, that moves
// into the body instead. Constants that differ cannot be in a table, nor can states that another group uses.
func (r *repetition) leafSource(node, arg int) (src source, ok bool) {
	entries := make([]*ir.Value, r.count)
	for g := range entries {
		entries[g] = r.s.leaf(r.group(g)[node].Args[arg])
	}
	op := entries[0].Def.Op
	same := !slices.ContainsFunc(entries, func(v *ir.Value) bool { return v != entries[0] })
	switch {
	case op == ir.OpState && !r.ownStates(entries), op == ir.OpConstant && !same:
		return source{}, false
	case same:
		return source{kind: fromLeaf, leaf: entries[0]}, true
	}
	i := slices.IndexFunc(r.tables, func(t []*ir.Value) bool { return slices.Equal(t, entries) })
	if i < 0 {
		i = len(r.tables)
		r.tables = append(r.tables, entries)
	}
	return source{kind: fromTable, index: i}, true
}

// ownStates reports whether each state, one for each group, is used in its group only.
func (r *repetition) ownStates(entries []*ir.Value) bool {
	for g, v := range entries {
		begin := r.start + g*r.period
		if slices.ContainsFunc(r.s.states[v], func(at int) bool { return at < begin || at >= begin+r.period }) {
			return false
		}
	}
	return true
}

// makesCarried reports whether the body computes the next value of each carried one. If the next value were a view of a
// parameter of the body, bytes would move from one carried value to another, which takes more copies than one for each.
func (r *repetition) makesCarried() bool {
	for _, c := range r.carried {
		for j := c.node; r.group(0)[j].Is(ir.View); {
			src := r.sources[j][0]
			if src.kind != fromBody {
				return false
			}
			j = src.index
		}
	}
	return true
}

// closed returns how many groups, from the first on, may become a repeat with respect to the readers of their results.
// A result may be read in its group and the next one. Only carried values of the last group may be read after it. Where
// a result is read elsewhere, the last group is left out, or all groups after the next one.
func (r *repetition) closed() (groups int) {
	for g := range r.count {
		for j, n := range r.group(g) {
			for k, v := range n.Results {
				if !r.staysIn(g, v) && !(g == r.count-1 && r.isCarried(j, k)) {
					return min(g+1, r.count-1)
				}
			}
		}
	}
	return r.count
}

func (r *repetition) isCarried(node, result int) bool {
	return slices.ContainsFunc(r.carried, func(c carried) bool { return c.node == node && c.result == result })
}

// staysIn reports whether v, a result in group g, is read only in that group and the next one of the repetition.
func (r *repetition) staysIn(g int, v *ir.Value) bool {
	begin := r.start + g*r.period
	end := min(begin+2*r.period, r.start+r.count*r.period)
	elsewhere := func(at int32) bool { return int(at) < begin || int(at) >= end }
	return !slices.ContainsFunc(r.s.readers[v.ID], elsewhere) && !slices.Contains(r.s.f.Results, v)
}

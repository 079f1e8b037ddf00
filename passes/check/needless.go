package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// This file finds copies without which the plan would be as right: needless copies cost time, and are no violation.
//
// In
//
//	%a  = silu %x   @host on cpu
//	%a0 = copy %a   @d0
//	%a1 = copy %a   @d1
//	%b  = neg %a0   @d0   on gpu0
//	%c  = neg %a1   @d1   on gpu1
//
// it depends on what the devices address, besides their own memory, which copies are needless:
//   - gpu0 and gpu1 address host: both, as the readers could read %a
//   - gpu0 addresses host, gpu1 addresses d0: %a0, and not %a1, as without %a0 there is nothing in d0
//   - gpu1 addresses d0: %a1, as gpu1 could read %a0

// NeedlessCopy is a copy without which every reader of it could still address everything that it reads.
type NeedlessCopy struct {
	Node *ir.Node
	Why  string

	// Lost is set where an earlier copy would do, but the plan gives its bytes to others before the readers of this
	// copy have read: in this plan, both are needed.
	Lost bool
}

// Needless returns the needless copies of m, function by function, in order. Whether they are mistakes depends on the
// rules that made them. Rules that remove such copies leave none; the rules of ggml's scheduler do.
//
// A copy is needed where
//   - a reader cannot address the source,
//   - the source has gaps, or changes in place later, or
//   - a reader needs bytes of its own: the caller, a repeat, a node that writes into them, another copy.
//
// Where an earlier copy of the same source would do, the copy is needed only as long as the plan does not keep the
// bytes of that one (see NeedlessCopy.Lost).
func Needless(m *ir.Module, targets *target.List) []NeedlessCopy {
	var found []NeedlessCopy
	for _, f := range m.AllFuncs() {
		if slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpCopy }) {
			found = append(found, newCopyReview(f, targets).needless()...)
		}
	}
	return found
}

// copyReview judges the copies of a function.
type copyReview struct {
	f       *ir.Func
	targets *target.List
	uses    *ir.UseLists
	index   []int                    // of the nodes, by id
	kept    map[*ir.Value]bool       // owners of bytes that are results of the function or change in place
	copies  map[*ir.Value][]*ir.Node // by source: its copies so far that are not needless
}

func newCopyReview(f *ir.Func, targets *target.List) *copyReview {
	r := &copyReview{f: f, targets: targets, uses: ir.Uses(f), index: ir.Positions(f),
		kept: make(map[*ir.Value]bool), copies: make(map[*ir.Value][]*ir.Node)}
	for _, n := range f.Nodes {
		if a, ok := n.Attr.(*ir.ForeignAttr); ok && a.InPlace {
			r.kept[n.Result().Root()] = true
		}
	}
	for _, v := range f.Results {
		r.kept[v.Root()] = true
	}
	return r
}

// needless returns the needless copies, in order.
func (r *copyReview) needless() (found []NeedlessCopy) {
	for _, n := range r.f.Nodes {
		if n.Op != ir.OpCopy {
			continue
		}
		c := r.judge(n)
		if c.Why != "" {
			found = append(found, c)
		}
		if c.Why == "" || c.Lost {
			source := n.Args[0]
			r.copies[source] = append(r.copies[source], n)
		}
	}
	return found
}

// judge returns why a copy is needless; Why is empty if it is needed.
func (r *copyReview) judge(n *ir.Node) NeedlessCopy {
	source := n.Args[0]
	foreign := source.Def != nil && source.Def.Op == ir.OpForeign
	readers, ok := r.readers(n.Result())
	if !ok || r.kept[n.Result()] || r.kept[source.Root()] || !foreign && !source.Type.Dense() {
		return NeedlessCopy{Node: n}
	}
	if r.allAddress(readers, spaceName(source.Type)) {
		why := fmt.Sprintf("all readers can address %s, the space of %v", spaceName(source.Type), source)
		return NeedlessCopy{Node: n, Why: why}
	}
	judged := NeedlessCopy{Node: n}
	for _, before := range r.copies[source] {
		space := spaceName(before.Result().Type)
		if r.kept[before.Result()] || !r.allAddress(readers, space) {
			continue // its bytes are the caller's, or out of reach
		}
		judged.Why = fmt.Sprintf("all readers can address %s, the space of %v, an earlier copy of the same value",
			space, before)
		judged.Lost = r.lost(before, n, readers)
		if !judged.Lost {
			break
		}
	}
	return judged
}

// lost reports whether some node after the copy before, other than n, takes bytes of it before the last of the readers
// has read.
func (r *copyReview) lost(before, n *ir.Node, readers []*ir.Node) bool {
	where, from := before.Result().Root().Place, r.index[before.ID]
	if where == nil {
		return false
	}
	last := from
	for _, reader := range readers {
		last = max(last, r.index[reader.ID])
	}
	return slices.ContainsFunc(r.f.Nodes[from+1:last+1], func(x *ir.Node) bool { return x != n && takes(x, where) })
}

// takes reports whether n, or a node in its body, has a result among the bytes of a place.
func takes(n *ir.Node, where *ir.Place) bool {
	if n.Body != nil && slices.ContainsFunc(n.Body.Nodes, func(x *ir.Node) bool { return takes(x, where) }) {
		return true
	}
	return slices.ContainsFunc(n.Results, func(v *ir.Value) bool {
		return v.Source() == nil && v.Place != nil && overlap(*v.Place, *where)
	})
}

// readers returns the nodes that compute something from v or from views of it; ok is false if one of them needs bytes
// of its own.
func (r *copyReview) readers(v *ir.Value) (all []*ir.Node, ok bool) {
	for _, n := range r.uses.Of(v) {
		switch {
		case n.Is(ir.View):
			more, ok := r.readers(n.Result())
			if !ok {
				return nil, false
			}
			all = append(all, more...)
		case needsOwnBytes(n, v):
			return nil, false
		default:
			all = append(all, n)
		}
	}
	return all, true
}

// needsOwnBytes reports whether n needs its operand v, a copy, as bytes of its own.
func needsOwnBytes(n *ir.Node, v *ir.Value) bool {
	return n.Body != nil || n.Op == ir.OpCall || n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts ||
		n.Is(ir.Alias) && n.Args[n.Op.Info().AliasArg] == v
}

// allAddress reports whether the backends of all readers address a space.
func (r *copyReview) allAddress(readers []*ir.Node, space string) bool {
	return !slices.ContainsFunc(readers, func(n *ir.Node) bool {
		d := r.targets.Get(n.Backend)
		return d == nil || !d.Addresses(space)
	})
}

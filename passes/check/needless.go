package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// NeedlessCopy is a copy without which every reader of it could still address all that it
// reads.
type NeedlessCopy struct {
	Node *ir.Node
	Why  string

	// Lost says that an earlier copy would do, but that the plan gives its bytes to others
	// before the readers of this one have read: in this plan, both are needed.
	Lost bool
}

// Needless returns the needless copies of m, function by function, in order. Whether they are
// mistakes depends on who has made them: rules that remove such copies make none, those of
// ggml's scheduler do.
//
// A copy is needed where a reader cannot address what is copied, where what is copied has
// gaps or changes in place later, and where somebody gets the bytes: the caller, a repeat, a
// node that writes into them, another copy. Where an earlier copy of the same would do, it is
// needed as long as the plan does not keep that one's bytes: see NeedlessCopy.Lost.
func Needless(m *ir.Module, targets *target.List) []NeedlessCopy {
	var found []NeedlessCopy
	for _, f := range m.AllFuncs() {
		found = append(found, newCopyReview(f, targets).needless()...)
	}
	return found
}

// copyReview looks at the copies of a function.
type copyReview struct {
	f       *ir.Func
	targets *target.List
	uses    [][]*ir.Node
	kept    map[*ir.Value]bool // results of the function, and what changes in place, by origin of bytes
	copies  []madeCopy
	first   []int32    // by id of a value: its first copy, counted from 1; 0 if there is none
	list    []*ir.Node // of readers; reused
}

// madeCopy is a copy that is not needless. Those of a value are a list, in order.
type madeCopy struct {
	node *ir.Node
	next int32 // counted from 1; 0 is the end
}

func newCopyReview(f *ir.Func, targets *target.List) *copyReview {
	r := &copyReview{f: f, targets: targets, kept: make(map[*ir.Value]bool)}
	if !slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpCopy }) {
		return r
	}
	r.uses, r.first = ir.UsesAmong(f, copied(f)), make([]int32, f.NumValues())
	for _, v := range f.Results {
		r.kept[v.Root()] = true
	}
	for _, n := range f.Nodes {
		if a, ok := n.Attr.(*ir.ForeignAttr); ok && a.InPlace {
			r.kept[n.Result().Root()] = true
		}
	}
	return r
}

// copied returns which values of f, by id, are copies or views of such.
func copied(f *ir.Func) []bool {
	is := make([]bool, f.NumValues())
	for _, n := range f.Nodes {
		if n.Op == ir.OpCopy || n.Is(ir.View) && is[n.Args[0].ID] {
			is[n.Result().ID] = true
		}
	}
	return is
}

func (r *copyReview) needless() (found []NeedlessCopy) {
	if r.uses == nil {
		return nil
	}
	for _, n := range r.f.Nodes {
		if n.Op != ir.OpCopy {
			continue
		}
		from := n.Args[0]
		if why, lost := r.why(n, from); why != "" {
			found = append(found, NeedlessCopy{n, why, lost})
			if !lost {
				continue
			}
		}
		r.make(n, from)
	}
	return found
}

// make adds a copy of a value to the list of those.
func (r *copyReview) make(n *ir.Node, from *ir.Value) {
	end := &r.first[from.ID]
	for *end > 0 {
		end = &r.copies[*end-1].next
	}
	*end = int32(len(r.copies) + 1)
	r.copies = append(r.copies, madeCopy{node: n})
}

// why says why a copy is needless, and whether what makes it so is lost; empty if it is needed.
func (r *copyReview) why(n *ir.Node, from *ir.Value) (why string, lost bool) {
	foreign := from.Def != nil && from.Def.Op == ir.OpForeign
	readers, ok := r.readers(n.Result(), r.list[:0])
	r.list = readers[:0]
	if !ok || r.kept[n.Result()] || r.kept[from.Root()] || !foreign && !from.Type.Dense() {
		return "", false
	}
	if r.allAddress(readers, spaceName(from.Type)) {
		return fmt.Sprintf("whoever reads it can address %s, where %v lies", spaceName(from.Type), from), false
	}
	for i := r.first[from.ID]; i > 0; i = r.copies[i-1].next {
		before := r.copies[i-1].node
		if r.kept[before.Result()] {
			continue // the caller gets these bytes
		}
		if space := spaceName(before.Result().Type); r.allAddress(readers, space) {
			why, lost = fmt.Sprintf("whoever reads it can address %s, where %v is a copy of the same", space, before), r.lost(before, n, readers)
			if !lost {
				break
			}
		}
	}
	return why, lost
}

// lost reports whether some node behind the copy before, but for n, takes bytes of it before
// the last of the readers has read.
func (r *copyReview) lost(before, n *ir.Node, readers []*ir.Node) bool {
	where, from := before.Result().Root().Place, slices.Index(r.f.Nodes, before)
	if where == nil {
		return false
	}
	last := from
	for _, reader := range readers {
		last = max(last, slices.Index(r.f.Nodes, reader))
	}
	return slices.ContainsFunc(r.f.Nodes[from+1:last+1], func(x *ir.Node) bool { return x != n && takes(x, where) })
}

// takes reports whether n, or a node in it, has a result among the bytes of a place.
func takes(n *ir.Node, where *ir.Place) bool {
	if n.Body != nil && slices.ContainsFunc(n.Body.Nodes, func(x *ir.Node) bool { return takes(x, where) }) {
		return true
	}
	return slices.ContainsFunc(n.Results, func(v *ir.Value) bool {
		p := v.Place
		return v.Source() == nil && p != nil && p.Arena == where.Arena && p.Chunk == where.Chunk &&
			p.Offset < where.Offset+where.Bytes && where.Offset < p.Offset+p.Bytes
	})
}

// readers returns the working nodes that read v or views of it; ok is false if one of them
// needs bytes of its own.
func (r *copyReview) readers(v *ir.Value, list []*ir.Node) (all []*ir.Node, ok bool) {
	for _, n := range r.uses[v.ID] {
		switch {
		case n.Is(ir.View):
			if list, ok = r.readers(n.Result(), list); !ok {
				return list, false
			}
		case n.Body != nil, n.Op == ir.OpCall, n.Op == ir.OpCopy, n.Op == ir.OpCopyExperts, n.Is(ir.Alias) && n.Args[n.Op.Info().AliasArg] == v:
			return list, false
		default:
			list = append(list, n)
		}
	}
	return list, true
}

func (r *copyReview) allAddress(readers []*ir.Node, space string) bool {
	return !slices.ContainsFunc(readers, func(n *ir.Node) bool {
		d := r.targets.Get(n.Backend)
		return d == nil || !d.Addresses(space)
	})
}

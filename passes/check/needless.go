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
	copies  []reviewed
	of      []int32 // by id of a value: the copy that it is, or a view of, counted from 1; 0 for others
	first   []int32 // by id of a value: its first copy, later its first that is not needless, counted from 1; 0 if there is none

	// Of copies that may be needless:
	uses *ir.UseLists
	kept map[*ir.Value]bool // results of the function, and what changes in place, by origin of bytes
	list []*ir.Node         // of readers; reused
}

// reviewed is a copy.
type reviewed struct {
	node   *ir.Node
	apart  bool  // a reader cannot address what is copied
	needed bool  // a reader needs bytes of its own
	again  bool  // an earlier one copies the same
	next   int32 // of the same value that is not needless, counted from 1; 0 is the end
}

// newCopyReview looks once at who reads copies: mostly that says already that they are needed.
func newCopyReview(f *ir.Func, targets *target.List) *copyReview {
	r := &copyReview{f: f, targets: targets}
	for _, n := range f.Nodes {
		if r.of != nil {
			r.reader(n)
		}
		if n.Op == ir.OpCopy {
			r.add(n)
		}
	}
	return r
}

// add notes a copy.
func (r *copyReview) add(n *ir.Node) {
	if r.of == nil {
		r.of, r.first = make([]int32, r.f.NumValues()), make([]int32, r.f.NumValues())
	}
	if n := len(r.copies); n == cap(r.copies) {
		r.copies = slices.Grow(r.copies, n+1) // twice as many: append adds a quarter at a time, and leaves more behind
	}
	seen := &r.first[n.Args[0].ID]
	r.copies = append(r.copies, reviewed{node: n, again: *seen > 0})
	*seen = int32(len(r.copies))
	r.of[n.Result().ID] = int32(len(r.copies))
}

// reader notes what a node makes of the copies that it reads.
func (r *copyReview) reader(n *ir.Node) {
	isView := n.Is(ir.View)
	if isView {
		r.of[n.Result().ID] = r.of[n.Args[0].ID]
	}
	for _, a := range n.Args {
		if a == nil || r.of[a.ID] == 0 || isView {
			continue
		}
		c := &r.copies[r.of[a.ID]-1]
		if ownBytes(n, a) {
			c.needed = true
		} else if !c.apart {
			d := r.targets.Get(n.Backend)
			c.apart = d == nil || !d.Addresses(spaceName(c.node.Args[0].Type))
		}
	}
}

// ownBytes reports whether n needs its operand v, a copy, as bytes of its own.
func ownBytes(n *ir.Node, v *ir.Value) bool {
	return n.Body != nil || n.Op == ir.OpCall || n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts ||
		n.Is(ir.Alias) && n.Args[n.Op.Info().AliasArg] == v
}

// suspects reports whether some copy may be needless.
func (r *copyReview) suspects() bool { return slices.ContainsFunc(r.copies, reviewed.suspect) }

// suspect reports whether a copy may be needless.
func (c reviewed) suspect() bool { return !c.needed && (!c.apart || c.again) }

// prepare finds out what it takes to judge suspects.
func (r *copyReview) prepare() {
	among := make([]bool, len(r.of))
	for id, c := range r.of {
		among[id] = c > 0
	}
	r.uses, r.kept = ir.UsesAmong(r.f, among), make(map[*ir.Value]bool)
	clear(r.first)
	for _, v := range r.f.Results {
		r.kept[v.Root()] = true
	}
	for _, n := range r.f.Nodes {
		if a, ok := n.Attr.(*ir.ForeignAttr); ok && a.InPlace {
			r.kept[n.Result().Root()] = true
		}
	}
}

func (r *copyReview) needless() (found []NeedlessCopy) {
	if !r.suspects() {
		return nil
	}
	r.prepare()
	for i := range r.copies {
		n := r.copies[i].node
		if r.copies[i].suspect() {
			if why, lost := r.why(n, n.Args[0]); why != "" {
				found = append(found, NeedlessCopy{n, why, lost})
				if !lost {
					continue
				}
			}
		}
		r.keep(int32(i+1), n.Args[0])
	}
	return found
}

// keep appends a copy of a value, counted from 1, to the list of those.
func (r *copyReview) keep(i int32, from *ir.Value) {
	end := &r.first[from.ID]
	for *end > 0 {
		end = &r.copies[*end-1].next
	}
	*end = i
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
	for _, n := range r.uses.Of(v) {
		switch {
		case n.Is(ir.View):
			if list, ok = r.readers(n.Result(), list); !ok {
				return list, false
			}
		case ownBytes(n, v):
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

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
}

// Needless returns the needless copies of m, function by function, in order. Whether they are
// mistakes depends on who has made them: rules that remove such copies make none, those of
// ggml's scheduler do.
//
// A copy is needed where a reader cannot address what is copied, where what is copied has
// gaps or changes in place later, and where somebody gets the bytes: the caller, a repeat, a
// node that writes into them, another copy.
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
	made    map[*ir.Value][]*ir.Node
}

func newCopyReview(f *ir.Func, targets *target.List) *copyReview {
	r := &copyReview{f: f, targets: targets, kept: make(map[*ir.Value]bool), made: make(map[*ir.Value][]*ir.Node)}
	if !slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpCopy }) {
		return r
	}
	r.uses = ir.Uses(f)
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

func (r *copyReview) needless() (found []NeedlessCopy) {
	if r.uses == nil {
		return nil
	}
	for _, n := range r.f.Nodes {
		if n.Op != ir.OpCopy {
			continue
		}
		from := n.Args[0]
		if why := r.why(n, from); why != "" {
			found = append(found, NeedlessCopy{n, why})
			continue
		}
		r.made[from] = append(r.made[from], n)
	}
	return found
}

// why says why a copy is needless; empty if it is needed.
func (r *copyReview) why(n *ir.Node, from *ir.Value) string {
	foreign := from.Def != nil && from.Def.Op == ir.OpForeign
	readers, ok := r.readers(n.Result(), nil)
	if !ok || r.kept[n.Result()] || r.kept[from.Root()] || !foreign && !from.Type.Dense() {
		return ""
	}
	if r.allAddress(readers, spaceName(from.Type)) {
		return fmt.Sprintf("whoever reads it can address %s, where %v lies", spaceName(from.Type), from)
	}
	for _, before := range r.made[from] {
		if r.kept[before.Result()] {
			continue // the caller gets these bytes
		}
		if space := spaceName(before.Result().Type); r.allAddress(readers, space) {
			return fmt.Sprintf("whoever reads it can address %s, where %v is a copy of the same", space, before)
		}
	}
	return ""
}

// readers returns the working nodes that read v or views of it; ok is false if one of them
// needs bytes of its own.
func (r *copyReview) readers(v *ir.Value, list []*ir.Node) (all []*ir.Node, ok bool) {
	for _, n := range r.uses[v.ID] {
		switch {
		case n.Is(ir.View):
			if list, ok = r.readers(n.Result(), list); !ok {
				return nil, false
			}
		case n.Body != nil, n.Op == ir.OpCall, n.Op == ir.OpCopy, n.Op == ir.OpCopyExperts, n.Is(ir.Alias) && n.Args[n.Op.Info().AliasArg] == v:
			return nil, false
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

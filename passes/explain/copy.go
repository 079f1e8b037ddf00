package explain

import (
	"cmp"
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/copies"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// copies sums up the copies of an entry point.
func (x *explainer) copies(f *ir.Func) *CopySummary {
	s := &CopySummary{Bound: x.copyBound(f)}
	made := make(map[copies.CopyKey]*ir.Node)
	eachWorkNode(f, func(n *ir.Node, times int64) {
		if !flow.IsCallCopy(n) {
			return
		}
		s.Count += times
		s.Bytes += times * flow.MovedBytes(n)
		s.Seconds += float64(times) * x.seconds(x.target(n), n)
		if flow.StaysApart(n) {
			s.Apart += times
		}
		if because := x.whyNeedless(n, made); because != "" {
			s.Needless = append(s.Needless, NeedlessCopy{x.copyReport(n), because})
		}
	})
	return s
}

// whyNeedless returns the reason for which the plan does not need a copy; empty if it needs it. made has the copies
// before it.
func (x *explainer) whyNeedless(n *ir.Node, made map[copies.CopyKey]*ir.Node) string {
	from, key := n.Args[0], copies.CopyKey{V: viewedWhole(n.Args[0]), Space: n.Result().Type.Space}
	t := x.target(n)
	switch {
	case t != nil && t.Addresses(from.Type.Space):
		return fmt.Sprintf("%s can address %s", t.Name, from.Type.Space)
	case made[key] != nil && !flow.StaysApart(n): // limits of memory demand such copies
		return fmt.Sprintf("%v is a copy of the same bytes in the same space", made[key])
	}
	made[key] = n
	return ""
}

// need is bytes of a root that have to be copied into a space.
type need struct {
	root  *ir.Value
	space string
}

// copyBound returns the bytes that a call has to copy at least, with these backends. Each value is copied once to each
// space that reads it. Of a value that is read only in slices, only the slices are.
func (x *explainer) copyBound(f *ir.Func) int64 {
	b := make(bound)
	eachWorkNode(f, func(n *ir.Node, _ int64) {
		t := x.target(n)
		switch {
		case t == nil || n.Op != ir.OpCopyExperts && flow.IsCallCopy(n):
		case n.Op == ir.OpCopyExperts: // its second operand tells which experts are moved
			b.note(n.Args[1], n.Args[0].Type.Space)
		default:
			for _, a := range n.Sources() {
				if a != nil && !t.Addresses(uncopied(a).Type.Space) {
					b.note(a, cmp.Or(spaceIf(t.Addresses, a.Type.Space), t.Home()))
				}
			}
		}
	})
	for _, r := range f.Results {
		b.note(r, r.Type.Space)
	}
	return b.bytes()
}

// bound has the bytes that each space has to be given, by the value that its readers see.
type bound map[need]map[*ir.Value]int64

// note adds that a space reads v.
func (b bound) note(v *ir.Value, space string) {
	from := uncopied(v)
	if from.Type.Space == space {
		return
	}
	key := need{flow.Origin(from), space}
	if b[key] == nil {
		b[key] = make(map[*ir.Value]int64)
	}
	part := viewedWhole(from)
	b[key][part] = part.Type.MaxBytes()
	if cp := copyBehind(v); cp != nil && cp.Op == ir.OpCopyExperts {
		b[key][part] = flow.MovedBytes(cp)
	}
}

func (b bound) bytes() int64 {
	var sum int64
	for key, parts := range b {
		var bytes int64
		for _, n := range parts {
			bytes += n
		}
		sum += min(bytes, key.root.Type.MaxBytes()) * runsOf(key.root.Func)
	}
	return sum
}

// spaceIf returns the space if ok accepts it, else nothing.
func spaceIf(ok func(string) bool, space string) string {
	if ok(space) {
		return space
	}
	return ""
}

// viewedWhole returns the value that v shows all of, through views. Readers of several such views need one copy.
func viewedWhole(v *ir.Value) *ir.Value {
	for {
		w := flow.CopyBase(v)
		if kind, i := flow.ParamKind(w); kind == flow.ParamInvariant {
			w = w.Func.Owner.Args[i]
		}
		if w == v {
			return v
		}
		v = w
	}
}

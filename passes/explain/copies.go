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
	eachWork(f, func(n *ir.Node, times int64) {
		if !flow.IsTransfer(n) && !flow.IsSplitInput(n) {
			return
		}
		s.Count += times
		s.Bytes += times * movedBytes(n)
		s.Seconds += float64(times) * x.seconds(x.target(n), n)
		if flow.StaysApart(n) {
			s.Apart += times
		}
		if because := x.needless(n, made); because != "" {
			s.Needless = append(s.Needless, NeedlessCopy{x.copyReport(n), because})
		}
	})
	return s
}

// needless says why the plan could do without a copy; empty if it could not. Made are the
// copies before it.
func (x *explainer) needless(n *ir.Node, made map[copies.CopyKey]*ir.Node) string {
	from, key := n.Args[0], copies.CopyKey{V: shown(n.Args[0]), Space: n.Result().Type.Space}
	t := x.target(n)
	switch {
	case t != nil && t.Addresses(from.Type.Space):
		return fmt.Sprintf("%s can address %s", t.Name, from.Type.Space)
	case made[key] != nil && !flow.StaysApart(n): // what copy.apart keeps, the limits ask for
		return fmt.Sprintf("%v is a copy of the same bytes in the same space", made[key])
	}
	made[key] = n
	return ""
}

// need is bytes that a space has to be given.
type need struct {
	root  *ir.Value
	space string
}

// copyBound returns the bytes that a call has to copy at these backends: each value once
// per space that reads it, of a value that is only read in slices what they show.
func (x *explainer) copyBound(f *ir.Func) int64 {
	b := make(bound)
	eachWork(f, func(n *ir.Node, _ int64) {
		t := x.target(n)
		switch {
		case t == nil || n.Op != ir.OpCopyExperts && (flow.IsTransfer(n) || flow.IsSplitInput(n)):
		case n.Op == ir.OpCopyExperts: // who moves experts reads there which ones
			b.note(n.Args[1], n.Args[0].Type.Space)
		default:
			for _, a := range n.Sources() {
				if a != nil && !t.Addresses(uncopied(a).Type.Space) {
					b.note(a, cmp.Or(addressed(t.Addresses, a.Type.Space), t.Home()))
				}
			}
		}
	})
	for _, r := range f.Results {
		b.note(r, r.Type.Space)
	}
	return b.bytes()
}

// bound is what each space has to be given, in bytes by the values that are shown.
type bound map[need]map[*ir.Value]int64

// note says that a space reads v.
func (b bound) note(v *ir.Value, space string) {
	from := uncopied(v)
	if from.Type.Space == space {
		return
	}
	key := need{flow.Origin(from), space}
	if b[key] == nil {
		b[key] = make(map[*ir.Value]int64)
	}
	part := shown(from)
	b[key][part] = part.Type.MaxBytes()
	if cp := copyBehind(v); cp != nil && cp.Op == ir.OpCopyExperts {
		b[key][part] = movedBytes(cp)
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

// movedBytes returns what a copy moves, at the symbols' upper bounds: of experts only the
// chosen ones.
func movedBytes(n *ir.Node) int64 { return n.Op.Info().Cost(n).Written.Upper() }

// addressed returns the space if the test takes it, else nothing.
func addressed(ok func(string) bool, space string) string {
	if ok(space) {
		return space
	}
	return ""
}

// shown returns the value behind views that show all of it: readers of several such views
// need one copy.
func shown(v *ir.Value) *ir.Value {
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

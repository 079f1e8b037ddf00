package passes

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// copies sums up the copies of an entry point.
func (x *explainer) copies(f *ir.Func) *CopySummary {
	s := &CopySummary{Bound: x.copyBound(f)}
	made := make(map[copyKey]*ir.Node)
	eachWork(f, func(n *ir.Node, times int64) {
		if !isTransfer(n) && !isSplitInput(n) {
			return
		}
		s.Count += times
		s.Bytes += times * n.Result().Type.MaxBytes()
		s.Seconds += float64(times) * x.seconds(x.target(n), n)
		if because := x.needless(n, made); because != "" {
			s.Needless = append(s.Needless, NeedlessCopy{x.copyReport(n), because})
		}
	})
	return s
}

// needless says why the plan could do without a copy; empty if it could not. Made are the
// copies before it.
func (x *explainer) needless(n *ir.Node, made map[copyKey]*ir.Node) string {
	from, key := n.Args[0], copyKey{shown(n.Args[0]), n.Result().Type.Space}
	t := x.target(n)
	switch {
	case t != nil && t.Addresses(from.Type.Space):
		return fmt.Sprintf("%s can address %s", t.Name, from.Type.Space)
	case made[key] != nil:
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
	parts := make(map[need]map[*ir.Value]bool)
	note := func(v *ir.Value, space string) {
		from := uncopied(v)
		key := need{origin(from), space}
		if parts[key] == nil {
			parts[key] = make(map[*ir.Value]bool)
		}
		parts[key][shown(from)] = true
	}
	eachWork(f, func(n *ir.Node, _ int64) {
		t := x.target(n)
		if t == nil || isTransfer(n) || isSplitInput(n) {
			return
		}
		for _, a := range n.Sources() {
			if a != nil && !t.Addresses(uncopied(a).Type.Space) {
				note(a, firstOf(addressed(t.Addresses, a.Type.Space), t.Home()))
			}
		}
	})
	for _, r := range f.Results {
		if r.Type.Space != uncopied(r).Type.Space {
			note(r, r.Type.Space)
		}
	}
	var sum int64
	for key, vs := range parts {
		var bytes int64
		for v := range vs {
			bytes += v.Type.MaxBytes()
		}
		sum += min(bytes, key.root.Type.MaxBytes()) * runsOf(key.root.Func)
	}
	return sum
}

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
		w := copyBase(v)
		if kind, i := paramKind(w); kind == paramInvariant {
			w = w.Func.Owner.Args[i]
		}
		if w == v {
			return v
		}
		v = w
	}
}

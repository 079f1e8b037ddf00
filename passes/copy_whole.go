package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// wholeCopies returns the values of which all is copied into a space although only slices of
// them are read there: that takes less than copying the slices, which overlap or are many.
func (w *copier) wholeCopies(f *ir.Func) map[copyKey]bool {
	if !w.c.Enabled(ruleCopyWhole) {
		return nil
	}
	shown, order := make(map[copyKey][]*ir.Value), []copyKey{}
	for _, n := range f.Nodes {
		t := w.c.Target(n)
		if t == nil || !works(n) || isTransfer(n) || runsFunction(n) {
			continue
		}
		for _, a := range n.Args {
			if a == nil || t.Addresses(a.Type.Space) {
				continue
			}
			key := copyKey{behindViews(a), t.Home()}
			if shown[key] == nil {
				order = append(order, key)
			}
			shown[key] = addValue(shown[key], copyBase(a))
		}
	}
	wholes := make(map[copyKey]bool)
	for _, key := range order {
		if key.v.Type.Dense() && w.wholeIsLess(key, shown[key]) {
			wholes[key] = true
		}
	}
	return wholes
}

func addValue(list []*ir.Value, v *ir.Value) []*ir.Value {
	for _, have := range list {
		if have == v || sameSlice(have, v) {
			return list
		}
	}
	return append(list, v)
}

// sameSlice reports whether two values are the same slice of one value.
func sameSlice(a, b *ir.Value) bool {
	return a.Def != nil && b.Def != nil && a.Def.Op == ir.OpSlice && b.Def.Op == ir.OpSlice &&
		a.Def.Args[0] == b.Def.Args[0] && ir.EqualAttr(ir.OpSlice, a.Def.Attr, b.Def.Attr)
}

// wholeIsLess reports whether copying all of a value takes less than copying the parts of it
// that are read: predicted time decides, and bytes where the targets say nothing of time.
func (w *copier) wholeIsLess(key copyKey, parts []*ir.Value) bool {
	if len(parts) < 2 {
		return false
	}
	to, from := targetOf(w.c, key.space), targetOf(w.c, key.v.Type.Space)
	all, sum := key.v.Type.MaxBytes(), int64(0)
	var seconds float64
	for _, p := range parts {
		sum += p.Type.MaxBytes()
		seconds += to.TransferSeconds(from, float64(p.Type.MaxBytes()))
	}
	if whole := to.TransferSeconds(from, float64(all)); whole != seconds {
		return whole < seconds
	}
	return all <= sum
}

// targetOf returns the first target that prefers the space; nil if there is none.
func targetOf(c *Context, space string) *target.Descriptor {
	for _, t := range c.Targets.All() {
		if t.Home() == space {
			return t
		}
	}
	return nil
}

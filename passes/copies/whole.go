package copies

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// wholeCopies notes the values that are copied into a space as they are, and those of which
// all is copied although only slices are read: that takes less than copying the slices, which
// overlap or are many.
func (w *copier) wholeCopies(f *ir.Func) {
	w.full, w.wholes = make(map[CopyKey]bool), make(map[CopyKey]bool)
	cut, copies := slicedValues(f)
	if !w.c.Enabled(pass.RuleCopyWhole) || cut == nil && !copies {
		return
	}
	shown, keys := make(map[CopyKey][]*ir.Value), []CopyKey{}
	note := func(a *ir.Value, space string) {
		key := CopyKey{flow.ViewedValue(a), space}
		if cut == nil || !cut[key.V.ID] {
			return // all of it is shown wherever it is
		}
		if shown[key] == nil {
			keys = append(keys, key)
		}
		shown[key] = addValue(shown[key], flow.CopyBase(a))
	}
	for _, n := range f.Nodes {
		t := w.c.Target(n)
		if t == nil || !flow.DoesWork(n) || flow.RunsFunction(n) {
			continue
		}
		for _, a := range n.Args {
			if a == nil || t.Addresses(a.Type.Space) {
				continue
			}
			note(a, t.Home())
			if copies && flow.CopyBase(a) == flow.ViewedValue(a) && !flow.IsTransfer(n) {
				w.full[CopyKey{flow.CopyBase(a), t.Home()}] = true
			}
		}
	}
	for _, r := range f.Results {
		if last := w.c.Targets.Last(); f.Owner == nil && flow.ViewedValue(r) == r && !last.Addresses(r.Type.Space) {
			note(r, last.Home()) // the copy that a slice is read of can be the caller's
		}
	}
	for _, key := range keys {
		if key.V.Type.Dense() && w.wholeIsLess(key, shown[key]) {
			w.wholes[key] = true
		}
	}
}

// slicedValues returns the values of f, by id, of which some view shows a part, nil if there are
// none, and whether the module came with copies. Without both there is nothing to note: each value
// is copied as it is.
func slicedValues(f *ir.Func) (cut []bool, copies bool) {
	for _, n := range f.Nodes {
		switch n.Op {
		case ir.OpCopy:
			copies = true
		case ir.OpSlice:
			if cut == nil {
				cut = make([]bool, f.NumValues())
			}
			cut[flow.ViewedValue(n.Result()).ID] = true
		}
	}
	return cut, copies
}

// copiedAnyway reports whether n, a copy that the module came with, copies between spaces
// what is copied for other readers as well: then it reads that copy, in its own space.
func (w *copier) copiedAnyway(n *ir.Node, t *target.Descriptor) bool {
	key := CopyKey{flow.ViewedValue(n.Args[0]), t.Home()}
	return n.Op == ir.OpCopy && (w.full[key] || w.wholes[key])
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
func (w *copier) wholeIsLess(key CopyKey, parts []*ir.Value) bool {
	if len(parts) < 2 {
		return false
	}
	to, from := flow.TargetOf(w.c, key.Space), flow.TargetOf(w.c, key.V.Type.Space)
	all, sum := key.V.Type.MaxBytes(), int64(0)
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

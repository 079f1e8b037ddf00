package copies

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// wholeCopies finds the values that are copied whole into a space although some of their readers read slices: one copy
// takes less time than a copy of each part that is read.
//
//	%q = slice %qkv, 0..512        copied alone:  0.01 ms + 512 rows
//	%k = slice %qkv, 512..1024     copied alone:  0.01 ms + 512 rows
//	%v = slice %qkv, 1024..1536    copied alone:  0.01 ms + 512 rows
//	%qkv                           copied whole:  0.01 ms + 1536 rows, which is less
func (w *copier) wholeCopies(f *ir.Func) {
	w.full, w.wholes = make(map[CopyKey]bool), make(map[CopyKey]bool)
	sliced, hasCopies := slicedValues(f)
	if !w.c.Enabled(pass.RuleCopyWhole) || sliced == nil && !hasCopies {
		return
	}
	shown, keys := make(map[CopyKey][]*ir.Value), []CopyKey{} // the parts of a value that are read in a space
	note := func(a *ir.Value, space string) {
		key := CopyKey{flow.ViewedValue(a), space}
		if sliced == nil || !sliced[key.V.ID] {
			return // no view shows a part of it
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
			if hasCopies && flow.CopyBase(a) == flow.ViewedValue(a) && !flow.IsTransfer(n) {
				w.full[CopyKey{flow.CopyBase(a), t.Home()}] = true
			}
		}
	}
	for _, r := range f.Results {
		if last := w.c.Targets.Last(); f.Owner == nil && flow.ViewedValue(r) == r && !last.Addresses(r.Type.Space) {
			note(r, last.Home()) // slices can be read from the copy for the caller
		}
	}
	for _, key := range keys {
		if key.V.Type.Dense() && w.wholeIsLess(key, shown[key]) {
			w.wholes[key] = true
		}
	}
}

// slicedValues returns the values of f, by id, of which some view shows a part, or nil if there are none. hasCopies
// reports whether the module came with copies. Without slices and copies, each value is copied as it is.
func slicedValues(f *ir.Func) (sliced []bool, hasCopies bool) {
	for _, n := range f.Nodes {
		switch n.Op {
		case ir.OpCopy:
			hasCopies = true
		case ir.OpSlice:
			if sliced == nil {
				sliced = make([]bool, f.NumValues())
			}
			sliced[flow.ViewedValue(n.Result()).ID] = true
		}
	}
	return sliced, hasCopies
}

// copiedAnyway reports whether n is a copy that the module came with, and its operand is copied into the same space for
// other readers too. n then reads that copy.
func (w *copier) copiedAnyway(n *ir.Node, t *target.Descriptor) bool {
	key := CopyKey{flow.ViewedValue(n.Args[0]), t.Home()}
	return n.Op == ir.OpCopy && (w.full[key] || w.wholes[key])
}

// addValue returns the list with v in it, unless it has v or the same slice already.
func addValue(list []*ir.Value, v *ir.Value) []*ir.Value {
	if slices.ContainsFunc(list, func(have *ir.Value) bool { return have == v || sameSlice(have, v) }) {
		return list
	}
	return append(list, v)
}

// sameSlice reports whether two values are the same slice of one value.
func sameSlice(a, b *ir.Value) bool {
	return a.Def != nil && b.Def != nil && a.Def.Op == ir.OpSlice && b.Def.Op == ir.OpSlice &&
		a.Def.Args[0] == b.Def.Args[0] && ir.EqualAttr(ir.OpSlice, a.Def.Attr, b.Def.Attr)
}

// wholeIsLess reports whether copying a value whole takes less than copying the parts of it that are read. Predicted
// time decides, or bytes if the targets do not state how long copies take.
func (w *copier) wholeIsLess(key CopyKey, parts []*ir.Value) bool {
	if len(parts) < 2 {
		return false // the only part is copied by itself
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

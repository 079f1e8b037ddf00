package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// wholeKey is the key of the note that states why weights and states are not divided.
const wholeKey = "group whole"

// noteWhole keeps in the module why weights and states are whole, each on every device or on one for all. given are
// their states. Small ones that no device divides, such as those of norms, do not count.
func noteWhole(m *ir.Module, given map[string]ir.Sharding, share []float64, o *pass.Options) error {
	pinned := pinnedLeaves(m, o.Pins)
	dimensions, err := dimensionsOf(leavesOf(m), nil)
	if err != nil {
		return err
	}
	units, err := dividedUnits(leavesOf(m), share, nil)
	if err != nil {
		return err
	}
	var reasons []string
	count, bytes := make(map[string]int), make(map[string]int64)
	for _, l := range leavesOf(m) {
		s := given[l.name]
		if s.IsSplit() || s.Kind == ir.ShardHeld || l.divide == nil && pinned[l.name] == "" && l.typ.MaxBytes() <= maxCopied {
			continue
		}
		why := l.whyWhole(dimensions, units)
		switch {
		case slices.ContainsFunc(o.Shard, func(r pass.ShardRule) bool { return r.Match.MatchString(l.name) }):
			why = "--shard asks for it"
		case pinned[l.name] != "":
			why = "a node reads it that --pin puts on one backend"
		}
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
		count[why]++
		bytes[why] += l.typ.MaxBytes()
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("%d of %s: %s", count[why], pass.BytesText(bytes[why]), why)
	}
	if len(reasons) > 0 {
		m.SetMeta(wholeKey, strings.Join(reasons, "; "))
	}
	return nil
}

// whyWhole returns why a weight or state has no other state by its division.
func (l *leaf) whyWhole(dimensions map[string]*dimension, units map[string][]int64) string {
	if l.divide == nil {
		return "the model states no division"
	}
	name := l.divide.Name[strings.LastIndexByte(l.divide.Name, '.')+1:]
	d := dimensions[l.divide.Name]
	switch {
	case haveOne(units[l.divide.Name]):
		return fmt.Sprintf("one device would have all %d units of %s, of which %d stay together", d.units, name, d.granule)
	case d.units%d.granule != 0:
		return fmt.Sprintf("%d units of %s cannot be cut, as blocks of the weights end after %d", d.units, name, d.granule)
	}
	return fmt.Sprintf("a row has separate pieces for units of %s, of which devices take theirs", name)
}

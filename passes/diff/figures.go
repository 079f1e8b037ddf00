package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/explain"
)

// Units of figures.
const (
	unitBytes   = "bytes"
	unitSeconds = "seconds"
)

// boundSuffix is the end of the name of an arena's lower bound. The figure before it is that of the arena.
const boundSuffix = ", lower bound"

func (f Figure) isBound() bool { return strings.HasSuffix(f.What, boundSuffix) }

// figureKey is what a figure is of.
type figureKey struct{ where, what, unit string }

// figures compares all figures of both plans. A figure that one plan does not have is 0 there.
func (d *Difference) figures(sides [2]*side) {
	index := make(map[figureKey]int)
	for i, s := range sides {
		s.eachFigure(func(k figureKey, x float64) {
			at, known := index[k]
			if !known {
				at = len(d.Figures)
				index[k] = at
				d.Figures = append(d.Figures, Figure{Where: k.where, What: k.what, Unit: k.unit})
			}
			if i == 0 {
				d.Figures[at].A += x
			} else {
				d.Figures[at].B += x
			}
		})
	}
	order := make(map[string]int)
	for _, f := range d.Figures {
		if _, known := order[f.Where]; !known {
			order[f.Where] = len(order)
		}
	}
	order["memory"] = len(order) // last
	slices.SortStableFunc(d.Figures, func(a, b Figure) int { return cmp.Compare(order[a.Where], order[b.Where]) })
}

func (s *side) eachFigure(yield func(k figureKey, x float64)) {
	for _, e := range s.all.Summary.Entries {
		entryFigures(e, func(what, unit string, x float64) { yield(figureKey{"@" + e.Func, what, unit}, x) })
	}
	for _, a := range s.all.Summary.Arenas {
		yield(figureKey{"memory", "all arenas", unitBytes}, float64(a.Bytes))
	}
	for _, a := range s.all.Summary.Arenas {
		yield(figureKey{"memory", a.Space + " " + a.Class, unitBytes}, float64(a.Bytes))
		yield(figureKey{"memory", a.Space + " " + a.Class + boundSuffix, unitBytes}, float64(a.Bound))
	}
}

func entryFigures(e *explain.EntrySummary, yield func(what, unit string, x float64)) {
	yield("predicted time, one after the other", unitSeconds, e.Seconds)
	yield("nodes that run", "", float64(e.Nodes))
	yield("splits", "", float64(len(e.Splits)))
	if e.Copies != nil {
		yield("copies", "", float64(e.Copies.Count))
		yield("bytes copied", unitBytes, float64(e.Copies.Bytes))
		yield("time of copies", unitSeconds, e.Copies.Seconds)
	}
	if e.Barriers != nil {
		yield("barriers", "", float64(*e.Barriers))
	}
	for _, b := range e.Backends {
		yield("nodes on "+b.Target, "", float64(b.Nodes))
		yield("time on "+b.Target, unitSeconds, b.Seconds)
		yield("bytes moved on "+b.Target, unitBytes, float64(b.Bytes))
	}
}

// formatText returns the dtype and the layout of a type.
func formatText(t string) string {
	text, _, _ := strings.Cut(t, "[")
	return text
}

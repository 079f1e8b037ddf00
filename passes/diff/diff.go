// Package diff compares two plans: their figures, and what was decided about nodes, weights and states.
//
// Nodes belong together if they have the same op at the same place of the model file, in the same entry point; the
// first one there belongs to the first one, and so on. Nodes of a repeat count in each of its iterations, so that a
// plan with layers in a repeat compares with one without. Changes that are alike are one.
package diff

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// diffVersion is the version of the JSON form of a difference.
const diffVersion = 1

// Plan is one of two plans.
type Plan struct {
	Name    string // such as the path of the model
	Module  *ir.Module
	Explain explain.Options
	Notes   []string // such as why it is refused
}

// Difference is what differs between two plans.
type Difference struct {
	Version int          `json:"version"`
	Sides   [2]Side      `json:"sides"`
	Figures []Figure     `json:"figures,omitempty"` // all, equal ones too
	Changes []Change     `json:"changes,omitempty"`
	Only    []OnlyInSide `json:"only,omitempty"`
}

// Side describes one of the plans.
type Side struct {
	Name    string   `json:"name"`
	Module  string   `json:"module"`
	After   string   `json:"after"`
	Rules   string   `json:"rules"`
	Targets []string `json:"targets"`
	Options []string `json:"options,omitempty"`
	Sizes   []string `json:"sizes,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Figure is a number of both plans. Unit is bytes, seconds or empty.
type Figure struct {
	Where string  `json:"where"` // @entry, or memory
	What  string  `json:"what"`
	Unit  string  `json:"unit,omitempty"`
	A     float64 `json:"a"`
	B     float64 `json:"b"`
}

// Change is a decision that is another one in the second plan, about things that are alike.
type Change struct {
	Where   string `json:"where"` // @entry, weights or states
	Thing   string `json:"thing"` // an op with its places, or names; numbers that differ are *
	Count   int    `json:"count"`
	What    string `json:"what"` // backend, format, space, …
	A       string `json:"a"`
	B       string `json:"b"`
	Because string `json:"because,omitempty"` // in the second plan
	ID      string `json:"id,omitempty"`      // of the first such node in the second plan
}

// OnlyInSide is something that only one plan has.
type OnlyInSide struct {
	Side  int    `json:"side"` // 0 or 1
	Where string `json:"where"`
	Thing string `json:"thing"`
	Count int    `json:"count"`
}

// Compare returns what differs between two plans.
func Compare(a, b Plan) *Difference {
	d := &Difference{Version: diffVersion}
	var sides [2]*side
	for i, p := range []Plan{a, b} {
		sides[i] = newSide(p)
		d.Sides[i] = sides[i].head(p)
	}
	d.figures(sides)
	d.things(sides)
	return d
}

// WriteJSON writes the difference as one document.
func (d *Difference) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

// side is what is compared of a plan.
type side struct {
	all    *explain.Explanations
	things map[key]*thing
	order  []key
	ids    map[string]*explain.NodeReport
}

// key names a thing: the number counts those of the same op at the same place.
type key struct {
	where, op, place string
	number           int
}

// thing is a node in one iteration, a weight or a state, with what is decided about it.
type thing struct {
	decided [][2]string // what, and what was decided
	because string      // of the first one
	id      string
}

func newSide(p Plan) *side {
	s := &side{all: explain.ExplainAll(p.Module, p.Explain), things: make(map[key]*thing), ids: make(map[string]*explain.NodeReport)}
	for _, n := range s.all.Nodes {
		s.ids[n.Func+" "+n.Node] = n
	}
	for _, f := range p.Module.Funcs {
		s.nodes(f, "@"+ir.QuoteName(f.Name), 1)
	}
	for _, m := range s.all.Members {
		if m.Kind != "constant" {
			t := &thing{id: ir.QuoteName(m.Name), decided: [][2]string{{"space", m.Space}, {"format", formatText(m.Type)}}}
			if len(m.Causes) > 0 {
				t.because = m.Causes[0].String()
			}
			s.add(key{where: m.Kind + "s", place: m.Name}, t)
		}
	}
	return s
}

func (s *side) head(p Plan) Side {
	return Side{Name: p.Name, Module: s.all.Module, After: s.all.After, Rules: s.all.Rules, Targets: s.all.Targets,
		Options: p.Module.GetHeaders("option"), Sizes: s.all.Sizes, Notes: append(s.all.Notes, p.Notes...)}
}

// add adds a thing. Its number is the first that is free.
func (s *side) add(k key, t *thing) {
	for s.things[k] != nil {
		k.number++
	}
	s.things[k] = t
	s.order = append(s.order, k)
}

// nodes adds the nodes of a function that do work, each as often as it runs in a call of its entry point.
func (s *side) nodes(f *ir.Func, where string, times int64) {
	positions := explain.Positions(f)
	for _, n := range f.Nodes {
		switch {
		case n.Op == ir.OpRepeat:
			s.nodes(n.Body, where, times*flow.Iterations(n))
			continue
		case !flow.DoesWork(n) || flow.RunsFunction(n):
			continue
		}
		places := positions[n.Pos]
		for i := range times {
			place := n.Pos
			if int(i) < len(places) {
				place = places[i]
			}
			s.add(key{where: where, op: n.Op.String(), place: place}, s.node(n))
		}
	}
}

// node returns what is decided about a node.
func (s *side) node(n *ir.Node) *thing {
	t := &thing{id: ir.QuoteName(n.Func.Name) + "." + strings.TrimPrefix(n.String(), "%")}
	t.decided = [][2]string{{"backend", n.Backend}, {"partition", n.Part.Mode.String()}, {"queue", n.Queue()}}
	if r := n.Result(); r != nil {
		t.decided = append(t.decided, [2]string{"layout of its result", r.Type.Layout.String()})
	}
	if report := s.ids[n.Func.Name+" "+n.String()]; report != nil && len(report.Assigned) > 0 {
		t.because = report.Assigned[len(report.Assigned)-1].String()
	}
	return t
}

// things compares the things of both plans, and joins changes that are alike.
func (d *Difference) things(sides [2]*side) {
	var changes joined[Change]
	var only joined[OnlyInSide]
	for _, k := range sides[1].order {
		a, b := sides[0].things[k], sides[1].things[k]
		if a == nil {
			only.add(OnlyInSide{Side: 1, Where: k.where}, k, func(o *OnlyInSide, thing string) { o.Thing, o.Count = thing, o.Count+1 })
			continue
		}
		for i, was := range a.decided {
			if i >= len(b.decided) || was == b.decided[i] {
				continue
			}
			c := Change{Where: k.where, What: was[0], A: was[1], B: b.decided[i][1]}
			first := changes.add(c, k, func(c *Change, thing string) { c.Thing, c.Count = thing, c.Count+1 })
			if first.ID == "" {
				first.ID = b.id
				if i == 0 {
					first.Because = b.because
				}
			}
			if was[0] == "backend" { // what else differs follows from it
				break
			}
		}
	}
	for _, k := range sides[0].order {
		if sides[1].things[k] == nil {
			only.add(OnlyInSide{Side: 0, Where: k.where}, k, func(o *OnlyInSide, thing string) { o.Thing, o.Count = thing, o.Count+1 })
		}
	}
	d.Changes, d.Only = changes.list(), only.list()
	slices.SortStableFunc(d.Changes, func(a, b Change) int { return cmp.Compare(rank(a.What), rank(b.What)) })
}

// rank orders changes: what decides most comes first.
func rank(what string) int {
	return slices.Index([]string{"backend", "space", "format", "layout of its result", "queue", "partition"}, what)
}

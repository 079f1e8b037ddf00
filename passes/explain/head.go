package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Quality is how good the assignment of nodes to backends is, where predicted times decided it.
type Quality struct {
	Proved bool         `json:"proved"`                // no other assignment is predicted to take less time
	Above  float64      `json:"above_bound,omitempty"` // the share by which its time is above a lower bound, at most
	Loose  []string     `json:"loose,omitempty"`       // what the bound leaves out
	Others []Comparison `json:"others,omitempty"`
}

// Comparison is another assignment beside the one that was chosen.
type Comparison struct {
	What string `json:"what"` // such as "everything on gpu"
	Is   string `json:"is"`   // such as "1.3 times as long"
}

// quality returns how good the assignment is; nil if predicted times did not decide it.
func (x *explainer) quality() *Quality {
	p, ok := x.prediction()
	if !ok {
		return nil
	}
	q := &Quality{Proved: p.Proved}
	if !p.Proved {
		q.Above, q.Loose = p.Above, x.whyLoose()
	}
	for _, o := range p.Others {
		q.Others = append(q.Others, x.comparison(o))
	}
	return q
}

// prediction returns the prediction of the first step that was decided. How good the assignment is holds for all steps.
func (x *explainer) prediction() (p assign.Prediction, ok bool) {
	for _, f := range x.m.Funcs {
		if p, ok := stepOf(f); ok {
			return p, true
		}
	}
	return p, false
}

// stepOf returns the prediction for the step of an entry point. The first node that was decided has it; other passes
// may have moved this node into a body.
func stepOf(f *ir.Func) (p assign.Prediction, ok bool) {
	for _, g := range funcsOf(f) {
		for _, n := range g.Nodes {
			if p, ok := assign.PredictionOf(n); ok {
				return p, true
			}
		}
	}
	return p, false
}

// comparison names a start of the search in words.
func (x *explainer) comparison(o assign.Other) Comparison {
	c := Comparison{What: "--rules " + o.Name, Is: o.Text}
	switch {
	case x.o.Targets.Get(o.Name) != nil:
		c.What = "everything possible on " + o.Name
	case o.Name == "first":
		c.What = "each node on the first backend that runs it"
	}
	switch times, isRatio := strings.CutSuffix(o.Text, " times"); {
	case times == "1" && isRatio:
		c.Is = "takes as long"
	case isRatio:
		c.Is = "takes " + times + " times as long"
	case strings.HasPrefix(o.Text, "cannot: "):
		c.Is = "cannot run: " + strings.TrimPrefix(o.Text, "cannot: ")
	}
	return c
}

// whyLoose returns what the lower bound of the time leaves out, so that the best assignment may be above it. See
// docs/explanation/assignment.md.
func (x *explainer) whyLoose() []string {
	var list []string
	all := x.o.Targets.All()
	if slices.ContainsFunc(all, func(t *target.Descriptor) bool { return t.Queues > 0 }) {
		list = append(list, "copies of results between backends", "waits of backends for each other")
	} else {
		list = append(list, "some copies of values with several readers")
	}
	if slices.ContainsFunc(all, func(t *target.Descriptor) bool { _, name := x.limitOf(t); return name != "" }) {
		list = append(list, "what activations take of the limits of memory")
	}
	if x.m.Plan != nil && x.m.Plan.Pipeline > 1 {
		list = append(list, "waits of steps under way at the same time for each other")
	}
	return list
}

// head states in plain words what a call of each entry point is predicted to take, and how good the assignment is.
func (x *explainer) head(s *Summary) []string {
	var list []string
	if text := x.timesText(s.Entries); text != "" {
		list = append(list, text)
	}
	list = append(list, x.choiceText(s.Quality)...)
	if text := copiedText(s.Entries); text != "" {
		list = append(list, text)
	}
	return list
}

// copiedText states what calls copy between memories; empty if there is one memory.
func copiedText(entries []*EntrySummary) string {
	var parts []string
	some := false
	for _, e := range entries {
		if c := e.Copies; c != nil {
			parts = append(parts, fmt.Sprintf("@%s %s, %s", e.Func, plural(c.Count, "copy", "copies"), pass.BytesText(c.Bytes)))
			some = some || c.Count > 0
		}
	}
	if !some {
		return ""
	}
	return "copied between memories in a call: " + strings.Join(parts, "; ")
}

// timesText states the predicted times of calls, where all of them are known: until the call has ended, with barriers;
// before partition what assign predicted, else the sum of all nodes.
func (x *explainer) timesText(entries []*EntrySummary) string {
	if len(x.unrated()) > 0 {
		return ""
	}
	var parts []string
	for i, f := range x.m.Funcs {
		e := entries[i]
		seconds := e.Call
		if seconds == 0 {
			seconds = e.Seconds
			if p, ok := stepOf(f); ok {
				seconds = p.Seconds
			}
		}
		if seconds <= 0 {
			continue
		}
		text := fmt.Sprintf("@%s %s", f.Name, pass.SecondsText(seconds))
		if e.BarrierSeconds > 0 {
			text += fmt.Sprintf(" (%s of it at barriers)", pass.SecondsText(e.BarrierSeconds))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return "predicted time of a call: " + strings.Join(parts, ", ")
}

// choiceText states how the backends were chosen, and how good the choice is.
func (x *explainer) choiceText(q *Quality) []string {
	switch {
	case x.m.Props&ir.PropAssigned == 0:
		return nil
	case q != nil:
		return q.text()
	case len(x.o.Targets.All()) == 1:
		return []string{fmt.Sprintf("assignment: %s is the only backend", x.o.Targets.Last().Name)}
	case x.rules() != assign.KnownRuleSets[0].Name:
		return []string{fmt.Sprintf("assignment: by the rules %s, which compare no times; --rules %s does", x.rules(), assign.KnownRuleSets[0].Name)}
	}
	if names := x.withoutRates(); len(names) > 0 {
		return []string{fmt.Sprintf("assignment: each node is on the first backend that runs it, as the speed of %s is not known: flops, qops and bandwidth of a target file state it", strings.Join(names, ", "))}
	}
	return []string{"assignment: nothing was left to choose"}
}

// withoutRates returns the targets that do not state how fast they are.
func (x *explainer) withoutRates() []string {
	var names []string
	for _, t := range x.o.Targets.All() {
		if !t.Rates.Known() {
			names = append(names, t.Name)
		}
	}
	return names
}

// text states how good the assignment is, and what others would take.
func (q *Quality) text() []string {
	var list []string
	switch {
	case q.Proved:
		list = append(list, "assignment: proved best: no other one is predicted to take less time")
	case q.Above > 0:
		list = append(list, fmt.Sprintf("assignment: at most %.3g %% above a lower bound; the gap may be the bound's, which leaves out %s", 100*q.Above, strings.Join(q.Loose, ", ")))
	default:
		list = append(list, "assignment: the best that was found; no lower bound is known")
	}
	if len(q.Others) == 0 {
		return list
	}
	var others []string
	for _, o := range q.Others {
		others = append(others, o.What+" "+o.Is)
	}
	return append(list, "in comparison: "+strings.Join(others, "; "))
}

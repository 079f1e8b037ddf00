package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/plan"
)

// PlaceReport is the place of a value, the reason for it, and the values that have the same bytes at other times.
type PlaceReport struct {
	Space  string `json:"space"`
	Class  string `json:"class"`
	Chunk  int    `json:"chunk"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Why    string `json:"why"`

	// From is the node that uses the bytes for the value first, Until the one that does so
	// last; absent where they are its own for good.
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`

	// Before and After are the values that had (parts of) the bytes last, and that have them
	// next, in this entry point.
	Before []Resident `json:"before,omitempty"`
	After  []Resident `json:"after,omitempty"`
}

// Resident is another value that has some of the same bytes at another time.
type Resident struct {
	Value  string `json:"value"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	From   string `json:"from"`
	Until  string `json:"until"`
}

// history has the values of an entry point that own bytes, with their places and times. Bodies are laid out once.
type history struct {
	entry *ir.Func
	time  *plan.Timeline
	stays map[*ir.Value]*stay
	list  []*stay // by first step
}

// stay is the time of a value in its bytes. Steps count nodes, ticks count barriers.
type stay struct {
	v           *ir.Value
	at          ir.Place
	steps       plan.Interval
	ticks       plan.Interval
	from, until *ir.Node
}

func (x *explainer) history(f *ir.Func) *history {
	f = f.Entry()
	if x.times[f] == nil {
		x.times[f] = newHistory(f)
	}
	return x.times[f]
}

func newHistory(f *ir.Func) *history {
	h := &history{entry: f, time: plan.NewTimeline(f), stays: make(map[*ir.Value]*stay)}
	h.add(f)
	slices.SortStableFunc(h.list, func(a, b *stay) int { return cmp.Compare(a.steps.First, b.steps.First) })
	return h
}

// add notes the values of f that own bytes.
func (h *history) add(f *ir.Func) {
	for _, p := range f.Params {
		h.note(p)
	}
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			h.add(n.Body)
		}
		for _, r := range n.Results {
			h.note(r)
		}
	}
}

func (h *history) note(v *ir.Value) {
	if kind, _ := flow.ParamKind(v); v.Place == nil || kind == flow.ParamTable || kind == flow.ParamInvariant {
		return
	}
	s := &stay{v: v, at: *v.Place, steps: plan.Never, ticks: plan.Never}
	for _, e := range h.time.Of(flow.Origin(v)) {
		s.steps, s.ticks = s.steps.With(e.Pos), s.ticks.With(e.Tick)
	}
	if s.steps == plan.Never {
		return
	}
	s.from, s.until = h.nodeAt(s.steps.First), h.nodeAt(s.steps.Last)
	h.stays[v] = s
	h.list = append(h.list, s)
}

// nodeAt returns the node of a step; nil after the last step, where the caller reads.
func (h *history) nodeAt(pos int) *ir.Node {
	if pos >= len(h.time.Steps) {
		return nil
	}
	return h.time.Steps[pos].Node
}

func nodeName(n *ir.Node) string {
	if n == nil {
		return "the caller"
	}
	return n.String()
}

// meets reports whether two values have some bytes in common.
func (s *stay) meets(t *stay) bool {
	return s.at.Arena == t.at.Arena && s.at.Chunk == t.at.Chunk &&
		s.at.Offset < t.at.Offset+t.at.Bytes && t.at.Offset < s.at.Offset+s.at.Bytes
}

// neighbours returns the values that had bytes of s before it and the values that have them after it, the nearest
// first: for each byte the last owner before and the next one after.
//
// For example, if s has bytes [0,128), and before it %a had [0,64) and, earlier still, %b had [0,128), then %a and %b
// are before it: %a for the first 64 bytes, %b for the rest.
func (h *history) neighbours(s *stay) (before, after []Resident) {
	var earlier, later []*stay
	for _, t := range h.list {
		switch {
		case t == s || !s.meets(t):
		case t.steps.Last <= s.steps.First:
			earlier = append(earlier, t)
		case t.steps.First >= s.steps.Last:
			later = append(later, t)
		}
	}
	slices.SortStableFunc(earlier, func(a, b *stay) int { return cmp.Compare(b.steps.Last, a.steps.Last) })
	return h.cover(s, earlier), h.cover(s, later)
}

// cover returns the values of a list that have bytes of s which none before them in the list has.
func (h *history) cover(s *stay, list []*stay) []Resident {
	free := []byteRange{{s.at.Offset, s.at.Offset + s.at.Bytes}}
	var out []Resident
	for _, t := range list {
		left := cut(free, byteRange{t.at.Offset, t.at.Offset + t.at.Bytes})
		if total(left) < total(free) {
			out = append(out, Resident{qualified(h.entry, t.v), t.at.Offset, t.at.Bytes, nodeName(t.from), nodeName(t.until)})
		}
		if free = left; len(free) == 0 {
			break
		}
	}
	return out
}

// byteRange is a range of bytes, the end not included.
type byteRange struct{ lo, hi int64 }

func total(list []byteRange) int64 {
	var sum int64
	for _, s := range list {
		sum += s.hi - s.lo
	}
	return sum
}

// cut returns the parts of the ranges outside of by.
func cut(list []byteRange, by byteRange) []byteRange {
	var out []byteRange
	for _, s := range list {
		if lo, hi := s.lo, min(s.hi, by.lo); lo < hi {
			out = append(out, byteRange{lo, hi})
		}
		if lo, hi := max(s.lo, by.hi), s.hi; lo < hi {
			out = append(out, byteRange{lo, hi})
		}
	}
	return out
}

// place returns the place of the bytes of v; nil before plan.
func (x *explainer) place(v *ir.Value) *PlaceReport {
	o := flow.Origin(v)
	if x.m.Plan == nil || o.Place == nil {
		return nil
	}
	arena := &x.m.Plan.Arenas[o.Place.Arena]
	r := &PlaceReport{Space: arena.Space, Class: arena.Class.String(), Chunk: o.Place.Chunk, Offset: o.Place.Offset, Bytes: o.Place.Bytes}
	h := x.history(v.Func)
	s := h.stays[o]
	if s != nil && arena.Class != ir.ClassIO {
		r.From, r.Until = nodeName(s.from), nodeName(s.until)
		r.Before, r.After = h.neighbours(s)
	}
	r.Why = x.whyAt(h, s, o, arena)
	return r
}

// whyAt returns the reason for an offset. The planner leaves a cause if bytes are taken over. All other offsets follow
// from the values that are live at the same time: packings are pushed down, so that a value is at the bottom or on top
// of another one.
func (x *explainer) whyAt(h *history, s *stay, o *ir.Value, arena *ir.Arena) string {
	switch {
	case o.Def != nil && ruleOf(o.Def, pass.RulePlanInplace) != nil:
		c := ruleOf(o.Def, pass.RulePlanInplace)
		return fmt.Sprintf("in the bytes of %s, which is not read any more (plan.inplace)", c.Operands[0])
	case x.isCarried(o):
		return "a carried value has one place in all iterations (plan.carried)"
	case arena.Class == ir.ClassIO:
		return "inputs and outputs are the caller's: they share bytes with nothing"
	case s == nil:
		return "nothing reads it"
	case o.Slots() > 1:
		return fmt.Sprintf("the first of %d instances, one for each step under way, which share bytes with nothing", o.Slots())
	case o.Place.Offset == 0:
		return "at the bottom: nothing below it is live at the same time"
	}
	if below := h.below(s, arena.Align); below != nil {
		return fmt.Sprintf("on top of %%%s, which is live at the same time", qualified(h.entry, below.v))
	}
	return "where the search for a small arena put it"
}

// ruleOf returns the cause of n under a rule, or nil.
func ruleOf(n *ir.Node, rule pass.RuleName) *ir.Cause {
	if c, ok := n.FirstCause(func(_, of string) bool { return of == string(rule) }); ok {
		return &c
	}
	return nil
}

// isCarried reports whether v is the start, the parameter, the next value or the result of what a repeat carries.
func (x *explainer) isCarried(v *ir.Value) bool {
	kind, _ := flow.ParamKind(v)
	next := v.Func.Owner != nil && slices.ContainsFunc(v.Func.Results, func(r *ir.Value) bool { return flow.Origin(r) == v })
	return kind == flow.ParamCarried || next || v.Def != nil && v.Def.Op == ir.OpRepeat || slices.ContainsFunc(x.uses[v], func(n *ir.Node) bool {
		a, ok := n.Attr.(*ir.RepeatAttr)
		return ok && slices.Index(n.Args, v) < a.Carried
	})
}

// below returns a value that ends where s begins and is live at the same time as s, or as another value with the bytes
// of s.
func (h *history) below(s *stay, align int64) *stay {
	live := h.lifeOfBytes(s)
	for _, t := range h.list {
		if t.at.Arena == s.at.Arena && t.at.Chunk == s.at.Chunk && flow.AlignUp(t.at.Offset+t.at.Bytes, max(align, 1)) == s.at.Offset &&
			t.ticks.First <= live.Last && live.First <= t.ticks.Last {
			return t
		}
	}
	return nil
}

// lifeOfBytes returns the ticks in which the bytes of s are live, with those of the values that took them over from
// each other.
func (h *history) lifeOfBytes(s *stay) plan.Interval {
	live := s.ticks
	for _, t := range h.list {
		if t.at.Arena == s.at.Arena && t.at.Chunk == s.at.Chunk && t.at.Offset == s.at.Offset && t.ticks.First <= live.Last && live.First <= t.ticks.Last {
			live = live.With(t.ticks.First).With(t.ticks.Last)
		}
	}
	return live
}

package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/plan"
	"github.com/ggmlc/ggmlc/passes/target"
)

// noRoom states by how much a limit of memory would be exceeded in the space of t if the nodes ran there. It returns
// nothing if they fit, if there is no limit, and before there is a plan.
func (r *relocation) noRoom() string {
	limit, name := r.x.limitOf(r.t)
	if name == "" || r.x.m.Plan == nil {
		return ""
	}
	need := r.bytes()
	if need <= limit {
		return ""
	}
	return fmt.Sprintf("no room: %s more than %s", pass.BytesText(need-limit), name)
}

// bytes returns the bytes that the plan would take in the space of t. Weights count in full. The bytes that are live at
// once follow from the order of the present plan; a new plan may need somewhat more.
func (r *relocation) bytes() int64 {
	sum := r.weightBytes
	var now, most int64 // activations
	for _, a := range r.x.m.Plan.Arenas {
		if a.Space != r.t.Home() {
			continue
		}
		all := flow.UnderWay(r.x.m.Plan, a)
		sum += all.Bytes()
		if a.Class == ir.ClassActivations {
			now = a.Bytes()
		}
	}
	for f := range r.moves {
		most = max(most, r.liveAtOnce(f))
	}
	return sum + max(0, most-now)
}

// LimitSummary is a limit of memory and what the plan takes of it.
type LimitSummary struct {
	Space string `json:"space"`
	Limit int64  `json:"limit"`
	Bytes int64  `json:"bytes"` // of all arenas, with their instances for steps under way
	Name  string `json:"name"`  // whose limit it is
}

// limits returns the least limit of each space that has one.
func (x *explainer) limits() []LimitSummary {
	if x.m.Plan == nil {
		return nil
	}
	var list []LimitSummary
	for _, t := range x.o.Targets.All() {
		limit, name := x.limitOf(t)
		known := slices.ContainsFunc(list, func(l LimitSummary) bool { return l.Space == t.Home() })
		if name == "" || known {
			continue
		}
		l := LimitSummary{Space: t.Home(), Limit: limit, Name: name}
		for _, a := range x.m.Plan.Arenas {
			if a.Space == l.Space {
				all := flow.UnderWay(x.m.Plan, a)
				l.Bytes += all.Bytes()
			}
		}
		list = append(list, l)
	}
	return list
}

// limitOf returns the least limit of the space of t and its name, which is empty if there is no limit.
func (x *explainer) limitOf(t *target.Descriptor) (limit int64, name string) {
	least := func(n int64, by string) {
		if name == "" || n < limit {
			limit, name = n, by
		}
	}
	for _, d := range x.o.Targets.All() {
		if d.Home() == t.Home() && d.Memory > 0 {
			least(d.Memory, fmt.Sprintf("the %s of %s", pass.BytesText(d.Memory), d.Name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(x.o.MaxMemory)) {
		d := x.o.Targets.Get(key)
		if key == t.Home() || d != nil && d.Home() == t.Home() {
			n := x.o.MaxMemory[key]
			least(n, fmt.Sprintf("the %s of --max-memory %s", pass.BytesText(n), key))
		}
	}
	return limit, name
}

// liveAtOnce returns the most bytes that would be live at once among the activations of the space, at a node of the
// entry point: the present ones, the results of the nodes, and copies.
func (r *relocation) liveAtOnce(f *ir.Func) int64 {
	h := r.x.history(f)
	change := make([]int64, len(h.time.Steps)+2)
	note := func(live plan.Interval, bytes int64) {
		change[live.First] += bytes
		change[live.Last+1] -= bytes
	}
	for _, s := range r.x.residents(h, r.t.Home(), r.leave) {
		note(s.steps, s.at.Bytes)
	}
	for _, n := range r.nodes {
		for _, v := range n.Results {
			if s := h.stays[v]; s != nil && !r.x.isActivation(s, r.t.Home()) {
				note(s.steps, v.Type.MaxBytes())
			}
		}
	}
	where := positions(h)
	for _, a := range r.arrive {
		live := plan.Never
		for _, n := range a.by {
			if at, ok := where[n]; ok {
				live = live.With(at)
			}
		}
		if live != plan.Never {
			note(live, a.v.Type.MaxBytes())
		}
	}
	var most, sum int64
	for _, c := range change {
		sum += c
		most = max(most, sum)
	}
	return most
}

// positions returns the steps of the nodes of an entry point.
func positions(h *history) map[*ir.Node]int {
	at := make(map[*ir.Node]int, len(h.time.Steps))
	for i, s := range h.time.Steps {
		at[s.Node] = i
	}
	return at
}

// isActivation reports whether a value is among the activations of a space.
func (x *explainer) isActivation(s *stay, space string) bool {
	a := &x.m.Plan.Arenas[s.at.Arena]
	return a.Space == space && a.Class == ir.ClassActivations
}

// residents returns the values among the activations of a space, with their times, without the results of some copies.
// Values that take over bytes from each other are one.
func (x *explainer) residents(h *history, space string, without []*ir.Node) []stay {
	gone := make(map[*ir.Node]bool)
	for _, n := range without {
		gone[n] = true
	}
	var list []stay
	for _, s := range h.list {
		if x.isActivation(s, space) && !gone[s.v.Def] {
			list = append(list, *s)
		}
	}
	slices.SortStableFunc(list, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.at.Chunk, b.at.Chunk), cmp.Compare(a.at.Offset, b.at.Offset), cmp.Compare(a.steps.First, b.steps.First))
	})
	var out []stay
	for _, s := range list {
		if n := len(out); n > 0 && out[n-1].at.Chunk == s.at.Chunk && out[n-1].at.Offset == s.at.Offset && s.steps.First <= out[n-1].steps.Last {
			o := &out[n-1]
			o.steps.Last, o.at.Bytes = max(o.steps.Last, s.steps.Last), max(o.at.Bytes, s.at.Bytes)
			continue
		}
		out = append(out, s)
	}
	return out
}

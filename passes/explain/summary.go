package explain

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/partition"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/plan"
	"github.com/ggmlc/ggmlc/passes/shard"
)

// Summary is what a person should know about a compiled module.
type Summary struct {
	Head      []string        `json:"head,omitempty"` // predicted times and how good the assignment is, in plain words
	Quality   *Quality        `json:"quality,omitempty"`
	Entries   []*EntrySummary `json:"entries"`
	Arenas    []ArenaSummary  `json:"arenas,omitempty"`
	Spaces    []SpaceSummary  `json:"spaces,omitempty"`
	Limits    []LimitSummary  `json:"limits,omitempty"`
	Expensive []Decision      `json:"expensive,omitempty"`
	Rings     *RingSummary    `json:"rings,omitempty"`
	Rounded   *RoundedSummary `json:"rounded,omitempty"`
}

// EntrySummary is what one call of an entry point takes, at the symbols' upper bounds.
type EntrySummary struct {
	Func     string         `json:"func"`
	Nodes    int64          `json:"nodes"`                  // with work, that run, copies included
	Seconds  float64        `json:"seconds,omitempty"`      // of all nodes and barriers, one after the other
	Call     float64        `json:"call_seconds,omitempty"` // until the call has ended, while queues and the host work at the same time
	Assigned []string       `json:"assigned,omitempty"`     // what assign predicted, as the operands of assign.step; where it had a choice
	Backends []BackendShare `json:"backends,omitempty"`
	Splits   []SplitReport  `json:"splits,omitempty"`
	Copies   *CopySummary   `json:"copies,omitempty"`

	Group *shard.Figures `json:"group,omitempty"`

	Barriers       *int64  `json:"barriers,omitempty"`        // that run
	BarrierSeconds float64 `json:"barrier_seconds,omitempty"` // part of Seconds
}

// BackendShare is what one target does in a call, without copies: the queues of either side may run these.
type BackendShare struct {
	Target  string  `json:"target"`
	Nodes   int64   `json:"nodes"`
	FLOPs   int64   `json:"flops"`
	Bytes   int64   `json:"bytes"` // read and written
	Seconds float64 `json:"seconds,omitempty"`
}

// SplitReport is a run of nodes on one backend.
type SplitReport struct {
	Number  int        `json:"number"`
	Func    string     `json:"func"`
	Times   int64      `json:"times"` // per call
	Backend string     `json:"backend"`
	First   string     `json:"first"`  // node
	Nodes   int        `json:"nodes"`  // with work and no copies; those of bodies once
	Runs    int64      `json:"runs"`   // of these nodes, per call
	Inputs  []string   `json:"inputs"` // values that are copied for it
	Bytes   int64      `json:"input_bytes"`
	Causes  []WhyCause `json:"causes"`
}

// CopySummary compares the copies of a call with what no plan with these backends can do
// without: each value once per space that reads it.
type CopySummary struct {
	Count    int64          `json:"count"`
	Bytes    int64          `json:"bytes"`
	Bound    int64          `json:"bound_bytes"`
	Seconds  float64        `json:"seconds,omitempty"`
	Apart    int64          `json:"apart,omitempty"` // of them are made again, as a limit leaves no room to keep an earlier one
	Needless []NeedlessCopy `json:"needless,omitempty"`
}

// NeedlessCopy is a copy that the plan could do without.
type NeedlessCopy struct {
	CopyReport
	Because string `json:"because"`
}

// ArenaSummary is an arena beside its lower bound.
type ArenaSummary struct {
	Space     string   `json:"space"`
	Class     string   `json:"class"`
	Bytes     int64    `json:"bytes"`
	Chunks    int      `json:"chunks"`
	Bound     int64    `json:"bound_bytes"`
	BoundFunc string   `json:"bound_func,omitempty"`
	Setters   []Setter `json:"setters,omitempty"` // live together when the bound is reached
}

// SpaceSummary is what a plan takes of a memory space.
type SpaceSummary struct {
	Space string `json:"space"`
	Bytes int64  `json:"bytes"` // of all arenas, with the inputs and outputs of all steps under way
}

// Setter is a value that is live when an arena's lower bound is reached.
type Setter struct {
	Value string `json:"value"`
	ID    string `json:"id"`              // as the text form has it: in quotes where it is no word, after its body's name if it is in one
	Bytes int64  `json:"bytes"`           // of one instance
	Slots int    `json:"slots,omitempty"` // how many instances it has, where there are several
}

// All returns the bytes of all instances.
func (s *Setter) All() int64 { return s.Bytes * int64(max(s.Slots, 1)) }

// summary returns the summary, and the predicted calls of the entry points of which one is known.
func (x *explainer) summary() (*Summary, []*Call) {
	var calls []*Call
	s := &Summary{Arenas: x.arenas(), Spaces: x.spaces(), Limits: x.limits(), Rings: x.rings(), Rounded: x.rounded()}
	for _, f := range x.m.Funcs {
		e := x.entry(f)
		s.Entries = append(s.Entries, e)
		if c := x.predictCall(f, e); c != nil {
			e.Call = c.Seconds
			calls = append(calls, c)
		}
	}
	s.Expensive = x.mostExpensive()
	s.Quality = x.quality()
	s.Head = x.head(s)
	return s, calls
}

// funcsOf returns an entry point and the bodies in it.
func funcsOf(f *ir.Func) []*ir.Func {
	list := []*ir.Func{f}
	for _, n := range f.Nodes {
		if n.Body != nil {
			list = append(list, funcsOf(n.Body)...)
		}
	}
	return list
}

// eachWorkNode calls yield for the nodes of an entry point that do work, bodies included, with
// how often each runs.
func eachWorkNode(f *ir.Func, yield func(n *ir.Node, times int64)) {
	for _, g := range funcsOf(f) {
		times := runsOf(g)
		for _, n := range g.Nodes {
			if flow.DoesWork(n) && !flow.RunsFunction(n) {
				yield(n, times)
			}
		}
	}
}

func (x *explainer) entry(f *ir.Func) *EntrySummary {
	e := &EntrySummary{Func: f.Name, Assigned: assignedStep(f), Group: shard.FiguresOf(x.m, f.Name)}
	shares := make(map[string]*BackendShare)
	eachWorkNode(f, func(n *ir.Node, times int64) {
		e.Nodes += times
		switch {
		case n.Backend == "":
			return
		case flow.IsCallCopy(n):
			e.Seconds += x.cost(n).Step
			return
		}
		if shares[n.Backend] == nil {
			shares[n.Backend] = &BackendShare{Target: n.Backend}
		}
		shares[n.Backend].add(x.cost(n))
	})
	for _, t := range x.o.Targets.All() {
		if s := shares[t.Name]; s != nil {
			e.Backends = append(e.Backends, *s)
			e.Seconds += s.Seconds
		}
	}
	if x.m.Props&ir.PropSplit != 0 {
		e.Splits = x.splits(f)
	}
	if x.m.Props&ir.PropCopied != 0 {
		e.Copies = x.copies(f)
	}
	if x.m.Props&ir.PropPartitioned != 0 {
		n := partition.Barriers(f)
		e.Barriers = &n
		barriers, _ := x.barrierDecision(f)
		e.BarrierSeconds = barriers.Seconds
		e.Seconds += e.BarrierSeconds
	}
	return e
}

// assignedStep returns the prediction of assign for the step of an entry point: its time, its distance from the bound,
// and the times of other assignments. The first node that was decided has it; other passes may have moved this node
// into a body.
func assignedStep(f *ir.Func) []string {
	for _, g := range funcsOf(f) {
		for _, n := range g.Nodes {
			for _, c := range n.Causes() {
				if c.Rule == string(pass.RuleAssignStep) {
					return c.Operands
				}
			}
		}
	}
	return nil
}

func (s *BackendShare) add(c *CostReport) {
	s.Nodes += c.Times
	s.FLOPs += c.FLOPs * c.Times
	s.Bytes += (c.Read + c.Written) * c.Times
	s.Seconds += c.Step
}

// splits returns the splits of an entry point, then those of the bodies in it. A body of one split belongs to the split
// of its repeat.
func (x *explainer) splits(f *ir.Func) []SplitReport {
	var list []SplitReport
	index := make(map[splitKey]int)
	around := splitsAround(f)
	eachWorkNode(f, func(n *ir.Node, times int64) {
		key := splitKey{n.Func, n.Split}
		if n.Split < 0 {
			return
		}
		if outer, ok := around[n.Func]; ok {
			key = outer
		}
		i, open := index[key]
		if !open {
			i = len(list)
			index[key] = i
			list = append(list, SplitReport{Number: n.Split, Func: n.Func.Name, Times: times, Backend: n.Backend, First: n.String(), Causes: x.splitWhy(n)})
		}
		list[i].add(n, times)
	})
	return list
}

// splitsAround returns the splits that bodies of one split belong to.
func splitsAround(f *ir.Func) map[*ir.Func]splitKey {
	around := make(map[*ir.Func]splitKey)
	for _, g := range funcsOf(f) { // outer bodies first
		if g.Owner == nil || !isOneSplit(g) {
			continue
		}
		key := splitKey{g.Owner.Func, g.Owner.Split}
		if outer, ok := around[g.Owner.Func]; ok {
			key = outer
		}
		around[g] = key
	}
	return around
}

// isOneSplit reports whether all nodes with work in a body are of one split.
func isOneSplit(f *ir.Func) bool {
	split := -1
	for _, g := range funcsOf(f) {
		for _, n := range g.Nodes {
			if !flow.DoesWork(n) || flow.RunsFunction(n) {
				continue
			}
			if split >= 0 && n.Split != split {
				return false
			}
			split = n.Split
		}
	}
	return true
}

// add counts a node that runs so often in a call.
func (s *SplitReport) add(n *ir.Node, times int64) {
	s.Times = min(s.Times, times)
	if !flow.IsCallCopy(n) {
		s.Nodes++
		s.Runs += times
		return
	}
	s.Inputs = append(s.Inputs, n.Args[0].String())
	s.Bytes += flow.MovedBytes(n)
}

// arenas returns the arenas with the sizes of the values that set their bounds, the largest first.
func (x *explainer) arenas() []ArenaSummary {
	if x.m.Plan == nil {
		return nil
	}
	values := x.planned()
	var list []ArenaSummary
	for i := range x.m.Plan.Arenas {
		a := &x.m.Plan.Arenas[i]
		s := ArenaSummary{Space: a.Space, Class: a.Class.String(), Bytes: a.Bytes(), Chunks: len(a.Chunks), Bound: a.Bound, BoundFunc: a.BoundFunc}
		for _, name := range a.Setters {
			s.Setters = append(s.Setters, setterOf(name, values[setterKey{a.BoundFunc, name}]))
		}
		slices.SortStableFunc(s.Setters, func(a, b Setter) int { return cmp.Compare(b.All(), a.All()) })
		list = append(list, s)
	}
	return list
}

// spaces returns what the plan takes of each space, in the order of the arenas.
func (x *explainer) spaces() []SpaceSummary {
	if x.m.Plan == nil {
		return nil
	}
	bytes := flow.SpaceBytes(x.m.Plan)
	var list []SpaceSummary
	for _, a := range x.m.Plan.Arenas {
		if !slices.ContainsFunc(list, func(s SpaceSummary) bool { return s.Space == a.Space }) {
			list = append(list, SpaceSummary{a.Space, bytes[a.Space]})
		}
	}
	return list
}

// setterKey names a value as plan does; see qualified.
type setterKey struct{ entry, name string }

// setterOf returns the setter that a plan names; v is nil if the module has no such value any more.
func setterOf(name string, v *ir.Value) Setter {
	if v == nil {
		return Setter{Value: name, ID: ir.QuoteName(name)}
	}
	s := Setter{Value: name, ID: qualified(v.Func.Entry(), v), Bytes: v.Type.MaxBytes()}
	if n := v.Slots(); n > 1 {
		s.Slots = n
	}
	return s
}

// qualified returns the name of a value of an entry point as the text form has it, after that of the body if it is in
// one.
func qualified(entry *ir.Func, v *ir.Value) string {
	if v.Func == entry {
		return ir.QuoteName(v.Name())
	}
	return ir.QuoteName(v.Func.Name) + "." + ir.QuoteName(v.Name())
}

// planned returns the values of all functions by the names that plans give them.
func (x *explainer) planned() map[setterKey]*ir.Value {
	values := make(map[setterKey]*ir.Value)
	for _, f := range x.m.AllFuncs() {
		entry := f.Entry()
		note := func(v *ir.Value) { values[setterKey{entry.Name, plan.Qualified(entry, v)}] = v }
		for _, p := range f.Params {
			note(p)
		}
		for _, n := range f.Nodes {
			for _, r := range n.Results {
				note(r)
			}
		}
	}
	return values
}

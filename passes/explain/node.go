package explain

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// NodeReport is the explanation of a node, or of a parameter, which has no op and no backend.
type NodeReport struct {
	Func  string `json:"func"`
	Times int64  `json:"times"`           // executions in a call of the entry point
	Round *int64 `json:"round,omitempty"` // the iteration of the repeat around it, if one was asked for
	Node  string `json:"node"`
	Op    string `json:"op,omitempty"`
	Text  string `json:"text"`
	Pos   string `json:"pos,omitempty"` // where in the model file it comes from

	Backend  string     `json:"backend,omitempty"`
	Assigned []WhyCause `json:"assigned,omitempty"` // why there
	Tried    []Attempt  `json:"tried,omitempty"`

	Split     int        `json:"split"` // -1 before the split pass
	SplitWhy  []WhyCause `json:"split_causes,omitempty"`
	Epoch     int        `json:"epoch"`
	Partition string     `json:"partition,omitempty"`
	PartWhy   []WhyCause `json:"partition_causes,omitempty"`

	Queue string `json:"queue,omitempty"`
	Slots int    `json:"slots,omitempty"`
	Waits []int  `json:"waits,omitempty"`      // for events of this call
	Prev  []int  `json:"waits_prev,omitempty"` // for events of the call before
	Event int    `json:"event,omitempty"`

	Concurrent bool `json:"concurrent,omitempty"` // with the node before it on its queue

	Cost         *CostReport  `json:"cost,omitempty"`
	Reads        []CopyReport `json:"copies_read,omitempty"`
	CopiedBy     []CopyReport `json:"copies_caused,omitempty"`
	Operands     []Operand    `json:"operands,omitempty"`
	Results      []Operand    `json:"results"`
	Causes       []WhyCause   `json:"causes,omitempty"` // all, in the order in which they were given
	isTransfer   bool
	partitionDoc string
	recorders    map[int]string // of the events that it waits for
}

// Operand is a value that a node reads or makes: its bytes, their layout with its causes, and their place.
type Operand struct {
	Value  string       `json:"value"`
	Type   string       `json:"type"`
	Space  string       `json:"space,omitempty"`
	Layout string       `json:"layout"` // plain, or the packed form; strided for views with gaps
	Bytes  int64        `json:"bytes"`
	Of     string       `json:"of,omitempty"` // whose bytes it names, where it is a view
	Why    []WhyCause   `json:"causes,omitempty"`
	Place  *PlaceReport `json:"place,omitempty"` // of results
}

// node returns the report of a node.
func (x *explainer) node(at spot) *NodeReport {
	n := at.n
	r := &NodeReport{Func: n.Func.Name, Times: runsOf(n.Func), Node: n.String(), Op: n.Op.String(), Text: textOf(n), Pos: n.Pos,
		Backend: n.Backend, Split: n.Split, Epoch: n.Epoch, isTransfer: flow.IsTransfer(n)}
	if at.round >= 0 {
		r.Round = &at.round
		r.Pos = x.posInIteration(n, at.round)
	}
	r.Assigned = causesOf(n, byPass("spread", "assign", "unfuse"))
	r.Tried = x.attempts(n)
	r.SplitWhy = x.splitWhy(n)
	r.PartWhy = causesOf(n, byPass("partition", "roll", "order"))
	r.Partition, r.partitionDoc = n.Part.Mode.String(), partitionText(n)
	r.submission(x, n)
	if flow.DoesWork(n) && !flow.RunsFunction(n) {
		r.Cost = x.cost(n)
	}
	r.Reads, r.CopiedBy = x.copiesOf(n)
	r.values(x, n)
	r.Causes = causesOf(n, func(ir.Cause) bool { return true })
	return r
}

// posInIteration returns the position in the model file of a node of a body in an iteration.
func (x *explainer) posInIteration(n *ir.Node, round int64) string {
	if all := tablePositions(n.Func)[n.Pos]; int(round) < len(all) {
		return all[round]
	}
	return n.Pos
}

func (r *NodeReport) submission(x *explainer, n *ir.Node) {
	s := n.Submit
	if s == nil {
		return
	}
	r.Queue, r.Slots, r.Event, r.Concurrent = s.Queue, s.Slots, s.Event, s.Concurrent
	r.recorders = make(map[int]string)
	for _, w := range s.Waits {
		if w.Prev {
			r.Prev = append(r.Prev, w.Event)
		} else {
			r.Waits = append(r.Waits, w.Event)
		}
		if by := x.recorder(n.Func, w.Event); by != nil {
			r.recorders[w.Event] = "%" + qualified(n.Func, by.Result())
		}
	}
}

// recorder returns the node of the entry point of f, or of a body in it, that records an event; nil for none.
func (x *explainer) recorder(f *ir.Func, event int) *ir.Node {
	key := entryEvent{f.Entry(), event}
	if x.records == nil {
		x.records = make(map[entryEvent]*ir.Node)
		for _, g := range x.m.AllFuncs() {
			for _, n := range g.Nodes {
				if n.Submit != nil && n.Submit.Event != 0 && n.Result() != nil {
					x.records[entryEvent{g.Entry(), n.Submit.Event}] = n
				}
			}
		}
	}
	return x.records[key]
}

func (r *NodeReport) values(x *explainer, n *ir.Node) {
	for i, a := range n.Args {
		if a != nil && (n.Op != ir.OpRepeat || i < 4) {
			r.Operands = append(r.Operands, x.operand(a))
		}
	}
	for _, v := range n.Results {
		o := x.operand(v)
		o.Place = x.place(v)
		r.Results = append(r.Results, o)
	}
}

// param returns the report of a parameter.
func (x *explainer) param(v *ir.Value) *NodeReport {
	r := &NodeReport{Func: v.Func.Name, Times: runsOf(v.Func), Node: v.String(), Split: -1, Text: v.String() + ": " + paramText(v)}
	o := x.operand(v)
	o.Place = x.place(v)
	r.Results = []Operand{o}
	for _, reader := range x.readers(v) {
		if flow.IsTransfer(reader) {
			r.CopiedBy = append(r.CopiedBy, x.copyReport(reader))
		}
	}
	return r
}

func paramText(v *ir.Value) string {
	kind, i := flow.ParamKind(v)
	switch kind {
	case flow.ParamEntry:
		return "an input of @" + v.Func.Name + ", which the caller writes"
	case flow.ParamCarried:
		return fmt.Sprintf("carried from iteration to iteration; the first one gets %v", v.Func.Owner.Args[i])
	case flow.ParamTable:
		a := v.Func.Owner.Attr.(*ir.RepeatAttr)
		return fmt.Sprintf("in each iteration the next of %v to %v", v.Func.Owner.Args[i], v.Func.Owner.Args[i+int(a.Count)-1])
	}
	return fmt.Sprintf("%v in every iteration", v.Func.Owner.Args[i])
}

func (x *explainer) operand(v *ir.Value) Operand {
	o := Operand{Value: v.String(), Type: v.Type.String(), Space: v.Type.Space, Layout: v.Type.Layout.String(), Bytes: v.Type.MaxBytes()}
	if v.Type.Strides != nil {
		o.Layout = "strided"
	}
	if s := flow.Origin(v); s != v && s.Name() != v.Name() {
		o.Of = s.String()
	}
	o.Why = x.layoutWhy(v)
	return o
}

// layoutWhy returns the causes of the layout of v: those of the node that packs, quantizes or copies it. For a weight
// or state it adds the causes of its space, which was decided where the module names it first.
func (x *explainer) layoutWhy(v *ir.Value) []WhyCause {
	if l := leafOf(v.Root()); l != nil {
		if m, ok := x.leaf(l); ok {
			l = x.named[m][0]
		}
		return causesOf(l, byPass("assign", "pack", "fuse-late"))
	}
	if n := beforeRepeat(v).Def; n != nil {
		return causesOf(n, byPass("pack", "fuse-late"))
	}
	return nil
}

// splitWhy returns the causes of the split of n. The split of a body may have begun before the repeat.
func (x *explainer) splitWhy(n *ir.Node) []WhyCause {
	for at := n; at != nil; at = at.Func.Owner {
		if list := x.begins[splitKey{at.Func, at.Split}]; len(list) > 0 {
			return list
		}
	}
	if flow.IsTransfer(n) { // a split of nothing but copies
		return causesOf(n, byPass("copy", "elide-copy"))
	}
	return nil
}

// textOf returns a node as the text form has it, without types.
func textOf(n *ir.Node) string {
	positional, braces := ir.AttrText(n)
	text := n.Op.String()
	if len(n.Results) > 0 {
		text = valueList(n.Results) + " = " + text
	}
	for _, part := range []string{positional, valueList(n.Args), braces} {
		if part != "" {
			text += " " + part
		}
	}
	return text
}

// maxListedValues is how many operands a line shows.
const maxListedValues = 8

func valueList(vs []*ir.Value) string {
	names := make([]string, 0, len(vs))
	for i, v := range vs {
		if i == maxListedValues {
			names = append(names, fmt.Sprintf("… (%d more)", len(vs)-i))
			break
		}
		if v == nil {
			names = append(names, "-")
			continue
		}
		names = append(names, v.String())
	}
	return strings.Join(names, ", ")
}

// withinText describes who computes a node that one worker of the host computes or submits.
func withinText(n *ir.Node) string {
	if n.Submit == nil || n.Submit.Within.Mode == ir.PartNone {
		return "one thread computes it"
	}
	p := n.Submit.Within
	if p.Mode == ir.PartOne {
		return "one thread of the group computes it"
	}
	return fmt.Sprintf("the group's threads divide axis %d (%v long) in units of %d", p.Axis, p.N, p.Granule)
}

// partitionText describes which workers compute what.
func partitionText(n *ir.Node) string {
	switch n.Part.Mode {
	case ir.PartOne:
		return withinText(n)
	case ir.PartReplicated:
		return "every thread computes all of it for itself"
	case ir.PartSplit:
		return fmt.Sprintf("threads divide axis %d (%v long) in units of %d", n.Part.Axis, n.Part.N, n.Part.Granule)
	}
	return ""
}

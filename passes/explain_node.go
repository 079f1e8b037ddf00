package passes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// NodeReport is all that the module says about a node, or about a parameter, which has no
// op and no backend.
type NodeReport struct {
	Func  string `json:"func"`
	Times int64  `json:"times"`           // executions in a call of the entry point
	Round *int64 `json:"round,omitempty"` // of the repeat around it, where one was asked for
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
	Waits []int  `json:"waits,omitempty"`
	Event int    `json:"event,omitempty"`

	Cost         *CostReport  `json:"cost,omitempty"`
	Reads        []CopyReport `json:"copies_read,omitempty"`
	CopiedBy     []CopyReport `json:"copies_caused,omitempty"`
	Operands     []Operand    `json:"operands,omitempty"`
	Results      []Operand    `json:"results"`
	Causes       []WhyCause   `json:"causes,omitempty"` // all, in the order in which they were given
	isTransfer   bool
	partitionDoc string
}

// Operand is a value that a node reads or makes: what its bytes are, why they are laid out
// so, and where they lie.
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
		Backend: n.Backend, Split: n.Split, Epoch: n.Epoch, isTransfer: isTransfer(n)}
	if at.round >= 0 {
		r.Round = &at.round
		r.Pos = x.posInRound(n, at.round)
	}
	r.Assigned = why(n, byPass("assign", "unfuse"))
	r.Tried = x.attempts(n)
	r.SplitWhy = x.splitWhy(n)
	r.PartWhy = why(n, byPass("partition", "roll", "order"))
	r.Partition, r.partitionDoc = n.Part.Mode.String(), partitionText(n)
	r.submission(n)
	if works(n) && !runsFunction(n) {
		r.Cost = x.cost(n)
	}
	r.Reads, r.CopiedBy = x.copiesOf(n)
	r.values(x, n)
	r.Causes = why(n, func(ir.Cause) bool { return true })
	return r
}

// posInRound returns where a node of a body comes from in a round.
func (x *explainer) posInRound(n *ir.Node, round int64) string {
	if all := tablePositions(n.Func)[n.Pos]; int(round) < len(all) {
		return all[round]
	}
	return n.Pos
}

func (r *NodeReport) submission(n *ir.Node) {
	s := n.Submit
	if s == nil {
		return
	}
	r.Queue, r.Slots, r.Event = s.Queue, s.Slots, s.Event
	for _, w := range s.Waits {
		r.Waits = append(r.Waits, w.Event)
	}
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
		if isTransfer(reader) {
			r.CopiedBy = append(r.CopiedBy, x.copyReport(reader))
		}
	}
	return r
}

func paramText(v *ir.Value) string {
	kind, i := paramKind(v)
	switch kind {
	case paramEntry:
		return "an input of @" + v.Func.Name + ", which the caller writes"
	case paramCarried:
		return fmt.Sprintf("carried from round to round; the first one gets %v", v.Func.Owner.Args[i])
	case paramTable:
		a := v.Func.Owner.Attr.(*ir.RepeatAttr)
		return fmt.Sprintf("in each round the next of %v to %v", v.Func.Owner.Args[i], v.Func.Owner.Args[i+int(a.Count)-1])
	}
	return fmt.Sprintf("%v in every round", v.Func.Owner.Args[i])
}

func (x *explainer) operand(v *ir.Value) Operand {
	o := Operand{Value: v.String(), Type: v.Type.String(), Space: v.Type.Space, Layout: v.Type.Layout.String(), Bytes: v.Type.MaxBytes()}
	if v.Type.Strides != nil {
		o.Layout = "strided"
	}
	if s := origin(v); s != v && s.Name != v.Name {
		o.Of = s.String()
	}
	o.Why = x.layoutWhy(v)
	return o
}

// layoutWhy returns the causes for which v's bytes are as they are: those of the node that
// packs, quantizes or copies; of a weight or state also why it lies where it lies, which was
// decided where the module names it first.
func (x *explainer) layoutWhy(v *ir.Value) []WhyCause {
	if l := leafOf(v.Root()); l != nil {
		if m, ok := x.leaf(l); ok {
			l = x.leaves[m]
		}
		return why(l, byPass("assign", "pack", "fuse-late"))
	}
	if n := outer(v).Def; n != nil {
		return why(n, byPass("pack", "fuse-late"))
	}
	return nil
}

// splitWhy returns the causes for which the split of n begins, at whichever node it does.
func (x *explainer) splitWhy(n *ir.Node) []WhyCause {
	return x.begins[splitKey{entryOf(n.Func), n.Split}]
}

// textOf returns a node as the text form shows it, without types.
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

// partitionText says in words who computes what.
func partitionText(n *ir.Node) string {
	switch n.Part.Mode {
	case ir.PartOne:
		return "one worker computes it"
	case ir.PartEach:
		return "every worker computes all of it for itself"
	case ir.PartSplit:
		return fmt.Sprintf("workers divide axis %d (%v long) in units of %d", n.Part.Axis, n.Part.N, n.Part.Granule)
	}
	return ""
}

// leafMember is a weight, a state, or a constant node.
type leafMember struct {
	weight   *ir.Weight
	state    *ir.State
	constant *ir.Node
}

// leaf returns what a leaf node names.
func (x *explainer) leaf(n *ir.Node) (leafMember, bool) {
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return leafMember{weight: x.weights[a.Name]}, true
	case *ir.StateAttr:
		return leafMember{state: x.states[a.Name]}, true
	}
	return leafMember{constant: n}, n.Op == ir.OpConstant
}

// MemberReport is all that the module says about a weight, state or constant.
type MemberReport struct {
	Kind    string       `json:"kind"` // weight, state or constant
	Name    string       `json:"name"`
	Type    string       `json:"type"`
	Layout  string       `json:"layout"`
	Bytes   int64        `json:"bytes"`
	Space   string       `json:"space,omitempty"`
	There   string       `json:"space_why,omitempty"` // why in this space, where no cause says so
	Made    string       `json:"made,omitempty"`      // the expression over sources
	Place   *PlaceReport `json:"place,omitempty"`
	Readers []Reader     `json:"readers"`
	Copies  []CopyReport `json:"copies_caused,omitempty"`
	Causes  []WhyCause   `json:"causes,omitempty"`
}

// Reader is a node that reads a member.
type Reader struct {
	Func    string `json:"func"`
	Node    string `json:"node"`
	Op      string `json:"op"`
	Pos     string `json:"pos,omitempty"`
	Backend string `json:"backend,omitempty"`
	Round   *int64 `json:"round,omitempty"` // in which the repeat around it reads this one
	Writes  bool   `json:"writes,omitempty"`
}

// member returns the report of a weight, state or constant.
func (x *explainer) member(l leafMember) *MemberReport {
	r, typ, place := &MemberReport{}, ir.Type{}, (*ir.Place)(nil)
	switch {
	case l.weight != nil:
		r.Kind, r.Name, typ, place = "weight", l.weight.Name, l.weight.Type, l.weight.Place
		if l.weight.Expr != nil {
			r.Made = short(l.weight.Expr.String())
		}
	case l.state != nil:
		r.Kind, r.Name, typ, place = "state", l.state.Name, l.state.Type, l.state.Place
	default:
		r.Kind, r.Name, typ, place = "constant", l.constant.Result().Name, l.constant.Result().Type, l.constant.Result().Place
	}
	r.Type, r.Layout, r.Bytes, r.Space = typ.String(), typ.Layout.String(), typ.MaxBytes(), typ.Space
	r.Place = x.memberPlace(place)
	for _, f := range x.m.AllFuncs() {
		for _, n := range f.Nodes {
			if own, ok := x.leaf(n); ok && own == l {
				x.memberLeaf(r, n)
			}
		}
	}
	r.There = x.whySpace(r)
	return r
}

// whySpace says why a member lies in its space, where assign left no cause: members lie
// where their first reader keeps its bytes, unless the module says otherwise.
func (x *explainer) whySpace(r *MemberReport) string {
	decided := slices.ContainsFunc(r.Causes, func(c WhyCause) bool { return c.Pass == "assign" })
	if r.Space == "" || decided || len(r.Readers) == 0 {
		return ""
	}
	first := r.Readers[0]
	if t := x.o.Targets.Get(first.Backend); t != nil && t.Home() == r.Space {
		return fmt.Sprintf("where %s keeps its bytes, which runs the first reader, %s", t.Name, first.Node)
	}
	return "as the module says"
}

// maxExpr is the length of an expression that is shown whole.
const maxExpr = 120

func short(text string) string {
	if len(text) > maxExpr {
		return text[:maxExpr] + "…"
	}
	return text
}

func (x *explainer) memberPlace(p *ir.Place) *PlaceReport {
	if p == nil || x.m.Plan == nil {
		return nil
	}
	arena := &x.m.Plan.Arenas[p.Arena]
	return &PlaceReport{Space: arena.Space, Class: arena.Class.String(), Chunk: p.Chunk, Offset: p.Offset, Bytes: p.Bytes,
		Why: "in the order in which steps use them, a repeat's round by round; the bytes are its own for good"}
}

// memberLeaf adds what one of the nodes that name a member says of it.
func (x *explainer) memberLeaf(r *MemberReport, leaf *ir.Node) {
	for _, c := range why(leaf, func(ir.Cause) bool { return true }) {
		if !slices.ContainsFunc(r.Causes, func(d WhyCause) bool { return sameWhy(c, d) }) {
			r.Causes = append(r.Causes, c)
		}
	}
	v := leaf.Result()
	for _, use := range x.uses[v] {
		round := tableRound(use, v)
		x.eachReaderBy(use, v, func(n *ir.Node) bool {
			r.read(x, n, round)
			x.eachVersionReader(n, func(n *ir.Node) { r.read(x, n, round) })
			return true
		})
	}
}

// eachVersionReader calls yield for the nodes that read what n makes of a state, and of
// what they make of it.
func (x *explainer) eachVersionReader(n *ir.Node, yield func(*ir.Node)) {
	if !n.Is(ir.Alias) {
		return
	}
	for _, reader := range x.readers(n.Result()) {
		yield(reader)
		x.eachVersionReader(reader, yield)
	}
}

func sameWhy(a, b WhyCause) bool {
	return a.Pass == b.Pass && a.Rule == b.Rule && slices.Equal(a.Operands, b.Operands) && a.Before == b.Before && a.After == b.After
}

func (r *MemberReport) read(x *explainer, n *ir.Node, round int64) {
	if isTransfer(n) {
		r.Copies = append(r.Copies, x.copyReport(n))
	}
	reader := Reader{Func: n.Func.Name, Node: n.String(), Op: n.Op.String(), Pos: n.Pos, Backend: n.Backend, Writes: n.Is(ir.WritesState) && !runsFunction(n)}
	if round >= 0 {
		reader.Round = &round
		reader.Pos = x.posInRound(n, round)
	}
	r.Readers = append(r.Readers, reader)
}

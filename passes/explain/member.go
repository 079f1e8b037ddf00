package explain

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// leafMember is a weight, a state, or a constant node.
type leafMember struct {
	weight   *ir.Weight
	state    *ir.State
	constant *ir.Node
}

// leaf returns the weight, state or constant that a leaf node names.
func (x *explainer) leaf(n *ir.Node) (leafMember, bool) {
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return leafMember{weight: x.weights[a.Name]}, true
	case *ir.StateAttr:
		return leafMember{state: x.states[a.Name]}, true
	}
	return leafMember{constant: n}, n.Op == ir.OpConstant
}

// MemberReport is the explanation of a weight, state or constant.
type MemberReport struct {
	Kind    string       `json:"kind"` // weight, state or constant
	Name    string       `json:"name"`
	Type    string       `json:"type"`
	Layout  string       `json:"layout"`
	Bytes   int64        `json:"bytes"`
	Space   string       `json:"space,omitempty"`
	There   string       `json:"space_why,omitempty"` // why in this space, if no cause states it
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
	Round   *int64 `json:"round,omitempty"` // the iteration in which the repeat around it reads this one
	Writes  bool   `json:"writes,omitempty"`
}

// member returns the report of a weight, state or constant.
func (x *explainer) member(l leafMember) *MemberReport {
	r, typ, place := &MemberReport{}, ir.Type{}, (*ir.Place)(nil)
	switch {
	case l.weight != nil:
		r.Kind, r.Name, typ, place = "weight", l.weight.Name, l.weight.Type, l.weight.Place
		if l.weight.Expr != nil {
			r.Made = shorten(l.weight.Expr.String())
		}
	case l.state != nil:
		r.Kind, r.Name, typ, place = "state", l.state.Name, l.state.Type, l.state.Place
	default:
		r.Kind, r.Name, typ, place = "constant", l.constant.Result().Name(), l.constant.Result().Type, l.constant.Result().Place
	}
	r.Type, r.Layout, r.Bytes, r.Space = typ.String(), typ.Layout.String(), typ.MaxBytes(), typ.Space
	r.Place = x.memberPlace(place)
	for _, n := range x.named[l] {
		x.memberLeaf(r, n)
	}
	r.There = x.whySpace(r)
	return r
}

// whySpace returns the reason for which a member is in its space, if assign left no cause. Members are where their
// first reader keeps its bytes, unless the module states a space.
func (x *explainer) whySpace(r *MemberReport) string {
	decided := slices.ContainsFunc(r.Causes, func(c WhyCause) bool { return c.Pass == "assign" })
	if r.Space == "" || decided || len(r.Readers) == 0 {
		return ""
	}
	first := r.Readers[0]
	if t := x.o.Targets.Get(first.Backend); t != nil && t.Home() == r.Space {
		return fmt.Sprintf("where %s, which runs the first reader %s, keeps its bytes", t.Name, first.Node)
	}
	return "as the module says"
}

// maxExpr is the length of an expression that is shown whole.
const maxExpr = 120

func shorten(text string) string {
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
		Why: "in the order of use, those of a repeat iteration by iteration; no other value has these bytes"}
}

// memberLeaf adds the causes and the readers of one of the nodes that name a member.
func (x *explainer) memberLeaf(r *MemberReport, leaf *ir.Node) {
	for _, c := range causesOf(leaf, func(ir.Cause) bool { return true }) {
		if !slices.ContainsFunc(r.Causes, func(d WhyCause) bool { return sameWhy(c, d) }) {
			r.Causes = append(r.Causes, c)
		}
	}
	v := leaf.Result()
	for _, use := range x.uses[v] {
		round := tableIteration(use, v)
		x.eachReaderBy(use, v, func(n *ir.Node) bool {
			r.read(x, n, round)
			x.eachVersionReader(n, func(n *ir.Node) { r.read(x, n, round) })
			return true
		})
	}
}

// eachVersionReader calls yield for the nodes that read the version of a state that n makes, or a later one.
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
	if flow.IsTransfer(n) {
		r.Copies = append(r.Copies, x.copyReport(n))
	}
	reader := Reader{Func: n.Func.Name, Node: n.String(), Op: n.Op.String(), Pos: n.Pos, Backend: n.Backend, Writes: n.Is(ir.WritesState) && !flow.RunsFunction(n)}
	if round >= 0 {
		reader.Round = &round
		reader.Pos = x.posInIteration(n, round)
	}
	r.Readers = append(r.Readers, reader)
}

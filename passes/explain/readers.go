package explain

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// readers returns the nodes that work on v's bytes, through views and into the bodies of
// repeats, each once.
func (x *explainer) readers(v *ir.Value) []*ir.Node {
	var list []*ir.Node
	seen := make(map[*ir.Node]bool)
	x.eachReader(v, func(n *ir.Node) bool {
		if !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
		return true
	})
	return list
}

// eachReader calls yield for the readers of v until it returns false, and reports whether it always returned true.
func (x *explainer) eachReader(v *ir.Value, yield func(*ir.Node) bool) bool {
	for _, n := range x.uses[v] {
		if !x.eachReaderBy(n, v, yield) {
			return false
		}
	}
	return true
}

// eachReaderBy is eachReader for the readers of v that n, which uses v, leads to.
func (x *explainer) eachReaderBy(n *ir.Node, v *ir.Value, yield func(*ir.Node) bool) bool {
	switch {
	case n.Op == ir.OpRepeat:
		for _, p := range paramsFor(n, v) {
			if !x.eachReader(p, yield) {
				return false
			}
		}
		return true
	case n.Is(ir.View):
		return x.eachReader(n.Result(), yield)
	}
	return yield(n)
}

// paramsFor returns the parameters of a repeat's body that get v.
func paramsFor(n *ir.Node, v *ir.Value) []*ir.Value {
	var list []*ir.Value
	for i, a := range n.Args {
		if a != v {
			continue
		}
		if p := n.Body.Params[bodyParam(n, i)]; !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// bodyParam returns the index of the body's parameter that operand i of a repeat goes to; see ir.RepeatAttr.
func bodyParam(n *ir.Node, i int) int {
	a := n.Attr.(*ir.RepeatAttr)
	fixed := a.Carried + a.Invariant
	if i < fixed {
		return i
	}
	return fixed + (i-fixed)/int(a.Count)
}

// tableIteration returns the iteration in which a repeat passes operand v to its body; -1 for all.
func tableIteration(n *ir.Node, v *ir.Value) int64 {
	a, ok := n.Attr.(*ir.RepeatAttr)
	if !ok {
		return -1
	}
	fixed := a.Carried + a.Invariant
	if i := slices.Index(n.Args, v); i >= fixed {
		return int64(i-fixed) % a.Count
	}
	return -1
}

// CopyReport is a copy from one space to another.
type CopyReport struct {
	Func    string     `json:"func"`
	Node    string     `json:"node"`
	Value   string     `json:"value"`
	From    string     `json:"from"`
	To      string     `json:"to"`
	Backend string     `json:"backend"` // for whom
	Readers []string   `json:"readers,omitempty"`
	Bytes   int64      `json:"bytes"`
	Times   int64      `json:"times"` // per call of the entry point
	Seconds float64    `json:"seconds,omitempty"`
	Causes  []WhyCause `json:"causes"`
}

func (x *explainer) copyReport(n *ir.Node) CopyReport {
	r := CopyReport{Func: n.Func.Name, Node: n.String(), Value: n.Args[0].String(), From: n.Args[0].Type.Space, To: n.Result().Type.Space,
		Backend: n.Backend, Bytes: flow.MovedBytes(n), Times: runsOf(n.Func), Causes: causesOf(n, byPass("copy", "elide-copy"))}
	r.Seconds = x.seconds(x.target(n), n)
	for _, reader := range x.readers(n.Result()) {
		r.Readers = append(r.Readers, reader.String())
	}
	return r
}

// copiesOf returns the copies that n reads, and the copies of its results.
func (x *explainer) copiesOf(n *ir.Node) (read, caused []CopyReport) {
	seen := make(map[*ir.Node]bool)
	for _, a := range n.Args {
		if a == nil {
			continue
		}
		if cp := copyBehind(a); cp != nil && !seen[cp] {
			seen[cp] = true
			read = append(read, x.copyReport(cp))
		}
	}
	for _, r := range n.Results {
		for _, reader := range x.readers(r) {
			if flow.IsTransfer(reader) {
				caused = append(caused, x.copyReport(reader))
			}
		}
	}
	return read, caused
}

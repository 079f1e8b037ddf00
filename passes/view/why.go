package view

import (
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// node returns the page of a node or parameter. Its text is that of the command explain; what other backends make of
// the node is a table of its own.
func (r *Recorder) node(n *explain.NodeReport) *NodePage {
	p := &NodePage{ID: reportID(n), Kind: "node", Func: ir.QuoteName(n.Func), Op: n.Op, Pos: n.Pos, Backend: n.Backend}
	if n.Op == "" {
		p.Kind = "parameter"
	}
	for _, a := range n.Tried {
		p.Tried = append(p.Tried, alternative(a))
	}
	untried := *n
	untried.Tried = nil
	p.Text = r.explanation(&explain.Explanations{Nodes: []*explain.NodeReport{&untried}})
	return p
}

func alternative(a explain.Attempt) Alternative {
	alt := Alternative{Target: a.Target, Verdict: a.Verdict, Seconds: a.Seconds, Why: a.Why}
	if a.Moving != nil {
		alt.Moving = a.Moving.String()
	}
	if a.NoRoom != "" {
		alt.Why = a.NoRoom
	}
	return alt
}

// member returns the page of a weight, state or constant.
func (r *Recorder) member(l *explain.MemberReport) *NodePage {
	return &NodePage{ID: ir.QuoteName(l.Name), Kind: l.Kind, Text: r.explanation(&explain.Explanations{Members: []*explain.MemberReport{l}})}
}

// explanation returns the lines of a document.
func (r *Recorder) explanation(doc *explain.Explanations) []int {
	var b strings.Builder
	doc.WriteText(&b) // a Builder returns no error
	var text []int
	for line := range strings.Lines(printable.Text(b.String())) {
		text = append(text, r.lines.index(strings.TrimSuffix(line, "\n")))
	}
	return text
}

// idOf returns the id of a value: FUNC.VALUE, or of a member its name.
func idOf(v *ir.Value) string {
	if n := v.Def; n != nil {
		switch a := n.Attr.(type) {
		case *ir.WeightAttr:
			return ir.QuoteName(a.Name)
		case *ir.StateAttr:
			return ir.QuoteName(a.Name)
		}
		if n.Op == ir.OpConstant {
			return ir.QuoteName(v.Name())
		}
	}
	return ir.QuoteName(v.Func.Name) + "." + ir.QuoteName(v.Name())
}

// idOfNode returns the id of a node: that of its first result.
func idOfNode(n *ir.Node) string {
	if r := n.Result(); r != nil {
		return idOf(r)
	}
	return ir.QuoteName(n.Func.Name) + "." + n.Op.String()
}

// reportID returns the id of what a report is about.
func reportID(n *explain.NodeReport) string {
	return ir.QuoteName(n.Func) + "." + strings.TrimPrefix(n.Node, "%")
}

package explain

import "github.com/ggmlc/ggmlc/ir"

// ExplainAll answers all questions about a module in one document: the summary, a report of each node that is no leaf,
// of each parameter, and of each weight, state and constant. Options.Node has no effect.
func ExplainAll(m *ir.Module, o Options) *Explanations {
	o.Node = ""
	x := newExplainer(m, o)
	doc := x.document()
	doc.Summary, doc.Calls = x.summary()
	seen := make(map[leafMember]bool)
	for _, f := range m.AllFuncs() {
		for _, p := range f.Params {
			doc.Nodes = append(doc.Nodes, x.param(p))
		}
		for _, n := range f.Nodes {
			l, isLeaf := x.leaf(n)
			switch {
			case !isLeaf:
				doc.Nodes = append(doc.Nodes, x.node(spot{n, -1}))
			case !seen[l]:
				seen[l] = true
				doc.Members = append(doc.Members, x.member(l))
			}
		}
	}
	for _, w := range m.Weights {
		if l := (leafMember{weight: w}); !seen[l] {
			doc.Members = append(doc.Members, x.member(l))
		}
	}
	for _, s := range m.States {
		if l := (leafMember{state: s}); !seen[l] {
			doc.Members = append(doc.Members, x.member(l))
		}
	}
	return doc
}

// Positions returns for each position in the model file that nodes of a body have those of all iterations; nodes have
// the position of the first one. It is empty for an entry point.
func Positions(body *ir.Func) map[string][]string { return tablePositions(body) }

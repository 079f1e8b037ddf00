package view

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// CopyPage is a copy that a call makes for another memory space or for the inputs of a split. explain.CopySummary
// counts these copies.
type CopyPage struct {
	Func  string `json:"func"` // the entry point
	Of    int    `json:"of"`   // index of Document.Nodes, as the next one
	Copy  int    `json:"copy"`
	From  string `json:"from"`
	To    string `json:"to"`
	Bytes int64  `json:"bytes"` // of one execution
	Times int64  `json:"times"` // executions in a call
}

// copies returns the copies of an entry point, in the order of the plan. Weights are copied like results.
func (d *Document) copies(f *ir.Func) []CopyPage {
	var list []CopyPage
	var add func(g *ir.Func, times int64)
	add = func(g *ir.Func, times int64) {
		for _, n := range g.Nodes {
			switch {
			case n.Body != nil:
				add(n.Body, times*flow.Iterations(n))
			case flow.IsCallCopy(n):
				list = append(list, CopyPage{
					Func: ir.QuoteName(f.Name), Of: d.at[idOf(n.Args[0])], Copy: d.at[idOfNode(n)],
					From: n.Args[0].Type.Space, To: n.Result().Type.Space, Bytes: flow.MovedBytes(n), Times: times,
				})
			}
		}
	}
	add(f, 1)
	return list
}

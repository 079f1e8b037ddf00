package explain

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// CostReport is what one execution of a node takes at the symbols' upper bounds.
type CostReport struct {
	FLOPs   int64   `json:"flops"`
	Read    int64   `json:"bytes_read"`
	Written int64   `json:"bytes_written"`
	Seconds float64 `json:"seconds,omitempty"` // on its backend; 0 where its rates are not known
	Times   int64   `json:"times"`             // executions in a call of the entry point
	Step    float64 `json:"step_seconds,omitempty"`
}

// cost returns what n takes where it runs.
func (x *explainer) cost(n *ir.Node) *CostReport {
	c := n.Op.Info().Cost(n)
	r := &CostReport{FLOPs: c.FLOPs.Upper(), Read: c.Read.Upper(), Written: c.Written.Upper(), Times: runsOf(n.Func)}
	r.Seconds = x.seconds(x.target(n), n)
	r.Step = r.Seconds * float64(r.Times)
	return r
}

// seconds predicts one execution of n on t; 0 where that is not known. What a repeat or a
// call runs is counted at the nodes of the body.
func (x *explainer) seconds(t *target.Descriptor, n *ir.Node) float64 {
	switch {
	case t == nil || !t.Rates.Known() || !flow.DoesWork(n) || flow.RunsFunction(n):
		return 0
	case flow.IsTransfer(n):
		return x.transfer(n.Args[0].Type.Space, t, flow.MovedBytes(n))
	}
	w := flow.WorkOf(t, n, nil)
	return t.Seconds(w.Flops, w.Shared+w.Split, w.Weight, t.Hint)
}

// unrated returns the targets that run nodes and do not state how fast they are.
func (x *explainer) unrated() []string {
	busy := make(map[string]bool)
	for _, f := range x.m.AllFuncs() {
		for _, n := range f.Nodes {
			busy[n.Backend] = busy[n.Backend] || flow.DoesWork(n)
		}
	}
	var names []string
	for _, t := range x.o.Targets.All() {
		if busy[t.Name] && !t.Rates.Known() {
			names = append(names, t.Name)
		}
	}
	return names
}

// transfer predicts how long it takes to bring bytes from a space into that of t.
func (x *explainer) transfer(space string, t *target.Descriptor, bytes int64) float64 {
	return t.TransferSeconds(x.homeOf(space), float64(bytes))
}

// homeOf returns the first target whose preferred space it is; nil for none.
func (x *explainer) homeOf(space string) *target.Descriptor {
	all := x.o.Targets.All()
	if i := slices.IndexFunc(all, func(t *target.Descriptor) bool { return t.Home() == space }); i >= 0 {
		return all[i]
	}
	return nil
}

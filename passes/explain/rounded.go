package explain

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pack"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// RoundedSummary is the weights that pass pack rounded, because the user allowed it.
type RoundedSummary struct {
	Weights []string `json:"weights"` // names, in the module's order
	Bytes   int64    `json:"bytes"`   // that they take now
	From    string   `json:"from"`    // dtypes
	To      string   `json:"to"`
}

// rounded returns the weights that --allow-bf16 has rounded; nil if there are none.
func (x *explainer) rounded() *RoundedSummary {
	causes := make(map[string]ir.Cause)
	for _, f := range x.m.AllFuncs() {
		for _, n := range f.Nodes {
			if c := ruleOf(n, pass.RulePackBF16); n.Op == ir.OpWeight && c != nil {
				causes[pack.WeightName(n)] = *c
			}
		}
	}
	var s *RoundedSummary
	for _, w := range x.m.Weights {
		if c, ok := causes[w.Name]; ok {
			if s == nil {
				s = &RoundedSummary{From: c.Before, To: c.After}
			}
			s.Weights, s.Bytes = append(s.Weights, w.Name), s.Bytes+w.Type.MaxBytes()
		}
	}
	return s
}

// roundedWeights writes which weights differ from the model file.
func (t *explainText) roundedWeights(s *RoundedSummary) {
	const shown = 3
	t.line(0, "%s rounded from %s to %s, as --allow-bf16 allows: %s", plural(int64(len(s.Weights)), "weight", "weights"), s.From, s.To, pass.BytesText(s.Bytes))
	for _, name := range s.Weights[:min(shown, len(s.Weights))] {
		t.line(1, "%s", name)
	}
	if len(s.Weights) > shown {
		t.line(1, "… (--json lists all)")
	}
}

package assign

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Prediction is what the rules cost predict for a step, as the cause assign.step records it.
type Prediction struct {
	Seconds float64 // of the step, without barriers, rounded to three digits
	Proved  bool    // no assignment takes less time
	Above   float64 // the share by which the time of all steps is above the lower bound, at most; 0 if that is not known
	Others  []Other
}

// Other is another assignment, in comparison: one target alone, the first target that runs each node, or a rule set of
// ggml. Text is such as "1.3 times", "does not fit" or "cannot: REASON".
type Other struct{ Name, Text string }

// operands returns the prediction as operands of a cause.
func (p *Prediction) operands() []string {
	texts := []string{stepPrefix + shortTime(p.Seconds)}
	switch {
	case p.Proved:
		texts = append(texts, provedText)
	case p.Above > 0:
		texts = append(texts, fmt.Sprintf("%s%.3g %% above the bound", abovePrefix, 100*p.Above))
	}
	for _, o := range p.Others {
		texts = append(texts, o.Name+" "+o.Text)
	}
	return texts
}

// How operands of the cause begin.
const (
	stepPrefix  = "step "
	provedText  = "proved best"
	abovePrefix = "at most "
)

// PredictionOf returns the prediction that n has among its causes; ok is false if it has none. The first node of a step
// that was decided has it.
func PredictionOf(n *ir.Node) (p Prediction, ok bool) {
	c, ok := n.FirstCause(func(_, rule string) bool { return rule == string(RuleStep.Name) })
	if !ok {
		return p, false
	}
	for _, text := range c.Operands {
		if time, some := strings.CutPrefix(text, stepPrefix); some {
			p.Seconds = secondsOf(time)
		} else if share, some := strings.CutPrefix(text, abovePrefix); some {
			fmt.Sscanf(share, "%g", &p.Above) // a text of another form leaves it 0, which is "not known"
			p.Above /= 100
		} else if text == provedText {
			p.Proved = true
		} else if name, rest, some := strings.Cut(text, " "); some {
			p.Others = append(p.Others, Other{name, rest})
		}
	}
	return p, true
}

// secondsOf reads a text of shortTime; 0 if it is of another form.
func secondsOf(text string) float64 {
	var number float64
	var unit string
	fmt.Sscanf(text, "%g %s", &number, &unit)
	scale := map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
	return number * scale[unit]
}

package passes

import (
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// splitPass cuts the order of nodes into runs on one backend.
//
// Before: every node has a backend and operands in the formats it reads. After: every node
// has a split; splits are numbered in order, each on one backend. Views, weights, states
// and constants do no work: they count to the split that is open where they stand.
//
// Not earlier: assignment may still move a node, and pack adds some. Not later: copies
// belong to split inputs.
//
// Cost: one walk, O(nodes + operands).
//
// A new split begins when the backend changes (s.dev), when the rules ask for it before a
// weight that has to be copied (s.wgt), or when the split has as many inputs as the
// backend or the rules allow (s.max). There is no limit on the number of splits.
var splitPass = Pass{
	Name:     "split",
	Doc:      "cut the order into runs on one backend",
	Run:      split,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned | ir.PropPacked,
	Gives:    ir.PropSplit,
	Rules: []Rule{
		{"s.first", "the function begins here"},
		{"s.dev", "the backend changes here"},
		{"s.wgt", "a weight of another backend would stay copied"},
		{"s.max", "the split before has as many inputs as are allowed"},
	},
	Flags: splitFlags{},
}

type splitFlags struct {
	CutWeights bool `debug:"cut-weights,begin a split before each weight that has to be copied, as ggml's rules do"`
}

func split(c *Context, m *ir.Module) error {
	set, err := ruleSetOf(c.Options)
	if err != nil {
		return err
	}
	for _, f := range m.AllFuncs() {
		s := &splitter{c: c, set: set, cutWeights: set.cutAtWeights || Flags[splitFlags](c).CutWeights, number: -1}
		for _, n := range f.Nodes {
			s.node(n)
		}
		c.Count("splits", int64(s.number+1))
	}
	return nil
}

// splitter walks over one function.
type splitter struct {
	c      *Context
	set    *ruleSet
	number int

	cutWeights bool // see ruleSet.cutAtWeights

	on     *target.Descriptor // backend of the open split; nil before the first
	inputs map[*ir.Value]bool // of the open split
}

func (s *splitter) node(n *ir.Node) {
	if !works(n) {
		n.Split = max(s.number, 0)
		return
	}
	t := s.c.Target(n)
	news := s.newInputs(n, t)
	if rule, operand := s.cut(n, t, news); rule != "" {
		s.number++
		s.c.CauseChange(n, rule, s.name(), t.Name, operand...)
		s.on, s.inputs = t, make(map[*ir.Value]bool)
		news = s.newInputs(n, t)
	}
	for _, v := range news {
		s.inputs[v] = true
	}
	n.Split = s.number
}

func (s *splitter) name() string {
	if s.on == nil {
		return ""
	}
	return s.on.Name
}

// newInputs returns what would have to be copied for n and is no input of the open split
// yet.
func (s *splitter) newInputs(n *ir.Node, t *target.Descriptor) []*ir.Value {
	var news []*ir.Value
	for _, a := range n.Args {
		if a != nil && !t.Addresses(a.Type.Space) {
			if base := copyBase(a); !s.inputs[base] {
				news = append(news, base)
			}
		}
	}
	return news
}

// cut returns the rule by which a split begins at n, and what the rule looked at.
func (s *splitter) cut(n *ir.Node, t *target.Descriptor, news []*ir.Value) (rule string, operands []string) {
	switch {
	case s.on == nil:
		return "s.first", nil
	case t.Name != s.on.Name:
		return "s.dev", []string{s.on.Name}
	}
	if s.cutWeights && len(s.inputs) > 0 {
		for _, v := range news {
			if v.IsWeight() {
				return "s.wgt", []string{v.String()}
			}
		}
	}
	if limit := s.maxInputs(); limit > 0 && len(s.inputs) > 0 && len(s.inputs)+len(news) > limit {
		return "s.max", []string{strconv.Itoa(limit)}
	}
	return "", nil
}

func (s *splitter) maxInputs() int {
	if own, all := s.on.MaxInputs, s.set.maxInputs; own == 0 || all == 0 {
		return max(own, all)
	}
	return min(s.on.MaxInputs, s.set.maxInputs)
}

// Splits returns the splits of a function with what is copied into each, and why each
// begins.
func Splits(f *ir.Func) []ir.Split {
	var splits []ir.Split
	for _, n := range f.Nodes {
		if !works(n) || n.Split < 0 {
			continue
		}
		for len(splits) <= n.Split {
			splits = append(splits, ir.Split{})
		}
		s := &splits[n.Split]
		s.Backend = n.Backend
		if isTransfer(n) {
			s.Inputs = append(s.Inputs, n.Args[0].Name)
		}
		if s.Cause.Rule == "" {
			s.Cause = splitCause(n)
		}
	}
	return splits
}

// splitCause returns the cause for which a split begins at n, if one does.
func splitCause(n *ir.Node) ir.Cause {
	for _, c := range n.Causes {
		if c.Pass == "split" || c.Rule == ruleCopyOut {
			return c
		}
	}
	return ir.Cause{}
}

package copies

import (
	"slices"
	"strconv"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Split cuts the order of nodes into runs on one backend.
//
// Before: every node has a backend and operands in the formats it reads. After: every node
// has a split; splits are numbered in order, those of bodies among them, each on one backend. Views, weights, states
// and constants do no work: they count to the split that is open where they stand.
//
// Not earlier: assignment may still move a node, and pack adds some. Not later: copies
// belong to split inputs.
//
// Cost: one walk, O(nodes + operands).
//
// A new split begins when the backend changes (split.dev), when a weight of another backend
// would stay copied for longer than needed (split.wgt), before experts are copied that were
// chosen in the open split (split.idx), or when the split has as many inputs as the backend or
// the rules allow (split.max). There is no limit on the number of splits.
//
// Copies stand at the head of a split. So a weight that is copied for the split's first
// node would be live beside all other weights of the split, long after its last reader. Under
// cost rules a split begins before a node that needs another weight copied if those that the
// open split has copied and that nothing reads any more together take longer to copy than
// the delay that another split costs. Where nobody says what copies cost, bytes alone
// count: one such weight is enough.
var Split = pass.Pass{
	Name:     "split",
	Doc:      "cut the order into runs on one backend",
	Run:      split,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned | ir.PropPacked,
	Gives:    ir.PropSplit,
	Breaks:   pass.FromCopied,
	Rules: []pass.Rule{
		{Name: pass.RuleSplitFirst, Doc: "the function begins here"},
		{Name: pass.RuleSplitDev, Doc: "the backend changes here"},
		{Name: pass.RuleSplitWgt, Doc: "a weight of another backend would stay copied"},
		{Name: pass.RuleSplitIdx, Doc: "which experts are to be copied is known only here"},
		{Name: pass.RuleSplitMax, Doc: "the split before has as many inputs as are allowed"},
	},
	Flags: splitFlags{},
}

type splitFlags struct {
	CutWeights bool `debug:"cut-weights,begin a split before each weight that has to be copied, as ggml's rules do"`
}

func split(c *pass.Context, m *ir.Module) error {
	set, err := assign.RuleSetOf(c.Options)
	if err != nil {
		return err
	}
	limits := make(map[int]int)
	for _, f := range m.AllFuncs() {
		last := lastReads(c, f, set)
		s := &splitter{c: c, set: set, lastRead: last, cutWeights: pass.Flags[splitFlags](c).CutWeights, limits: limits, number: -1, have: make(map[copiedFor]int)}
		for _, n := range f.Nodes {
			s.node(n)
		}
		c.Count("splits", int64(s.number+1))
	}
	flow.NumberBodies(m)
	return nil
}

// copiedFor is a value and a target for which it is copied.
type copiedFor struct {
	v  *ir.Value
	on *target.Descriptor
}

// splitter walks over one function.
type splitter struct {
	c      *pass.Context
	set    *assign.RuleSet
	number int

	cutWeights bool        // as RuleSet.cutAtWeights, but only before weights that are not copied yet
	limits     map[int]int // of splits that were taken past theirs, by number; see RuleSet.grows

	lastRead map[copiedFor]*ir.Node // of weights that are copied, under rules that weigh costs; nil under others
	stale    *ir.Value              // the first weight that the open split has copied and nothing reads any more
	wasted   float64                // seconds that copying all such weights of the open split takes, without delays

	on     *target.Descriptor // backend of the open split; nil before the first
	inputs int                // of the open split
	have   map[copiedFor]int  // the splits that copied what needs no further copy: earlier ones too, where RuleSet.copyOnce
	news   []*ir.Value        // see newInputs
}

func (s *splitter) node(n *ir.Node) {
	if !flow.DoesWork(n) {
		n.Split = max(s.number, 0)
		return
	}
	t := s.c.Target(n)
	news := s.newInputs(n, t)
	if rule, operand := s.cut(n, t, news); rule != "" {
		s.number++
		s.c.CauseChange(n, rule, s.name(), t.Name, operand...)
		s.on, s.inputs, s.stale, s.wasted = t, 0, nil, 0
		if !s.set.CopyOnce {
			news = s.newInputs(n, t) // of the new split
		}
	}
	for _, v := range news {
		s.have[copiedFor{v, t}] = s.number
	}
	s.inputs += len(news)
	if limit := s.maxInputs(); s.set.Grows && limit > 0 && s.inputs > limit {
		s.limits[s.number] = 2 * limit
	}
	n.Split = s.number
	s.leave(n, t)
}

// leave notes the weights of which n is the last reader: their copies are of no use to the
// rest of the split.
func (s *splitter) leave(n *ir.Node, t *target.Descriptor) {
	if s.lastRead == nil {
		return
	}
	for _, a := range n.Sources() {
		if a == nil || !s.set.Crosses(s.c, t, a) {
			continue
		}
		base := flow.CopyBase(a)
		if s.lastRead[copiedFor{base, t}] != n {
			continue
		}
		delete(s.lastRead, copiedFor{base, t}) // n may read it twice
		if s.stale == nil {
			s.stale = base
		}
		from := flow.TargetOf(s.c, base.Type.Space)
		s.wasted += t.TransferSeconds(from, float64(base.Type.MaxBytes())) - t.TransferSeconds(from, 0)
	}
}

func (s *splitter) name() string {
	if s.on == nil {
		return ""
	}
	return s.on.Name
}

// newInputs returns what would have to be copied for n and is not copied yet, until it is called
// again.
func (s *splitter) newInputs(n *ir.Node, t *target.Descriptor) []*ir.Value {
	news := s.news[:0]
	for _, a := range n.Sources() {
		if a == nil || !s.set.Crosses(s.c, t, a) {
			continue
		}
		base := s.set.Copied(a)
		if !s.has(base, t) && !slices.Contains(news, base) {
			news = append(news, base)
		}
	}
	s.news = news
	return news
}

// has reports whether v needs no further copy for a target.
func (s *splitter) has(v *ir.Value, t *target.Descriptor) bool {
	split, known := s.have[copiedFor{v, t}]
	return known && (s.set.CopyOnce || split == s.number)
}

// cut returns the rule by which a split begins at n, and what the rule looked at.
func (s *splitter) cut(n *ir.Node, t *target.Descriptor, news []*ir.Value) (rule pass.RuleName, operands []string) {
	switch {
	case s.on == nil:
		return pass.RuleSplitFirst, nil
	case t.Name != s.on.Name:
		return pass.RuleSplitDev, []string{s.on.Name}
	case s.choosesHere(n, t):
		return pass.RuleSplitIdx, []string{n.Args[2].String()}
	case s.inputs == 0:
		return "", nil
	}
	if w := s.weight(n, t, news); w != nil {
		return pass.RuleSplitWgt, []string{w.String()}
	}
	if limit := s.maxInputs(); limit > 0 && s.full(limit, len(news)) {
		return pass.RuleSplitMax, []string{strconv.Itoa(limit)}
	}
	return "", nil
}

// weight returns the weight for which the rules want a new split, or nil: the one that
// would be copied, or one whose copy could go.
func (s *splitter) weight(n *ir.Node, t *target.Descriptor, news []*ir.Value) *ir.Value {
	if s.set.CutAtWeights {
		for _, v := range n.Sources() {
			if v != nil && v.Def != nil && v.Def.Op == ir.OpWeight && s.set.Crosses(s.c, t, v) {
				return v
			}
		}
	}
	i := slices.IndexFunc(news, (*ir.Value).IsWeight)
	switch {
	case i < 0:
		return nil
	case s.stale != nil && s.wasted >= t.TransferSeconds(flow.TargetOf(s.c, news[i].Type.Space), 0):
		return s.stale
	case s.cutWeights:
		return news[i]
	}
	return nil
}

// lastReads returns the last reader of each weight that has to be copied for a backend, under
// rules that weigh costs.
func lastReads(c *pass.Context, f *ir.Func, set *assign.RuleSet) map[copiedFor]*ir.Node {
	if !set.Elide {
		return nil
	}
	last := make(map[copiedFor]*ir.Node)
	for _, n := range f.Nodes {
		t := c.Target(n)
		if t == nil || !flow.DoesWork(n) {
			continue
		}
		for _, a := range n.Sources() {
			if a == nil {
				continue
			}
			if base := flow.CopyBase(a); base.IsWeight() && set.Crosses(c, t, a) {
				last[copiedFor{base, t}] = n
			}
		}
	}
	return last
}

// choosesHere reports whether n needs experts copied that are chosen in the open split.
func (s *splitter) choosesHere(n *ir.Node, t *target.Descriptor) bool {
	return s.set.Elide && copiesExperts(s.c, n, t) && s.madeHere(n.Args[2])
}

// madeHere reports whether v needs a node that works in the open split.
func (s *splitter) madeHere(v *ir.Value) bool {
	v = flow.ViewedValue(v)
	return v.Def != nil && flow.DoesWork(v.Def) && v.Def.Split == s.number
}

// full reports whether so many new inputs have to go to the next split.
func (s *splitter) full(limit, news int) bool {
	if s.set.FullAfter {
		return s.inputs >= limit && news > 0
	}
	return s.inputs+news > limit
}

// maxInputs returns the limit of the open split; 0 is none.
func (s *splitter) maxInputs() int {
	if grown := s.limits[s.number]; grown > 0 {
		return grown
	}
	if own, all := s.on.MaxInputs, s.set.MaxInputs; own == 0 || all == 0 {
		return max(own, all)
	}
	return min(s.on.MaxInputs, s.set.MaxInputs)
}

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
// Before: every node has a backend and operands in the formats that it reads. After: every node has a split. Splits,
// including those of bodies, are numbered in order, and each is on one backend. Views, weights, states and constants do
// no work: they belong to the split that is open where they are.
//
// Not earlier: assignment may still move a node, and pack adds some. Not later: copies belong to split inputs.
//
// A new split begins
//
//   - when the backend changes (split.dev),
//   - when a weight of another space would stay copied for longer than needed (split.wgt),
//   - before experts are copied that were chosen in the open split (split.idx),
//   - when the open split has as many inputs as its backend or the rules allow (split.max).
//
// There is no limit on the number of splits.
//
// Copies are at the head of a split. So a copied weight would be live as long as all other weights of the split, long
// after its last reader. Under the rules of cost a split begins before a node that needs another weight copied, if the
// weights that the open split has copied and no longer reads take longer to copy than the delay of another split. For
// example, where the delay is 10 µs, and copying a weight takes 1 ms:
//
//	split 0  %a = matmul %x, %w0    copies %w0
//	split 1  %b = matmul %a, %w1    copies %w1: %w0 is not read any more, and 1 ms > 10 µs
//
// If targets do not state what copies cost, one such weight is enough.
//
// Cost: one walk, O(nodes + operands).
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
		{Name: pass.RuleSplitIdx, Doc: "the experts to copy are known only from here on"},
		{Name: pass.RuleSplitMax, Doc: "the split before has as many inputs as allowed"},
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

// copiedFor is a value and the target for which it is copied.
type copiedFor struct {
	v  *ir.Value
	on *target.Descriptor
}

// splitter is the state of the walk over one function.
type splitter struct {
	c      *pass.Context
	set    *assign.RuleSet
	number int

	cutWeights bool        // as RuleSet.CutAtWeights, but only before weights that are not copied yet
	limits     map[int]int // by number of a split: its limit of inputs, if it has grown; see RuleSet.Grows

	lastRead map[copiedFor]*ir.Node // last readers of copied weights under the rules of cost; nil under other rules
	stale    *ir.Value              // the first weight that the open split has copied and does not read any more
	wasted   float64                // seconds to copy all such weights, without delays

	on     *target.Descriptor // backend of the open split; nil before the first one
	inputs int                // number of inputs of the open split
	have   map[copiedFor]int  // by value and target: the last split that copied it
}

// node puts n into the open split, or into a new one.
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

// leave counts the weights of which n is the last reader as wasted for the rest of the split.
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

// name returns the backend of the open split.
func (s *splitter) name() string {
	if s.on == nil {
		return ""
	}
	return s.on.Name
}

// newInputs returns the values that have to be copied for n and are not copied yet.
func (s *splitter) newInputs(n *ir.Node, t *target.Descriptor) []*ir.Value {
	var news []*ir.Value
	for _, a := range n.Sources() {
		if a == nil || !s.set.Crosses(s.c, t, a) {
			continue
		}
		base := s.set.Copied(a)
		if !s.has(base, t) && !slices.Contains(news, base) {
			news = append(news, base)
		}
	}
	return news
}

// has reports whether v is copied for a target already.
func (s *splitter) has(v *ir.Value, t *target.Descriptor) bool {
	split, known := s.have[copiedFor{v, t}]
	return known && (s.set.CopyOnce || split == s.number)
}

// cut returns the rule by which a split begins at n, and the operands of its cause; an empty rule if none does.
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

// weight returns the weight because of which a new split begins, or nil: one that n would copy, or one whose copy is
// not needed any more.
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

// lastReads returns the last reader of each weight that has to be copied for a target. It returns nil for other rules
// than those of cost.
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

// choosesHere reports whether n copies experts that are chosen in the open split.
func (s *splitter) choosesHere(n *ir.Node, t *target.Descriptor) bool {
	return s.set.Elide && copiesExperts(s.c, n, t) && s.madeHere(n.Args[2])
}

// madeHere reports whether a node of the open split computes v, or the value that v views.
func (s *splitter) madeHere(v *ir.Value) bool {
	v = flow.ViewedValue(v)
	return v.Def != nil && flow.DoesWork(v.Def) && v.Def.Split == s.number
}

// full reports whether a node with that many new inputs begins a new split.
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

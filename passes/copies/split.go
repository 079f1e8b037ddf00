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
// All copies of a split are at its head. So the copy of a weight for a late node cannot take the bytes of a weight that
// only earlier nodes read: both are live at the head. A copied weight is stale after its last reader. Under the rules
// of cost a new split begins before a node that needs another weight copied, if copying the stale weights of the open
// split took at least the delay of one more copy. For example, with a delay of 10 µs and 1 ms to copy a weight:
//
//	split 0  %a = matmul %x, %w0    copies %w0
//	split 1  %b = matmul %a, %w1    copies %w1: %w0 is stale, and 1 ms > 10 µs
//
// If targets do not state what copies cost, one stale weight is enough.
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
	stale    *ir.Value              // the first stale weight of the open split: it is copied there and not read any more
	wasted   float64                // seconds to copy all stale weights of the open split, without delays

	on     *target.Descriptor // backend of the open split; nil before the first one
	inputs int                // number of inputs of the open split
	have   map[copiedFor]int  // by value and target: the last split that copied it
}

// node puts n into the open split, or into a new one.
func (s *splitter) node(n *ir.Node) {
	if !flow.DoesWork(n) {
		n.Split = max(s.number, 0) // before the first split no split is open: n belongs to the first
		return
	}
	t := s.c.Target(n)
	added := s.newInputs(n, t)
	if rule, operands := s.cut(n, t, added); rule != "" {
		s.number++
		s.c.CauseChange(n, rule, s.name(), t.Name, operands...)
		s.on, s.inputs, s.stale, s.wasted = t, 0, nil, 0
		if !s.set.CopyOnce {
			added = s.newInputs(n, t) // the new split has copied nothing yet
		}
	}
	for _, v := range added {
		s.have[copiedFor{v, t}] = s.number
	}
	s.inputs += len(added)
	if limit := s.maxInputs(); s.set.Grows && limit > 0 && s.inputs > limit {
		s.limits[s.number] = 2 * limit
	}
	n.Split = s.number
	s.leave(n, t)
}

// leave counts the weights of which n, a node on t, is the last reader as stale for the rest of the split.
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
	var added []*ir.Value
	for _, a := range n.Sources() {
		if a == nil || !s.set.Crosses(s.c, t, a) {
			continue
		}
		base := s.set.Copied(a)
		if !s.has(base, t) && !slices.Contains(added, base) {
			added = append(added, base)
		}
	}
	return added
}

// has reports whether v is copied already for a target: in the open split, or under CopyOnce in any split.
func (s *splitter) has(v *ir.Value, t *target.Descriptor) bool {
	split, known := s.have[copiedFor{v, t}]
	return known && (s.set.CopyOnce || split == s.number)
}

// cut returns the rule by which a split begins at n, and the operands of its cause; an empty rule if none does. added
// has the inputs that n would add to the open split.
func (s *splitter) cut(n *ir.Node, t *target.Descriptor, added []*ir.Value) (rule pass.RuleName, operands []string) {
	switch {
	case s.on == nil:
		return pass.RuleSplitFirst, nil
	case t.Name != s.on.Name:
		return pass.RuleSplitDev, []string{s.on.Name}
	case s.choosesHere(n, t):
		return pass.RuleSplitIdx, []string{n.Args[2].String()} // the indices of an experts_matmul
	case s.inputs == 0:
		return "", nil
	}
	if w := s.weight(n, t, added); w != nil {
		return pass.RuleSplitWgt, []string{w.String()}
	}
	if limit := s.maxInputs(); limit > 0 && s.full(limit, len(added)) {
		return pass.RuleSplitMax, []string{strconv.Itoa(limit)}
	}
	return "", nil
}

// weight returns the weight because of which a new split begins, or nil:
//
//   - under CutAtWeights, the first weight that n reads as a copy;
//   - under the rules of cost, the first stale weight, if n needs another weight copied;
//   - with the flag cut-weights, the first weight that n needs copied.
func (s *splitter) weight(n *ir.Node, t *target.Descriptor, added []*ir.Value) *ir.Value {
	if s.set.CutAtWeights {
		for _, v := range n.Sources() {
			if v != nil && v.Def != nil && v.Def.Op == ir.OpWeight && s.set.Crosses(s.c, t, v) {
				return v
			}
		}
	}
	i := slices.IndexFunc(added, (*ir.Value).IsWeight)
	switch {
	case i < 0:
		return nil
	case s.stale != nil && s.wasted >= t.TransferSeconds(flow.TargetOf(s.c, added[i].Type.Space), 0): // the delay alone
		return s.stale
	case s.cutWeights:
		return added[i]
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

// full reports whether a node that adds so many inputs begins a new split.
func (s *splitter) full(limit, added int) bool {
	if s.set.FullAfter {
		return s.inputs >= limit && added > 0
	}
	return s.inputs+added > limit
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

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/partition"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Decision is a decision about several nodes alike, with its cost in one call of its entry point and what would change
// it.
type Decision struct {
	Func    string   `json:"func"`
	Kind    string   `json:"kind"` // placement, copies or barriers
	What    string   `json:"what"`
	Seconds float64  `json:"seconds"`
	Share   float64  `json:"share"` // of the time of its entry point
	Because string   `json:"because"`
	Change  []string `json:"change"`
	Nodes   []string `json:"nodes,omitempty"`
}

// maxDecisions is how many decisions a summary has.
const maxDecisions = 5

// mostExpensive returns the decisions that take the largest share of the predicted time of their entry points, in
// falling order. Seconds of two entry points cannot be compared, because it is not known how often each is called.
func (x *explainer) mostExpensive() []Decision {
	var list []Decision
	for _, f := range x.m.Funcs {
		list = append(list, x.decisions(f)...)
	}
	list = slices.DeleteFunc(list, func(d Decision) bool { return d.Seconds == 0 })
	slices.SortStableFunc(list, func(a, b Decision) int { return cmp.Compare(b.Share, a.Share) })
	return list[:min(len(list), maxDecisions)]
}

// decisions returns the decisions of an entry point with their shares. Alternatives are worked out only for the most
// expensive ones.
func (x *explainer) decisions(f *ir.Func) []Decision {
	var total float64
	groups := x.groups(f)
	for _, g := range groups {
		total += g.seconds
	}
	barriers, some := x.barrierDecision(f)
	total += barriers.Seconds
	slices.SortStableFunc(groups, func(a, b *decisionGroup) int { return cmp.Compare(b.seconds, a.seconds) })
	var list []Decision
	for _, g := range groups[:min(len(groups), maxDecisions)] {
		list = append(list, x.decision(f, g))
	}
	if some {
		list = append(list, barriers)
	}
	for i := range list {
		list[i].Share = flow.Ratio(list[i].Seconds, total)
	}
	return list
}

// groupKey is the properties that nodes have in common if they were decided alike.
type groupKey struct {
	what    string // op, or from and to of copies
	backend string
	rule    string
}

// decisionGroup is the nodes of an entry point that were decided alike.
type decisionGroup struct {
	key     groupKey
	nodes   []*ir.Node
	times   int64
	seconds float64
}

// groups returns the groups of an entry point in the order of their first nodes.
func (x *explainer) groups(f *ir.Func) []*decisionGroup {
	var list []*decisionGroup
	byKey := make(map[groupKey]*decisionGroup)
	eachWorkNode(f, func(n *ir.Node, times int64) {
		if n.Backend == "" {
			return
		}
		key := x.keyOf(n)
		if byKey[key] == nil {
			byKey[key] = &decisionGroup{key: key}
			list = append(list, byKey[key])
		}
		g := byKey[key]
		g.nodes = append(g.nodes, n)
		g.times += times
		g.seconds += float64(times) * x.seconds(x.target(n), n)
	})
	return list
}

func (x *explainer) keyOf(n *ir.Node) groupKey {
	if flow.IsTransfer(n) {
		return groupKey{n.Args[0].Type.Space + " to " + n.Result().Type.Space, n.Backend, lastRule(n, byPass("copy", "elide-copy"))}
	}
	return groupKey{n.Op.String() + foreignOp(n), n.Backend, lastRule(n, byPass("assign", "spread"))}
}

// foreignOp returns the name that a foreign node has where it comes from.
func foreignOp(n *ir.Node) string {
	if a, ok := n.Attr.(*ir.ForeignAttr); ok {
		return " " + a.Op
	}
	return ""
}

// lastRule returns the rule of the last cause that a filter takes; empty for none.
func lastRule(n *ir.Node, take func(ir.Cause) bool) string {
	for _, c := range slices.Backward(n.Causes()) {
		if take(c) {
			return c.Rule
		}
	}
	return ""
}

// maxSamples is how many nodes of a group are named.
const maxSamples = 3

func (x *explainer) decision(f *ir.Func, g *decisionGroup) Decision {
	d := Decision{Func: f.Name, Kind: "placement", Seconds: g.seconds, Because: "nothing was decided: it follows its readers"}
	if _, doc := passes.RuleDoc(g.key.rule); doc != "" {
		d.Because = fmt.Sprintf("%s (%s)", doc, g.key.rule)
	}
	for _, n := range g.nodes[:min(len(g.nodes), maxSamples)] {
		d.Nodes = append(d.Nodes, n.String())
	}
	if flow.IsTransfer(g.nodes[0]) {
		d.Kind = "copies"
		d.What = fmt.Sprintf("%s from %s", plural(g.times, "copy", "copies"), g.key.what)
		d.Change = x.changeCopies(g)
		return d
	}
	d.What = fmt.Sprintf("%s of %s on %s", plural(g.times, "run", "runs"), g.key.what, g.key.backend)
	d.Change = x.changePlacement(g)
	return d
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// changePlacement returns for each other target the reason for which it cannot run the nodes, or the time that they
// would take there. It adds what would make them cheaper where they are.
func (x *explainer) changePlacement(g *decisionGroup) []string {
	var list []string
	for _, t := range x.o.Targets.All() {
		if t.Name != g.key.backend {
			list = append(list, x.alternativeOn(g, t))
		}
	}
	if text := cheaperWith(g.nodes[0]); text != "" {
		list = append(list, text)
	}
	if len(list) == 0 {
		list = append(list, "another backend")
	}
	return list
}

// alternativeOn states what a move of the group to t would change.
func (x *explainer) alternativeOn(g *decisionGroup, t *target.Descriptor) string {
	var there float64
	for _, n := range g.nodes {
		if why := x.whyCannotRun(t, n); why != "" {
			if strings.HasPrefix(why, t.Name) {
				return why
			}
			return fmt.Sprintf("%s: %s", t.Name, why)
		}
		there += float64(runsOf(n.Func)) * x.seconds(t, n)
	}
	p := x.prospect(t, g.nodes)
	moving := ""
	if p.move != nil {
		moving = "; " + p.move.String()
	}
	return fmt.Sprintf("%s runs them too%s%s: %s", t.Name, inSeconds(there), moving, p.verdict())
}

// cheaperWith returns an option with which a node would be cheaper where it is; empty if none is known.
func cheaperWith(n *ir.Node) string {
	if n.Op == ir.OpAttention || n.Op == ir.OpAttentionSegments {
		return cheaperCacheWith(n)
	}
	for _, a := range n.Args {
		if a == nil || !flow.IsLeaf(a, ir.OpWeight) {
			continue
		}
		if dt := a.Type.DType; dt.IsQuantized() {
			return fmt.Sprintf("weights of fewer bits than %v: it reads them all", dt)
		}
		if a.Type.Rank() > 1 && fillsBlocks(a.Type) {
			return fmt.Sprintf("--quantize Q8_0: it reads weights of %v", a.Type.DType)
		}
	}
	return ""
}

// cheaperCacheWith returns options with which attention would read less: fewer positions, or a cache in blocks. A cache
// can be in blocks if these fill its heads, as frontend/arch demands.
func cheaperCacheWith(n *ir.Node) string {
	const text = "fewer positions (--ctx)"
	for _, a := range n.Args {
		if a == nil || !flow.IsLeaf(a, ir.OpState) {
			continue
		}
		t := operandBeforePacking(a).Type
		if t.DType.IsQuantized() || !fillsBlocks(t) {
			return text
		}
	}
	return text + ", or a smaller cache (--kv q8_0)"
}

// fillsBlocks reports whether rows of a type can be kept as Q8_0.
func fillsBlocks(t ir.Type) bool {
	n, known := t.Shape[t.Rank()-1].IsConst()
	return known && n%int64(dtype.Q8_0.BlockElems()) == 0
}

// changeCopies returns the reasons for which the readers of copied values are not on the backend that has the values.
func (x *explainer) changeCopies(g *decisionGroup) []string {
	var list []string
	for _, n := range g.nodes {
		x.eachReader(n.Result(), func(reader *ir.Node) bool {
			if text := x.whyElsewhere(n, reader); text != "" && !slices.Contains(list, text) {
				list = append(list, text)
			}
			return len(list) < maxSamples
		})
		if len(list) >= maxSamples {
			break
		}
	}
	if len(list) == 0 {
		list = append(list, "a backend that addresses both spaces")
	}
	return list
}

// whyElsewhere returns the reason for which the reader of a copy does not run where the copied value is.
func (x *explainer) whyElsewhere(cp, reader *ir.Node) string {
	for _, t := range x.o.Targets.All() {
		if !t.Addresses(cp.Args[0].Type.Space) || reader.Op == ir.OpCopy {
			continue
		}
		switch a := x.attempt(t, reader, beforePacking(reader)); a.Verdict {
		case verdictRefused, verdictDenied:
			return fmt.Sprintf("%s cannot run on %s, which has it: %s", opText(reader), t.Name, a.Why)
		case verdictPossible:
			return fmt.Sprintf("%s could run on %s, which has it: %s", opText(reader), t.Name, x.prospect(t, []*ir.Node{reader}).verdict())
		}
	}
	return ""
}

func opText(n *ir.Node) string { return fmt.Sprintf("%v (%v)", n, n.Op) }

// barrierDecision returns the time of the barriers of an entry point with the workers that the cost model assumes. It
// returns false if there are no barriers to decide about.
func (x *explainer) barrierDecision(f *ir.Func) (Decision, bool) {
	t := x.o.Targets.Last()
	if x.m.Props&ir.PropPartitioned == 0 || !t.Workers || t.Hint < 2 {
		return Decision{}, false
	}
	n := partition.Barriers(f)
	count := make(map[string]int64)
	for _, g := range funcsOf(f) {
		for _, n := range g.Nodes {
			countBarriers(count, n, runsOf(g))
		}
	}
	d := Decision{Func: f.Name, Kind: "barriers", What: plural(n, "barrier", "barriers"), Seconds: float64(n) * flow.BarrierSeconds(t.Rates, t.Hint), Because: barrierReasons(count)}
	d.Change = []string{x.fewerWorkers(f, t, n)}
	return d, true
}

// fewerWorkers returns the number of workers, below that which the cost model assumes, with which the entry point would
// take least by the same rates: barriers cost less then, and the divided work costs more.
func (x *explainer) fewerWorkers(f *ir.Func, t *target.Descriptor, barriers int64) string {
	now := x.sharedSeconds(f, t, barriers, t.Hint)
	best, at := 0.0, 0
	for w := 1; w < t.Hint; w++ {
		if s := x.sharedSeconds(f, t, barriers, w); at == 0 || s < best {
			best, at = s, w
		}
	}
	text := fmt.Sprintf("fewer threads than the %d of hint that are assumed for %s: --threads %d of the program", t.Hint, t.Name, at)
	if at == 1 {
		text += ", where barriers cost nothing"
	}
	return text + ": " + signedSeconds(best-now)
}

// sharedSeconds predicts the time of the nodes of t and of the barriers of an entry point with so many workers.
func (x *explainer) sharedSeconds(f *ir.Func, t *target.Descriptor, barriers int64, workers int) float64 {
	sum := float64(barriers) * flow.BarrierSeconds(t.Rates, workers)
	eachWorkNode(f, func(n *ir.Node, times int64) {
		if n.Backend == t.Name && !flow.IsTransfer(n) {
			w := flow.WorkOf(t, n, nil)
			sum += float64(times) * t.Seconds(w.Flops, w.Shared+w.Split, w.Weight, workers)
		}
	})
	return sum
}

// countBarriers counts, by rule, the barriers that are before n or at the beginning of its iterations. n runs so many
// times.
func countBarriers(count map[string]int64, n *ir.Node, times int64) {
	for _, c := range n.Causes() {
		switch pass.RuleName(c.Rule) {
		case pass.RulePartitionRAW, pass.RulePartitionWAR, pass.RulePartitionWAW:
			count[c.Rule] += times
		case pass.RulePartitionHead:
			count[c.Rule] += times * flow.Iterations(n)
		}
	}
}

// barrierReasons lists the rules that placed barriers, the most frequent first.
func barrierReasons(count map[string]int64) string {
	var rules []string
	for r := range count {
		rules = append(rules, r)
	}
	slices.SortFunc(rules, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	text := ""
	for i, r := range rules {
		if i > 0 {
			text += "; "
		}
		_, doc := passes.RuleDoc(r)
		text += fmt.Sprintf("%d times %s (%s)", count[r], doc, r)
	}
	return text
}

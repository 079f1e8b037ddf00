package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/simplify"
	"github.com/ggmlc/ggmlc/passes/target"
)

// assignRule gives backends to nodes that have none yet. One without a name only checks.
type assignRule struct {
	pass.Rule
	also  []pass.Rule // that the same walk applies
	apply func(a *assigner, rule pass.RuleName, f *ir.Func)
}

// RuleSet is what --rules selects: the rules of assign, in order, and the limits of split,
// copy and elide-copy.
type RuleSet struct {
	Name   string
	pin    assignRule // the user's word, before all others
	assign []assignRule

	// crosses reports whether a node on t, in a split of its own, needs a copy of v.
	Crosses func(c *pass.Context, t *target.Descriptor, v *ir.Value) bool

	// copyOnce says that one copy of a value, for one target, serves the rest of the
	// function, and that a view is copied as what it shows; otherwise each split has copies
	// of its own, of what is behind the views, and elide-copy thins them out.
	CopyOnce bool

	// cutAtWeights begins a new split before a node that reads a weight which has to be
	// copied, or was, once the split has inputs: the copied weights of the split before can
	// go.
	CutAtWeights bool

	// maxInputs is the largest number of inputs of a split, whatever the target allows;
	// 0 is no limit.
	MaxInputs int

	// fullAfter says that a split is full once it has maxInputs inputs, which one node may
	// take it past; otherwise the node that would take it past begins the next split.
	FullAfter bool

	// grows says that a split that was taken past its limit has twice the limit from then
	// on, and so have the splits of the same number in later functions.
	Grows bool

	// elide says that needless copies are removed.
	Elide bool
}

// Rules that several sets have.
var (
	bodyRule = assignRule{
		Rule:  pass.Rule{Name: pass.RuleAssignBody, Doc: "a node that holds or calls a function belongs to the target that drives the step, the last"},
		apply: applyBodies,
	}
	piecesRule = assignRule{Rule: pass.Rule{Name: pass.RuleAssignPieces, Doc: "no target runs the fused op, but its pieces"}, apply: applyPieces}
)

// CostRules is the default set.
var CostRules = RuleSet{
	Name: "cost",
	pin:  assignRule{Rule: pass.Rule{Name: pass.RuleAssignPin, Doc: "the user put the node there"}, apply: applyPins},
	assign: []assignRule{
		bodyRule,
		piecesRule,
		{Rule: ruleCost, also: []pass.Rule{ruleOnly, ruleFull, ruleWhole, ruleFlow, ruleHere, RuleStep}, apply: applyCost},
		// Where there is one target, or one that does not say what work costs it:
		{Rule: pass.Rule{Name: pass.RuleAssignState, Doc: "all nodes of a state run where it lies, if one target runs them all"}, apply: applyStates},
		{Rule: pass.Rule{Name: pass.RuleAssignFirst, Doc: "the first target in the list that runs it"}, apply: applyFirst},
		{Rule: pass.Rule{Name: pass.RuleAssignFallback, Doc: "the targets before it do not run it"}, apply: applyFallback},
	},
	Crosses: func(_ *pass.Context, t *target.Descriptor, v *ir.Value) bool { return !t.Addresses(v.Type.Space) },
	Elide:   true,
}

// KnownRuleSets are the sets that --rules knows; the first is the default.
var KnownRuleSets = []*RuleSet{&CostRules, &ggml2024, &ggml2026}

func RuleSetOf(o *pass.Options) (*RuleSet, error) {
	if o.Rules == "" {
		return KnownRuleSets[0], nil
	}
	var known []string
	for _, s := range KnownRuleSets {
		if s.Name == o.Rules {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return nil, fmt.Errorf("unknown rules %q: this version has %s", o.Rules, strings.Join(known, ", "))
}

// RuleSets returns the names that Options.Rules knows, the default first.
func RuleSets() []string {
	var names []string
	for _, s := range KnownRuleSets {
		names = append(names, s.Name)
	}
	return names
}

// assignRuleDocs lists the rules of all sets, for the pass's declaration.
func assignRuleDocs() []pass.Rule {
	var rules []pass.Rule
	add := func(r pass.Rule) {
		if r.Name != "" && !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	for _, s := range KnownRuleSets {
		for _, r := range append([]assignRule{s.pin}, s.assign...) {
			add(r.Rule)
			for _, also := range r.also {
				add(also)
			}
		}
	}
	return rules
}

// applyPins gives nodes the backends that the user names. A backend that cannot run its
// node is an error: the user's word is not taken lightly either way.
func applyPins(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range a.open(f) {
		for _, p := range a.c.Options.Pins {
			if !p.Matches(n) && !p.MatchesWeight(n) {
				continue
			}
			t := a.c.Targets.Get(p.Backend)
			if ok, why := t.Supports(n); !ok && !simplify.IsFused(n) {
				a.errs = append(a.errs, &pass.RulesError{Text: fmt.Sprintf("@%s %v: pinned to %s, which does not run it: %s: narrow the pin, or pin it elsewhere before", f.Name, n, t.Name, why)})
			}
			a.put(n, t, rule, p.String())
			break
		}
	}
}

func applyBodies(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range a.undecided(f, doesWork|holdsFunc) {
		a.put(n, a.c.Targets.Last(), rule)
	}
}

// applyStates gives the nodes of each state to the first target that addresses the state's
// space and runs all of them.
func applyStates(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range a.open(f) {
		for _, name := range statesOf(n) {
			if t := a.stateTarget(name); t != nil && a.isOpen(n) {
				a.put(n, t, rule, name)
			}
		}
	}
}

func (a *assigner) stateTarget(name string) *target.Descriptor {
	space := ""
	if s := a.m.State(name); s != nil {
		space = s.Type.Space
	}
	if a.touch == nil {
		a.touch = stateNodes(a.funcs)
	}
	for _, t := range a.c.Targets.All() {
		if (space == "" || t.Addresses(space)) && a.runsAll(t, a.touch[name]) {
			return t
		}
	}
	return nil
}

// runsAll reports whether a target runs all of the nodes, and none is with another one.
func (a *assigner) runsAll(t *target.Descriptor, nodes []*ir.Node) bool {
	for _, n := range nodes {
		if ok, _ := t.Supports(n); !ok || !a.isOpen(n) && a.targetOf(n) != t {
			return false
		}
	}
	return true
}

func applyFirst(a *assigner, rule pass.RuleName, f *ir.Func) {
	first := a.c.Targets.All()[0]
	for n := range a.open(f) {
		if ok, _ := first.Supports(n); ok {
			a.put(n, first, rule)
		}
	}
}

func applyFallback(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range a.open(f) {
		if t, refusals := pass.FirstSupporting(a.c, n); t != nil {
			a.put(n, t, rule, refusals...)
		}
	}
}

// applyPieces gives fused ops that nobody runs (fuse makes none, but a module may come
// with them) to the last target; unfuse takes them apart.
func applyPieces(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range a.undecided(f, doesWork|canLower) {
		if t, _ := pass.FirstSupporting(a.c, n); t == nil {
			a.put(n, a.c.Targets.Last(), rule)
		}
	}
}

// Copied returns what is copied for a reader of v.
func (r *RuleSet) Copied(v *ir.Value) *ir.Value {
	if r.CopyOnce {
		return v
	}
	return flow.CopyBase(v)
}

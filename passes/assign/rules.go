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

// assignRule gives backends to nodes that have none yet.
type assignRule struct {
	pass.Rule
	also  []pass.Rule // further rules that apply can name as causes
	apply func(a *assigner, rule pass.RuleName, f *ir.Func)
}

// RuleSet is the value of --rules: the rules of assign, in order, and what split, copy and elide-copy do under them.
type RuleSet struct {
	Name   string
	pin    assignRule // the user's pins, before all other rules
	assign []assignRule
	finish []assignRule // after all others: they mark nodes that have backends, or check them, and have no name then

	// Crosses reports whether a node on t that begins a split needs a copy of v.
	Crosses func(c *pass.Context, t *target.Descriptor, v *ir.Value) bool

	// CopyOnce makes one copy of a value for a target serve the rest of the function. A view is copied as the bytes
	// that it shows. Otherwise each split has its own copies, of the values that its operands view, and elide-copy
	// removes the needless ones.
	CopyOnce bool

	// CutAtWeights begins a new split before a node that reads a weight which has to be copied, or has been, if the
	// open split has inputs. The weights that were copied for the split before can then be overwritten.
	CutAtWeights bool

	// MaxInputs is the largest number of inputs of a split, besides the limit of its target; 0 is no limit.
	MaxInputs int

	// FullAfter lets one node take a split past MaxInputs: the next split begins after it. Otherwise the node begins
	// the next split.
	FullAfter bool

	// Grows doubles the limit of a split that was taken past it, and the limit of the splits with the same number in
	// later functions.
	Grows bool

	// Elide removes needless copies.
	Elide bool
}

// Rules that several sets have.
var (
	bodyRule = assignRule{
		Rule:  pass.Rule{Name: pass.RuleAssignBody, Doc: "a node that holds or calls a function belongs to the target that drives the step, the last"},
		apply: applyBodies,
	}
	piecesRule = assignRule{Rule: pass.Rule{Name: pass.RuleAssignPieces, Doc: "no target runs the fused op; some run its pieces"}, apply: applyPieces}
)

// CostRules is the default set: the shortest predicted time decides.
var CostRules = RuleSet{
	Name: "cost",
	pin:  assignRule{Rule: pass.Rule{Name: pass.RuleAssignPin, Doc: "the user put the node there"}, apply: applyPins},
	assign: []assignRule{
		bodyRule,
		piecesRule,
		{Rule: ruleCost, also: []pass.Rule{ruleOnly, ruleFull, ruleWhole, ruleFlow, ruleHere, RuleStep}, apply: applyCost},
		// The remaining rules decide if there is only one target, or one that does not state what work costs:
		{Rule: pass.Rule{Name: pass.RuleAssignState, Doc: "all nodes of a state run on one target, the first that addresses the state and runs all of them"}, apply: applyStates},
		{Rule: pass.Rule{Name: pass.RuleAssignFirst, Doc: "the first target in the list that runs it"}, apply: applyFirst},
		{Rule: pass.Rule{Name: pass.RuleAssignFallback, Doc: "the targets before it do not run it"}, apply: applyFallback},
	},
	Crosses: func(_ *pass.Context, t *target.Descriptor, v *ir.Value) bool { return !t.Addresses(v.Type.Space) },
	Elide:   true,
}

// KnownRuleSets are the values of --rules; the first one is the default.
var KnownRuleSets = []*RuleSet{&CostRules, &ggml2024, &ggml2026}

// RuleSetOf returns the set that the options select.
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

// RuleSets returns the names of KnownRuleSets.
func RuleSets() []string {
	var names []string
	for _, s := range KnownRuleSets {
		names = append(names, s.Name)
	}
	return names
}

// assignRuleDocs lists the rules of all sets for the declaration of the pass.
func assignRuleDocs() []pass.Rule {
	var rules []pass.Rule
	add := func(r pass.Rule) {
		if r.Name != "" && !slices.Contains(rules, r) {
			rules = append(rules, r)
		}
	}
	for _, s := range KnownRuleSets {
		for _, r := range slices.Concat([]assignRule{s.pin}, s.assign, s.finish) {
			add(r.Rule)
			for _, also := range r.also {
				add(also)
			}
		}
	}
	return rules
}

// Pinned reports whether a pin has put the node on its backend.
func (s *RuleSet) Pinned(n *ir.Node) bool { return n.HasCause(string(s.pin.Name)) }

// applyPins gives nodes the backends of the user's pins. A pin to a backend that cannot run the node is an error, not
// ignored: it shows that the user expects something else.
func applyPins(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range open(f) {
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

// applyBodies gives nodes that hold or call a function to the last target, which drives the step.
func applyBodies(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range undecided(f, flow.RunsFunction) {
		a.put(n, a.c.Targets.Last(), rule)
	}
}

// applyStates gives the nodes of each state to the first target that addresses the state's
// space and runs all of them.
func applyStates(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range open(f) {
		for _, name := range statesOf(n) {
			if t := a.stateTarget(name); t != nil && isOpen(n) {
				a.put(n, t, rule, name)
			}
		}
	}
}

// stateTarget returns the first target that addresses the space of a state and runs all nodes that touch it; nil for
// none.
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

// applyFirst gives nodes to the first target if it runs them.
func applyFirst(a *assigner, rule pass.RuleName, f *ir.Func) {
	first := a.c.Targets.All()[0]
	for n := range open(f) {
		if ok, _ := first.Supports(n); ok {
			a.put(n, first, rule)
		}
	}
}

// applyFallback gives nodes to the first target that runs them.
func applyFallback(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range open(f) {
		if t, refusals := pass.FirstSupporting(a.c, n); t != nil {
			a.put(n, t, rule, refusals...)
		}
	}
}

// applyPieces gives fused ops that no target runs to the last target. Pass fuse makes none, but a module may come with
// them. Pass unfuse replaces them by their pieces.
func applyPieces(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range undecided(f, func(n *ir.Node) bool { return flow.DoesWork(n) && simplify.IsFused(n) }) {
		if t, _ := pass.FirstSupporting(a.c, n); t == nil {
			a.put(n, a.c.Targets.Last(), rule)
		}
	}
}

// Copied returns the value that is copied for a reader of v.
func (r *RuleSet) Copied(v *ir.Value) *ir.Value {
	if r.CopyOnce {
		return v
	}
	return flow.CopyBase(v)
}

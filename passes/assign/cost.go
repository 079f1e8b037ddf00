package assign

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
)

// This file and its neighbours assign_cost_*.go are the rules cost where there is a choice:
// they make a problem of the module that package placement solves, and write what it decides
// back with the reasons. docs/explanation/assignment.md describes both.

// Rules of cost that come from its problem.
var (
	RuleStep  = pass.Rule{Name: pass.RuleAssignStep, Doc: "what it is predicted to take, by how much the best assignment could be shorter, and how many times as long other ways to assign would take"}
	ruleOnly  = pass.Rule{Name: pass.RuleAssignOnly, Doc: "no other target runs it"}
	ruleCost  = pass.Rule{Name: pass.RuleAssignCost, Doc: "elsewhere the step is predicted to take longer, by the time and copies given"}
	ruleWhole = pass.Rule{Name: pass.RuleAssignWhole, Doc: "by itself it would take less elsewhere, but no assignment with it there was found that is shorter as a whole: in all steps, with what overlaps, and with the memory that plans need"}
	ruleFull  = pass.Rule{Name: pass.RuleAssignMemory, Doc: "the step would be shorter with it elsewhere, where there is no room for it"}
	ruleFlow  = pass.Rule{Name: pass.RuleAssignFlow, Doc: "elsewhere the next step, of those under way at once, would wait there until this one has gone through"}
	ruleHere  = pass.Rule{Name: pass.RuleAssignPlace, Doc: "with these bytes, and the nodes that read them, elsewhere the steps are predicted to take longer, by the time and copies given"}
)

// applyCost decides all functions together, when the rules come to the first.
func applyCost(a *assigner, _ pass.RuleName, f *ir.Func) {
	if f != a.funcs[0] || !a.choice() {
		return
	}
	p, errs := a.problem()
	if len(errs) > 0 {
		a.errs = append(a.errs, errs...)
		return
	}
	if p == nil {
		return
	}
	r := p.solve()
	if err := a.c.Ctx.Err(); err != nil {
		a.errs = append(a.errs, err)
		return
	}
	if !r.Fits() {
		if errs := p.shortage(r); len(errs) > 0 {
			a.errs = append(a.errs, errs...)
			return
		}
	}
	p.count(r)
	p.explain(r) // asks of the graph what apply changes
	p.apply(a, r.Labels)
}

// problem returns what cost is to decide, while the rules of ggml's schedulers are tried beside. It
// is nil if there is nothing, or nothing that can be decided: what runs nowhere is reported when all
// rules were tried.
func (a *assigner) problem() (p *costProblem, errs []error) {
	p = newCostProblem(a)
	if p.lacking || len(p.Nodes) == 0 {
		return nil, nil
	}
	if errs := slices.Concat(p.tooLarge(), p.unfit()); len(errs) > 0 {
		return nil, errs
	}
	p.tried = a.tryRules(&ggml2024, &ggml2026)
	return p, nil
}

// choice reports whether there is something to decide by cost: several targets, all of which
// say what work costs them.
func (a *assigner) choice() bool {
	targets := a.c.Targets.All()
	for _, t := range targets {
		if !t.Rates.Known() {
			return false
		}
	}
	return len(targets) > 1
}

// apply writes what labels stand for into the module of the problem, or into a copy of it,
// as which a has it: the backends of nodes, and where leaves lie.
func (p *costProblem) apply(a *assigner, labels []int32) {
	i := 0
	for k, f := range a.funcs {
		for _, n := range f.Nodes {
			if flow.DoesWork(n) {
				n.Backend = p.targets[labels[i]].Name
				if a.sheets != nil { // rules go on behind this one
					a.sheets[k].chosen[n.ID] = labels[i]
				}
				i++
			}
		}
		if len(f.Results) > 0 {
			i++ // the reader of the results
		}
	}
	for k := range a.leaves.list {
		a.leaves.list[k].put(p.spaces[labels[len(p.nodes)+k]].Name)
	}
}

// nanoseconds is a time as a counter, or -1 for one that is infinite.
func nanoseconds(seconds float64) int64 {
	if math.IsInf(seconds, 1) {
		return -1
	}
	return int64(math.Round(seconds * 1e9))
}

// count notes the figures of a result.
func (p *costProblem) count(r *placement.Result) {
	c := p.a.c
	c.Count("step-ns", nanoseconds(r.Seconds))
	c.Count("bound-ns", nanoseconds(r.Bound))
	if r.Proved {
		c.Count("proved", 1)
	}
	c.Count("tried", int64(r.Work))
	for i, s := range p.startNames {
		c.Count("start."+s+"-ns", nanoseconds(r.Starts[i]))
	}
}

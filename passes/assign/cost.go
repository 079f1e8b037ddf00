package assign

import (
	"iter"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// The files cost*.go are the rules of cost where there is a choice. They turn the module into a problem that package
// placement solves, and write its solution back with the reasons. docs/explanation/assignment.md describes both.

// Rules of cost that come from the problem.
var (
	RuleStep  = pass.Rule{Name: pass.RuleAssignStep, Doc: "the predicted time of the step, by how much the best assignment could be shorter, and how many times as long other assignments would take"}
	ruleOnly  = pass.Rule{Name: pass.RuleAssignOnly, Doc: "no other target runs it"}
	ruleCost  = pass.Rule{Name: pass.RuleAssignCost, Doc: "on another target the step is predicted to take longer, by the time and copies given"}
	ruleWhole = pass.Rule{Name: pass.RuleAssignWhole, Doc: "moving it alone would make the step shorter, but no assignment with it elsewhere was found that is shorter as a whole: in all steps, with overlap, and with the memory that plans need"}
	ruleFull  = pass.Rule{Name: pass.RuleAssignMemory, Doc: "the step would be shorter with it in another memory, which has no room for it"}
	ruleFlow  = pass.Rule{Name: pass.RuleAssignFlow, Doc: "on another target the next step, of those under way at the same time, would wait for this one"}
	ruleHere  = pass.Rule{Name: pass.RuleAssignPlace, Doc: "with these bytes and their readers in another memory, the steps are predicted to take longer, by the time and copies given"}
)

// applyCost decides all functions together, when it is called for the first one.
//
// Its steps are: build the problem, report what no assignment can change, try the rules of ggml's schedulers, search
// for the best assignment (which checks the memory of assignments by dry runs), explain it, and apply it.
func applyCost(a *assigner, _ pass.RuleName, f *ir.Func) {
	if f != a.funcs[0] || !hasChoice(a.c) {
		return
	}
	p, runnable := buildProblem(a)
	if !runnable || len(p.Nodes) == 0 {
		return // refuseRest reports the nodes that no target runs
	}
	limits := memoryLimits(pass.SpaceLimits(a.c, p.spaces))
	errs := p.tooLarge(limits)
	if len(errs) == 0 {
		errs = p.unfit()
	}
	if len(errs) > 0 {
		a.errs = append(a.errs, errs...)
		return
	}
	s := newSearch(a, p, limits, a.tryRules(p, &ggml2024, &ggml2026))
	found := s.solve()
	if err := a.c.Ctx.Err(); err != nil {
		a.errs = append(a.errs, err)
		return
	}
	if !found.Fits() {
		if errs := s.shortage(found); len(errs) > 0 {
			a.errs = append(a.errs, errs...)
			return
		}
	}
	count(a.c, found)
	explain(a.c, p, found) // before apply, as it reads from the module which nodes were open
	p.apply(a, found.Labels)
}

// hasChoice reports whether there is something to decide by cost: there are several targets, and all of them state
// what work costs.
func hasChoice(c *pass.Context) bool {
	targets := c.Targets.All()
	for _, t := range targets {
		if !t.Rates.Known() {
			return false
		}
	}
	return len(targets) > 1
}

// variables returns what the nodes of a problem represent, in order: for each function its working nodes, then nil for
// the caller, who reads its results.
func variables(funcs []*ir.Func) iter.Seq[*ir.Node] {
	return func(yield func(*ir.Node) bool) {
		for _, f := range funcs {
			for _, n := range f.Nodes {
				if flow.DoesWork(n) && !yield(n) {
					return
				}
			}
			if len(f.Results) > 0 && !yield(nil) {
				return
			}
		}
	}
}

// apply writes an assignment into the module of a, which is that of the problem or a copy of it: the backends of
// nodes and the spaces of leaves.
func (p *problem) apply(a *assigner, labels []int32) {
	i := 0
	for n := range variables(a.funcs) {
		if n != nil {
			n.Backend = p.backends[labels[i]].Name
		}
		i++
	}
	for k := range a.leaves.list {
		a.leaves.list[k].put(p.spaces[labels[i+k]].Name)
	}
}

// nanoseconds is a time as a counter, or -1 for one that is infinite.
func nanoseconds(seconds float64) int64 {
	if math.IsInf(seconds, 1) {
		return -1
	}
	return int64(math.Round(seconds * 1e9))
}

// count adds the figures of a solution to the statistics.
func count(c *pass.Context, s *solution) {
	c.Count("step-ns", nanoseconds(s.Seconds))
	c.Count("bound-ns", nanoseconds(s.Bound))
	if s.Proved {
		c.Count("proved", 1)
	}
	c.Count("tried", int64(s.Work))
	for i, start := range s.starts {
		c.Count("start."+start.name+"-ns", nanoseconds(s.Starts[i]))
	}
}

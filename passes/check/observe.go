package check

import (
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: a call of an entry point hands out each value that the function lists as observed, once and under its name,
// and worker 0 of the host does it. (That the value is there at that point, whole and not overwritten, is what reads.go,
// hazard.go and race.go claim of every node that reads.)
//
// In
//
//	func @f(…) -> (…) observed=["e", "n0", "n1"]
//	%e = exp %x
//	observe %e {names=["e"]}
//	%r = repeat %e {count=2, carried=1}
//	  body(%h) { %n0 = neg %h; observe %n0 {names=["n0", "n1"]}; return %n0 }
//
// a pass that loses the first observe leaves "e" out. With a third name in the body, the names of the iterations would
// not be those of their values. If every worker ran the node, the observer would be called as often.

// RuleObserve is the rule of the claim above.
const RuleObserve = "observe"

// observed checks the claim above for an entry point.
func (c *checker) observed(f *ir.Func) {
	times := make(map[string]int, len(f.Observed))
	c.handOuts(f, 1, times)
	for _, name := range f.Observed {
		switch n := times[name]; {
		case n == 0:
			c.report("", &Violation{Rule: RuleObserve, Func: f.Name, What: "no node hands out " + name})
		case n > 1:
			c.report("", &Violation{Rule: RuleObserve, Func: f.Name, What: name + " is handed out more than once"})
		}
		delete(times, name)
	}
	for name := range times {
		c.report("", &Violation{Rule: RuleObserve, Func: f.Name, What: name + " is handed out, and is not listed as observed"})
	}
}

// handOuts counts the names under which f, which runs a number of times in a call, hands values out.
func (c *checker) handOuts(f *ir.Func, runs int64, times map[string]int) {
	for _, n := range f.Nodes {
		if r, ok := n.Attr.(*ir.RepeatAttr); ok && n.Body != nil {
			c.handOuts(n.Body, runs*r.Count, times)
		}
		if n.Op != ir.OpObserve {
			continue
		}
		names := n.Attr.(*ir.ObserveAttr).Names
		for _, name := range names {
			times[name]++
		}
		if int64(len(names)) != runs {
			c.fail(RuleObserve, n, "has %d names, and runs %d times in a call", len(names), runs)
			continue
		}
		if n.Queue() != "" || n.Part.Mode != ir.PartOne {
			c.fail(RuleObserve, n, "is on %s, with the partition %v: worker 0 of the host hands values out", onQueue(n.Queue()), n.Part.Mode)
		}
		if !handsOut(n, names[0]) {
			c.fail(RuleObserve, n, "hands out %v under the name %s", n.Args[0], names[0])
		}
	}
}

// handsOut reports whether the operand of n is the value of a name, or a copy of it. The name is that of the first
// iteration, in which a parameter of a body is an operand of the repeat.
func handsOut(n *ir.Node, name string) bool {
	for v := n.Args[0]; !isNamed(v, name); {
		switch {
		case v.Def != nil && v.Def.Op == ir.OpCopy:
			v = v.Def.Args[0]
		case v.IsParam() && v.Func.Owner != nil:
			v = operandOf(v.Func.Owner, v.Index, 0)
		default:
			return false
		}
	}
	return true
}

// isNamed reports whether a value is observed under a name: its own, with which part of a group's value it is, such as
// b@0[:,0:8]. In a body a number may follow the value's own.
func isNamed(v *ir.Value, name string) bool {
	own := v.Name()
	is := func(own string) bool { return name == own || strings.HasPrefix(name, own+"[") }
	if dot := strings.LastIndexByte(own, '.'); v.Func.Owner != nil && dot >= 0 && strings.Trim(own[dot+1:], "0123456789") == "" {
		return is(own) || is(own[:dot])
	}
	return is(own)
}

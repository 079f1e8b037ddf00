package check

import "fmt"

// conflict reports two accesses to common bytes that nothing orders.
func (o *order) conflict(obj *object, before, now stamp, wrote, writes bool) {
	t := o.s.t
	first, second := t.steps[before.step].node, t.steps[now.step].node
	o.s.c.report(fmt.Sprintf("race %p %p %v %v", first, second, wrote, writes), &Violation{
		Rule:  RuleRace,
		Func:  t.steps[now.step].frame.String(),
		Nodes: []string{t.describe(before.step), t.describe(now.step)},
		Range: o.s.c.inRange(obj.place),
		What:  fmt.Sprintf("%s what %s %s%s, and no event orders them", verb(writes), o.name(before.thread), verb(wrote), before.ago(now)),
	})
}

// name returns how messages name a thread.
func (o *order) name(thread int32) string {
	if thread == 0 {
		return "the host"
	}
	return o.names[thread]
}

// ago says how many steps before another access an access is made.
func (s stamp) ago(now stamp) string {
	switch n := now.call - s.call; n {
	case 0:
		return ""
	case 1:
		return " in the step before"
	default:
		return fmt.Sprintf(" %d steps before", n)
	}
}

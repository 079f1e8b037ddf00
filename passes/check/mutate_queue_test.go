package check_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestHarmfulQueueMutantsAreNoticed changes plans with queues. Of a change that the checker lets pass, the
// simulator has to find no order in which it does any harm.
func TestHarmfulQueueMutantsAreNoticed(t *testing.T) {
	kinds := make(tally)
	for _, tc := range []struct{ name, plan, targets string }{
		{"there and back", back, backTargets},
		{"two steps", chain, chainTargets},
		{"two steps, one instance", single, chainTargets},
		{"loop", loop, chainTargets},
		{"loop, two steps", edit(loop, "plan {", "plan pipeline=2 {", "wait=[2]", "wait=[2] waitprev=[2]"), chainTargets},
	} {
		t.Run(tc.name, func(t *testing.T) { kinds.try(t, parsed(t, tc.plan), parseTargets(t, tc.targets), 1) })
	}
	for _, tc := range []struct {
		layers, steps int
		targets       string
		every         int // of so many mutants one is tried, without -all
	}{
		{1, 1, twoGPUs, 11},
		{1, 2, twoGPUs, 23},
		{2, 3, twoGPUs, 47},
		{1, 2, noEvents, 23},
		{3, 2, twoGPUs, 97},
		{3, 2, aroundCPU, 23},
	} {
		t.Run(fmt.Sprintf("%d layers, %d steps", tc.layers, tc.steps), func(t *testing.T) {
			m, targets := smallLlama(t, tc.layers, dtype.F32), parseTargets(t, tc.targets)
			if err := plannedWith(m, targets, pass.Options{Pipeline: tc.steps}); err != nil {
				t.Fatal(err)
			}
			kinds.try(t, m, targets, tc.every)
		})
	}
	for seed := range uint64(6) {
		m, targets, err := randomPlan(seed)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint("random ", seed), func(t *testing.T) { kinds.try(t, m, targets, 41) })
	}
	kinds.print(t)
	for _, kind := range []string{"wait", "event", "slots", "pipeline", "concurrent"} {
		if s := kinds[kind]; s != nil { // -short may leave out a kind
			t.Logf("%s: of %d that were caught the simulator shows harm of %d", kind, s.caught, s.shown)
		}
	}
}

// pipeline changes how many steps may be under way at once.
func (g *mutator) pipeline() {
	n := max(g.m.Plan.Pipeline, 1)
	for _, to := range []int{n - 1, n + 1, n + 2, 2 * n} {
		if to > 0 && to != n {
			g.everywhere("pipeline", fmt.Sprintf("%d -> %d", n, to), func(m *ir.Module) { m.Plan.Pipeline = to })
		}
	}
}

// everywhere adds a change that concerns each entry point.
func (g *mutator) everywhere(kind, what string, apply func(m *ir.Module)) {
	for i := range g.m.Funcs {
		g.entry = i
		g.add(kind, what, false, apply)
	}
}

// submission changes where a node is submitted, and what waits for it.
func (g *mutator) submission(fi, ni int, n *ir.Node) {
	change := func(kind, what string, must bool, do func(n *ir.Node)) {
		g.add(kind, fmt.Sprintf("@%s %v %s", n.Func.Name, n, what), must, func(m *ir.Module) { do(m.AllFuncs()[fi].Nodes[ni]) })
	}
	for _, to := range g.queues() {
		if to != n.Queue() {
			change("queue", fmt.Sprintf("%q -> %q", n.Queue(), to), !g.asGood(n, to), func(n *ir.Node) { n.Submitted().Queue = to })
		}
	}
	if n.Split > 0 && n.Op != ir.OpRepeat {
		change("split", "by -1", false, func(n *ir.Node) { n.Split-- })
	}
	if n.Submit == nil {
		return
	}
	for _, to := range []int{n.Submit.Slots - 1, n.Submit.Slots + 1, 1} {
		if n.Submit.Slots > 1 && to != n.Submit.Slots {
			change("slots", fmt.Sprintf("%d -> %d", n.Submit.Slots, to), false, func(n *ir.Node) { n.Submit.Slots = to })
		}
	}
	if n.Queue() != "" {
		change("concurrent", fmt.Sprintf("%v -> %v", n.Submit.Concurrent, !n.Submit.Concurrent), false, func(n *ir.Node) { n.Submit.Concurrent = !n.Submit.Concurrent })
	}
	g.waits(fi, ni, n, change)
	g.event(fi, ni, n, change)
}

// asGood reports whether another queue may be as good for a copy: that of a target with the
// same memory.
func (g *mutator) asGood(n *ir.Node, queue string) bool {
	a, b := g.targets.Get(n.Queue()), g.targets.Get(queue)
	return n.Op == ir.OpCopy && a != nil && b != nil && a.Home() == b.Home()
}

// waits drops waits, and makes them those of another node or another step.
func (g *mutator) waits(fi, ni int, n *ir.Node, change func(kind, what string, must bool, do func(n *ir.Node))) {
	for i, w := range n.Submit.Waits {
		change("wait", fmt.Sprintf("for %v", w), false, func(n *ir.Node) { n.Submit.Waits = slices.Delete(n.Submit.Waits, i, i+1) })
		change("wait step", fmt.Sprintf("for %v", w), false, func(n *ir.Node) { n.Submit.Waits[i].Prev = !w.Prev })
		change("wait for nothing", fmt.Sprintf("for %v", w), true, func(n *ir.Node) { n.Submit.Waits[i].Event = 1 << 20 })
		for _, by := range []int{-1, 1} {
			change("wait for another", fmt.Sprintf("for %v by %d", w, by), false, func(n *ir.Node) { n.Submit.Waits[i].Event += by })
			if to := g.neighbour(n, by); to >= 0 {
				change("wait elsewhere", fmt.Sprintf("for %v by %d", w, by), false, func(n *ir.Node) {
					n.Submit.Waits = slices.Delete(n.Submit.Waits, i, i+1)
					next := n.Func.Nodes[to].Submitted()
					next.Waits = append(next.Waits, w)
				})
			}
		}
	}
}

// event drops an event together with the waits for it, and alone, and records it before
// or after the neighbours on its queue.
func (g *mutator) event(fi, ni int, n *ir.Node, change func(kind, what string, must bool, do func(n *ir.Node))) {
	e := n.Submit.Event
	if e == 0 {
		return
	}
	change("event", fmt.Sprint(e), false, func(n *ir.Node) {
		n.Submit.Event = 0
		for _, n := range withWaits(n.Func.Module, n.Func) {
			n.Submit.Waits = slices.DeleteFunc(n.Submit.Waits, func(w ir.Wait) bool { return w.Event == e })
		}
	})
	change("event alone", fmt.Sprint(e), g.waitedFor(n.Func, e), func(n *ir.Node) { n.Submit.Event = 0 })
	for _, by := range []int{-1, 1} {
		to := g.neighbour(n, by)
		if to < 0 {
			continue
		}
		change("event elsewhere", fmt.Sprintf("%d by %d", e, by), false, func(n *ir.Node) {
			next := n.Func.Nodes[to].Submitted()
			n.Submit.Event, next.Event = next.Event, e
		})
	}
}

// withWaits returns the nodes that wait, of the entry point that holds f.
func withWaits(m *ir.Module, f *ir.Func) []*ir.Node {
	for f.Owner != nil {
		f = f.Owner.Func
	}
	var list []*ir.Node
	var walk func(f *ir.Func)
	walk = func(f *ir.Func) {
		for _, n := range f.Nodes {
			if n.Submit != nil && len(n.Submit.Waits) > 0 {
				list = append(list, n)
			}
			if n.Body != nil {
				walk(n.Body)
			}
		}
	}
	walk(f)
	return list
}

// waitedFor reports whether something waits for an event.
func (g *mutator) waitedFor(f *ir.Func, event int) bool {
	return slices.ContainsFunc(withWaits(g.m, f), func(n *ir.Node) bool {
		return slices.ContainsFunc(n.Submit.Waits, func(w ir.Wait) bool { return w.Event == event })
	})
}

// neighbour returns the index of the node before or after n on its queue, in its function;
// negative if there is none.
func (g *mutator) neighbour(n *ir.Node, by int) int {
	for i := slices.Index(n.Func.Nodes, n) + by; i >= 0 && i < len(n.Func.Nodes); i += by {
		if o := n.Func.Nodes[i]; !o.Is(ir.Leaf) && !o.Is(ir.View) && o.Op != ir.OpRepeat && o.Queue() == n.Queue() {
			return i
		}
	}
	return -1
}

// queues returns the names of all queues, and the empty one of the host.
func (g *mutator) queues() []string {
	list := []string{""}
	for _, d := range g.targets.All() {
		if d.Queues > 0 {
			list = append(list, d.Name)
		}
		if d.Queues > 1 {
			list = append(list, d.Name+".in")
		}
	}
	return list
}

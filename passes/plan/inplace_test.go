package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/order"
	"github.com/ggmlc/ggmlc/passes/partition"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/roll"
	"github.com/ggmlc/ggmlc/passes/target"
)

const onCPU = "target cpu like=cpu"

// TestCanFollowMeansMergedEventsAreLegal compares canFollow, on random models, with its definition: the events of both
// buffers, merged, are legal, pair by pair.
func TestCanFollowMeansMergedEventsAreLegal(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(120) {
		g := irtest.RandomLayers(seed)
		if seed%2 == 0 { // without it there are no loops
			runPass(t, g.M, &roll.Pass, onCPU)
		}
		runPass(t, g.M, &order.Pass, onCPU)
		runPass(t, g.M, &partition.Pass, onCPU)
		for _, f := range g.M.Funcs {
			p := plannerOf(t, g.M, f, onCPU)
			for _, s := range p.time.Steps {
				for _, arg := range s.Node.InPlace() {
					compareCanFollow(t, p, s.Node, arg, seen)
					if p.takeOver(s.Node, arg) {
						break
					}
				}
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, g.M)
		}
	}
	for _, want := range []string{"appended true", "appended false", "merged true", "merged false"} {
		if seen[want] == 0 {
			t.Errorf("no random model shows %s: %v", want, seen)
		}
	}
}

// runPass runs one pass.
func runPass(t *testing.T, m *ir.Module, p *pass.Pass, targets string) {
	t.Helper()
	c := contextOf(t, p, targets)
	if err := p.Run(c, m); err != nil {
		t.Fatal(err)
	}
	m.Props |= p.Gives
	m.Last = p.Name
}

func contextOf(t *testing.T, p *pass.Pass, targets string) *pass.Context {
	t.Helper()
	list, err := target.Parse("targets", targets)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pass.NewContext(t.Context(), p, list, &pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plannerOf returns a planner as plan makes it.
func plannerOf(t *testing.T, m *ir.Module, f *ir.Func, targets string) *planner {
	t.Helper()
	c := contextOf(t, &Pass, targets)
	return newPlanner(c, f, newArenas(c, m))
}

func compareCanFollow(t *testing.T, p *planner, n *ir.Node, arg int, seen map[string]int) {
	t.Helper()
	operand, result := n.Arg(arg), n.Result()
	if operand == nil || flow.Source(result) != nil || !flow.SameShape(operand, result) {
		return
	}
	from, to := p.bufs.get(operand), p.bufs.get(result)
	if from == to || !mayShare(from, to) {
		return
	}
	x, y := from.events, to.events
	all := mergeEvents(x, y)
	want := onOneQueue(from, n) && readsFind(all) && (from.class == ir.ClassScratch || noPairRaces(p.time, all))
	if got := p.canFollow(n, from, to); got != want {
		t.Errorf("%v in place of %v: %v, want %v", n, operand, got, want)
	}
	how := "merged"
	if comesAfter(x, y) {
		how = "appended"
	}
	seen[fmt.Sprint(how, " ", want)]++
}

// noPairRaces is noRace, pair by pair.
func noPairRaces(time *Timeline, list []event) bool {
	for i := range list {
		e := &list[i]
		for k := range i {
			before := &list[k]
			together := !e.needed && !before.needed && e.Pos != before.Pos && time.shared[e.Tick] == time.shared[before.Tick]
			if together && (e.Write || before.Write) && !flow.SameOwner(before.Access, e.Access) {
				return false
			}
		}
	}
	return true
}

// TestLongChainsInPlaceTakeLinearTime makes so many nodes work in place that looking at all earlier ones for each would
// take minutes, on a device and divided among workers.
func TestLongChainsInPlaceTakeLinearTime(t *testing.T) {
	const nodes = 20_000
	for _, targets := range []string{"target gpu space=host ops=*\ntarget cpu like=cpu", "target gpu like=cpu\ntarget cpu like=cpu"} {
		m := irtest.Parse(t, chainText(nodes))
		runPass(t, m, &order.Pass, targets)
		runPass(t, m, &partition.Pass, targets)
		p := plannerOf(t, m, m.Funcs[0], targets)
		p.takeOverOperands()
		if got, want := p.c.Run.Counter("plan.inplace"), int64(nodes-1); got != want {
			t.Errorf("%s: %d of %d nodes work in place", targets, got, want)
		}
	}
}

// chainText returns a function of so many nodes on one backend, each of which may write over
// its operand.
func chainText(nodes int) string {
	var b strings.Builder
	b.WriteString("ggir 1\nmodule \"chain\"\nafter \"elide-copy\"\nprops imported,shaped,assigned,packed,split,copied\n")
	b.WriteString("func @f(%x: f32[64,64] @host) -> (y: f32[64,64]) {\n")
	from := "x"
	for i := range nodes {
		fmt.Fprintf(&b, "  %%v%d = silu %%%s : f32[64,64] in host @gpu split=0\n", i, from)
		from = fmt.Sprintf("v%d", i)
	}
	fmt.Fprintf(&b, "  return %%%s\n}\n", from)
	return b.String()
}

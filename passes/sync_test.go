package passes

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// queuePasses are dce, as splits have no gaps, and those from split to sync.
var queuePasses = []string{"dce", "split", "copy", "elide-copy", "dce-copy", "pipeline", "roll", "order", "partition", "plan", "sync"}

// randomTargets returns two devices with memory of their own, one that shares the host's,
// and the cpu, with queues and events as r has it.
func randomTargets(t *testing.T, r *rand.Rand) *target.List {
	t.Helper()
	var b strings.Builder
	for _, d := range []struct {
		name, space string
		queues      int
	}{{"gpu0", "dev0", 1 + r.IntN(2)}, {"gpu1", "dev1", r.IntN(3)}, {"npu", "host", r.IntN(2)}} {
		fmt.Fprintf(&b, "target %s space=%s ops=* queues=%d events=%v\n", d.name, d.space, d.queues, d.queues > 0 && r.IntN(3) > 0)
	}
	list, err := target.Parse("targets", b.String()+"target cpu space=host workers=true threads=64 ops=*")
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// spread puts the nodes of a random model on the targets; equal nodes on equal ones, so that
// layers stay equal. A node that names a state keeps the space of the state.
func spread(m *ir.Module, targets *target.List, seed uint64) {
	all := targets.All()
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Is(ir.Leaf) || n.Is(ir.View) {
				followSpace(n)
				continue
			}
			h := fnv.New64a()
			_, attrs := ir.AttrText(n)
			fmt.Fprint(h, seed, n.Op, attrs, n.Result().Type.Shape)
			d := all[h.Sum64()%uint64(len(all))]
			if h.Sum64()%5 == 0 || slices.ContainsFunc(n.Args, func(v *ir.Value) bool { return v != nil && flow.IsLeaf(v, ir.OpState) }) && d.Home() != target.Host {
				d = targets.Last()
			}
			n.Backend = d.Name
			for _, v := range n.Results {
				v.Type.Space = d.Home()
			}
		}
	}
	m.Props |= ir.PropPacked
}

func followSpace(n *ir.Node) {
	if n.Is(ir.View) {
		n.Result().Type.Space = n.Args[0].Type.Space
	}
}

// synced returns a random model on several devices, planned, with steps under way at once.
func synced(t *testing.T, seed uint64) (*ir.Module, *target.List) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	g := irtest.RandomLayers(seed)
	targets := randomTargets(t, r)
	spread(g.M, targets, seed)
	_, err := Run(context.Background(), g.M, RunOptions{Targets: targets, Options: pass.Options{Pipeline: int(seed % 5)}, Passes: queuePasses})
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, g.M)
	}
	return g.M, targets
}

// TestQueuesInAnyOrderGiveSameResults runs plans for several devices in many interleavings of their queues.
func TestQueuesInAnyOrderGiveSameResults(t *testing.T) {
	n := *seeds / 2
	if testing.Short() {
		n /= 3
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		m, targets := synced(t, seed)
		if err := check.Check(t.Context(), m, targets); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		r := rand.New(rand.NewPCG(seed, 13))
		for range 3 {
			if err := simulateQueues(m, m.Funcs[0], targets, 5, r); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, m)
			}
		}
	}
}

// TestWaitsAreNeeded leaves out one wait after the other: the checker objects, and in most
// cases some interleaving goes wrong, which also shows that the simulation can tell.
func TestWaitsAreNeeded(t *testing.T) {
	dropped, shown := 0, 0
	for seed := range uint64(30) {
		m, targets := synced(t, seed)
		eachWait(m, func(c *ir.Module, n *ir.Node, w ir.Wait) {
			if check.Check(t.Context(), c, targets) == nil {
				t.Errorf("seed %d: %v: nobody needs the wait for event %v", seed, n, w)
			}
			if dropped++; dropped%5 == 0 && goesWrong(c, targets, seed) {
				shown++
			}
		})
	}
	if dropped < 100 || shown*5 < dropped*4/5 {
		t.Errorf("without one of %d waits, every fifth of which was tried, %d runs went wrong", dropped, shown)
	}
}

// eachWait calls do with copies of m that lack one wait each.
func eachWait(m *ir.Module, do func(c *ir.Module, n *ir.Node, w ir.Wait)) {
	for i, f := range m.AllFuncs() {
		for j, n := range f.Nodes {
			if n.Submit == nil {
				continue
			}
			for k, w := range n.Submit.Waits {
				c := m.Clone()
				s := c.AllFuncs()[i].Nodes[j].Submit
				s.Waits = slices.Delete(s.Waits, k, k+1)
				do(c, n, w)
			}
		}
	}
}

func goesWrong(m *ir.Module, targets *target.List, seed uint64) bool {
	r := rand.New(rand.NewPCG(seed, 17))
	for range 40 {
		if simulateQueues(m, m.Funcs[0], targets, 5, r) != nil {
			return true
		}
	}
	return false
}

// TestRandomModelsExerciseQueues checks that the random models have the queues and events that the tests here are for.
func TestRandomModelsExerciseQueues(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(60) {
		m, _ := synced(t, seed)
		for _, f := range m.AllFuncs() {
			for _, n := range f.Nodes {
				if n.Submit == nil {
					continue
				}
				in := "entry"
				if f.Owner != nil {
					in = "body"
				}
				for _, w := range n.Submit.Waits {
					seen[fmt.Sprintf("%s: host waits %v, prev %v", in, n.Queue() == "", w.Prev)]++
				}
				seen[fmt.Sprintf("%s: instances %v", in, n.Submit.Slots > 1)]++
			}
		}
	}
	for _, what := range []string{
		"entry: host waits true, prev true", "entry: host waits true, prev false",
		"entry: host waits false, prev true", "entry: host waits false, prev false", "entry: instances true",
		"body: host waits true, prev false", "body: host waits false, prev false", "body: instances true",
	} {
		if seen[what] == 0 {
			t.Errorf("no random model shows %s", what)
		}
	}
}

package passes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/partition"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/plan"
	"github.com/ggmlc/ggmlc/passes/target"
)

var (
	firstSeed = flag.Uint64("plan.seed", 0, "first seed of TestRandomModelsGetProvedPlans")
	seeds     = flag.Uint64("plan.seeds", 120, "number of seeds of TestRandomModelsGetProvedPlans")
)

func TestRandomModelsGetProvedPlans(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n /= 3
	}
	seen := make(map[string]int)
	defer func() {
		for _, want := range []string{"roll.repeat", "roll.init", "roll.next", "partition.own", "partition.replicated", "partition.one", "partition.raw", "partition.head", "plan.inplace", "rounds without a barrier"} {
			if seen[want] == 0 {
				t.Errorf("no random model shows %s: the test has lost its point", want)
			}
		}
	}()
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		g := irtest.RandomLayers(seed)
		planned(t, g.M, pass.Options{Debug: []pass.Setting{{Pass: "roll", Flag: "min", Value: strconv.FormatUint(seed%2*7+1, 10)}}}, cpuTarget)
		checkPlan(t, g.M, seed)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, g.M)
		}
		tally(g.M, seen)
	}
}

// tally counts what a model shows.
func tally(m *ir.Module, seen map[string]int) {
	for _, f := range m.AllFuncs() {
		if f.Owner != nil && !f.HeadBarrier {
			seen["rounds without a barrier"]++
		}
		for _, n := range f.Nodes {
			for _, c := range n.Causes() {
				seen[c.Rule]++
			}
		}
	}
}

// checkPlan simulates entry points with several numbers of workers and sizes.
func checkPlan(t *testing.T, m *ir.Module, seed uint64) {
	t.Helper()
	for _, f := range m.Funcs {
		for _, workers := range []int{2 + int(seed%3), 5 + int(seed%4)} {
			sizes := map[string]int64{"tokens": 1 + int64(seed/2+uint64(workers))%5}
			if err := simulate(m, f, workers, sizes); err != nil {
				t.Errorf("@%s: %v", f.Name, err)
				return
			}
		}
	}
}

// TestLlamaNeedsFourBarriersPerLayer checks the cost of the plan of a small model: four barriers a layer (after
// attention, after each product with the residual, after the feed-forward product) and an arena of the smallest
// possible size.
func TestLlamaNeedsFourBarriersPerLayer(t *testing.T) {
	prefill, floats, few := irtest.SmallLlama, irtest.SmallLlama, irtest.SmallLlama
	prefill.Tokens = "tokens"
	floats.Quantized = false
	few.KvHeads = 1
	for _, tt := range []struct {
		name                   string
		llama                  irtest.Llama
		barriers, body         int64 // per call; per layer
		activations, scratches int64 // bytes
	}{
		// The only barrier outside the layers is before the last norm.
		{"decode", irtest.SmallLlama, 4*4 + 1, 4, 4480, 512},
		{"decode f32", floats, 4*4 + 1, 4, 4096, 1152},
		// One key head cannot be divided: worker 0 writes it, and then all read it.
		{"decode, one key head", few, 4*5 + 1, 5, 3840, 1536},
		// With many tokens, dividing work evenly is worth more than a barrier.
		{"prefill", prefill, 4*9 + 2, 9, 278528, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := irtest.Parse(t, tt.llama.Text())
			planned(t, m, pass.Options{}, cpuTarget)
			f := m.Funcs[0]
			body := bodyOf(f)
			if body == nil {
				t.Fatalf("the layers are not rolled:\n%s", m)
			}
			if got := m.Plan.Funcs[0].Barriers; got != tt.barriers {
				t.Errorf("%d barriers, want %d:\n%s", got, tt.barriers, m)
			}
			if got := partition.Barriers(body); got != tt.body {
				t.Errorf("%d barriers a layer, want %d", got, tt.body)
			}
			want := map[ir.Class]int64{ir.ClassActivations: tt.activations, ir.ClassScratch: tt.scratches}
			for _, a := range m.Plan.Arenas {
				if a.Bytes() != a.Bound {
					t.Errorf("%v: %d bytes, the bound is %d", a.Class, a.Bytes(), a.Bound)
				}
				if n, pinned := want[a.Class]; pinned && a.Bytes() != n {
					t.Errorf("%v: %d bytes, want %d", a.Class, a.Bytes(), n)
				}
			}
			checkPlan(t, m, 1)
		})
	}
}

func bodyOf(f *ir.Func) *ir.Func {
	for _, n := range f.Nodes {
		if n.Body != nil {
			return n.Body
		}
	}
	return nil
}

// TestBarriersAreNeeded drops each barrier of a small model: the simulation must object,
// which also shows that it can.
func TestBarriersAreNeeded(t *testing.T) {
	for _, tokens := range []string{"1", "tokens"} {
		l := irtest.SmallLlama
		l.Tokens, l.Layers = tokens, 2
		m := irtest.Parse(t, l.Text())
		planned(t, m, pass.Options{}, cpuTarget)
		for i, f := range m.AllFuncs() {
			for epoch := 1; epoch < f.Epochs; epoch++ {
				c := m.Clone()
				dropBarrier(c.AllFuncs()[i], epoch)
				mustRace(t, c, fmt.Sprintf("@%s without the barrier before epoch %d", f.Name, epoch))
			}
			if f.HeadBarrier {
				c := m.Clone()
				c.AllFuncs()[i].HeadBarrier = false
				mustRace(t, c, "@"+f.Name+" without the barrier at the head")
			}
		}
	}
}

func dropBarrier(f *ir.Func, epoch int) {
	for _, n := range f.Nodes {
		if n.Epoch >= epoch {
			n.Epoch--
		}
	}
}

func mustRace(t *testing.T, m *ir.Module, what string) {
	t.Helper()
	for workers := 2; workers <= 5; workers++ {
		err := simulate(m, m.Funcs[0], workers, map[string]int64{"tokens": 3})
		if err != nil && strings.Contains(err.Error(), "in the same epoch") {
			return
		}
	}
	t.Errorf("%s: nobody objects", what)
}

// TestEntriesShareArenas: decode and prefill have the same states, weights and activation
// arena, and tables at constant strides.
func TestEntriesShareArenas(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	planned(t, m, pass.Options{}, cpuTarget)
	one := arenaBytes(m)
	both := irtest.SmallLlama.Text()
	var b strings.Builder
	l := irtest.SmallLlama
	l.Tokens = "tokens"
	l.Entry(&b, "prefill")
	m = irtest.Parse(t, both+b.String())
	planned(t, m, pass.Options{}, cpuTarget)
	two := arenaBytes(m)
	for _, c := range []ir.Class{ir.ClassWeights, ir.ClassState} {
		if one[c] != two[c] {
			t.Errorf("%v: %d bytes with one entry point, %d with two", c, one[c], two[c])
		}
	}
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			if n.Op == ir.OpRepeat {
				constantStrides(t, m, n)
			}
		}
	}
}

func arenaBytes(m *ir.Module) map[ir.Class]int64 {
	bytes := make(map[ir.Class]int64)
	for i := range m.Plan.Arenas {
		bytes[m.Plan.Arenas[i].Class] += m.Plan.Arenas[i].Bytes()
	}
	return bytes
}

func constantStrides(t *testing.T, m *ir.Module, n *ir.Node) {
	t.Helper()
	a := n.Attr.(*ir.RepeatAttr)
	for at := a.Carried + a.Invariant; at < len(n.Args); at += int(a.Count) {
		first := plan.PlaceOf(m, n.Args[at])
		stride := plan.PlaceOf(m, n.Args[at+1]).Offset - first.Offset
		for i := range int(a.Count) {
			p := plan.PlaceOf(m, n.Args[at+i])
			if p.Offset != first.Offset+int64(i)*stride || p.Chunk != first.Chunk {
				t.Errorf("%v: entry %d of %v lies at %v, not at a stride of %d", n, i, n.Args[at], p, stride)
			}
		}
	}
}

func TestPlanBeyondBudgetIsBudgetError(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	list, err := target.Parse("targets", cpuTarget)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), m, RunOptions{
		Targets: list,
		Options: pass.Options{MaxMemory: map[string]int64{"cpu": 1 << 20, "host": 1 << 30}},
		Passes:  []string{"roll", "order", "partition", "plan"},
	})
	var over *pass.BudgetError
	if !errors.As(err, &over) || over.Name != "cpu" || over.Limit != 1<<20 || over.Need <= over.Limit {
		t.Errorf("got %v", err)
	}
}

// BenchmarkBack runs the passes from roll to plan on a model of 32 layers.
func BenchmarkBack(b *testing.B) {
	l := irtest.SmallLlama
	l.Layers = 32
	m, err := ir.Parse("test.ggir", []byte(l.Text()))
	if err != nil {
		b.Fatal(err)
	}
	list, err := target.Parse("targets", cpuTarget)
	if err != nil {
		b.Fatal(err)
	}
	for _, passes := range [][]string{{"roll"}, {"roll", "order", "partition", "plan"}, {"order", "partition", "plan"}} {
		b.Run(strings.Join(passes, ","), func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(b.Context(), m.Clone(), RunOptions{Targets: list, Passes: passes}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

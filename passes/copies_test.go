package passes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// apartTrial is a random model on two devices and the host, planned with limits.
type apartTrial struct {
	m       *ir.Module
	targets *target.List
	stats   *pass.Stats
	err     error
}

// apartText returns interleaved chains of nodes, on devices and the host, that read inputs of different sizes several
// times.
func apartText(r *rand.Rand) string {
	b := &strings.Builder{}
	fmt.Fprint(b, "ggir 1\nmodule \"apart\"\nafter import\nprops imported\nfunc @f(")
	last := make([]string, 2+r.IntN(3))
	rows := make([]int, len(last))
	for i := range last {
		rows[i], last[i] = 8<<r.IntN(4), fmt.Sprintf("x%d.0", i)
		fmt.Fprintf(b, "%%x%d.0: f32[%d,64], %%x%d.1: f32[%[2]d,64], ", i, rows[i], i)
	}
	fmt.Fprintf(b, "%%z: f32[1]) -> (f32[%d,64], f32[%d,64]) {\n", rows[0], rows[1])
	for at := range 12 + r.IntN(30) {
		i := r.IntN(len(last))
		y := fmt.Sprintf("y%d", at)
		if op := []string{"neg", "exp", "sqrt", "add", "mul", "max"}[r.IntN(6)]; op == "neg" || op == "exp" || op == "sqrt" {
			fmt.Fprintf(b, "%%%s = %s %%%s\n", y, op, last[i])
		} else {
			fmt.Fprintf(b, "%%%s = %s %%%s, %%x%d.%d\n", y, op, last[i], i, r.IntN(2))
		}
		last[i] = y
	}
	fmt.Fprintf(b, "return %%%s, %%%s\n}\n", last[0], last[1])
	return b.String()
}

// tryApart plans the model of a seed; up to three steps are under way.
func tryApart(t *testing.T, seed uint64, limits map[string]int64, disable ...string) apartTrial {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	m, err := ir.Parse("apart.ggir", []byte(apartText(r)))
	if err != nil {
		t.Fatal(err)
	}
	targets, err := target.Parse("targets", fmt.Sprintf("target d0 space=dev0 ops=add,neg queues=%d events=true\ntarget d1 space=dev1 ops=exp,max queues=%d\ntarget cpu space=host workers=true threads=64 ops=*", r.IntN(3), r.IntN(2)))
	if err != nil {
		t.Fatal(err)
	}
	o := pass.Options{Pipeline: int(seed % 4), MaxMemory: limits, Disable: disable}
	stats, err := Run(context.Background(), m, RunOptions{Targets: targets, Options: o})
	return apartTrial{m, targets, stats, err}
}

// TestCopiesMadeAgainKeepLimits plans random models with limits that are too small for one copy of each value. The
// plans with several copies have to be proved, to give the right results in every order of the queues, and to keep the
// limits.
func TestCopiesMadeAgainKeepLimits(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 60
	}
	kept, copies := 0, int64(0)
	for seed := range seeds {
		free := tryApart(t, seed, nil)
		if free.err != nil {
			t.Fatalf("seed %d: %v", seed, free.err)
		}
		if n := free.stats.Counter("elide-copy.copy.apart"); n > 0 {
			t.Errorf("seed %d: %d copies twice without a limit", seed, n)
		}
		limit := flow.SpaceBytes(free.m.Plan)["dev0"] * int64(30+seed%10) / 40
		if limit == 0 {
			continue
		}
		limits := map[string]int64{"dev0": limit}
		tight := tryApart(t, seed, limits)
		var budget *pass.BudgetError
		if errors.As(tight.err, &budget) {
			continue
		}
		if tight.err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, tight.err, tight.m)
		}
		if got := flow.SpaceBytes(tight.m.Plan)["dev0"]; got > limit {
			t.Errorf("seed %d: %d bytes of %d", seed, got, limit)
		}
		again := tight.stats.Counter("elide-copy.copy.apart")
		if without := tryApart(t, seed, limits, string(pass.RuleCopyApart)); (without.err == nil) != (again == 0) {
			t.Errorf("seed %d: %d copies twice, and without them %v", seed, again, without.err)
		}
		if again > 0 {
			kept, copies = kept+1, copies+again
			checkApart(t, seed, tight)
		}
	}
	t.Logf("%d plans keep their limit by %d copies", kept, copies)
	if kept < int(seeds)/50 {
		t.Errorf("only %d of %d plans have values copied twice: the models show nothing", kept, seeds)
	}
}

// checkApart runs a plan in many orders, and checks that other values have the bytes of each copy before it is made
// again.
func checkApart(t *testing.T, seed uint64, a apartTrial) {
	for range 5 {
		if err := simulateQueues(a.m, a.m.Funcs[0], a.targets, 4, rand.New(rand.NewPCG(seed, 5))); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, a.m)
		}
	}
	if n := a.stats.Counter("check.needless"); n > 0 {
		t.Errorf("seed %d: %d copies save no memory\n%s", seed, n, a.m)
	}
}

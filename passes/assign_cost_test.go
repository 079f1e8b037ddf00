package passes_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/passtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// machine is a GPU over PCIe and a processor.
const machine = "target gpu space=dev ops=* flops=3e13 qops=6e13 bandwidth=8e11 workerbw=8e11 launch=4e-6 link=1.2e10 linkdelay=1e-5 queues=2 events=true\n" +
	"target cpu like=cpu"

var medium = passtest.Transformer{Layers: 6, Heads: 16, KVHeads: 4, Head: 128, FF: 4096, Vocab: 4096, Ctx: 512, Batch: 64, Weights: "q8_0"}

func transformer(t testing.TB, c passtest.Transformer) *ir.Module {
	t.Helper()
	m, err := c.Module()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func targets(t testing.TB, text string) *target.List {
	t.Helper()
	l, err := target.Parse("targets", text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLimitOfMemoryDecidesHowManyLayersADeviceGets lets less and less of a model onto a device: the plan keeps each
// limit, more of the model is elsewhere, and the step is predicted to take longer.
func TestLimitOfMemoryDecidesHowManyLayersADeviceGets(t *testing.T) {
	before, onDevice := int64(0), int64(1)<<62
	for _, limit := range []int64{400 << 20, 150 << 20, 80 << 20, 20 << 20, 0} {
		m := transformer(t, medium)
		stats, err := passes.Run(context.Background(), m, passes.RunOptions{
			Targets: targets(t, machine), Options: pass.Options{MaxMemory: map[string]int64{"gpu": limit}},
		})
		if err != nil {
			t.Fatalf("limit %d: %v", limit, err)
		}
		var need, weights int64
		for i := range m.Plan.Arenas {
			if a := &m.Plan.Arenas[i]; a.Space == "dev" {
				need += a.Bytes()
				if a.Class == ir.ClassWeights {
					weights = a.Bytes()
				}
			}
		}
		time := stats.Counter("assign.step-ns")
		t.Logf("%4d MiB: %4d MiB used, %4d MiB of weights, %d us", limit>>20, need>>20, weights>>20, time/1000)
		if need > limit {
			t.Errorf("limit %d: the plan needs %d bytes", limit, need)
		}
		if time < before || weights > onDevice {
			t.Errorf("limit %d: %d ns with %d bytes of weights there, and with more memory %d ns with %d", limit, time, weights, before, onDevice)
		}
		if limit > 10<<20 && weights < limit/2 && onDevice > limit {
			t.Errorf("limit %d: only %d bytes of weights are there", limit, weights)
		}
		before, onDevice = time, weights
	}
}

// TestReasonsOfMemoryAreThoseOfThePlan plans with limits that take several dry runs, whose last one is not of the
// assignment that is chosen.
func TestReasonsOfMemoryAreThoseOfThePlan(t *testing.T) {
	const npu = "target npu like=fake space=host ops=matmul,add\n"
	reasons := 0
	for _, limit := range []int64{120 << 20, 80 << 20, 60 << 20} {
		m := transformer(t, medium)
		_, err := passes.Run(t.Context(), m, passes.RunOptions{
			Targets: targets(t, npu+machine), Options: pass.Options{MaxMemory: map[string]int64{"gpu": limit}, Pipeline: 2},
		})
		if err != nil {
			t.Fatalf("limit %d: %v", limit, err)
		}
		reasons += checkShortages(t, m, limit-flow.SpaceBytes(m.Plan)["dev"])
	}
	if reasons == 0 {
		t.Error("no node has too little memory elsewhere")
	}
}

// checkShortages reads the reasons of assign for moves that have no room. Only the device has a limit, and a move lacks
// at most the bytes of the weights and states that it brings there, less the bytes that are free in the plan. It
// returns the number of reasons.
func checkShortages(t *testing.T, m *ir.Module, free int64) (reasons int) {
	t.Helper()
	lacks := regexp.MustCompile(`^(\w+) .*, ([0-9.]+) (B|KiB|MiB) too much$`)
	unit := map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}
	for _, f := range m.Funcs {
		readers := readersOf(f)
		for _, n := range f.Nodes {
			for _, c := range n.Causes() {
				for _, text := range c.Operands {
					found := lacks.FindStringSubmatch(text)
					if found == nil {
						continue
					}
					reasons++
					bytes, err := strconv.ParseFloat(found[2], 64)
					if err != nil || found[1] != "gpu" {
						t.Errorf("%v: %s: %s has no limit (%v)", n, text, found[1], err)
					}
					if most := broughtWith(n, readers) - free; n.Op == ir.OpWeight && bytes*unit[found[3]] > 1.01*float64(most) {
						t.Errorf("%v: %s: it brings %d bytes more than are free", n, text, most)
					}
				}
			}
		}
	}
	return reasons
}

func readersOf(f *ir.Func) map[*ir.Value][]*ir.Node {
	readers := make(map[*ir.Value][]*ir.Node)
	for _, n := range f.Nodes {
		for _, a := range n.Args {
			readers[a] = append(readers[a], n)
		}
	}
	return readers
}

// broughtWith returns the bytes of a leaf and of all leaves in the host that its readers read, and so on.
func broughtWith(leaf *ir.Node, readers map[*ir.Value][]*ir.Node) (bytes int64) {
	seen := map[*ir.Node]bool{leaf: true}
	for todo := []*ir.Node{leaf}; len(todo) > 0; todo = todo[1:] {
		bytes += todo[0].Results[0].Type.MaxBytes()
		for _, r := range readers[todo[0].Results[0]] {
			for _, a := range r.Args {
				if a != nil && a.Def != nil && a.Def.Is(ir.Leaf) && a.Type.Space != "dev" && !seen[a.Def] {
					seen[a.Def] = true
					todo = append(todo, a.Def)
				}
			}
		}
	}
	return bytes
}

// TestExpertsLeaveADeviceBeforeOtherWeights gives a mixture less memory than it needs: its experts, of which few
// are read for a token, go elsewhere before what is read for each.
func TestExpertsLeaveADeviceBeforeOtherWeights(t *testing.T) {
	mixture := medium
	mixture.Experts, mixture.Chosen, mixture.FF = 16, 2, 512
	m := transformer(t, mixture)
	o := passes.RunOptions{Targets: targets(t, machine), To: "assign", Options: pass.Options{MaxMemory: map[string]int64{"gpu": 200 << 20}}}
	if _, err := passes.Run(context.Background(), m, o); err != nil {
		t.Fatal(err)
	}
	var experts, others int64
	for _, w := range m.Weights {
		switch {
		case w.Type.Space == "dev":
		case strings.HasSuffix(w.Name, "_exps"):
			experts += w.Type.MaxBytes()
		case strings.HasPrefix(w.Name, "blk."):
			others += w.Type.MaxBytes()
		}
	}
	// Some small products are elsewhere too: there they overlap with the device's work.
	t.Logf("%d MiB of experts and %d MiB of others are elsewhere", experts>>20, others>>20)
	if experts == 0 || others*10 > experts {
		t.Errorf("%d bytes of experts are elsewhere, and %d of what is read for each token", experts, others)
	}
}

// TestCostIsNeverWorseThanItsStarts compares with the other rules, on machines with queues and without.
func TestCostIsNeverWorseThanItsStarts(t *testing.T) {
	mixture := medium
	mixture.Experts, mixture.Chosen, mixture.FF, mixture.Layers = 8, 2, 512, 2
	machines := map[string]string{
		"pcie":   machine,
		"host":   "target npu space=host ops=matmul,add,mul flops=1e13 qops=1e13 bandwidth=5e10 launch=2e-5\ntarget cpu like=cpu",
		"remote": strings.Replace(machine, "queues=2 events=true", "", 1),
		"three": strings.Replace(machine, "target cpu", "target slow space=slow ops=*,-attention flops=1e12 bandwidth=1e11 launch=1e-6 link=4e9 linkdelay=2e-6 queues=1\n"+
			"target cpu", 1),
	}
	for name, text := range machines {
		for _, c := range []passtest.Transformer{medium, mixture} {
			m := transformer(t, c)
			l := targets(t, text)
			stats, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: l, To: "assign"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			step := stats.Counter("assign.step-ns")
			starts := []string{"first", "ggml-2024", "ggml-2026"}
			for _, d := range l.All() {
				starts = append(starts, d.Name)
			}
			for _, s := range starts {
				if other := stats.Counter("assign.start." + s + "-ns"); other >= 0 && other < step {
					t.Errorf("%s: cost takes %d ns, and %s %d", name, step, s, other)
				}
			}
			if bound := stats.Counter("assign.bound-ns"); bound <= 0 || bound > step {
				t.Errorf("%s: %d ns, and the bound is %d", name, step, bound)
			}
		}
	}
}

// TestNoCopiesInSharedMemory runs what an NPU lacks in place on the processor.
func TestNoCopiesInSharedMemory(t *testing.T) {
	m := transformer(t, medium)
	stats, err := passes.Run(context.Background(), m, passes.RunOptions{
		Targets: targets(t, "target npu space=host ops=matmul flops=1e13 qops=1e13 bandwidth=8e10 launch=1e-7\ntarget cpu like=cpu"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if stats.Counter("assign.npu") == 0 || stats.Counter("assign.cpu") == 0 {
		t.Error("the work is not shared")
	}
	if fig := flow.Measure(m); fig.Copies != 0 {
		t.Errorf("%d copies between targets of one memory", fig.Copies)
	}
}

// TestLimitsThatNothingKeepsAreBudgetErrors plans with limits that no assignment keeps.
func TestLimitsThatNothingKeepsAreBudgetErrors(t *testing.T) {
	for _, tt := range []struct {
		name, targets string
		limits        map[string]int64
		want          []string
	}{
		{"both too small", machine, map[string]int64{"gpu": 50 << 20, "cpu": 50 << 20}, []string{"more than --max-memory allows", "would be enough"}},
		{"no memory takes the weight", "target gpu space=dev ops=* maxalloc=1MiB flops=1e12\ntarget cpu like=cpu maxalloc=2MiB", nil,
			[]string{`weight "blk.0.ffn_gate" needs 8912896 bytes (8.5 MiB), 6815744 (6.5 MiB) more than there is: no memory takes it whole`}},
		{"no memory takes the state", "target gpu space=dev ops=* maxalloc=10KiB flops=1e12\ntarget cpu like=cpu maxalloc=20KiB", nil,
			[]string{"more than there is: no memory takes it whole: lower --ctx or --sequences, choose a smaller --kv, or allow more"}},
		{"what the targets have", strings.Replace(machine, "like=cpu", "like=cpu memory=30MiB", 1), map[string]int64{"gpu": 50 << 20}, []string{"more than there is"}},
	} {
		m := transformer(t, medium)
		_, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: targets(t, tt.targets), Options: pass.Options{MaxMemory: tt.limits}})
		var budget *pass.BudgetError
		if !errors.As(err, &budget) {
			t.Errorf("%s: %v is no budget error", tt.name, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in: %v", tt.name, want, err)
			}
		}
	}
}

// TestAdviceToSplitNeedsAnotherMemory denies the processor on a GPU with too little memory: the advice is to let the
// processor take the rest, unless both use the same memory.
func TestAdviceToSplitNeedsAnotherMemory(t *testing.T) {
	for space, want := range map[string]bool{"dev": true, "host": false} {
		_, err := passes.Run(context.Background(), transformer(t, medium), passes.RunOptions{
			Targets: targets(t, "target gpu space="+space+" ops=* flops=1e12 bandwidth=1e11 launch=1e-6\ntarget cpu like=cpu"),
			Options: pass.Options{MaxMemory: map[string]int64{"gpu": 10 << 20}, Deny: []string{"cpu"}},
		})
		var budget *pass.BudgetError
		if !errors.As(err, &budget) {
			t.Errorf("%s: %v is no budget error", space, err)
			continue
		}
		if got := strings.Contains(err.Error(), "or leave out --deny cpu, so that it takes the rest"); got != want {
			t.Errorf("a GPU in %s: advice to split %v, want %v: %v", space, got, want, err)
		}
	}
}

// TestAdviceNamesAllLimitsOfAMemory limits both backends of one memory, one of them only, or that one too little for
// what its target has. All limits that are named together are enough.
func TestAdviceNamesAllLimitsOfAMemory(t *testing.T) {
	const shared = "target gpu space=host ops=* flops=1e12 bandwidth=1e11 launch=1e-6%s\ntarget cpu like=cpu"
	option := regexp.MustCompile(`--max-memory (\w+)=(\d+)|memory=(\d+) of gpu`)
	for _, tt := range []struct {
		memory string
		limits map[string]int64
		named  int
	}{
		{"", map[string]int64{"gpu": 10 << 20, "cpu": 20 << 20}, 2},
		{"", map[string]int64{"cpu": 20 << 20}, 1},
		{"", map[string]int64{"gpu": 1 << 40, "cpu": 20 << 20}, 1},
		{" memory=30MiB", map[string]int64{"host": 20 << 20}, 2},
	} {
		memory, limits := tt.memory, maps.Clone(tt.limits)
		run := func() error {
			_, err := passes.Run(context.Background(), transformer(t, medium), passes.RunOptions{
				Targets: targets(t, fmt.Sprintf(shared, memory)), Options: pass.Options{MaxMemory: limits},
			})
			return err
		}
		err := run()
		var budget *pass.BudgetError
		if !errors.As(err, &budget) {
			t.Errorf("%v: %v is no budget error", tt.limits, err)
			continue
		}
		found := option.FindAllStringSubmatch(budget.Advice, -1)
		for _, m := range found {
			if m[1] == "" {
				memory = " memory=" + m[3]
				continue
			}
			limits[m[1]], _ = strconv.ParseInt(m[2], 10, 64)
		}
		if again := run(); len(found) != tt.named || again != nil {
			t.Errorf("%v: the advice is %q; with that: %v", tt.limits, budget.Advice, again)
		}
	}
}

// negative matches a negative number in a text.
var negative = regexp.MustCompile(`(^|[ (])-[0-9]`)

// TestCauseNamesTheOpThatOtherRulesLack assigns on a machine on which the rules of 2024 cannot run an op: the cause of
// a step names it.
func TestCauseNamesTheOpThatOtherRulesLack(t *testing.T) {
	m := transformer(t, medium)
	const text = "target gpu space=dev ops=*,-attention flops=1e12 bandwidth=1e11 launch=1e-6 link=1e10 linkdelay=1e-6\ntarget cpu like=cpu"
	_, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: targets(t, text), To: "assign"})
	if err != nil {
		t.Fatal(err)
	}
	if text := m.String(); !strings.Contains(text, `"ggml-2024 cannot: gpu has no kernel for attention"`) {
		t.Errorf("no cause names the op:\n%.2000s", text)
	}
}

// TestTooLargeAllocationIsNamed checks that the error names the largest allocation if that is too small, with no
// negative number of bytes, for several limits of memory.
func TestTooLargeAllocationIsNamed(t *testing.T) {
	const text = "target gpu space=dev ops=* maxalloc=1MiB memory=1GiB flops=1e12 bandwidth=1e11 launch=1e-6 link=1e10 linkdelay=1e-6\ntarget cpu like=cpu"
	for _, pin := range []string{`^blk\.0\.`, "ffn_up"} {
		for _, limits := range []map[string]int64{nil, {"cpu": 1 << 30}, {"gpu": 900 << 20}, {"cpu": 40 << 20}} {
			_, err := passes.Run(context.Background(), transformer(t, medium), passes.RunOptions{
				Targets: targets(t, text),
				Options: pass.Options{MaxMemory: limits, Pins: []pass.Pin{{Match: regexp.MustCompile(pin), Backend: "gpu"}}},
			})
			var budget *pass.BudgetError
			switch {
			case !errors.As(err, &budget) || negative.MatchString(err.Error()):
				t.Errorf("pin %s, limits %v: %v", pin, limits, err)
			case !strings.Contains(err.Error(), "the largest allocation is 1048576 bytes"):
				t.Errorf("pin %s, limits %v: no word of the largest allocation in: %v", pin, limits, err)
			}
		}
	}
}

// TestValueBeyondLimit pins a value to a target that has the memory for it but must not use it: the target also takes
// the operands of the value.
func TestValueBeyondLimit(t *testing.T) {
	m, err := ir.Parse("t", []byte("ggir 1\nmodule \"m\"\nafter import\nprops imported\nfunc @f(%x: f32[64,128]) -> (f32[64,128]) {\n%y = neg %x\nreturn %y\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = passes.Run(context.Background(), m, passes.RunOptions{
		Targets: targets(t, strings.Replace(machine, "space=dev", "space=dev memory=1GiB", 1)),
		Options: pass.Options{MaxMemory: map[string]int64{"gpu": 16 << 10}, Pins: []pass.Pin{{Match: regexp.MustCompile("y"), Backend: "gpu"}}},
	})
	var budget *pass.BudgetError
	if !errors.As(err, &budget) || budget.Need != 64<<10 || budget.Limit != 16<<10 || budget.Own {
		t.Errorf("%+v: %v", budget, err)
	}
}

// TestAdviceOfErrorsIsEnough plans with the limits that errors state to be enough.
func TestAdviceOfErrorsIsEnough(t *testing.T) {
	for _, limits := range []map[string]int64{{"gpu": 50 << 20, "cpu": 50 << 20}, {"gpu": 150 << 20, "host": 80 << 20}, {"gpu": 120 << 20, "host": 110 << 20}} {
		o := passes.RunOptions{Targets: targets(t, machine), Options: pass.Options{MaxMemory: limits}}
		_, err := passes.Run(context.Background(), transformer(t, medium), o)
		many, ok := errors.Unwrap(err).(interface{ Unwrap() []error })
		if !ok {
			t.Errorf("%v: %v", limits, err)
			continue
		}
		allowed := maps.Clone(limits)
		for _, e := range many.Unwrap() {
			var budget *pass.BudgetError
			if errors.As(e, &budget) {
				allowed[budget.Name] = budget.Need
			}
		}
		o.Options.MaxMemory = allowed
		if _, err := passes.Run(context.Background(), transformer(t, medium), o); err != nil {
			t.Errorf("%v is stated to be enough instead of %v: %v", allowed, limits, err)
		}
	}
}

// manyTargets are 8 targets of different speed.
func manyTargets() string {
	var b strings.Builder
	for i := range 7 {
		fmt.Fprintf(&b, "target gpu%d space=dev%d ops=*%s flops=%de12 bandwidth=%de11 launch=2e-6 link=1e10 linkdelay=1e-5\n", i, i, []string{"", ",-attention"}[i%2], i+1, 7-i)
	}
	return b.String() + "target cpu like=cpu"
}

func BenchmarkAssign(b *testing.B) {
	for _, layers := range []int{18, 180, 1800} { // of 56 nodes in both functions
		c := medium
		c.Layers = layers
		text := c.Text()
		b.Run(fmt.Sprint(56*layers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m, err := ir.Parse("t", []byte(text))
				if err != nil {
					b.Fatal(err)
				}
				o := passes.RunOptions{Targets: targets(b, manyTargets()), Passes: []string{"shape"}}
				if _, err := passes.Run(context.Background(), m, o); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				o.Passes = []string{"assign"}
				stats, err := passes.Run(context.Background(), m, o)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(stats.Passes[0].Time.Seconds()*1000, "assign-ms")
			}
		})
	}
}

// productOf returns a product of an input of so many rows with a square matrix of 256 columns.
func productOf(t testing.TB, rows int64) *ir.Module {
	t.Helper()
	b := ir.NewBuilder("product")
	b.Weight("w", ir.Type{DType: dtype.F32, Shape: ir.Dims(256, 256)}, nil)
	f := b.Func("f")
	f.Return("y", f.MatMul(f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(rows, 256)}), f.Weight("w")))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestStepsUnderWayTakeRoom has so many steps under way that their inputs and copies do not fit where those of a single
// step do. The product, or its weight, moves to another target, and the plan is made.
func TestStepsUnderWayTakeRoom(t *testing.T) {
	const fast, slow = "flops=1e15 bandwidth=1e14 launch=1e-7", "flops=1e9 bandwidth=1e9 launch=1e-5"
	device := "target gpu space=dev ops=* queues=2 events=true align=64 link=1e11 linkdelay=1e-8 "
	processor := "\ntarget cpu space=host ops=* "
	const weight = 256 * 256 * 4 // bytes; an input of 128 rows has half as many, as has its result
	for _, tt := range []struct {
		name, targets string
		limits        map[string]int64
		rows          int64
		one, many     string // where the weight is with one step under way, and with four
	}{
		{"largest allocation", device + fast + " maxalloc=384KiB" + processor + slow, nil, 128, "dev", "host"},
		{"memory of the device", device + fast + processor + slow, map[string]int64{"gpu": weight * 5 / 2}, 128, "dev", "host"},
		{"memory of the host", device + slow + processor + fast, map[string]int64{"cpu": weight * 5 / 4}, 16, "host", "dev"},
	} {
		for steps, want := range map[int]string{1: tt.one, 4: tt.many} {
			m := productOf(t, tt.rows)
			_, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: targets(t, tt.targets), Options: pass.Options{MaxMemory: tt.limits, Pipeline: steps}})
			if err != nil {
				t.Errorf("%s, %d steps under way: %v", tt.name, steps, err)
			} else if at := m.Weight("w").Type.Space; at != want {
				t.Errorf("%s, %d steps under way: the weight is in %s, want %s", tt.name, steps, at, want)
			}
		}
	}
}

// TestAnotherDeviceDoesNotMakeAPlanImpossible pins all nodes to a small device, with another device that could store
// its weights. What fits without the other device fits with it.
func TestAnotherDeviceDoesNotMakeAPlanImpossible(t *testing.T) {
	const small = "target gpu like=fake space=gpu ops=* memory=%dMiB flops=1e12 qops=2e12 bandwidth=2e11 queues=1 events=true launch=5e-6 link=1.2e10 linkdelay=1e-5\n"
	const store = "target npu like=fake space=npu ops=matmul memory=2GiB flops=5e11 qops=4e12 bandwidth=6e10 queues=1 launch=2e-5 link=2e10 linkdelay=5e-6\n"
	all := []pass.Pin{{Match: regexp.MustCompile("."), Backend: "gpu"}}
	for _, size := range []int{28, 40, 60} {
		gpu := fmt.Sprintf(small, size)
		run := func(text string) error {
			_, err := passes.Run(t.Context(), transformer(t, medium), passes.RunOptions{Targets: targets(t, text), Options: pass.Options{Pins: all}})
			return err
		}
		alone, beside := run(gpu+"target cpu like=cpu"), run(gpu+store+"target cpu like=cpu")
		if alone == nil && beside != nil {
			t.Errorf("%d MiB: with another device: %v", size, beside)
		}
		t.Logf("%d MiB: %v, %v", size, alone, beside)
	}
}

// TestPredictionCountsCopiesMadeForALimit compares the predicted step with and without a limit that makes one copy of
// %x be made twice: the difference is the time of that copy.
func TestPredictionCountsCopiesMadeForALimit(t *testing.T) {
	const text = `func @f(%z: f32[64,128], %y: f32[64,128]) -> (f32[64,128], f32[64,128]) {
  %x = sqrt %z
  %n = neg %x
  %q = sqrt %n
  %e = add %q, %y
  %u = sqrt %e
  %a = add %u, %x
  return %a, %u
}
`
	const link, bytes = 4e9, 64 * 128 * 4
	l := targets(t, fmt.Sprintf("target gpu like=fake space=dev ops=neg,exp,add queues=1 link=%g linkdelay=0\ntarget cpu like=cpu link=0 linkdelay=0\n", link))
	step := func(limits map[string]int64, copies int64) int64 {
		stats, err := passes.Run(context.Background(), irtest.Parse(t, text), passes.RunOptions{Targets: l, Options: pass.Options{
			Pins: []pass.Pin{{Match: regexp.MustCompile("^(n|e|a)$"), Backend: "gpu"}}, MaxMemory: limits,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if n := stats.Counter("elide-copy.copy.apart"); n != copies {
			t.Fatalf("%d copies are made twice, want %d", n, copies)
		}
		return stats.Counter("assign.step-ns")
	}
	free, tight := step(nil, 0), step(map[string]int64{"gpu": 64 << 10}, 1)
	if want := int64(bytes / link * 1e9); tight-free < want-2 || tight-free > want+2 {
		t.Errorf("the step takes %d ns, and %d with one copy more, which takes %d", free, tight, want)
	}
}

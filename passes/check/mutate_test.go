package check_test

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// mutant is a change of a good plan. Apply makes it in a copy of the plan's module. Must is true if the plan is then
// bad by definition; the oracle decides about other mutants.
type mutant struct {
	kind  string
	what  string
	must  bool
	entry int // the entry point that it concerns
	apply func(m *ir.Module)
}

// mutants returns all changes of a plan that this file knows.
func mutants(m *ir.Module, targets *target.List) []mutant {
	g := &mutator{m: m, targets: targets}
	for fi, f := range m.AllFuncs() {
		if f.Owner == nil {
			g.entry = slices.Index(m.Funcs, f)
		}
		g.barriers(fi, f)
		for ni, n := range f.Nodes {
			g.order(fi, ni, n)
			g.handOver(fi, ni, n)
			if !n.Is(ir.Leaf) && !n.Is(ir.View) && n.Op != ir.OpRepeat {
				g.partition(fi, ni, n)
				g.backend(fi, ni, n)
			}
			if hasQueues(targets) && !n.Is(ir.Leaf) && !n.Is(ir.View) {
				g.submission(fi, ni, n)
			}
			for ri, r := range n.Results {
				g.place(fmt.Sprintf("@%s %v", f.Name, r), r, func(m *ir.Module) *ir.Place { return m.AllFuncs()[fi].Nodes[ni].Results[ri].Place })
			}
		}
		for pi, p := range f.Params {
			g.param(fi, f, pi, p)
		}
	}
	g.leaves()
	if hasQueues(targets) {
		g.pipeline()
	}
	return g.list
}

type mutator struct {
	m       *ir.Module
	targets *target.List
	entry   int
	list    []mutant
}

func (g *mutator) add(kind, what string, must bool, apply func(m *ir.Module)) {
	g.list = append(g.list, mutant{kind, what, must, g.entry, apply})
}

// barriers drops each barrier.
func (g *mutator) barriers(fi int, f *ir.Func) {
	for e := 1; e < f.Epochs; e++ {
		g.add("barrier", fmt.Sprintf("@%s epoch %d", f.Name, e), false, func(m *ir.Module) {
			f := m.AllFuncs()[fi]
			f.Epochs--
			for _, n := range f.Nodes {
				if n.Epoch >= e {
					n.Epoch--
				}
			}
		})
	}
	if f.HeadBarrier {
		g.add("head barrier", "@"+f.Name, false, func(m *ir.Module) { m.AllFuncs()[fi].HeadBarrier = false })
	}
}

// order moves a node before what it reads, and before its neighbour.
func (g *mutator) order(fi, ni int, n *ir.Node) {
	f := n.Func
	move := func(to int) func(m *ir.Module) {
		return func(m *ir.Module) {
			f := m.AllFuncs()[fi]
			n := f.Nodes[ni]
			n.Epoch = f.Nodes[to].Epoch
			f.Nodes = slices.Insert(slices.Delete(f.Nodes, ni, ni+1), to, n)
		}
	}
	for i, a := range n.Args {
		if a != nil && a.Def != nil && a.Func == f {
			g.add("before operand", fmt.Sprintf("@%s %v before %v (operand %d)", f.Name, n, a, i), !n.Is(ir.View), move(slices.Index(f.Nodes, a.Def)))
		}
	}
	idle := func(n *ir.Node) bool { return n.Is(ir.Leaf) || n.Is(ir.View) }
	if ni > 0 && !idle(n) && !idle(f.Nodes[ni-1]) && !slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && a.Def == f.Nodes[ni-1] }) {
		g.add("before neighbour", fmt.Sprintf("@%s %v", f.Name, n), false, move(ni-1))
	}
}

// partition changes who computes what.
func (g *mutator) partition(fi, ni int, n *ir.Node) {
	change := func(kind string, must bool, to ir.Partition) {
		g.add(kind, fmt.Sprintf("@%s %v %v -> %v", n.Func.Name, n, n.Part, to), must, func(m *ir.Module) { m.AllFuncs()[fi].Nodes[ni].Part = to })
	}
	mode := n.Part.Mode
	d := g.targets.Get(n.Backend)
	for _, to := range []ir.PartMode{ir.PartNone, ir.PartOne, ir.PartReplicated} {
		if to != mode && mode != ir.PartNone {
			change("mode", to == ir.PartNone && d.Workers || to == ir.PartReplicated || mode == ir.PartReplicated, ir.Partition{Mode: to})
		}
	}
	if mode != ir.PartSplit {
		return
	}
	p := n.Part
	for _, ax := range n.Op.Info().Axes(n) {
		shape := n.Result().Type.Shape
		if ax.Axis != p.Axis {
			change("axis", false, ir.Partition{Mode: mode, Axis: ax.Axis, N: shape[ax.Axis], Granule: ax.Granule})
			continue
		}
		for _, granule := range []int64{p.Granule * 2, p.Granule * 3, p.Granule + ax.Granule, p.Granule + 1, p.Granule - ax.Granule, p.Granule / 2, 0} {
			change("granule", granule < 1 || granule%ax.Granule != 0, ir.Partition{Mode: mode, Axis: p.Axis, N: p.N, Granule: granule})
		}
	}
	change("extent", true, ir.Partition{Mode: mode, Axis: p.Axis, N: p.N.Add(ir.Const(1)), Granule: p.Granule})
}

// backend gives a node to another backend, and drops copies.
func (g *mutator) backend(fi, ni int, n *ir.Node) {
	g.add("backend", fmt.Sprintf("@%s %v", n.Func.Name, n), true, func(m *ir.Module) { m.AllFuncs()[fi].Nodes[ni].Backend = "unknown" })
	touched := n.Result()
	if touched == nil {
		touched = n.Args[0] // of an observe
	}
	for _, d := range g.targets.All() {
		if d.Name != n.Backend && !d.Addresses(touched.Type.Space) {
			g.add("backend", fmt.Sprintf("@%s %v on %s", n.Func.Name, n, d.Name), true, func(m *ir.Module) { m.AllFuncs()[fi].Nodes[ni].Backend = d.Name })
		}
	}
	if n.Op == ir.OpCopy && n.Args[0].Type.Space != n.Result().Type.Space {
		g.add("copy", fmt.Sprintf("@%s %v", n.Func.Name, n), !g.readable(n), func(m *ir.Module) {
			n := m.AllFuncs()[fi].Nodes[ni]
			ir.Replace(n.Result(), n.Args[0])
		})
	}
}

// readable reports whether some reader of a copy can address what is copied.
func (g *mutator) readable(n *ir.Node) bool {
	return slices.ContainsFunc(n.Func.Nodes, func(r *ir.Node) bool {
		d := g.targets.Get(r.Backend)
		return d != nil && slices.Contains(r.Args, n.Result()) && d.Addresses(n.Args[0].Type.Space)
	})
}

// place moves a value: off its alignment, out of its chunk, to where others are. It also gives it
// too few bytes, and more than it needs.
func (g *mutator) place(what string, v *ir.Value, of func(m *ir.Module) *ir.Place) {
	p := v.Place
	if p == nil {
		return
	}
	arena := g.m.Plan.Arenas[p.Arena]
	to := func(kind string, must bool, at ir.Place) {
		g.add(kind, fmt.Sprintf("%s to %d/%d/%#x+%d", what, at.Arena, at.Chunk, at.Offset, at.Bytes), must, func(m *ir.Module) { *of(m) = at })
	}
	at := *p
	at.Offset++
	to("align", true, at)
	at = *p
	at.Offset += arena.Chunks[p.Chunk]
	to("outside", true, at)
	at = *p
	at.Bytes = v.MaxBytes() - 1
	to("short", true, at)
	at = *p
	at.Bytes += max(arena.Align, 1)
	to("long", false, at)
	for i := range g.m.Plan.Arenas {
		if b := &g.m.Plan.Arenas[i]; b.Class != arena.Class && (b.Class == ir.ClassScratch || arena.Class == ir.ClassScratch || b.Class <= ir.ClassState || arena.Class <= ir.ClassState) {
			to("class", true, ir.Place{Arena: i, Offset: 0, Bytes: p.Bytes})
		}
	}
	for _, offset := range g.offsets(p) {
		at = *p
		at.Offset = offset
		to("move", false, at)
	}
}

// offsets returns other offsets in the same chunk where other values begin.
func (g *mutator) offsets(p *ir.Place) []int64 {
	var list []int64
	add := func(q *ir.Place) {
		if q != nil && q.Arena == p.Arena && q.Chunk == p.Chunk && q.Offset != p.Offset && q.Offset+p.Bytes <= g.m.Plan.Arenas[p.Arena].Chunks[p.Chunk] {
			list = append(list, q.Offset)
		}
	}
	for _, f := range g.m.AllFuncs() {
		for _, v := range f.Params {
			add(v.Place)
		}
		for _, n := range f.Nodes {
			for _, v := range n.Results {
				add(v.Place)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// param moves parameters.
func (g *mutator) param(fi int, f *ir.Func, pi int, p *ir.Value) {
	g.place(fmt.Sprintf("@%s %v", f.Name, p), p, func(m *ir.Module) *ir.Place { return m.AllFuncs()[fi].Params[pi].Place })
}

// leaves puts weights and states onto each other.
func (g *mutator) leaves() {
	together := func(p, q *ir.Place) bool { return p.Arena == q.Arena && p.Chunk == q.Chunk }
	for i := 1; i < len(g.m.Weights); i++ {
		if w := g.m.Weights; together(w[i].Place, w[i-1].Place) {
			g.add("leaf", "weight "+w[i].Name, true, func(m *ir.Module) { m.Weights[i].Place.Offset = m.Weights[i-1].Place.Offset })
		}
	}
	for i := 1; i < len(g.m.States); i++ {
		if s := g.m.States; together(s[i].Place, s[i-1].Place) {
			g.add("leaf", "state "+s[i].Name, true, func(m *ir.Module) { m.States[i].Place.Offset = m.States[i-1].Place.Offset })
		}
	}
}

// good reports what the oracle finds wrong with the plans of entry points; empty if
// nothing.
func good(m *ir.Module, targets *target.List, entries ...*ir.Func) string {
	for _, tokens := range []int64{1, 4} {
		for _, workers := range []int{2, 3, 64} {
			for _, f := range entries {
				if what := runOracle(m, f, workers, func(*ir.Symbol) int64 { return tokens }); what != "" {
					return fmt.Sprintf("@%s, %d workers, %d tokens: %s", f.Name, workers, tokens, what)
				}
			}
		}
	}
	if hasQueues(targets) {
		for _, f := range entries {
			if what := simulate(m, f, targets, 2, orders, largest); what != "" {
				return fmt.Sprintf("@%s, simulated: %s", f.Name, what)
			}
		}
	}
	return ""
}

// orders is in how many orders a plan is simulated of which it has to be known whether it
// is as good as another one.
const orders = 60

// hasQueues reports whether nodes may run beside the host.
func hasQueues(targets *target.List) bool {
	return slices.ContainsFunc(targets.All(), func(d *target.Descriptor) bool { return d.Queues > 0 })
}

// score counts what became of mutants.
type score struct {
	mutants, caught, equivalent int
	shown                       int // caught ones whose harm the simulator shows, where it is asked
}

func (s *score) add(o score) {
	s.mutants += o.mutants
	s.caught += o.caught
	s.equivalent += o.equivalent
	s.shown += o.shown
}

var allMutants = flag.Bool("all", false, "try every mutant")

// tally counts mutants by kind.
type tally map[string]*score

// try tries every n-th mutant of a plan.
func (k tally) try(t *testing.T, m *ir.Module, targets *target.List, every int) {
	t.Helper()
	if err := checked(m, targets); err != nil {
		t.Fatalf("the plan itself: %v\n%s", err, m)
	}
	if what := good(m, targets, m.Funcs...); what != "" {
		t.Fatalf("the oracle about the plan itself: %s", what)
	}
	switch {
	case *allMutants:
		every = 1
	case testing.Short():
		every = max(10, 3*every)
	}
	for i, mu := range mutants(m, targets) {
		if i%every != 0 {
			continue
		}
		if k[mu.kind] == nil {
			k[mu.kind] = &score{}
		}
		k[mu.kind].add(try(t, m, targets, mu))
	}
}

// print writes what became of all.
func (k tally) print(t *testing.T) {
	var total score
	var names []string
	for kind, s := range k {
		total.add(*s)
		names = append(names, fmt.Sprintf("%s %d/%d+%d", kind, s.caught, s.mutants, s.equivalent))
	}
	slices.Sort(names)
	t.Logf("%d mutants, %d caught, %d equivalent (proved equal by running every access at the smallest and the largest size with 2, 3 and 64 workers), %d escaped",
		total.mutants, total.caught, total.equivalent, total.mutants-total.caught-total.equivalent)
	t.Log(strings.Join(names, ", "))
}

// TestHarmfulMutantsAreNoticed changes good plans in every way that this file knows. The checker has to
// notice each change that makes a plan bad.
func TestHarmfulMutantsAreNoticed(t *testing.T) {
	kinds := make(tally)
	for _, tc := range []struct {
		name    string
		layers  int // of a llama; 0 is the loop
		weights dtype.DType
		targets string
		disable []string
		every   int // of so many mutants one is tried, without -all
		observe string
	}{
		{"q8_0", 3, dtype.Q8_0, onlyCPU, nil, 1, ""},
		{"f32 unrolled", 2, dtype.F32, onlyCPU, []string{"roll"}, 3, ""},
		{"gpu", 1, dtype.F32, withGPU, nil, 1, ""},
		{"barriers for nothing", 3, dtype.F32, eagerOnes, nil, 2, ""},
		{"loop without tables", 0, dtype.F32, onlyCPU, nil, 1, ""},
		{"segments", 2, dtype.F32, segmented, []string{"partition.replicated"}, 3, ""},
		{"observed", 3, dtype.Q8_0, onlyCPU, nil, 3, "."},
		{"observed gpu", 1, dtype.F32, withGPU, nil, 3, "."},
		{"observed loop", 0, dtype.F32, onlyCPU, nil, 9, "."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, targets := tableless(t), parseTargets(t, tc.targets)
			if tc.layers > 0 {
				m = smallLlama(t, tc.layers, tc.weights)
			}
			o := pass.Options{Disable: tc.disable}
			if tc.observe != "" {
				o.Observe = regexp.MustCompile(tc.observe)
			}
			if err := plannedWith(m, targets, o); err != nil {
				t.Fatal(err)
			}
			kinds.try(t, m, targets, tc.every)
		})
	}
	kinds.print(t)
}

// shown returns 1 if the simulator shows what harm a change of waits, events or instances
// does.
func (mu *mutant) shown(m *ir.Module, targets *target.List) int {
	switch mu.kind {
	case "concurrent", "wait", "event", "slots", "pipeline":
		if simulate(m, m.Funcs[mu.entry], targets, 2, orders, largest) != "" {
			return 1
		}
	}
	return 0
}

// largest gives symbols their largest sizes.
func largest(s *ir.Symbol) int64 { return s.Max }

// try checks one mutant.
func try(t *testing.T, m *ir.Module, targets *target.List, mu mutant) score {
	t.Helper()
	changed := m.Clone()
	mu.apply(changed)
	if checked(changed, targets) != nil {
		return score{mutants: 1, caught: 1, shown: mu.shown(changed, targets)}
	}
	what := "it is bad by definition"
	if !mu.must {
		what = good(changed, targets, changed.Funcs[mu.entry])
	}
	if what != "" {
		t.Errorf("%s: %s: not noticed: %s", mu.kind, mu.what, what)
		return score{mutants: 1}
	}
	return score{mutants: 1, equivalent: 1}
}

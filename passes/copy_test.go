package passes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestElidedCopiesAreCorrectAndFew compiles random programs for random targets, with weights in random spaces. After
// elide-copy every node can address its operands, no copy can be removed, and the values are those of the program. The
// bytes copied are within the bound: each value once for each space that reads it, of slices the part that they show.
// (For a target that states the time of a copy, one copy of a whole value may be faster than several of slices.)
func TestElidedCopiesAreCorrectAndFew(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 12
	}
	var sum copyBytes
	for seed := range seeds {
		targets, text := randomTargets(t, seed)
		b, err := copiesOf(seed, targets)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
		if b.copied > b.bound && !strings.Contains(text, "link=") {
			t.Errorf("seed %d: %d bytes are copied, the bound is %d\n%s", seed, b.copied, b.bound, text)
		}
		sum.copied, sum.bound, sum.count = sum.copied+b.copied, sum.bound+b.bound, sum.count+b.count
	}
	t.Logf("%d copies of %d bytes, %.3f of the bound, which counts all experts", sum.count, sum.copied, float64(sum.copied)/float64(sum.bound))
	if sum.copied > sum.bound {
		t.Errorf("%d bytes are copied, the bound is %d", sum.copied, sum.bound)
	}
	if sum.count < int64(seeds) {
		t.Errorf("only %d copies: the programs show nothing", sum.count)
	}
}

type copyBytes struct{ copied, bound, count int64 }

// randomTargets invents one to three devices, and a processor that runs everything.
func randomTargets(t *testing.T, seed uint64) (*target.List, string) {
	r := rand.New(rand.NewPCG(seed, 11))
	ops := []string{"matmul", "add", "mul", "exp", "silu", "rms_norm", "softmax", "tanh", "scale", "gather", "top_k", "take",
		"experts_matmul", "experts_sum", "rope", "attention", "state_write", "concat", "neg", "max", "copy"}
	var text strings.Builder
	for i := range 1 + r.IntN(3) {
		r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		fmt.Fprintf(&text, "target d%d space=dev%d%s ops=%s maxinputs=%d queues=%d events=true%s\n", i, i,
			[]string{"", "", ",host", ",dev0"}[r.IntN(4)], strings.Join(ops[:4+r.IntN(len(ops)-4)], ","), 6*r.IntN(2),
			r.IntN(3), []string{"", " link=1e9 linkdelay=1e-6"}[r.IntN(2)])
	}
	text.WriteString("target cpu space=host ops=*\n")
	list, err := target.Parse("targets", strings.ReplaceAll(text.String(), "space=dev0,dev0", "space=dev0"))
	if err != nil {
		t.Fatal(err)
	}
	return list, text.String()
}

// copiesOf compiles a random program up to elide-copy and looks at its copies.
func copiesOf(seed uint64, targets *target.List) (b copyBytes, err error) {
	p, err := irtest.Random(seed, 10)
	if err != nil {
		return b, err
	}
	r := rand.New(rand.NewPCG(seed, 12))
	for _, w := range p.Module.Weights {
		if r.IntN(3) == 0 {
			setSpace(p.Module, w, target.Host)
		}
	}
	ctx := context.Background()
	want, err := p.Run(ctx, p.Module)
	if err != nil {
		return b, err
	}
	after := func(s passes.Step, m *ir.Module) error {
		switch s.Pass {
		case "pack":
			want, err = p.Run(ctx, m) // pack rounds
			return err
		case "split":
			b.bound = copyBound(m, targets)
		case "dce-copy":
			return checkCopies(m, targets, &b)
		}
		return nil
	}
	if _, err := passes.Run(ctx, p.Module, passes.RunOptions{Targets: targets, Before: "roll", After: after}); err != nil {
		return b, err
	}
	got, err := p.Run(ctx, p.Module)
	if err != nil {
		return b, err
	}
	return b, p.SameResults(got, want, ir.Tolerance{NMSE: 1e-18})
}

// setSpace sets the space of a weight.
func setSpace(m *ir.Module, w *ir.Weight, space string) {
	w.Type.Space = space
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if a, ok := n.Attr.(*ir.WeightAttr); ok && a.Name == w.Name {
				n.Result().Type.Space = space
			}
		}
	}
}

func transfers(n *ir.Node) bool {
	return (n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts) && n.Args[0].Type.Space != n.Result().Type.Space
}

// checkCopies checks every read and every copy.
func checkCopies(m *ir.Module, targets *target.List, b *copyBytes) error {
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if !worksOn(n) {
				continue
			}
			if transfers(n) && (made(n) || !targets.Get(n.Backend).Addresses(n.Args[0].Type.Space)) {
				b.count++
				b.copied += n.Op.Info().Cost(n).Written.Upper()
				if made(n) && !needed(f, n, targets) {
					return fmt.Errorf("@%s: %v is needless", f.Name, n)
				}
				continue
			}
			for _, a := range n.Args {
				if a != nil && !targets.Get(n.Backend).Addresses(a.Type.Space) {
					return fmt.Errorf("@%s: %v on %s reads %v, which lies in %s", f.Name, n, n.Backend, a, a.Type.Space)
				}
			}
		}
	}
	return nil
}

func worksOn(n *ir.Node) bool { return !n.Is(ir.Leaf) && !n.Is(ir.View) }

// made reports whether the pass copy has made n. The program's own copies make dense bytes.
func made(n *ir.Node) bool {
	return slices.ContainsFunc(n.Causes(), func(c ir.Cause) bool { return c.Pass == "copy" })
}

// needed reports whether some reader of a copy can neither address what was copied nor
// another copy of it, made before.
func needed(f *ir.Func, cp *ir.Node, targets *target.List) bool {
	spaces := []string{cp.Args[0].Type.Space}
	for _, n := range f.Nodes[:slices.Index(f.Nodes, cp)] {
		if n.Op == ir.OpCopy && n.Args[0] == cp.Args[0] && !slices.Contains(f.Results, n.Result()) {
			spaces = append(spaces, n.Result().Type.Space)
		}
	}
	cannot := func(backend string) bool {
		t := targets.Get(backend)
		return !slices.ContainsFunc(spaces, t.Addresses)
	}
	for _, n := range f.Nodes {
		if !worksOn(n) {
			continue
		}
		for _, a := range n.Args {
			if a != nil && shownBy(a) == cp.Result() && (cannot(n.Backend) || transfers(n)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(f.Results, func(r *ir.Value) bool { return shownBy(r) == cp.Result() })
}

// shownBy returns the value that views show.
func shownBy(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Is(ir.View) {
		v = v.Def.Args[0]
	}
	return v
}

// copyBound returns the bytes that have to be copied at the module's backends if each value
// is copied once into each space that needs it: all of it, or the slices that are read.
func copyBound(m *ir.Module, targets *target.List) int64 {
	type need struct {
		v     *ir.Value
		space string
	}
	var sum int64
	for _, f := range m.AllFuncs() {
		shown := make(map[need][]*ir.Value)
		note := func(a *ir.Value, space string) {
			part := a
			for part.Def != nil && (part.Def.Op == ir.OpReshape || part.Def.Op == ir.OpPermute) {
				part = part.Def.Args[0]
			}
			if key := (need{shownBy(a), space}); !slices.Contains(shown[key], part) {
				shown[key] = append(shown[key], part)
			}
		}
		for _, n := range f.Nodes {
			t := targets.Get(n.Backend)
			for _, a := range n.Args {
				switch {
				case a == nil || !worksOn(n) || t.Addresses(a.Type.Space):
				case n.Op == ir.OpCopy && slices.Contains(f.Results, n.Result()):
					sum += a.Type.MaxBytes() // bytes that are the caller's alone
				default:
					note(a, t.Home())
				}
				if n.Op == ir.OpExpertsMatMul && a == n.Args[2] && a.Type.Space != n.Args[1].Type.Space && !t.Addresses(n.Args[1].Type.Space) {
					note(a, n.Args[1].Type.Space) // a copy of experts reads which
				}
			}
		}
		for _, r := range f.Results {
			if last := targets.Last(); f.Owner == nil && !last.Addresses(r.Type.Space) {
				note(r, last.Home())
			}
		}
		for key, parts := range shown {
			var bytes int64
			for _, p := range parts {
				bytes += p.Type.MaxBytes()
			}
			sum += min(bytes, max(key.v.Type.MaxBytes(), 0))
		}
	}
	return sum
}

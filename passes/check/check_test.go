package check_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/target"
)

// everyOp runs every op on workers, in one space and in three.
var everyOp = map[string]string{
	"one": "target cpu space=host workers=true threads=64 ops=*\n",
	"cpu": "target cpu like=cpu\ntarget other space=host workers=true threads=64 ops=*\n",
	"staged": "target a space=a ops=matmul,add,mul,rms_norm,exp staged=true\n" +
		"target b space=b ops=silu,swiglu,rope,softmax,scale\n" +
		"target cpu space=host workers=true threads=64 ops=*\n",
	"many": "target gpu space=dev ops=matmul,add,mul,rms_norm,exp maxinputs=3\n" +
		"target npu space=npu,host ops=silu,swiglu,rope,softmax,scale\n" +
		"target cpu space=host workers=true threads=64 ops=*\n",
}

// TestRandomPlansAreProved checks that the plans of random modules are proved.
func TestRandomPlansAreProved(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 10
	}
	for name, text := range everyOp {
		t.Run(name, func(t *testing.T) {
			targets, plans := parseTargets(t, text), 0
			for seed := range seeds {
				p, err := irtest.Random(seed, 12)
				if err != nil {
					t.Fatal(err)
				}
				err = planned(p.Module, targets)
				if errors.Is(err, errRefused) {
					continue
				}
				plans++
				if err == nil {
					err = checked(p.Module, targets)
				}
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			t.Logf("%d plans of %d modules", plans, seeds)
			if plans < int(seeds)/5 {
				t.Errorf("only %d of %d modules were planned", plans, seeds)
			}
		})
	}
}

// hand builds y = exp(neg(silu(x))) with a plan: x and y in io, a and b one after the other
// in one place of the activations, all nodes divided by columns, no barrier.
func hand(t testing.TB) (*ir.Module, *target.List) {
	t.Helper()
	b := ir.NewBuilder("hand")
	tokens := b.Symbol("tokens", 1, 4)
	f := b.Func("f")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: []ir.Dim{tokens, ir.Const(64)}, Space: target.Host})
	a := f.Named("a", f.SiLU(x))
	n := f.Named("b", f.Neg(a))
	y := f.Named("y", f.Exp(n))
	f.Return("y", y)
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	m.Plan = &ir.Plan{Arenas: []ir.Arena{
		{Space: target.Host, Class: ir.ClassIO, Align: 64, Chunks: []int64{2048}},
		{Space: target.Host, Class: ir.ClassActivations, Align: 64, Chunks: []int64{2048}},
	}, Funcs: []ir.FuncPlan{{Func: "f"}}}
	x.Place = &ir.Place{Bytes: 1024}
	a.Place = &ir.Place{Arena: 1, Bytes: 1024}
	n.Place = &ir.Place{Arena: 1, Bytes: 1024}
	y.Place = &ir.Place{Offset: 1024, Bytes: 1024}
	for _, n := range f.Func().Nodes {
		n.Backend, n.Part = "cpu", ir.Partition{Mode: ir.PartSplit, Axis: 1, N: ir.Const(64), Granule: 16}
		for _, r := range n.Results {
			r.Type.Space = target.Host
		}
	}
	f.Func().Epochs = 1
	return m, parseTargets(t, onlyCPU)
}

// TestProofCoversTheWorkersOfThePlan: owners that differ are compared for every number of workers that the plan is for,
// whatever the targets allow, and the plan may not be for more than these.
func TestProofCoversTheWorkersOfThePlan(t *testing.T) {
	for _, tc := range []struct {
		plan, target int
		want         string // part of the message; empty for a plan that is good
	}{
		{1, 1, ""}, {1, 64, ""}, {2, 2, ""}, {2, 64, ""},
		{3, 3, "hazard"}, {3, 64, "hazard"}, {64, 64, "hazard"}, {0, 64, "hazard"},
		{0, 1, "the plan is for up to 64 threads, and the targets allow 1"}, {2, 1, "the plan is for up to 2 threads, and the targets allow 1"},
	} {
		m, _ := hand(t)
		m.Funcs[0].Nodes[2].Part.Granule = 32 // 2 units where 4 were: others' with 3 workers
		m.Plan.Threads = tc.plan
		targets := parseTargets(t, fmt.Sprintf("target cpu like=cpu threads=%d", tc.target))
		err := check.Check(t.Context(), m, targets)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("a plan for %d workers, a target for %d: error %v, want %q", tc.plan, tc.target, err, tc.want)
		}
	}
}

func TestViolationsOfHandMadePlan(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *ir.Func)
		want   []string // parts of the message; empty for a plan that is good
	}{
		{"good", func(*ir.Func) {}, nil},
		{"larger units after a barrier", func(f *ir.Func) {
			f.Nodes[2].Part.Granule, f.Nodes[2].Epoch, f.Epochs = 32, 1, 2
		}, nil},
		{"larger units", func(f *ir.Func) { f.Nodes[2].Part.Granule = 32 },
			[]string{"hazard: @f: %b of @f and %y: host activations [0x0,0x400): reads what another thread writes", "units of 64 of 256 bytes", "units of 128 of 256 bytes"}},
		{"one unit each", func(f *ir.Func) {
			f.Nodes[1].Part.Granule, f.Nodes[2].Part.Granule = 64, 128
			f.Nodes[1].Epoch, f.Nodes[2].Epoch, f.Epochs = 1, 1, 2
		}, nil},
		{"elsewhere", func(f *ir.Func) { f.Nodes[0].Result().Place.Offset = 1024 }, nil},
		{"overwritten", func(f *ir.Func) {
			n := f.Nodes[2]
			n.Op, n.Args = ir.OpAdd, []*ir.Value{n.Args[0], f.Nodes[0].Result()}
		}, []string{"overlap: @f: %b and %a: host activations [0x0,0x400): writes %b over %a of @f, which is read later",
			"reads: @f: %y and %b: host activations [0x0,0x400): reads %a, and finds %b of @f"}},
		{"by rows and columns", func(f *ir.Func) {
			f.Nodes[2].Part = ir.Partition{Mode: ir.PartSplit, Axis: 0, N: f.Results[0].Type.Shape[0], Granule: 1}
		}, []string{"hazard", "256*tokens bytes"}},
		{"by one", func(f *ir.Func) { f.Nodes[1].Part = ir.Partition{Mode: ir.PartOne} },
			[]string{"%a by thread 0", "%b of @f and %y", "its result by thread 0"}},
		{"input", func(f *ir.Func) { f.Nodes[2].Result().Place.Offset = 0 },
			[]string{"overlap: @f: %y and %x: host io [0x0,0x400): writes %y over %x of @f, which is read later"}},
		{"alignment", func(f *ir.Func) { f.Nodes[0].Result().Place.Offset = 32 },
			[]string{"align: @f: %a: is at 0x20, which is no multiple of 64"}},
		{"no result", func(f *ir.Func) { f.Nodes = f.Nodes[:2] },
			[]string{"reads: @f: %y: nothing defines the result"}},
		{"all have a dynamic share", func(f *ir.Func) {
			for _, n := range f.Nodes {
				n.Part.Dynamic = true
			}
		}, nil},
		{"one has a dynamic share", func(f *ir.Func) { f.Nodes[1].Part.Dynamic = true },
			[]string{"hazard: @f: %a of @f and %b: host activations [0x0,0x400): reads what another thread writes"}},
		{"dynamic shares of other units", func(f *ir.Func) {
			for _, n := range f.Nodes {
				n.Part.Dynamic = true
			}
			f.Nodes[2].Part.Granule *= 2
		}, []string{"partition: @f: %y: it has a dynamic share, and so has another run of nodes since the last barrier"}},
		{"two runs with dynamic shares", func(f *ir.Func) {
			f.Nodes[0].Part.Dynamic, f.Nodes[2].Part.Dynamic = true, true
			f.Nodes[1].Args[0], f.Nodes[2].Args[0] = f.Params[0], f.Params[0]
		}, []string{"partition: @f: %y: it has a dynamic share, and so has another run of nodes since the last barrier"}},
		{"a dynamic share of a node that is not divided", func(f *ir.Func) {
			f.Nodes[2].Part = ir.Partition{Mode: ir.PartOne, Dynamic: true}
			f.Nodes[2].Epoch, f.Epochs = 1, 2
		}, []string{"partition: @f: %y: it is not divided, and has a dynamic share"}},
		{"epochs", func(f *ir.Func) { f.Nodes[0].Epoch = 1 },
			[]string{"partition: @f: %a: epoch 1 follows epoch 0, of 1"}},
		{"an arena in a space of no target", func(f *ir.Func) {
			p := f.Module.Plan
			p.Arenas = append(p.Arenas, ir.Arena{Space: "nowhere", Class: ir.ClassIO, Align: 64})
		}, []string{"nowhere io: no target addresses the space"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, targets := hand(t)
			tc.change(m.Funcs[0])
			err := checked(m, targets)
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("no %q in\n%v", part, err)
				}
			}
		})
	}
}

// scene is a function whose nodes are placed by hand.
type scene struct {
	*ir.FuncBuilder
	b      *ir.Builder
	tokens ir.Dim
	epoch  int
	after  func(result *ir.Value) // what Verify would not allow
}

// newScene returns a scene with a symbol tokens up to 4.
func newScene() *scene {
	b := ir.NewBuilder("scene")
	tokens := b.Symbol("tokens", 1, 4)
	return &scene{FuncBuilder: b.Func("f"), b: b, tokens: tokens}
}

// input adds a parameter f32[tokens,inner…] at an offset of io.
func (s *scene) input(name string, offset int64, inner ...int64) *ir.Value {
	t := ir.Type{DType: dtype.F32, Shape: append([]ir.Dim{s.tokens}, ir.Dims(inner...)...), Space: target.Host}
	v := s.Param(name, t)
	v.Place = &ir.Place{Offset: offset, Bytes: v.Type.MaxBytes()}
	return v
}

// at gives the node of v a place, and divides it along an axis.
func (s *scene) at(name string, v *ir.Value, arena int, offset int64, axis int, granule int64) *ir.Value {
	s.Named(name, v)
	v.Type.Space = target.Host
	v.Place = &ir.Place{Arena: arena, Offset: offset, Bytes: v.Type.MaxBytes()}
	v.Def.Backend, v.Def.Epoch = "cpu", s.epoch
	v.Def.Part = ir.Partition{Mode: ir.PartSplit, Axis: axis, N: v.Type.Shape[axis], Granule: granule}
	return v
}

// one is at for a node that worker 0 computes.
func (s *scene) one(name string, v *ir.Value, arena int, offset int64) *ir.Value {
	s.at(name, v, arena, offset, 0, 1)
	v.Def.Part = ir.Partition{Mode: ir.PartOne}
	return v
}

// finish returns the module.
func (s *scene) finish(t *testing.T, results ...*ir.Value) *ir.Module {
	t.Helper()
	for i, v := range results {
		s.Return(fmt.Sprintf("r%d", i), v)
	}
	m, err := s.b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Func().Nodes {
		if n.Is(ir.View) {
			n.Result().Type.Space = target.Host
		}
	}
	s.Func().Epochs = s.epoch + 1
	m.Plan = &ir.Plan{Arenas: []ir.Arena{
		{Space: target.Host, Class: ir.ClassIO, Align: 64, Chunks: []int64{1 << 14}},
		{Space: target.Host, Class: ir.ClassActivations, Align: 64, Chunks: []int64{1 << 14}},
		{Space: target.Host, Class: ir.ClassWeights, Align: 64, Chunks: []int64{1 << 14}},
	}, Funcs: []ir.FuncPlan{{Func: "f"}}}
	return m
}

// scenes are plans that differ little from good ones, or are good.
var scenes = []struct {
	name  string
	build func(s *scene) (results []*ir.Value)
	want  string // part of the message; empty for a good plan
}{
	{"slice of an inner axis", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 2, 64)
		a := s.at("a", s.Neg(x), 1, 0, 1, 1)
		return []*ir.Value{s.at("y", s.Neg(s.Slice(a, 2, ir.Const(16), ir.Const(32))), 0, 4096, 1, 1)}
	}, ""},
	{"units of the same size, shifted by a view", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 2, 64)
		a := s.at("a", s.Neg(x), 1, 0, 2, 16)
		part := s.Slice(s.Reshape(a, s.tokens, ir.Const(128)), 1, ir.Const(16), ir.Const(64))
		return []*ir.Value{s.at("y", s.Neg(part), 0, 4096, 1, 16)}
	}, "hazard: @f: %a of @f and %y: host activations"},
	{"units of the same size, at another address", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 64)
		a := s.at("a", s.Neg(x), 1, 0, 1, 16)
		y := s.at("y", s.Neg(a), 0, 4096, 1, 16)
		c := s.at("c", s.Neg(x), 1, 64, 1, 16)
		return []*ir.Value{y, s.at("z", s.Neg(c), 0, 8192, 1, 16)}
	}, "hazard: @f: %y of @f and %c: host activations [0x40,0x440): writes what another thread reads"},
	{"the same units, whole periods away", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 64)
		a := s.at("a", s.Neg(x), 1, 0, 1, 16)
		y := s.at("y", s.Neg(a), 0, 4096, 1, 16)
		c := s.at("c", s.Neg(x), 1, 256, 1, 16)
		return []*ir.Value{y, s.at("z", s.Neg(c), 0, 8192, 1, 16)}
	}, ""},
	{"over the rows before those that are read", func(s *scene) []*ir.Value {
		s.tokens = ir.Const(4)
		x := s.input("x", 0, 64)
		a := s.at("a", s.Neg(x), 1, 0, 1, 16)
		b := s.at("b", s.Neg(s.Slice(a, 0, ir.Const(1), ir.Const(3))), 1, 0, 1, 16)
		return []*ir.Value{s.at("y", s.Neg(b), 0, 4096, 1, 16)}
	}, "overlap: @f: %b and %a: host activations [0x0,0x300): writes %b over its own operand"},
	{"weights that nothing reads", func(s *scene) []*ir.Value {
		for i := range 2 {
			s.b.Weight(fmt.Sprint(i), ir.Type{DType: dtype.F32, Shape: ir.Dims(64), Space: target.Host}, nil)
			s.b.Module().Weights[i].Place = &ir.Place{Arena: 2, Offset: int64(i) * 128, Bytes: 256}
		}
		return []*ir.Value{s.at("y", s.Neg(s.input("x", 0, 64)), 0, 4096, 1, 16)}
	}, "overlap: @: weight 0 and weight 1: host weights [0x80,0x180): share bytes permanently"},
	{"two results in one place", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 64)
		return []*ir.Value{s.at("y", s.Neg(x), 0, 4096, 1, 16), s.at("z", s.Neg(x), 0, 4096, 1, 16)}
	}, "overlap: @f: %z and %y: host io [0x1000,0x1400): writes %z over %y of @f, which is read later"},
	{"two inputs in one place", func(s *scene) []*ir.Value {
		x, z := s.input("x", 0, 64), s.input("z", 64, 64)
		return []*ir.Value{s.at("y", s.Add(x, z), 0, 4096, 1, 16)}
	}, "overlap: @f: %x and %z: host io [0x40,0x400): both are there before the call"},
	{"one writes, all read", func(s *scene) []*ir.Value {
		s.b.Weight("w", ir.Type{DType: dtype.F32, Shape: ir.Dims(32, 64), Space: target.Host}, nil)
		s.b.Module().Weights[0].Place = &ir.Place{Arena: 2, Bytes: 32 * 64 * 4}
		a := s.one("a", s.Neg(s.input("x", 0, 64)), 1, 0)
		return []*ir.Value{s.at("y", s.MatMul(a, s.Weight("w")), 0, 4096, 1, 1)}
	}, "hazard: @f: %a of @f and %y: host activations [0x0,0x400): reads what another thread writes, and no barrier separates them (its result by thread 0, %a by every thread)"},
	{"two writes whose units are unknown", func(s *scene) []*ir.Value {
		q := s.input("q", 0, 1)
		v := s.Param("v", ir.Type{DType: dtype.F32, Shape: []ir.Dim{ir.Const(2), s.tokens, ir.Const(1)}, Space: target.Host})
		v.Place = &ir.Place{Offset: 256, Bytes: v.Type.MaxBytes()}
		s.at("a", s.MatMul(v, q), 1, 0, 2, 1) // f32[2,tokens,tokens], which nothing reads
		b := s.at("b", s.MatMul(v, q), 1, 0, 2, 2)
		s.epoch = 1
		return []*ir.Value{s.one("y", s.Neg(b), 0, 4096)}
	}, "hazard: @f: %a of @f and %b: host activations [0x0,0x80): writes what another thread writes, and no barrier separates them (its result by every thread, its result by every thread)"},
	{"over two values", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 64)
		a, b := s.at("a", s.Neg(x), 1, 0, 1, 16), s.at("b", s.Neg(x), 1, 1024, 1, 16)
		s.epoch = 1
		y, z := s.one("y", s.Exp(a), 0, 4096), s.at("z", s.Exp(b), 0, 8192, 1, 16)
		c := s.one("c", s.Concat(1, x, x), 1, 0)
		s.epoch = 2
		return []*ir.Value{y, z, s.at("r", s.Exp(c), 0, 1<<13+1<<12, 1, 16)}
	}, "hazard: @f: %z of @f and %c: host activations"},
	{"the next version of an input", func(s *scene) []*ir.Value {
		s.tokens = ir.Const(1)
		x := s.input("x", 0, 2, 4, 16)
		row := s.input("row", 1024, 2, 16)
		ints := s.Param("ints", ir.Type{DType: dtype.I32, Shape: ir.Dims(1), Space: target.Host})
		ints.Place = &ir.Place{Offset: 2048, Bytes: 4}
		next := s.StateWrite(x, row, ints, ints, 0)
		s.one("next", next, 0, 0)
		next.Place = nil
		return []*ir.Value{s.one("y", s.Neg(next), 0, 4096)}
	}, "overlap: @f: %next and %x: host io [0x0,0x200): writes %next among the io"},
	{"over what the next iteration reads", func(s *scene) []*ir.Value {
		x := s.input("x", 0, 64)
		first, fixed := s.one("first", s.Neg(x), 1, 0), s.one("fixed", s.Exp(x), 1, 1024)
		y := s.Repeat(9, []*ir.Value{first}, []*ir.Value{fixed}, nil, func(f *ir.FuncBuilder, carried, invariant, _ []*ir.Value) []*ir.Value {
			in := &scene{FuncBuilder: f, b: s.b, tokens: s.tokens}
			next := in.one("next", f.Add(carried[0], invariant[0]), 1, 0)
			in.one("late", f.Exp(next), 1, 1024)
			return []*ir.Value{next}
		})
		s.one("last", y[0], 1, 0)
		return []*ir.Value{s.one("y", s.Exp(y[0]), 0, 4096)}
	}, "reads: @f/f.body[1]: %next and %late: host activations [0x400,0x800): reads %a1, and finds %late of @f/f.body[0]"},
	{"a copy of another shape", func(s *scene) []*ir.Value {
		s.after = func(y *ir.Value) { y.Type.Shape = []ir.Dim{s.tokens, ir.Const(32)} }
		return []*ir.Value{s.at("y", s.Copy(s.input("x", 0, 64)), 0, 4096, 1, 16)}
	}, "copy: @f: %y: copies f32[tokens,64] @host into f32[tokens,32] @host"},
}

// TestScenesAreProvedOrRefused proves each of the scenes, or finds what is wrong with it.
func TestScenesAreProvedOrRefused(t *testing.T) {
	for _, tc := range scenes {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene()
			results := tc.build(s)
			m := s.finish(t, results...)
			if s.after != nil {
				s.after(results[0])
			}
			err := checked(m, parseTargets(t, everyOp["one"]))
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("no %q in\n%v", tc.want, err)
			}
		})
	}
}

// TestCheckStopsWithItsContext checks that a proof stops when its context is done.
func TestCheckStopsWithItsContext(t *testing.T) {
	m, targets := hand(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := check.Check(ctx, m, targets); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// longPlan is a chain of n nodes in pairs that each have an epoch, over a ring of places
// of different sizes. With wide every node has a place of its own.
func longPlan(t testing.TB, n int, wide bool) (*ir.Module, *target.List) {
	t.Helper()
	b := ir.NewBuilder("long")
	tokens := b.Symbol("tokens", 1, 4)
	f := b.Func("f")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: []ir.Dim{tokens, ir.Const(64)}, Space: target.Host})
	x.Place = &ir.Place{Bytes: 1024}
	v := x
	for i := range n {
		v = f.Neg(v)
		v.Type.Space = target.Host
		ring := i % 7
		if wide {
			ring = i
		}
		v.Place = &ir.Place{Arena: 1, Offset: int64(ring) * 1024, Bytes: 1024}
		v.Def.Backend, v.Def.Epoch = "cpu", i/2
		v.Def.Part = ir.Partition{Mode: ir.PartSplit, Axis: 1, N: ir.Const(64), Granule: 16 << (i / 2 % 2)}
	}
	v.Place = &ir.Place{Offset: 1024, Bytes: 1024}
	f.Return("y", v)
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	f.Func().Epochs = (n + 1) / 2
	m.Plan = &ir.Plan{Arenas: []ir.Arena{
		{Space: target.Host, Class: ir.ClassIO, Align: 64, Chunks: []int64{2048}},
		{Space: target.Host, Class: ir.ClassActivations, Align: 64, Chunks: []int64{int64(max(n, 7)) * 1024}},
	}, Funcs: []ir.FuncPlan{{Func: "f"}}}
	return m, parseTargets(t, onlyCPU)
}

// TestProofTimeIsNearLinear checks that the time of a proof grows about as the plan does: the bound is
// generous, a quadratic proof would take minutes.
func TestProofTimeIsNearLinear(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for _, wide := range []bool{false, true} {
		m, targets := longPlan(t, n, wide)
		checkedInTime(t, m, targets, fmt.Sprintf("%d nodes, wide %v", n, wide))
	}
}

// checkedInTime demands a proof within a time that only a check which is not near linear
// exceeds.
func checkedInTime(t *testing.T, m *ir.Module, targets *target.List, what string) {
	t.Helper()
	start := time.Now()
	if err := checked(m, targets); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	t.Logf("%s: %v", what, took)
	if took > 20*time.Second {
		t.Errorf("%s took %v", what, took)
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		m, targets := longPlan(b, n, false)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if err := checked(m, targets); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

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
	"many": "target gpu space=dev ops=matmul,add,mul,rms_norm,exp maxinputs=3\n" +
		"target npu space=npu,host ops=silu,swiglu,rope,softmax,scale\n" +
		"target cpu space=host workers=true threads=64 ops=*\n",
}

// TestRandomPlans checks that the plans of random modules are proved.
func TestRandomPlans(t *testing.T) {
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

func TestMessages(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(f *ir.Func)
		want   []string // parts of the message; empty for a plan that is good
	}{
		{"good", func(*ir.Func) {}, nil},
		{"larger units behind a barrier", func(f *ir.Func) {
			f.Nodes[2].Part.Granule, f.Nodes[2].Epoch, f.Epochs = 32, 1, 2
		}, nil},
		{"larger units", func(f *ir.Func) { f.Nodes[2].Part.Granule = 32 },
			[]string{"hazard: @f: %b of @f and %y: host activations [0x0,0x400): reads what another worker writes", "units of 64 of 256 bytes", "units of 128 of 256 bytes"}},
		{"one unit each", func(f *ir.Func) {
			f.Nodes[1].Part.Granule, f.Nodes[2].Part.Granule = 64, 128
			f.Nodes[1].Epoch, f.Nodes[2].Epoch, f.Epochs = 1, 1, 2
		}, nil},
		{"elsewhere", func(f *ir.Func) { f.Nodes[0].Result().Place.Offset = 1024 }, nil},
		{"overwritten", func(f *ir.Func) {
			n := f.Nodes[2]
			n.Op, n.Args = ir.OpAdd, []*ir.Value{n.Args[0], f.Nodes[0].Result()}
		}, []string{"overlap: @f: %b and %a: host activations [0x0,0x400): writes %b over %a of @f, which is still needed",
			"reads: @f: %y and %b: host activations [0x0,0x400): reads %a, and finds %b of @f"}},
		{"by rows and columns", func(f *ir.Func) {
			f.Nodes[2].Part = ir.Partition{Mode: ir.PartSplit, Axis: 0, N: f.Results[0].Type.Shape[0], Granule: 1}
		}, []string{"hazard", "256*tokens bytes"}},
		{"by one", func(f *ir.Func) { f.Nodes[1].Part = ir.Partition{Mode: ir.PartOne} },
			[]string{"%a by worker 0", "%b of @f and %y", "its result by worker 0"}},
		{"input", func(f *ir.Func) { f.Nodes[2].Result().Place.Offset = 0 },
			[]string{"overlap: @f: %y and %x: host io [0x0,0x400): writes %y over %x of @f, which is still needed"}},
		{"alignment", func(f *ir.Func) { f.Nodes[0].Result().Place.Offset = 32 },
			[]string{"address: @f: %a: lies at 0x20, which is no multiple of 64"}},
		{"epochs", func(f *ir.Func) { f.Nodes[0].Epoch = 1 },
			[]string{"partition: @f: %a: epoch 1 follows epoch 0, of 1"}},
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

// TestCanceled checks that a proof stops when its context is done.
func TestCanceled(t *testing.T) {
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

// TestLong checks that the time of a proof grows about as the plan does: the bound is
// generous, a quadratic proof would take minutes.
func TestLong(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for _, wide := range []bool{false, true} {
		m, targets := longPlan(t, n, wide)
		start := time.Now()
		if err := checked(m, targets); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("%d nodes, wide %v: %v", n, wide, took)
		if took > 20*time.Second {
			t.Errorf("%d nodes took %v", n, took)
		}
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

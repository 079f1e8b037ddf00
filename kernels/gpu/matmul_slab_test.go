package gpu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// slabMachine returns the machine of targets with mma=wgmma.
func slabMachine(t *testing.T) gpu.Machine {
	t.Helper()
	on, ok := gpu.Slabs("cuda")
	if !ok || on.Caps&kir.CapSlab == 0 {
		t.Fatal("CUDA has no such machine")
	}
	return on
}

// slabFormats are all formats of matrices of which products have slabs.
var slabFormats = []dtype.DType{
	dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.Q2_K, dtype.Q3_K, dtype.Q4_K, dtype.Q5_K, dtype.Q6_K,
	dtype.IQ4_NL, dtype.IQ4_XS, dtype.MXFP4,
}

// randomSlabCase returns a product of random extents with matrices of one of the formats, each in turn.
func randomSlabCase(seed uint64) gputest.Case {
	r := rand.New(rand.NewPCG(seed, 7))
	c := tileCase{dt: slabFormats[seed%uint64(len(slabFormats))], rows: 17 + r.Int64N(120), cols: 1 + r.Int64N(200)}
	c.k = int64(max(c.dt.BlockElems(), 8)) * (1 + r.Int64N(5))
	c.form = []string{"plain", "residual", "swiglu", "symbol"}[r.IntN(4)]
	if dtype.Planar.Holds(c.dt) && r.IntN(2) == 0 {
		return c.buildIn(dtype.Planar)
	}
	return c.build()
}

// TestSlabsComputeWhatEvalDoes runs all cases of products, and random ones, on a machine with slabs.
func TestSlabsComputeWhatEvalDoes(t *testing.T) {
	on := slabMachine(t)
	cases := slices.DeleteFunc(gputest.Cases(), func(c gputest.Case) bool { return c.Op != ir.OpMatMul && c.Op != ir.OpMatMulSwiGLU })
	random, slabs := 2*len(slabFormats), 0
	if testing.Short() {
		random = len(slabFormats)
	}
	for seed := range uint64(random) {
		cases = append(cases, randomSlabCase(seed))
	}
	for n, c := range cases {
		call, err := irtest.Case(c.Op, c.Case, uint64(n%3))
		if err != nil {
			t.Fatal(err)
		}
		sim := &counted{simulated: simulated{interp.NewMemory(), interp.Options{Seed: uint64(n), Subgroup: on.Lanes}, on}}
		err = gputest.Compare(t.Context(), call, sim, 1+n%4, gputest.Tolerance(c, on))
		if err != nil && !errors.Is(err, gpu.ErrNoKernel) {
			t.Errorf("%s: %v", c.Name, err)
		}
		slabs += sim.slabs
	}
	t.Logf("%d cases, %d kernels with slabs", len(cases), slabs)
	if slabs < random {
		t.Errorf("only %d kernels have slabs", slabs)
	}
}

// counted counts kernels with slabs.
type counted struct {
	simulated
	slabs int
}

func (c *counted) Run(k *kir.Kernel, groups int, args []uint64) error {
	if k.Needs&kir.CapSlab != 0 {
		c.slabs++
	}
	return c.simulated.Run(k, groups, args)
}

// orderLine is an operation that orders products of slabs, or a barrier.
var orderLine = regexp.MustCompile(`(?m)^ *(slab_publish|slab_fence|slab_commit|slab_wait \{0\}|barrier)\n`)

// withoutOrder runs kernels without one of those lines.
type withoutOrder struct {
	simulated
	drop, count int
	line        string // that was left out
}

func (w *withoutOrder) Run(k *kir.Kernel, groups int, args []uint64) error {
	text := k.String()
	// After the last load of sums come a barrier that only another algorithm after it would need, and that algorithm,
	// for other addresses.
	places := orderLine.FindAllStringIndex(text[:strings.LastIndex(text, "shared_load out")], -1)
	if w.count = len(places); w.drop < w.count {
		at := places[w.drop]
		w.line = strings.TrimSpace(text[at[0]:at[1]])
		less, err := kir.Parse(text[:at[0]] + text[at[1]:])
		if err != nil {
			return err
		}
		k = less
	}
	return w.simulated.Run(k, groups, args)
}

// TestWhatOrdersSlabsIsNeeded leaves each fence, publication, commit, wait and barrier out of kernels with slabs, one
// at a time: with one and with two matrices, which are copied or decoded.
func TestWhatOrdersSlabsIsNeeded(t *testing.T) {
	on := slabMachine(t)
	for _, c := range []tileCase{{dtype.F16, 70, 130, 96, "plain"}, {dtype.Q8_0, 65, 65, 96, "swiglu"}, {dtype.BF16, 64, 64, 64, "residual"}} {
		built := c.build()
		dropped := make(map[string]int)
		for drop := 0; ; drop++ {
			call, err := irtest.Case(built.Op, built.Case, 1)
			if err != nil {
				t.Fatal(err)
			}
			sim := &withoutOrder{simulated: simulated{interp.NewMemory(), interp.Options{Seed: uint64(drop), Subgroup: on.Lanes}, on}, drop: drop}
			err = gputest.Compare(t.Context(), call, sim, 1, gputest.Tolerance(built, on))
			if drop >= sim.count {
				if err != nil {
					t.Error(err)
				}
				break
			}
			f, ok := errors.AsType[*interp.Fault](err)
			if !ok || f.Kind != interp.Race && f.Kind != interp.Slab && f.Kind != interp.Uninitialised {
				t.Errorf("%s: without %s, the %dth: %v", built.Name, sim.line, drop, err)
			}
			dropped[sim.line]++
		}
		t.Log(built.Name, fmt.Sprint(dropped))
		if len(dropped) != 5 {
			t.Errorf("%s: only these were left out: %v", built.Name, dropped)
		}
	}
}

// TestSlabsAreForTheirMachines demands slabs where a machine has them and products are of many rows only.
func TestSlabsAreForTheirMachines(t *testing.T) {
	on := slabMachine(t)
	few, without, wide := on, on, on
	without.Caps &^= kir.CapSlab
	wide.Lanes = 64
	few.Caps &^= kir.CapTile
	tests := []struct {
		c    tileCase
		on   gpu.Machine
		want bool
	}{
		{tileCase{dtype.F16, 17, 64, 64, "plain"}, on, true},
		{tileCase{dtype.F16, 16, 64, 64, "plain"}, on, false},
		{tileCase{dtype.F32, 64, 64, 64, "plain"}, on, false},
		{tileCase{dtype.F16, 64, 64, 64, "plain"}, without, false},
		{tileCase{dtype.F16, 64, 64, 64, "plain"}, wide, false},
		{tileCase{dtype.F16, 64, 64, 64, "plain"}, few, false},
	}
	for _, tt := range tests {
		built := tt.c.build()
		call, err := irtest.Case(built.Op, built.Case, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range call.Module.Func(call.Func).Nodes {
			if n.Op != built.Op {
				continue
			}
			list, err := gpu.Lower(n, tt.on)
			if err != nil {
				t.Fatal(err)
			}
			if got := list[0].Kernel.Needs&kir.CapSlab != 0; got != tt.want {
				t.Errorf("%s on %+v: slabs %v", built.Name, tt.on, got)
			}
		}
	}
}

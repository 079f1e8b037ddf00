package gpu_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// simulated runs kernels with package interp.
type simulated struct {
	*interp.Memory
	interp.Options
	on gpu.Machine
}

func (s simulated) Assumes() gpu.Machine { return s.on }

// simulate returns one of several machines: without subgroups, with subgroups of any size, with subgroups of a size
// that kernels know and dot products of bytes, and with tiles and asynchronous copies.
func simulate(seed uint64) simulated {
	s := simulated{Memory: interp.NewMemory(), Options: interp.Options{Seed: seed, Subgroup: []int{4, 8, 16, 32, 64}[seed%5]}}
	switch seed % 4 {
	case 1:
		s.on = gpu.Machine{Caps: kir.CapSubgroup}
	case 2:
		s.on = gpu.Machine{Caps: kir.CapSubgroup | kir.CapDot4, Lanes: s.Subgroup}
	case 3:
		s.on = gpu.Machine{Caps: kir.CapSubgroup | kir.CapDot4 | kir.CapTile | kir.CapAsync, Lanes: s.Subgroup}
	}
	return s
}

func (s simulated) Run(k *kir.Kernel, groups int, args []uint64) error {
	return interp.Run(k, interp.Launch{Groups: groups, Args: args}, s.Memory, s.Options)
}

// TestKernelsComputeWhatEvalDoes runs every case of every op that has kernels, with several numbers of workgroups and
// in several orders of threads. The interpreter reports races, and reads and writes outside of tensors.
func TestKernelsComputeWhatEvalDoes(t *testing.T) {
	lowered, begun := make(map[ir.Op]bool), 0
	for _, c := range gputest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			begun++
			for seed, groups := range []int{1, 3, 64, 2, 5, 7, 1} {
				call, err := irtest.Case(c.Op, c.Case, uint64(seed%3))
				if err != nil {
					t.Fatal(err)
				}
				on := simulate(uint64(seed))
				err = gputest.Compare(t.Context(), call, on, groups, gputest.Tolerance(c, on.on))
				if errors.Is(err, gpu.ErrNoKernel) {
					t.Skip(err)
				}
				if err != nil {
					t.Errorf("%d workgroups: %v", groups, err)
				}
			}
			lowered[c.Op] = true
		})
	}
	if begun < len(gputest.Cases()) {
		return // -run chose some of the cases
	}
	for op := range ir.Ops {
		if gpu.Has(op) && !lowered[op] {
			t.Errorf("no case of %v ran", op)
		}
	}
}

// TestTooManyElementsAreRefused has a matrix whose elements an i32 does not count.
func TestTooManyElementsAreRefused(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
weight "w" : f16[300000,8192]
func @f(%x: f32[1,8192]) -> f32[1,300000] {
  %w = weight "w" : f16[300000,8192]
  %y = matmul %x, %w : f32[1,300000]
  return %y
}
`)
	_, err := gpu.Lower(m.Funcs[0].Nodes[1], gpu.Machine{})
	if !errors.Is(err, gpu.ErrNoKernel) || !strings.Contains(err.Error(), "%w reaches over 2457600000 elements") {
		t.Errorf("error %v", err)
	}
}

// TestKernelsOfEqualNodesAreEqual compares the texts of kernels of nodes that differ in addresses only.
func TestKernelsOfEqualNodesAreEqual(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
func @f(%x: f32[3,64], %w: f32[64]) -> f32[3,64] {
  %a = rms_norm %x, %w {eps=1e-05} : f32[3,64]
  %b = rms_norm %a, %w {eps=1e-05} : f32[3,64]
  return %b
}
`)
	var texts []string
	for _, n := range m.Funcs[0].Nodes {
		list, err := gpu.Lower(n, gpu.Machine{})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprint(list[0].Kernel))
	}
	if texts[0] != texts[1] {
		t.Errorf("%s\nand\n%s", texts[0], texts[1])
	}
}

// TestKernelsDoNotDependOnEqualOperands lowers each case once more for each pair of operands of one type, with one
// value for both. The kernel must be the same, as other nodes of these types have it.
func TestKernelsDoNotDependOnEqualOperands(t *testing.T) {
	ops := make(map[ir.Op]bool)
	cases := gputest.Cases()
	for seed := range uint64(400) {
		cases = append(cases, gputest.RandomCase(seed))
	}
	for _, c := range cases {
		call, err := irtest.Case(c.Op, c.Case, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range call.Module.Func(call.Func).Nodes {
			want, err := gpu.Lower(n, gpu.Machine{})
			if err != nil {
				continue
			}
			for _, args := range withEqualOperands(n) {
				once := *n
				once.Args = args
				got, err := gpu.Lower(&once, gpu.Machine{})
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: operands %v: another kernel than for operands %v (error %v)", c.Name, args, n.Args, err)
				}
				ops[n.Op] = true
			}
		}
	}
	for _, op := range []ir.Op{ir.OpAdd, ir.OpMatMul, ir.OpMatMulSwiGLU, ir.OpConcat} {
		if !ops[op] {
			t.Errorf("no case of %v has two operands of one type", op)
		}
	}
}

// withEqualOperands returns the operands of n with one of them in the place of another of the same type, in all ways.
func withEqualOperands(n *ir.Node) (list [][]*ir.Value) {
	for i, a := range n.Args {
		for j, b := range n.Args[i+1:] {
			if a != nil && b != nil && a != b && a.Type.String() == b.Type.String() {
				args := slices.Clone(n.Args)
				args[i+1+j] = a
				list = append(list, args)
			}
		}
	}
	return list
}

// TestKernelsComputeWhatEvalDoesAtOddSizes is the same for random cases with extents beside the sizes of workgroups and
// blocks.
func TestKernelsComputeWhatEvalDoesAtOddSizes(t *testing.T) {
	n := uint64(400)
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		c := gputest.RandomCase(seed)
		call, err := irtest.Case(c.Op, c.Case, seed)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		on := simulate(seed)
		if err := gputest.Compare(t.Context(), call, on, 1+int(seed)%5, gputest.Tolerance(c, on.on)); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// recorder is a machine that keeps what is read of its memory.
type recorder struct {
	simulated
	read []byte
}

func (r *recorder) Read(address uint64, data []byte) error {
	err := r.simulated.Read(address, data)
	r.read = append(r.read, data...)
	return err
}

// TestResultsDoNotDependOnWorkgroups compares the bits that different numbers of workgroups compute.
func TestResultsDoNotDependOnWorkgroups(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		c := gputest.RandomCase(1000 + seed)
		call, err := irtest.Case(c.Op, c.Case, seed)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		var first []byte
		for _, groups := range []int{1, 2, 5, 64} {
			on := &recorder{simulated: simulate(seed)}
			if err := gputest.Compare(t.Context(), call, on, groups, gputest.Tolerance(c, on.on)); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if first == nil {
				first = on.read
			}
			if !bytes.Equal(on.read, first) {
				t.Errorf("%s: %d workgroups compute something else than one", c.Name, groups)
			}
		}
	}
}

package gpu_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// matMulOf returns the kernel for rows of 96 elements times a matrix of 65 rows. The number of rows is a symbol.
func matMulOf(t *testing.T, w dtype.DType, on gpu.Machine) ([]gpu.Dispatch, error) {
	m := irtest.Parse(t, fmt.Sprintf(`ggir 1
props imported
symbol rows 1 200
weight "w" : %[1]v[65,96]
func @f(%%x: f32[rows,96]) -> f32[rows,65] {
  %%w = weight "w" : %[1]v[65,96]
  %%y = matmul %%x, %%w : f32[rows,65]
  return %%y
}
`, w))
	return gpu.Lower(m.Funcs[0].Nodes[1], on)
}

// TestProductsDoNotDependOnTheNumberOfWorkgroups compares the bits of products of few and of many rows.
func TestProductsDoNotDependOnTheNumberOfWorkgroups(t *testing.T) {
	for seed := range uint64(3) {
		for _, rows := range []int{1, 5, 70} {
			var first []byte
			for _, groups := range []int{1, 7} {
				s := simulate(seed)
				s.Seed = uint64(groups)
				got := products(t, s, rows, groups)
				if first == nil {
					first = got
				}
				if !bytes.Equal(got, first) {
					t.Errorf("machine %d, %d rows: %d workgroups compute something else than one", seed, rows, groups)
				}
			}
		}
	}
}

// products returns the products of rows with a matrix of q4_0.
func products(t *testing.T, on simulated, rows, groups int) []byte {
	list, err := matMulOf(t, dtype.Q4_0, on.on)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	args := make([]uint64, 0, 4)
	for _, o := range []struct {
		format dtype.DType
		elems  int
	}{{dtype.F32, rows * 96}, {dtype.Q4_0, 65 * 96}} {
		x := make([]float32, o.elems)
		for i := range x {
			x[i] = float32(random.NormFloat64())
		}
		data := make([]byte, o.format.Bytes(len(x)))
		if err := dtype.Encode(o.format, data, x); err != nil {
			t.Fatal(err)
		}
		args = append(args, on.Alloc(len(data)))
		on.Write(args[len(args)-1], data)
	}
	y := make([]byte, 4*rows*65)
	args = append(args, on.Alloc(len(y)), uint64(rows))
	if err := on.Run(list[0].Kernel, groups, args); err != nil {
		t.Fatal(err)
	}
	if err := on.Read(args[2], y); err != nil {
		t.Fatal(err)
	}
	return y
}

// TestProductsForSubgroupsOfKnownSize has matrices with so many rows that a subgroup computes some of them, and with so
// few that a workgroup does; in rows of as many runs as pairs of them need, and of others.
func TestProductsForSubgroupsOfKnownSize(t *testing.T) {
	for _, c := range []struct {
		lanes  int
		shared bool
		layout dtype.Layout
		n, k   int64
	}{
		{8, false, dtype.Plain, 8195, 256}, {8, false, dtype.Plain, 8195, 32}, {32, true, dtype.Plain, 7, 4096},
		{64, true, dtype.Plain, 33, 2080}, {16, true, dtype.Plain, 300, 64},
		{8, false, dtype.Planar, 8195, 512}, {8, false, dtype.Planar, 8195, 32}, {32, true, dtype.Planar, 7, 8192}, {64, true, dtype.Planar, 33, 2080},
	} {
		on := simulate(2)
		on.Subgroup, on.on.Lanes = c.lanes, c.lanes
		w := ir.CaseArg{Type: ir.Type{DType: dtype.Q4_0, Layout: c.layout, Shape: ir.Dims(c.n, c.k)}, Lo: -1, Hi: 1, Weight: true}
		x := ir.CaseArg{Type: ir.Type{DType: dtype.F32, Shape: ir.Dims(1, c.k)}, Lo: -1, Hi: 1}
		call, err := irtest.Case(ir.OpMatMul, ir.Case{Args: []ir.CaseArg{x, w}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := gputest.Compare(t.Context(), call, on, 3, ir.OpMatMul.Info().Tol); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		list, err := gpu.Lower(call.Module.Funcs[0].Nodes[1], on.on)
		if err != nil || (list[0].Kernel.SharedBytes() > 0) != c.shared {
			t.Errorf("%+v: %v, error %v", c, list, err)
		}
	}
}

// TestNumberOfRowsChoosesTheAlgorithm looks at the shared memory of kernels: tiles need it, sums of subgroups do not.
func TestNumberOfRowsChoosesTheAlgorithm(t *testing.T) {
	on := gpu.Machine{Caps: kir.CapSubgroup}
	for rows, tiles := range map[string]bool{"1": false, "16": false, "17": true, "rows": true} {
		m := irtest.Parse(t, strings.ReplaceAll(`ggir 1
props imported
symbol rows 1 200
func @f(%x: f32[N,64], %w: f32[8,64]) -> f32[N,8] {
  %y = matmul %x, %w : f32[N,8]
  return %y
}
`, "N", rows))
		list, err := gpu.Lower(m.Funcs[0].Nodes[0], on)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d kernels, error %v", len(list), err)
		}
		if got := list[0].Kernel.SharedBytes() > 0; got != tiles {
			t.Errorf("%s rows: shared memory is used: %v", rows, got)
		}
	}
}

// TestBlocksWithoutDecoderAreRefused has matrices in blocks that kernels do not decode.
func TestBlocksWithoutDecoderAreRefused(t *testing.T) {
	if _, err := matMulOf(t, dtype.Q8A, gpu.Machine{}); !errors.Is(err, gpu.ErrNoKernel) || !strings.Contains(err.Error(), "elements of q8a") {
		t.Errorf("error %v", err)
	}
}

// TestBlocksAreLoaded16BytesAtATime counts the loads of products with one row: each of four columns has so many of 16
// bytes, of elements and of their upper bits or the head of a block, and one of a scale, if that is not in the head.
func TestBlocksAreLoaded16BytesAtATime(t *testing.T) {
	for _, c := range []struct {
		format        string
		words, halves int
	}{
		{"q4_0.planar", 1, 1}, {"q8_0.planar", 1, 1}, {"iq4_nl.planar", 1, 1}, {"q6_k.planar", 2, 1}, {"q3_k.planar", 2, 1},
		{"q4_k", 2, 0}, {"q5_k", 3, 0},
	} {
		m := irtest.Parse(t, fmt.Sprintf(`ggir 1
props imported
weight "w" : %[1]v[8192,768]
func @f(%%x: f32[1,768]) -> f32[1,8192] {
  %%w = weight "w" : %[1]v[8192,768]
  %%y = matmul %%x, %%w : f32[1,8192]
  return %%y
}
`, c.format))
		list, err := gpu.Lower(m.Funcs[0].Nodes[1], gpu.Machine{Caps: kir.CapSubgroup, Lanes: 32})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(list[0].Kernel)
		// The loop is there for aligned x, and for other x.
		if n := strings.Count(text, "load u32x4 "); n != 2*4*c.words {
			t.Errorf("%s: %d loads of 16 bytes, want %d:\n%s", c.format, n, 2*4*c.words, text)
		}
		if n := strings.Count(text, "load f16 "); n != 2*4*c.halves {
			t.Errorf("%s: %d loads of scales, want %d", c.format, n, 2*4*c.halves)
		}
		for _, narrow := range []string{"load u16 ", "load u32 ", "load u32x2 "} {
			if strings.Contains(text, narrow) {
				t.Errorf("%s: the kernel has %q", c.format, narrow)
			}
		}
	}
}

// TestPlanesOfUnknownLengthAreRefused has rows whose length is a symbol, so that the place of the scales is not known.
func TestPlanesOfUnknownLengthAreRefused(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
symbol k 1 9
func @f(%x: f32[1,32*k], %w: q4_0.planar[8,32*k]) -> f32[1,8] {
  %y = matmul %x, %w : f32[1,8]
  return %y
}
`)
	_, err := gpu.Lower(m.Funcs[0].Nodes[0], gpu.Machine{})
	if !errors.Is(err, gpu.ErrNoKernel) || !strings.Contains(err.Error(), "elements of q4_0 in layout planar") {
		t.Errorf("error %v", err)
	}
}

package cpu_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

type gather = func(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int)

var gathers = []struct {
	table       dtype.DType
	plain, tile gather
}{
	{dtype.F32, cpu.GatherF32, cpu.GatherR16F32},
	{dtype.F16, cpu.GatherF16, cpu.GatherR16F16},
	{dtype.BF16, cpu.GatherBF16, cpu.GatherR16BF16},
	{dtype.Q8_0, cpu.GatherQ8_0, cpu.GatherR16Q8_0},
	{dtype.Q4_0, cpu.GatherQ4_0, cpu.GatherR16Q4_0},
	{dtype.Q4_1, cpu.GatherQ4_1, cpu.GatherR16Q4_1},
	{dtype.Q5_0, cpu.GatherQ5_0, cpu.GatherR16Q5_0},
	{dtype.Q5_1, cpu.GatherQ5_1, cpu.GatherR16Q5_1},
	{dtype.Q2_K, cpu.GatherQ2_K, cpu.GatherR16Q2_K},
	{dtype.Q3_K, cpu.GatherQ3_K, cpu.GatherR16Q3_K},
	{dtype.Q4_K, cpu.GatherQ4_K, cpu.GatherR16Q4_K},
	{dtype.Q5_K, cpu.GatherQ5_K, cpu.GatherR16Q5_K},
	{dtype.Q6_K, cpu.GatherQ6_K, cpu.GatherR16Q6_K},
	{dtype.IQ4_NL, cpu.GatherIQ4_NL, cpu.GatherR16IQ4_NL},
	{dtype.IQ4_XS, cpu.GatherIQ4_XS, cpu.GatherR16IQ4_XS},
	{dtype.MXFP4, cpu.GatherMXFP4, cpu.GatherR16MXFP4},
	{dtype.IQ2X, cpu.GatherIQ2X, cpu.GatherR16IQ2X},
	{dtype.IQ2X16, cpu.GatherIQ2X16, cpu.GatherR16IQ2X16},
	{dtype.IQ3X, cpu.GatherIQ3X, cpu.GatherR16IQ3X},
	{dtype.IQ3SX, cpu.GatherIQ3SX, cpu.GatherR16IQ3SX},
}

func TestGather(t *testing.T) {
	const tableRows = 37
	indices := []int32{0, 36, 5, 16, 15, 5}
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range gathers {
			block := max(32, c.table.BlockElems())
			n := 3 * block
			plain, values := kt.Encode(t, kt.Rand(t), c.table, tableRows*n)
			want := make([]float64, len(indices)*n)
			for r, i := range indices {
				for col := range n {
					want[r*n+col] = float64(float32(values[int(i)*n+col]))
				}
			}
			table, packed := kt.NewBytes(plain, 0), kt.NewBytes(kt.Pack(c.table, plain, tableRows, n), 0)
			checkGather(t, c.table.String(), c.plain, table, indices, n, block, want)
			checkGather(t, c.table.String()+" r16", c.tile, packed, indices, n, block, want)
		}
	})
}

func checkGather(t *testing.T, what string, f gather, table *kt.Buffer, indices []int32, n, block int, want []float64) {
	t.Helper()
	dst, idx := kt.NewBuffer(len(want)*4, 4), kt.NewInts(indices...)
	for _, b := range kt.Boxes(kt.Rand(t), len(indices), n, block) {
		f(dst.Pointer(), idx.Pointer(), table.Pointer(), n, b[0], b[1], b[2], b[3])
		one := kt.NewBuffer(len(want)*4, 0)
		f(one.Pointer(), idx.Pointer(), table.Pointer(), n, b[0], b[1], b[2], b[3])
		one.Owned(t, what, n*4, b[0], b[1], 4*b[2], 4*b[3])
	}
	dst.Check(t, what)
	kt.Compare(t, what, dst.Floats(), want, kt.Exact)
}

func TestCasts(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range lengths() {
			values := kt.Hard(kt.Rand(t), n)
			testCast(t, dtype.F16, values, cpu.CastF32F16, cpu.CastF16F32)
			testCast(t, dtype.BF16, values, cpu.CastF32BF16, cpu.CastBF16F32)
		}
	})
}

func testCast(t *testing.T, d dtype.DType, values []float32, down, up unaryKernel) {
	t.Helper()
	n := len(values)
	plain, back := kt.EncodeValues(t, d, values)
	half, full := kt.NewBuffer(2*n, 2), kt.NewBuffer(4*n, 4)
	down(half.Pointer(), kt.NewFloats(values, 4).Pointer(), n, 0, 1, 0, n)
	half.Check(t, d.String())
	if !bytes.Equal(half.Bytes(), plain) {
		t.Fatalf("%d f32 to %v: bytes differ from the reference", n, d)
	}
	up(full.Pointer(), half.Pointer(), n, 0, 1, 0, n)
	full.Check(t, "f32")
	kt.Compare(t, d.String()+" to f32", full.Floats(), back, kt.Exact)
}

// stateWriters are the kernels of state_write; packed: in layout r16.
var stateWriters = []struct {
	d      dtype.DType
	packed bool
	f      stateWriter
}{
	{dtype.F32, false, cpu.StateWriteF32}, {dtype.F16, false, cpu.StateWriteF16}, {dtype.F16, true, cpu.StateWriteR16F16},
	{dtype.Q8_0, false, cpu.StateWriteQ8_0}, {dtype.Q8_0, true, cpu.StateWriteR16Q8_0},
	{dtype.Q4_0, false, cpu.StateWriteQ4_0}, {dtype.Q4_0, true, cpu.StateWriteR16Q4_0},
}

func TestStateWrite(t *testing.T) {
	const seqs, heads, ctx, d, rows = 2, 3, 21, 64, 6
	slots, positions := []int32{0, 1, 1, 0, 0, 1}, []int32{4, 0, 20, 15, 16, 17}
	slot, pos := kt.NewInts(slots...), kt.NewInts(positions...)
	shape := cpu.StateShape{Heads: heads, Context: ctx, HeadLen: d}
	rng := kt.Rand(t)
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range stateWriters {
			row := c.d.Bytes(d)
			old, _ := kt.Encode(t, rng, c.d, seqs*heads*ctx*d) // is overwritten, as after going back
			stored := func(plain []byte) *kt.Buffer { return attentionCase{cache: c.d, packed: c.packed}.keys(plain, ctx, d) }
			got := stored(old)
			for range 2 {
				x := kt.Uniform(rng, rows*heads*d)
				plain, _ := kt.EncodeValues(t, c.d, x)
				for r := range rows {
					for h := range heads {
						at := (int(slots[r])*heads+h)*ctx + int(positions[r])
						copy(old[at*row:], plain[(r*heads+h)*row:][:row])
					}
				}
				for _, b := range kt.Boxes(rng, rows, heads, 1) {
					c.f(got.Pointer(), kt.NewFloats(x, 0).Pointer(), slot.Pointer(), pos.Pointer(), shape, b[0], b[1], b[2], b[3])
				}
				got.Check(t, "state")
				kt.Same(t, fmt.Sprint(c.d, " state, packed ", c.packed), got, stored(old))
			}
		}
	})
}

// TestStateWriteOfPrompts has rows that fill panels, for which f16 has a loop of its own, between others: after a
// panel's beginning, at another slot, and with a position left out.
func TestStateWriteOfPrompts(t *testing.T) {
	const seqs, heads, ctx, rows = 2, 3, 85, 16 + 7 + 16 + 20 + 16
	var slots, positions []int32
	for r := range int32(rows) {
		switch {
		case r < 39:
			slots, positions = append(slots, 1), append(positions, 9+r) // a panel from 16 on, not quite one from 32 on
		case r < 59:
			slots, positions = append(slots, 0), append(positions, 32+(r-39)+(r-39)/12) // 44 is left out
		default:
			slots, positions = append(slots, r/70), append(positions, 64+(r-59)) // of two sequences
		}
	}
	slot, pos := kt.NewInts(slots...), kt.NewInts(positions...)
	kt.ForEach(t, func(t *testing.T) {
		for _, d := range []int{80, 144, 24, 5} {
			shape := cpu.StateShape{Heads: heads, Context: ctx, HeadLen: d}
			rng := kt.Rand(t)
			x := kt.Uniform(rng, rows*heads*d)
			x[7*d], x[40*heads*d] = float32(math.Inf(1)), 1e6 // infinite as f16, both
			old, _ := kt.Encode(t, rng, dtype.F16, seqs*heads*ctx*d)
			stored := func(plain []byte) *kt.Buffer {
				return attentionCase{cache: dtype.F16, packed: true}.keys(plain, ctx, d)
			}
			got := stored(old)
			plain, _ := kt.EncodeValues(t, dtype.F16, x)
			for r := range rows {
				for h := range heads {
					at := (int(slots[r])*heads+h)*ctx + int(positions[r])
					copy(old[at*d*2:], plain[(r*heads+h)*d*2:][:d*2])
				}
			}
			cpu.StateWriteR16F16(got.Pointer(), kt.NewFloats(x, 0).Pointer(), slot.Pointer(), pos.Pointer(), shape, 0, rows, 0, 2)
			cpu.StateWriteR16F16(got.Pointer(), kt.NewFloats(x, 0).Pointer(), slot.Pointer(), pos.Pointer(), shape, 0, rows, 2, heads)
			got.Check(t, "state")
			kt.Same(t, fmt.Sprint("rows of ", d), got, stored(old))
		}
	})
}

func TestRope(t *testing.T) {
	const rows, heads, d, half = 3, 2, 10, 4
	positions := []int32{0, 7, 100000}
	freqs := []float32{1, 0.1, 0.01, 0.001}
	table := kt.NewBuffer(rows*half*2*4, 0)
	for _, c := range kt.Cuts(kt.Rand(t), rows, 1) {
		cpu.RopeTableF32(table.Pointer(), kt.NewInts(positions...).Pointer(), kt.NewFloats(freqs, 0).Pointer(), half, 1, c[0], c[1])
	}
	table.Check(t, "table")
	x := kt.Uniform(kt.Rand(t), rows*heads*d)
	for _, neox := range []bool{false, true} {
		shape := cpu.RopeShape{Heads: heads, HeadLen: d, Pairs: half, NeoX: neox}
		want := make([]float64, len(x))
		for i := range want {
			want[i] = rotated(x, i, d, half, positions[i/(heads*d)], freqs, neox)
		}
		in, dst := kt.NewFloats(x, 0), kt.NewBuffer(len(x)*4, 4)
		for _, b := range kt.Boxes(kt.Rand(t), rows, heads, 1) {
			cpu.RopeF32(dst.Pointer(), in.Pointer(), table.Pointer(), shape, b[0], b[1], b[2], b[3])
			one := kt.NewBuffer(len(x)*4, 0)
			cpu.RopeF32(one.Pointer(), in.Pointer(), table.Pointer(), shape, b[0], b[1], b[2], b[3])
			one.Owned(t, "rope", heads*d*4, b[0], b[1], b[2]*d*4, b[3]*d*4)
		}
		dst.Check(t, "rope")
		kt.Compare(t, "rope", dst.Floats(), want, kt.Tolerance{Abs: 3e-7})
		cpu.RopeF32(in.Pointer(), in.Pointer(), table.Pointer(), shape, 0, rows, 0, heads)
		kt.Same(t, "rope in place", in, dst)
	}
}

// rotated is element i of x after rotation, in float64.
func rotated(x []float32, i, d, half int, pos int32, freqs []float32, neox bool) float64 {
	head, e := i-i%d, i%d
	if e >= 2*half {
		return float64(x[i])
	}
	pair, second, partner := e/2, e%2 == 1, e^1
	if neox {
		pair, second, partner = e%half, e >= half, (e+half)%(2*half)
	}
	sin, cos := math.Sincos(float64(pos) * float64(freqs[pair]))
	if second {
		return float64(x[head+partner])*sin + float64(x[i])*cos
	}
	return float64(x[i])*cos - float64(x[head+partner])*sin
}

func TestCopyStrided(t *testing.T) {
	for _, elem := range []int{1, 2, 4, 34} {
		shape := [4]int{2, 3, 4, 5}
		src := make([]byte, 2*3*4*5*elem)
		for i := range src {
			src[i] = byte(i * 7)
		}
		s := elem
		dense := [4]int{60 * s, 20 * s, 5 * s, s}
		swapped := [4]int{3 * 4 * 5 * s, 5 * s, 3 * 5 * s, s} // dst is [2, 4, 3, 5]
		inner := [4]int{3 * 4 * 5 * s, 4 * 5 * s, s, 4 * s}   // dst is [2, 3, 5, 4]
		for _, stride := range [][4]int{dense, swapped, inner} {
			dst := kt.NewBuffer(len(src), 0)
			for _, c := range [][2]int{{1, 2}, {0, 1}} {
				cpu.CopyStrided(dst.Pointer(), kt.NewBytes(src, 0).Pointer(), elem, &shape, &stride, &dense, c[0], c[1])
				one := kt.NewBuffer(len(src), 0)
				cpu.CopyStrided(one.Pointer(), kt.NewBytes(src, 0).Pointer(), elem, &shape, &stride, &dense, c[0], c[1])
				one.Owned(t, "copy", stride[0], c[0], c[1], 0, stride[0])
			}
			dst.Check(t, "copy")
			checkCopy(t, dst.Bytes(), src, elem, shape, stride, dense)
		}
	}
}

func checkCopy(t *testing.T, dst, src []byte, elem int, shape, to, from [4]int) {
	t.Helper()
	for i := range shape[0] * shape[1] * shape[2] * shape[3] {
		at := [4]int{i / (shape[1] * shape[2] * shape[3]), i / (shape[2] * shape[3]) % shape[1], i / shape[3] % shape[2], i % shape[3]}
		d, s := 0, 0
		for j, v := range at {
			d, s = d+v*to[j], s+v*from[j]
		}
		if !bytes.Equal(dst[d:d+elem], src[s:s+elem]) {
			t.Fatalf("element %v of size %d is wrong", at, elem)
		}
	}
}

func TestSelect(t *testing.T) {
	before := cpu.Active()
	defer cpu.Select(before)
	for _, name := range cpu.Available() {
		if err := cpu.Select(name); err != nil || cpu.Active() != name {
			t.Errorf("Select(%q): %v, active %q", name, err, cpu.Active())
		}
	}
	if err := cpu.Select("sse9"); err == nil {
		t.Error("Select takes sse9")
	}
	if cpu.Available()[0] != "generic" {
		t.Errorf("the first of %v is not generic", cpu.Available())
	}
}

func TestConcat(t *testing.T) {
	const rows = 7
	kt.ForEach(t, func(t *testing.T) {
		for _, s := range []cpu.ConcatShape{{A: 1, B: 1}, {A: 16, B: 5}, {A: 64, B: 512}} {
			n, rng := s.A+s.B, kt.Rand(t)
			a, b := kt.NewFloats(kt.Hard(rng, rows*s.A), 4), kt.NewFloats(kt.Hard(rng, rows*s.B), 4)
			want := kt.NewBuffer(rows*n*4, 0)
			for r := range rows {
				copy(want.Floats()[r*n:], a.Floats()[r*s.A:][:s.A])
				copy(want.Floats()[r*n+s.A:], b.Floats()[r*s.B:][:s.B])
			}
			got := kt.NewBuffer(rows*n*4, 8)
			for _, r := range [][2]int{{0, 3}, {3, 3}, {3, rows}} {
				cpu.ConcatF32(got.Pointer(), a.Pointer(), b.Pointer(), s, r[0], r[1])
			}
			got.Check(t, "concat")
			kt.Same(t, "concat", got, want)
		}
	})
}

package cpu_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

type binaryKernel = func(dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int)
type unaryKernel = func(dst, x unsafe.Pointer, n, r0, r1, c0, c1 int)

// f32 makes an exact float64 definition of what float32 arithmetic computes.
func f32(f func(a, b float32) float32) func(a, b float64) float64 {
	return func(a, b float64) float64 { return float64(f(float32(a), float32(b))) }
}

func swiglu(a, b float64) float64 { return a / (1 + math.Exp(-a)) * b }

var binaryCases = []struct {
	name string
	run  binaryKernel
	row  binaryKernel // with b a single row, or nil
	want func(a, b float64) float64
	tol  kt.Tolerance // where not exact, only a takes hard values
}{
	{"add", cpu.AddF32, cpu.AddRowF32, f32(func(a, b float32) float32 { return a + b }), kt.Exact},
	{"sub", cpu.SubF32, cpu.SubRowF32, f32(func(a, b float32) float32 { return a - b }), kt.Exact},
	{"mul", cpu.MulF32, cpu.MulRowF32, f32(func(a, b float32) float32 { return a * b }), kt.Exact},
	{"div", cpu.DivF32, cpu.DivRowF32, f32(func(a, b float32) float32 { return a / b }), kt.Exact},
	{"max", cpu.MaxF32, nil, f32(func(a, b float32) float32 { return max(a, b) }), kt.Exact},
	{"min", cpu.MinF32, nil, f32(func(a, b float32) float32 { return min(a, b) }), kt.Exact},
	// As silu below.
	{"swiglu", cpu.SwiGLUF32, nil, swiglu, kt.Tolerance{Abs: 1e-36, Rel: 5e-7}},
}

var unaryCases = []struct {
	name string
	run  unaryKernel
	want func(x float64) float64
	tol  kt.Tolerance
}{
	// e^x is within 1.5 units in the last place, a quotient adds one. Where e^-x overflows,
	// below -88, results are zeros instead of what is less than 1e-36.
	{"silu", cpu.SiLUF32, func(x float64) float64 { return swiglu(x, 1) }, kt.Tolerance{Abs: 1e-36, Rel: 4e-7}},
	{"sigmoid", cpu.SigmoidF32, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, kt.Tolerance{Abs: 1e-38, Rel: 4e-7}},
	{"exp", cpu.ExpF32, math.Exp, kt.Tolerance{Abs: 1e-44, Rel: 2e-7}},
	// The argument of the exponential carries an error of 3 units in the last place at up
	// to 88, where the result is below 1e-36; at results that matter it is far less.
	{"gelu", cpu.GELUF32, geluTanh, kt.Tolerance{Abs: 2e-7, Rel: 6e-7}},
	{"relu", cpu.ReLUF32, func(x float64) float64 { return math.Max(x, 0) }, kt.Exact},
	{"tanh", cpu.TanhF32, math.Tanh, kt.Tolerance{Abs: 1e-44, Rel: 1e-7}},
	{"neg", cpu.NegF32, func(x float64) float64 { return -x }, kt.Exact},
	{"sqrt", cpu.SqrtF32, func(x float64) float64 { return float64(float32(math.Sqrt(x))) }, kt.Exact},
	{"abs", cpu.AbsF32, math.Abs, kt.Exact},
	{"log", cpu.LogF32, math.Log, kt.Tolerance{Abs: 1e-44, Rel: 1e-7}},
	{"square", cpu.SquareF32, func(x float64) float64 { return float64(float32(x) * float32(x)) }, kt.Exact},
}

func geluTanh(x float64) float64 {
	if x < -10 {
		return x * 0 // what tanh loses there is below 1e-20
	}
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// lengths are all up to several registers, then some that are odd to them.
func lengths() []int {
	var n []int
	for i := range 140 {
		n = append(n, i)
	}
	if !testing.Short() {
		for i := 140; i <= 1000; i += 13 {
			n = append(n, i)
		}
	}
	return n
}

func TestBinary(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range binaryCases {
			t.Run(c.name, func(t *testing.T) {
				for _, n := range lengths() {
					rng := kt.Rand(t)
					a, b := kt.NewFloats(kt.Hard(rng, n), 4*(n%3)), kt.NewFloats(kt.Uniform(rng, n), 4*(n%5))
					if c.tol == kt.Exact {
						copy(b.Floats(), kt.Hard(rng, n))
					}
					dst, want := kt.NewBuffer(4*n, 4*(n%7)), make([]float64, n)
					for i := range want {
						want[i] = c.want(float64(a.Floats()[i]), float64(b.Floats()[i]))
					}
					c.run(dst.Pointer(), a.Pointer(), b.Pointer(), n, 0, 1, 0, n)
					dst.Check(t, c.name)
					kt.Compare(t, fmt.Sprint(c.name, " of ", n), dst.Floats(), want, c.tol)
					c.run(a.Pointer(), a.Pointer(), b.Pointer(), n, 0, 1, 0, n)
					kt.Same(t, c.name+" in place", a, dst)
				}
			})
		}
	})
}

func TestUnary(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range unaryCases {
			t.Run(c.name, func(t *testing.T) {
				for _, n := range lengths() {
					x := kt.NewFloats(kt.Hard(kt.Rand(t), n), 4*(n%3))
					dst, want := kt.NewBuffer(4*n, 4*(n%7)), make([]float64, n)
					for i, v := range x.Floats() {
						want[i] = c.want(float64(v))
					}
					c.run(dst.Pointer(), x.Pointer(), n, 0, 1, 0, n)
					dst.Check(t, c.name)
					kt.Compare(t, fmt.Sprint(c.name, " of ", n), dst.Floats(), want, c.tol)
					c.run(x.Pointer(), x.Pointer(), n, 0, 1, 0, n)
					kt.Same(t, c.name+" in place", x, dst)
				}
			})
		}
	})
}

// TestBoxes checks that any division of the work gives the same bits and that the row
// forms agree with the full ones.
func TestBoxes(t *testing.T) {
	const rows, n = 7, 83
	kt.ForEach(t, func(t *testing.T) {
		rng := kt.Rand(t)
		a, b, row := kt.NewFloats(kt.Uniform(rng, rows*n), 0), kt.NewFloats(kt.Uniform(rng, rows*n), 0), kt.NewFloats(kt.Uniform(rng, n), 0)
		full := kt.NewBuffer(rows*n*4, 0)
		for r := range rows {
			copy(full.Floats()[r*n:], row.Floats())
		}
		for _, c := range binaryCases {
			checkBoxes(t, c.name, rows, n, func(dst *kt.Buffer, r0, r1, c0, c1 int) {
				c.run(dst.Pointer(), a.Pointer(), b.Pointer(), n, r0, r1, c0, c1)
			})
			if c.row != nil {
				want := kt.NewBuffer(rows*n*4, 0)
				c.run(want.Pointer(), a.Pointer(), full.Pointer(), n, 0, rows, 0, n)
				got := checkBoxes(t, c.name+" row", rows, n, func(dst *kt.Buffer, r0, r1, c0, c1 int) {
					c.row(dst.Pointer(), a.Pointer(), row.Pointer(), n, r0, r1, c0, c1)
				})
				kt.Same(t, c.name+" row", got, want)
			}
		}
		for _, c := range unaryCases {
			checkBoxes(t, c.name, rows, n, func(dst *kt.Buffer, r0, r1, c0, c1 int) {
				c.run(dst.Pointer(), a.Pointer(), n, r0, r1, c0, c1)
			})
		}
		checkBoxes(t, "clamp", rows, n, func(dst *kt.Buffer, r0, r1, c0, c1 int) {
			cpu.ClampF32(dst.Pointer(), a.Pointer(), cpu.ClampShape{Lo: -1, Hi: 0.5}, n, r0, r1, c0, c1)
		})
		checkBoxes(t, "scale", rows, n, func(dst *kt.Buffer, r0, r1, c0, c1 int) {
			cpu.ScaleF32(dst.Pointer(), a.Pointer(), cpu.ScaleShape{Scale: 3, Bias: -0.25}, n, r0, r1, c0, c1)
		})
	})
}

// checkBoxes runs a kernel whole, then in boxes, and compares; it returns the whole result.
func checkBoxes(t *testing.T, what string, rows, n int, run func(dst *kt.Buffer, r0, r1, c0, c1 int)) *kt.Buffer {
	t.Helper()
	whole, cut := kt.NewBuffer(rows*n*4, 0), kt.NewBuffer(rows*n*4, 0)
	run(whole, 0, rows, 0, n)
	for _, b := range kt.Boxes(kt.Rand(t), rows, n, 1) {
		run(cut, b[0], b[1], b[2], b[3])
		one := kt.NewBuffer(rows*n*4, 0)
		run(one, b[0], b[1], b[2], b[3])
		one.Owned(t, what, n*4, b[0], b[1], 4*b[2], 4*b[3])
	}
	run(cut, 3, 3, 0, n) // nothing
	run(cut, 0, rows, 5, 5)
	whole.Check(t, what)
	cut.Check(t, what+" in boxes")
	kt.Same(t, what+" in boxes", cut, whole)
	return whole
}

func TestScale(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range lengths() {
			x, dst := kt.NewFloats(kt.Hard(kt.Rand(t), n), 4), kt.NewBuffer(4*n, 8)
			want := make([]float64, n)
			for i, v := range x.Floats() {
				want[i] = float64(float32(v*1.7) + 0.3)
			}
			cpu.ScaleF32(dst.Pointer(), x.Pointer(), cpu.ScaleShape{Scale: 1.7, Bias: 0.3}, n, 0, 1, 0, n)
			dst.Check(t, "scale")
			kt.Compare(t, "scale", dst.Floats(), want, kt.Exact)
		}
	})
}

func TestClamp(t *testing.T) {
	kt.ForEach(t, func(t *testing.T) {
		for _, n := range lengths() {
			x, dst := kt.NewFloats(kt.Hard(kt.Rand(t), n), 4), kt.NewBuffer(4*n, 8)
			want := make([]float64, n)
			for i, v := range x.Floats() {
				want[i] = min(max(float64(v), -0.5), 3)
			}
			cpu.ClampF32(dst.Pointer(), x.Pointer(), cpu.ClampShape{Lo: -0.5, Hi: 3}, n, 0, 1, 0, n)
			dst.Check(t, "clamp")
			kt.Compare(t, "clamp", dst.Floats(), want, kt.Exact)
		}
	})
}

// TestLongRun crosses the limit on the length of one call.
func TestLongRun(t *testing.T) {
	const n = 1<<15 + 7
	kt.ForEach(t, func(t *testing.T) {
		x, dst := kt.NewFloats(kt.Uniform(kt.Rand(t), 2*n), 0), kt.NewBuffer(2*n*4, 0)
		cpu.SquareF32(dst.Pointer(), x.Pointer(), n, 0, 2, 0, n)
		dst.Check(t, "square")
		for i, v := range x.Floats() {
			if dst.Floats()[i] != v*v {
				t.Fatalf("element %d of %d is wrong", i, 2*n)
			}
		}
	})
}

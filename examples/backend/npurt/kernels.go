package npurt

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// Env is what the kernels of a command work on. Kernels are its methods.
type Env struct{ *runtime.Block }

// Kernel is the type of runtime.Command.Kernel: it calls the kernels of a command. iteration is that of the repeat
// around it.
type Kernel func(e *Env, iteration int)

const f32Bytes = 4

// floats returns n numbers that begin at s.
func (e *Env) floats(s runtime.Span, n int) []float32 {
	m := e.Memory[s.Memory].(runtime.HostMemory)
	if s.Offset < 0 || int64(s.Offset+n*f32Bytes) > m.Size {
		panic(fmt.Sprintf("bytes %d to %d of a memory of %d", s.Offset, s.Offset+n*f32Bytes, m.Size))
	}
	return unsafe.Slice((*float32)(unsafe.Add(m.Base, s.Offset)), n)
}

// Lanes is the number of rows of a weight that are stored together: the numbers of column c of the rows 8*g to 8*g+7
// begin at 8*(g*columns + c).
const Lanes = 8

// MatMul computes dst[r, o] = Σ x[r, i]*w[o, i] + residual[r, o]. The residual may have the memory -1, and is then 0.
// It may be dst.
func (e *Env) MatMul(dst, x, w, residual runtime.Span, rows, in, out int) {
	groups := (out + Lanes - 1) / Lanes
	y, a, b := e.floats(dst, rows*out), e.floats(x, rows*in), e.floats(w, groups*Lanes*in)
	var plus []float32
	if residual.Memory >= 0 {
		plus = e.floats(residual, rows*out)
	}
	for r := range rows {
		for g := range groups {
			sums := products(a[r*in:][:in], b[g*Lanes*in:])
			for lane := range min(Lanes, out-g*Lanes) {
				o := r*out + g*Lanes + lane
				if plus != nil {
					sums[lane] += plus[o] // which may be y[o]
				}
				y[o] = sums[lane]
			}
		}
	}
}

// products returns the products of x with a group of rows.
func products(x, group []float32) (sums [Lanes]float32) {
	for i, v := range x {
		for lane, w := range group[i*Lanes:][:Lanes] {
			sums[lane] += v * w
		}
	}
	return sums
}

// dot adds the products in the order of the elements, in eight sums.
func dot(a, b []float32) float32 {
	var sums [8]float32
	for i := range a {
		sums[i%8] += a[i] * b[i]
	}
	sum := float32(0)
	for _, s := range sums {
		sum += s
	}
	return sum
}

// RMSNorm computes rows of n: dst = x / √(mean(x²) + eps) * w. dst may be x.
func (e *Env) RMSNorm(dst, x, w runtime.Span, rows, n int, eps float32) {
	y, a, b := e.floats(dst, rows*n), e.floats(x, rows*n), e.floats(w, n)
	for r := range rows {
		row := a[r*n:][:n]
		factor := float32(1 / math.Sqrt(float64(dot(row, row))/float64(n)+float64(eps)))
		for i, v := range row {
			y[r*n+i] = v * factor * b[i]
		}
	}
}

// SwiGLU computes dst = gate / (1 + exp(-gate)) * up, n times. dst may be an operand.
func (e *Env) SwiGLU(dst, gate, up runtime.Span, n int) {
	y, a, b := e.floats(dst, n), e.floats(gate, n), e.floats(up, n)
	for i, g := range a {
		y[i] = float32(float64(g)/(1+math.Exp(-float64(g)))) * b[i]
	}
}

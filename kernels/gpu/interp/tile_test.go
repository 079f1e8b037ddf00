package interp

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// tileKernel returns a kernel of 64 threads in which each thread copies bytes of in to shared memory before body runs,
// which stores a tile of sums; thread t stores element t, t+64, … of it.
func tileKernel(t *testing.T, kind, body string) *kir.Kernel {
	return parse(t, fmt.Sprintf(`kernel tiles threads=64 args=(in: u64, out: u64) {
		shared xs: %[1]sx4[384]
		shared ys: f32[320]
		%%t = thread
		%%g = subgroup
		%%zero = const i32 0
		%%one = const i32 1
		%%four = const i32 4
		%%end = const i32 384
		%%step = const i32 64
		%%fzero = const f32 0
		for %%i = %%t to %%end step %%step {
			%%o = offset %%i {8}
			%%p = add %%in, %%o
			%%v = load %[1]sx4 %%p
			shared_store xs %%i, %%v
		}
		barrier
		%%first = eq %%g, %%zero
		%[2]s
		barrier
		for %%j = %%t to %%end step %%step {
			%%sixteen = const i32 16
			%%twenty = const i32 20
			%%r = div %%j, %%sixteen
			%%c = rem %%j, %%sixteen
			%%is = lt %%r, %%sixteen
			if %%is {
				%%rs = mul %%r, %%twenty
				%%k = add %%rs, %%c
				%%elem = shared_load ys %%k
				%%q0 = offset %%j {4}
				%%q = add %%out, %%q0
				store %%q, %%elem
			}
		}
	}`, kind, body))
}

// tileInput returns the factors that tests multiply: small numbers, of which all sums are exact.
func tileInput(kind kir.Kind) (data []byte, x []float32) {
	for e := range 1536 {
		v := float32(e*e%61-30) / 4
		x = append(x, v)
		bits := dtype.F32ToBF16(v)
		if kind == kir.F16 {
			bits = dtype.F32ToF16(v)
		}
		data = binary.LittleEndian.AppendUint16(data, bits)
	}
	return data, x
}

// TestTilesAreMultiplied compares products with their definition, for factors at several places, with several strides,
// in both directions, and for subgroups of several sizes. Index and stride count vectors of four.
func TestTilesAreMultiplied(t *testing.T) {
	tests := []struct {
		name, body string
		row, col   func(x []float32, i, k int) float32 // element (i,k) of a, and (k,i) of b
		start      float32
		times      float32
	}{
		{"rows", "%s = tile_fill %fzero\n%a = tile_shared_load tile_a_KIND xs %zero {6}\n%b = tile_shared_load tile_b_KIND xs %four {8}\n%y = tile_mul_add %a, %b, %s",
			func(x []float32, i, k int) float32 { return x[i*24+k] }, func(x []float32, i, k int) float32 { return x[16+i*32+k] }, 0, 1},
		{"turned", "%f = const f32 1.5\n%s = tile_fill %f\n%a = tile_turned tile_a_KIND xs %four {4}\n%b = tile_turned tile_b_KIND xs %zero {24}\n%y = tile_mul_add %a, %b, %s",
			func(x []float32, i, k int) float32 { return x[16+k*16+i] }, func(x []float32, i, k int) float32 { return x[k*96+i] }, 1.5, 1},
		{"device memory", "%s = tile_fill %fzero\n%m = const u64 32\n%p0 = add %in, %m\n%a = tile_load tile_a_KIND %p0 {24}\n%b = tile_load tile_b_KIND %in {40}\n%y = tile_mul_add %a, %b, %s",
			func(x []float32, i, k int) float32 { return x[16+i*24+k] }, func(x []float32, i, k int) float32 { return x[i*40+k] }, 0, 1},
		{"loop", "%s = tile_fill %fzero\n%y = for %n = %zero to %four step %one carry (%u = %s) {\n%a = tile_shared_load tile_a_KIND xs %zero {4}\n%b = tile_shared_load tile_b_KIND xs %four {4}\n%w = tile_mul_add %a, %b, %u\nyield %w\n}",
			func(x []float32, i, k int) float32 { return x[i*16+k] }, func(x []float32, i, k int) float32 { return x[16+i*16+k] }, 0, 4},
	}
	for _, tt := range tests {
		for _, kind := range []kir.Kind{kir.F16, kir.BF16} {
			for n, subgroup := range []int{4, 8, 16, 32, 64} {
				body := strings.ReplaceAll(tt.body, "KIND", kind.String()) + "\nif %first {\ntile_shared_store ys %zero, %y {20}\n}"
				data, x := tileInput(kind)
				m := NewMemory()
				in, out := m.Alloc(len(data)), m.Alloc(1024)
				m.Write(in, data)
				if err := Run(tileKernel(t, kind.String(), body), Launch{1, []uint64{in, out}}, m, Options{Seed: uint64(n), Subgroup: subgroup}); err != nil {
					t.Fatalf("%s, %v, %d: %v", tt.name, kind, subgroup, err)
				}
				got := make([]byte, 1024)
				if err := m.Read(out, got); err != nil {
					t.Fatal(err)
				}
				for e := range 256 {
					want := tt.start
					for k := range 16 {
						want += tt.times * tt.row(x, e/16, k) * tt.col(x, e%16, k)
					}
					if y := math.Float32frombits(binary.LittleEndian.Uint32(got[4*e:])); y != want {
						t.Fatalf("%s, %v, subgroups of %d: element %d, %d is %v, want %v", tt.name, kind, subgroup, e/16, e%16, y, want)
					}
				}
			}
		}
	}
}

// TestFaultsOfTiles has faults that only a run shows. None of the kernels is verified.
func TestFaultsOfTiles(t *testing.T) {
	const store = "\nbarrier\nif %first {\ntile_shared_store ys %zero, %y {20}\n}"
	tests := []struct{ name, body, kind, text string }{
		{"misaligned", "%y = tile_fill %fzero\n%a = tile_shared_load tile_a_f16 xs %one {6}" + store, Alignment, "element 1 of xs is not at a multiple of 16 bytes"},
		{"misaligned address", "%y = tile_fill %fzero\n%m = const u64 8\n%p0 = add %in, %m\n%a = tile_load tile_a_f16 %p0 {16}" + store, Alignment, "byte 8 of allocation 0 is no multiple of 16"},
		{"beyond the array", "%y = tile_fill %fzero\n%e = mul %step, %four\n%a = tile_shared_load tile_a_f16 xs %e {10}" + store, SharedBounds, "of xs, which has 384"},
		{"beyond the allocation", "%y = tile_fill %fzero\n%a = tile_load tile_a_f16 %in {104}" + store, Bounds, "of allocation 0, which has 3072"},
		{"never written", "%y = tile_shared_load tile_sum_f32 ys %zero {20}" + store, Uninitialised, "element 0 of ys was never written"},
		{"not after a barrier", "%v0 = load f16x4 %in\nshared_store xs %t, %v0\n%y = tile_fill %fzero\n%a = tile_shared_load tile_a_f16 xs %zero {4}" + store, Race, "of xs is also"},
		{"stored, not after a barrier", "%y = tile_fill %fzero\ntile_shared_store ys %zero, %y {20}\n%a = tile_shared_load tile_sum_f32 ys %zero {20}" + store, Race, "of ys is also written by several threads"},
		{"stored by two subgroups", "%y = tile_fill %fzero\ntile_shared_store ys %zero, %y {20}" + store, Race, "of ys is also written by several threads"},
		{"another index", "%y = tile_fill %fzero\n%e = mul %t, %four\n%a = tile_shared_load tile_a_f16 xs %e {4}" + store, Subgroup, "operand 0 is "},
		{"not all threads", "%y = tile_fill %fzero\n%h = lt %t, %four\nif %h {\n%a = tile_fill %fzero\n}" + store, Subgroup, "thread"},
		{"copy under way", "copy_async ys %zero, %in {16}\n%y = tile_fill %fzero" + store, Race, "has not waited for its copy"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body
			if tt.name == "copy under way" {
				body = strings.ReplaceAll(body, "copy_async ys %zero, %in {16}", "%z = eq %t, %zero\nif %z {\ncopy_async ys %zero, %in {16}\n}")
			}
			data, _ := tileInput(kir.F16)
			for seed := range uint64(5) {
				m := NewMemory()
				in, out := m.Alloc(len(data)), m.Alloc(1024)
				m.Write(in, data)
				err := run(tileKernel(t, "f16", body), Launch{1, []uint64{in, out}}, m, Options{Seed: seed})
				wantFault(t, err, tt.kind, tt.text)
			}
		})
	}
}

// TestSumsOfTilesAreAsDocumented compares with exact sums, for factors of all magnitudes.
func TestSumsOfTilesAreAsDocumented(t *testing.T) {
	for seed := range uint32(50) {
		var a, b, c matrix
		state := seed*2654435761 + 1
		next := func() uint32 { state = state*1664525 + 1013904223; return state >> 8 }
		for e := range a {
			a[e], b[e] = uint64(next()%0x7800|next()&1<<15), uint64(next()%0x7800|next()&1<<15)
			c[e] = ofF32(float32(int32(next())-1<<23) / float32(int(1)<<(next()%30)))
		}
		m := multiply(a, b, c, kir.F16)
		for e := range m {
			exact, size := float64(f32(c[e])), math.Abs(float64(f32(c[e])))
			for k := range 16 {
				p := f16(a[e/16*16+k]) * f16(b[k*16+e%16])
				exact += p
				size += math.Abs(p)
			}
			if d := math.Abs(float64(f32(m[e])) - exact); d > size/(1<<18) {
				t.Fatalf("seed %d, element %d: %v instead of %v, of magnitudes %v", seed, e, f32(m[e]), exact, size)
			}
		}
	}
}

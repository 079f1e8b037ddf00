package ptx

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

func ExampleEmit() {
	b := kir.NewBuilder("scale_f32", 64)
	x, y, n := b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("n", kir.I32)
	i := b.Add(b.Mul(b.Group(), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() {
		b.Store(b.At(y, i, 4), b.Mul(b.Load(kir.Scalar(kir.F32), b.At(x, i, 4)), b.Float(2)))
	})
	k, err := b.Kernel()
	if err != nil {
		fmt.Println(err)
	}
	text, err := Emit(k, SM70)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(text)
	// Output:
	// .version 6.0
	// .target sm_70
	// .address_size 64
	//
	// .visible .entry scale_f32_kernel(
	// 	.param .u64 scale_f32$args
	// )
	// .reqntid 64, 1, 1
	// {
	// 	.reg .pred %p<1>;
	// 	.reg .s32 %s<6>;
	// 	.reg .f32 %f<3>;
	// 	.reg .u64 %d<6>;
	// 	ld.param.u64 %d0, [scale_f32$args];
	// 	ld.global.nc.u64 %d1, [%d0];
	// 	ld.global.nc.u64 %d2, [%d0+8];
	// 	ld.global.nc.s32 %s0, [%d0+16];
	// 	mov.u32 %s1, %ctaid.x;
	// 	mov.s32 %s2, 64;
	// 	mul.lo.s32 %s3, %s1, %s2;
	// 	mov.u32 %s4, %tid.x;
	// 	add.s32 %s5, %s3, %s4;
	// 	setp.lt.s32 %p0, %s5, %s0;
	// 	@!%p0 bra $L1;
	// 	mul.wide.u32 %d3, %s5, 4;
	// 	add.u64 %d4, %d2, %d3;
	// 	add.u64 %d5, %d1, %d3;
	// 	ld.global.f32 %f0, [%d5];
	// 	mov.f32 %f1, 0f40000000;
	// 	mul.rn.f32 %f2, %f0, %f1;
	// 	st.global.f32 [%d4], %f2;
	// $L1:
	// 	ret;
	// }
}

// TestThreadsMeetAsTheyShould runs the kernels of which the reference knows nothing.
func TestThreadsMeetAsTheyShould(t *testing.T) {
	tests := []struct {
		name string
		row  int // bytes of each thread's results that are looked at
		want func(in []byte, thread int) []byte
	}{
		{"subgroup", 60, wantSubgroup},
		{"shared", 6, wantShared},
		{"async", 32, wantAsync},
		{"memory_u64x4", 64, wantMemory(32)},
		{"memory_i8", 2, wantMemory(1)},
		{"memory_bf16x4", 16, wantMemory(8)},
		{"memory_f32x4", 32, wantMemory(16)},
		{"memory_f16x2", 8, wantMemory(4)},
	}
	for _, tt := range tests {
		s := sampleNamed(t, tt.name)
		for _, target := range s.targets() {
			k := s.kernel(t)
			memory := inputs(7)
			if tt.name == "subgroup" {
				smallFloats(memory)
			}
			in := append([]byte(nil), memory...)
			run(t, emit(t, k, target), 2, []uint64{deviceBase, deviceBase + corpusBytes, 0, 0}, memory, 5)
			for row := range 2 * k.Threads {
				got, want := memory[corpusBytes+1024*row:][:tt.row], tt.want(in, row%k.Threads)
				if string(got) != string(want) {
					t.Fatalf("%s, %v, thread %d: got % x, want % x", tt.name, target, row, got, want)
				}
			}
		}
	}
}

func sampleNamed(t *testing.T, name string) sample {
	for _, s := range corpus() {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("the corpus has no %s", name)
	return sample{}
}

// smallFloats makes the first words small whole numbers as f32, whose sums are exact.
func smallFloats(memory []byte) {
	for n := range 64 {
		put(memory[4*n:], uint64(math.Float32bits(float32(n*n%37-11))), 32)
	}
}

func wantSubgroup(in []byte, thread int) []byte {
	var out []byte
	word := func(x uint64) { p := make([]byte, 4); put(p, x, 32); out = append(out, p...) }
	at := func(n int) uint64 { return get(in[4*n:], 32) }
	warp := thread / 32 * 32
	for _, k := range []kir.Kind{kir.I32, kir.U32, kir.F32} {
		sum, top := uint64(0), at(warp)
		var sumF float32
		for n := warp; n < warp+32; n++ {
			x := at(n)
			sum, sumF = uint64(uint32(sum+x)), sumF+f32of(x)
			if k == kir.I32 && int32(x) > int32(top) || k == kir.U32 && x > top || k == kir.F32 && f32of(x) > f32of(top) {
				top = x
			}
		}
		if k == kir.F32 {
			sum = canonical(sumF)
		}
		word(sum)
		word(top)
		for mask := 1; mask < 4; mask++ {
			word(at(thread ^ mask))
		}
	}
	return out
}

// wantAsync returns 4 bytes that the other thread copied in the first group, one of it, and 16 of the second group.
func wantAsync(in []byte, thread int) []byte {
	other := 63 - thread
	out := append(make([]byte, 0, 32), in[8*other+4:][:4]...)
	out = append(out, in[4*other+3])
	for len(out) < 16 {
		out = append(out, 0)
	}
	return append(out, in[16*other:][:16]...)
}

func wantShared(in []byte, thread int) []byte {
	other := 63 - thread
	return append(append([]byte(nil), in[4*other:][:4]...), in[2*other:][:2]...)
}

func wantMemory(bytes int) func([]byte, int) []byte {
	return func(in []byte, thread int) []byte {
		return append(append([]byte(nil), in[bytes*(3-thread):][:bytes]...), in[:bytes]...)
	}
}

// TestAtomicAddCounts has each thread of two workgroups store its number at the place that the sum gave it.
func TestAtomicAddCounts(t *testing.T) {
	k := sampleNamed(t, "atomic").kernel(t)
	memory := inputs(1)
	run(t, emit(t, k, SM70), 2, []uint64{deviceBase, deviceBase + corpusBytes, 0, 0}, memory, 3)
	if got := get(memory[corpusBytes:], 32); got != 48 {
		t.Errorf("16 threads added 3 each: %d", got)
	}
	seen := make(map[uint64]int)
	for n := range 16 {
		seen[get(memory[corpusBytes+64+12*n:], 32)]++
	}
	for thread := range uint64(8) {
		if seen[thread] != 2 {
			t.Errorf("thread %d had %d places", thread, seen[thread])
		}
	}
}

// TestFunctionsAreAccurate compares with float64, while ex2.approx is as wrong as it may be. The functions' comments
// state the limits.
func TestFunctionsAreAccurate(t *testing.T) {
	tests := []struct {
		name     string
		emit     func(b *kir.Builder, x *kir.Value) *kir.Value
		want     func(x float64) float64
		from, to float64
		error    float64
		absolute bool
	}{
		{"exp", (*kir.Builder).Exp, math.Exp, -87, 88.7, 0x1p-21, false},
		{"exp near 0", (*kir.Builder).Exp, math.Exp, -1, 1, 0x1p-21, false},
		{"exp of denormals", (*kir.Builder).Exp, math.Exp, -110, -87.4, 0x1p-148, true},
		{"log", (*kir.Builder).Log, math.Log, 1e-44, 3e38, 0x1p-21, false},
		{"log near 1", (*kir.Builder).Log, math.Log, 0.9, 1.1, 0x1p-21, false},
		{"log of denormals", (*kir.Builder).Log, math.Log, 1e-45, 1e-38, 0x1p-21, false},
		{"tanh", (*kir.Builder).Tanh, math.Tanh, -12, 12, 0x1p-21, false},
		{"tanh near 0", (*kir.Builder).Tanh, math.Tanh, -1e-3, 1e-3, 0x1p-21, false},
		{"tanh at the seam", (*kir.Builder).Tanh, math.Tanh, 0.5, 0.6, 0x1p-21, false},
		{"sin", (*kir.Builder).Sin, math.Sin, -10, 10, 0x1p-22, true},
		{"cos", (*kir.Builder).Cos, math.Cos, -10, 10, 0x1p-22, true},
		{"sin far away", (*kir.Builder).Sin, math.Sin, -0x1p20, 0x1p20, 0x1p-22, true},
		{"cos far away", (*kir.Builder).Cos, math.Cos, -0x1p20, 0x1p20, 0x1p-22, true},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			var xs []float32
			points := 5000
			if testing.Short() {
				points = 500
			}
			for n := range points {
				share := float64(n) / float64(points-1)
				x := tt.from + (tt.to-tt.from)*share
				if tt.from > 0 {
					x = tt.from * math.Pow(tt.to/tt.from, share)
				}
				xs = append(xs, float32(x))
			}
			worst, at := 0.0, float32(0)
			for n, y := range apply(t, tt.emit, xs) {
				want := tt.want(float64(xs[n]))
				e := math.Abs(float64(y) - want)
				if !tt.absolute && want != 0 {
					e /= math.Abs(want)
				}
				if !(e <= worst) {
					worst, at = e, xs[n]
				}
			}
			t.Logf("error 2^%.2f at %v", math.Log2(worst), at)
			if !(worst <= tt.error) {
				t.Errorf("the error is %g at %v, above %g", worst, at, tt.error)
			}
		})
	}
}

// apply runs a function of one f32 on each of xs.
func apply(t *testing.T, f func(b *kir.Builder, x *kir.Value) *kir.Value, xs []float32) []float32 {
	t.Helper()
	b := kir.NewBuilder("function", 16)
	in := b.Arg("in", kir.U64)
	i := b.Add(b.Mul(b.Group(), b.Int(16)), b.Thread())
	b.If(b.Lt(i, b.Int(len(xs))), func() {
		at := b.At(in, i, 4)
		b.Store(at, f(b, b.Load(kir.Scalar(kir.F32), at)))
	})
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	memory := make([]byte, 4*len(xs))
	for n, x := range xs {
		put(memory[4*n:], uint64(math.Float32bits(x)), 32)
	}
	run(t, emit(t, k, SM70), (len(xs)+15)/16, []uint64{deviceBase}, memory, 1)
	ys := make([]float32, len(xs))
	for n := range ys {
		ys[n] = f32of(get(memory[4*n:], 32))
	}
	return ys
}

func TestFunctionsOfSpecialNumbers(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	zero := float32(0)
	tests := []struct {
		name string
		emit func(b *kir.Builder, x *kir.Value) *kir.Value
		x, y []float32
	}{
		{"exp", (*kir.Builder).Exp, []float32{0, -zero, inf, -inf, nan, 89, 1e30, -104, -1e30, 1e-40}, []float32{1, 1, inf, 0, nan, inf, inf, 0, 0, 1}},
		{"log", (*kir.Builder).Log, []float32{1, 0, inf, -inf, nan, -1, -1e-40}, []float32{0, -inf, inf, nan, nan, nan, nan}},
		{"tanh", (*kir.Builder).Tanh, []float32{0, inf, -inf, nan, 1e30, -50, 1e-40}, []float32{0, 1, -1, nan, 1, -1, 1e-40}},
		{"sin", (*kir.Builder).Sin, []float32{0, inf, nan, 1e-40}, []float32{0, nan, nan, 1e-40}},
		{"cos", (*kir.Builder).Cos, []float32{0, -inf, nan, 1e-40}, []float32{1, nan, nan, 1}},
	}
	for _, tt := range tests {
		for n, y := range apply(t, tt.emit, tt.x) {
			if y != tt.y[n] && (y == y || tt.y[n] == tt.y[n]) {
				t.Errorf("%s of %v is %v, want %v", tt.name, tt.x[n], y, tt.y[n])
			}
		}
	}
}

func TestPartsOfConstantsAddUp(t *testing.T) {
	if rest := math.Abs(math.Pi/2 - halfPi1 - halfPi2 - halfPi3); rest > 2e-23 {
		t.Errorf("the parts of pi/2 leave %g", rest)
	}
	if rest := math.Abs(math.Ln2 - ln2High - ln2Low); rest > 1e-16 {
		t.Errorf("the parts of ln 2 leave %g", rest)
	}
}

func TestEmitRefusesKernels(t *testing.T) {
	build := func(name string, threads int, body func(b *kir.Builder)) *kir.Kernel {
		b := kir.NewBuilder(name, threads)
		body(b)
		k, err := b.Kernel()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	nothing := func(*kir.Builder) {}
	invalid := build("k", 32, nothing)
	invalid.Threads = 0
	tests := []struct {
		k      *kir.Kernel
		target Target
		want   string
	}{
		{build("k", 32, nothing), numTargets, "Target(3) is no target"},
		{build("2k", 32, nothing), SM70, "2k is no name for an entry"},
		{build("k", 48, func(b *kir.Builder) { b.ReduceAdd(b.Int(1)) }), SM70, "48 threads are no multiple of 32"},
		{invalid, SM70, "0 threads"},
		{build("k", 32, func(b *kir.Builder) { b.CopyCommit() }), SM70, "k: sm_70 does not have copy_commit"},
		{build("k", 32, func(b *kir.Builder) { b.TileFill(b.Float(1)) }), SM70, "k: sm_70 does not have tile_fill"},
		{build("k", 48, func(b *kir.Builder) { b.TileFill(b.Float(1)) }), SM80, "48 threads are no multiple of 32"},
	}
	for _, tt := range tests {
		if _, err := Emit(tt.k, tt.target); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// TestAssembles has ptxas assemble the corpus and some random kernels for each target that it knows. CUDA 13 assembles
// for sm_75 what is meant for sm_70; CUDA 11 does not know sm_90a.
func TestAssembles(t *testing.T) {
	ptxas := needtest.Tool(t, "ptxas", "ptxas")
	help, err := exec.Command(ptxas, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	samples, n := corpus(), 0
	for seed := range 20 {
		samples = append(samples, randomSample(1000+seed))
	}
	for _, target := range Targets() {
		arch := assembledFor(target, string(help))
		if arch == "" {
			t.Logf("this ptxas does not know %v", target)
			continue
		}
		for _, s := range samples {
			if target < s.since {
				continue
			}
			assemble(t, ptxas, arch, s.name, emit(t, s.kernel(t), target))
			n++
		}
	}
	if t.Logf("%d modules", n); n == 0 {
		t.Error("this ptxas knows none of the targets")
	}
}

// assembledFor returns an architecture of ptxas that runs modules for the target.
func assembledFor(target Target, help string) string {
	for _, arch := range map[Target][]string{SM70: {"sm_70", "sm_75"}, SM80: {"sm_80"}, SM90a: {"sm_90a"}}[target] {
		if strings.Contains(help, "'"+arch+"'") {
			return arch
		}
	}
	return ""
}

func assemble(t *testing.T, ptxas, arch, name, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "k.ptx")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(ptxas, "-arch="+arch, "-o", path+".out", path).CombinedOutput(); err != nil {
		t.Errorf("%s, %s: %v\n%s", name, arch, err, out)
	}
}

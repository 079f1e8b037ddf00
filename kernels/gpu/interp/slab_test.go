package interp

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// slabTest is a kernel that copies 4096 numbers of 16 bits to shared memory, adds products of factors to a slab that is
// 1.5 at first, and stores it.
type slabTest struct {
	kind         kir.Kind
	lanes        int // of an element of the array
	cols         int
	x, y         int // where the factors begin, and the strides, in numbers
	across, down int
	times        int
	copied       bool // asynchronously
}

// slabNumbers is how many numbers the kernel copies.
const slabNumbers = 4096

// kernel returns the kernel; each part of the work has a barrier of its own.
func (s slabTest) kernel(t *testing.T) *kir.Kernel {
	t.Helper()
	b := kir.NewBuilder("slabs", kir.SlabThreads)
	in, out := b.Arg("in", kir.U64), b.Arg("out", kir.U64)
	elem := kir.Vector(s.kind, s.lanes)
	xs := b.NewShared("xs", elem, slabNumbers/s.lanes)
	ys := b.NewShared("ys", kir.Scalar(kir.F32), 4*256)
	b.For(b.Thread(), b.Int(slabNumbers/8), b.Int(kir.SlabThreads), nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
		for n := range 8 / s.lanes {
			if s.copied {
				if n == 0 {
					b.CopyAsync(xs, b.Mul(i, b.Int(8/s.lanes)), b.At(in, i, 16), 16)
				}
				continue
			}
			at := b.Add(b.Mul(i, b.Int(8/s.lanes)), b.Int(n))
			b.SharedStore(xs, at, b.Load(elem, b.At(in, at, elem.Bytes())))
		}
		return nil
	})
	if s.copied {
		b.CopyCommit()
		b.CopyWait(0)
	}
	b.SlabPublish()
	b.Barrier()
	slab := b.SlabFill(s.cols, b.Float(1.5))
	b.SlabFence()
	slab = b.For(b.Int(0), b.Int(s.times), b.Int(1), []*kir.Value{slab}, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{b.SlabMulAdd(xs, b.Int(s.x/s.lanes), b.Int(s.y/s.lanes), c[0], s.across/s.lanes, s.down/s.lanes)}
	})[0]
	b.SlabCommit()
	b.SlabWait(0)
	for n := range s.cols / 16 {
		b.TileSharedStore(ys, b.Mul(b.Subgroup(), b.Int(256)), b.SlabTile(slab, n), 16)
		b.Barrier()
		b.For(b.Thread(), b.Int(1024), b.Int(kir.SlabThreads), nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
			at := b.Add(b.Mul(b.Div(i, b.Int(16)), b.Int(s.cols)), b.Add(b.Rem(i, b.Int(16)), b.Int(16*n)))
			b.Store(b.At(out, at, 4), b.SharedLoad(ys, i))
			return nil
		})
		b.Barrier()
	}
	b.SharedStore(xs, b.Thread(), b.Load(elem, in)) // after all products
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// launch runs a kernel, verified or not, and returns the slab.
func (s slabTest) launch(t *testing.T, k *kir.Kernel, seed uint64) ([]float32, error) {
	t.Helper()
	data, _ := s.numbers()
	bytes := make([]byte, 4*kir.SlabRows*s.cols)
	m := NewMemory()
	in, out := m.Alloc(len(data)), m.Alloc(len(bytes))
	m.Write(in, data)
	err := run(k, Launch{1, []uint64{in, out}}, m, Options{Seed: seed})
	if err == nil {
		err = m.Read(out, bytes)
	}
	y := make([]float32, len(bytes)/4)
	for i := range y {
		y[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
	}
	return y, err
}

// numbers returns small numbers, of which all sums are exact, and their bytes.
func (s slabTest) numbers() (data []byte, x []float32) {
	for len(x) < slabNumbers {
		more, numbers := tileInput(s.kind)
		data, x = append(data, more...), append(x, numbers...)
	}
	return data[:2*slabNumbers], x[:slabNumbers]
}

// at returns number e of a line of a factor.
func (s slabTest) at(x []float32, from, line, e int) float32 {
	return x[from+line/8*s.down+e/8*s.across+line%8*8+e%8]
}

var slabTests = []slabTest{
	{kind: kir.F16, lanes: 4, cols: 64, x: 0, y: 1024, across: 64, down: 128, times: 1},
	{kind: kir.BF16, lanes: 1, cols: 16, x: 8, y: 2048, across: 72, down: 144, times: 2},
	{kind: kir.F16, lanes: 2, cols: 128, x: 2048, y: 0, across: 1024, down: 64, times: 3},
	{kind: kir.BF16, lanes: 4, cols: 96, x: 512, y: 520, across: 80, down: 160, times: 1, copied: true},
}

// TestSlabsAreMultiplied compares slabs with their definition: kinds, columns, strides in both directions.
func TestSlabsAreMultiplied(t *testing.T) {
	for n, s := range slabTests {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			_, x := s.numbers()
			y, err := s.launch(t, s.kernel(t), uint64(n))
			if err != nil {
				t.Fatal(err)
			}
			for e := range y {
				row, col := e/s.cols, e%s.cols
				want := float32(1.5)
				for k := range 16 {
					want += float32(s.times) * s.at(x, s.x, row, k) * s.at(x, s.y, col, k)
				}
				if y[e] != want {
					t.Fatalf("element %d, %d is %v, want %v", row, col, y[e], want)
				}
			}
		})
	}
}

// without returns the kernel without occurrence n of a line.
func without(t *testing.T, k *kir.Kernel, text string, n int) *kir.Kernel {
	t.Helper()
	var kept []string
	for line := range strings.Lines(k.String()) {
		if strings.TrimSpace(line) == text {
			if n--; n == -1 {
				continue
			}
		}
		kept = append(kept, line)
	}
	if n >= 0 {
		t.Fatalf("no line %q", text)
	}
	return parse(t, strings.Join(kept, ""))
}

// TestWhatOrdersProductsIsNeeded leaves out each operation that orders products.
func TestWhatOrdersProductsIsNeeded(t *testing.T) {
	tests := []struct{ line, kind, text string }{
		{"slab_publish", Slab, "of xs was not published: no slab_publish came after what the thread stored there"},
		{"barrier", Race, "of xs is also written by"},
		{"slab_fence", Slab, "the slab was filled after the last slab_fence"},
		{"slab_commit", Slab, "products of the slab are under way"},
		{"slab_wait {0}", Slab, "products of the slab are under way"},
	}
	for _, s := range slabTests {
		for _, tt := range tests {
			for seed := range uint64(3) {
				_, err := s.launch(t, without(t, s.kernel(t), tt.line, 0), seed)
				wantFault(t, err, tt.kind, tt.text)
			}
		}
	}
}

// TestFaultsOfSlabs has changes of a kernel that put what orders products in the wrong place, or that do what may not
// happen while products are under way.
func TestFaultsOfSlabs(t *testing.T) {
	const store = "%v9 = load f16x4 %in\n%t9 = thread\n"
	tests := []struct{ name, old, new, kind, text string }{
		{"overwritten", "slab_commit", "slab_commit\n" + store + "shared_store xs %t9, %v9", Race, "a product that was not waited for reads element"},
		{"overwritten by a copy", "slab_commit", "slab_commit\n" + store + "%i9 = const i32 0\n%c9 = eq %t9, %i9\nif %c9 {\ncopy_async xs %i9, %in {16}\n}", Race, "a product that was not waited for reads element"},
		{"overwritten after a barrier", "slab_commit", "slab_commit\nbarrier\n" + store + "shared_store xs %t9, %v9", Race, "a product that was not waited for reads element"},
		{"overwritten before a barrier", "slab_wait {0}", "slab_wait {0}\n" + store + "shared_store xs %t9, %v9", Race, "is also read by several threads"},
		{"waited for another group", "slab_wait {0}", "slab_wait {1}", Slab, "products of the slab are under way"},
		{"committed after the wait", "slab_commit\n  slab_wait {0}", "slab_wait {0}\n  slab_commit", Slab, "products of the slab are under way"},
		{"published late", "slab_publish\n  barrier", "barrier\n  slab_publish", Slab, "of xs was published after the last barrier"},
		{"published early", "slab_publish", "barrier\nslab_publish\n" + store + "shared_store xs %t9, %v9", Slab, "was not published"},
		{"fenced early", "slab_fence", "", Slab, "filled after the last slab_fence"},
		{"misaligned", "slab_fence", "slab_fence\n%o9 = const i32 1\n%f9 = const f32 0\n%s9 = slab_fill slab_16 %f9\nslab_fence\n%y9 = slab_mul_add xs %o9, %o9, %s9 {16, 32}", Alignment, "element 1 of xs is not at a multiple of 16 bytes"},
		{"beyond the array", "slab_fence", "slab_fence\n%o9 = const i32 1000\n%f9 = const f32 0\n%s9 = slab_fill slab_16 %f9\nslab_fence\n%y9 = slab_mul_add xs %o9, %o9, %s9 {16, 32}", SharedBounds, "element 1024 of xs, which has 1024"},
		{"filled under way", "slab_commit", "slab_commit\n%f9 = const f32 0\n%i9 = const i32 0\n%j9 = const i32 2\n%k9 = const i32 1\nfor %n9 = %i9 to %j9 step %k9 {\n%s9 = slab_fill slab_16 %f9\nslab_fence\n%y9 = slab_mul_add xs %i9, %i9, %s9 {16, 32}\n}", Slab, "products of the slab are under way"},
		{"not all threads", "slab_fence", "%t9 = thread\n%h9 = const i32 64\n%c9 = lt %t9, %h9\nif %c9 {\nslab_fence\n}", Barrier, "thread"},
		{"another index", "slab_fence", "slab_fence\n%t9 = thread\n%e9 = const i32 2\n%o9 = mul %t9, %e9\n%f9 = const f32 0\n%s9 = slab_fill slab_16 %f9\nslab_fence\n%y9 = slab_mul_add xs %o9, %o9, %s9 {16, 32}", Slab, "operand 0 is 0 in thread 0 and 2 in thread 1"},
	}
	s := slabTests[0]
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			text := s.kernel(t).String()
			if strings.Count(text, tt.old) != 1 {
				t.Fatalf("%d times %q", strings.Count(text, tt.old), tt.old)
			}
			k := parse(t, strings.Replace(text, tt.old, tt.new, 1))
			for seed := range uint64(4) {
				_, err := s.launch(t, k, seed)
				wantFault(t, err, tt.kind, tt.text)
			}
		})
	}
}

// TestSlabsNeedSubgroupsOf32 has subgroups of another size.
func TestSlabsNeedSubgroupsOf32(t *testing.T) {
	_, err := Compile(slabTests[0].kernel(t), Options{Subgroup: 16})
	wantFault(t, err, Subgroup, "slabs belong to four of 32")
}

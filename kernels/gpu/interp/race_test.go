package interp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// correct are kernels with their results.
var correct = []struct {
	name, text string
	groups     int
	inputs     int
	outputs    int
	barriers   int
	want       func(x []int32, i int) int32
}{
	{name: "tree sum", text: treeSum, groups: 3, inputs: 192, outputs: 3, barriers: 2, want: func(x []int32, i int) int32 {
		return sum(x[64*i : 64*i+64])
	}},
	{name: "transpose", text: transpose, groups: 4, inputs: 4096, outputs: 4096, barriers: 2, want: func(x []int32, i int) int32 {
		return x[i%64*64+i/64]
	}},
	{name: "scan", text: scan, groups: 1, inputs: 512, outputs: 512, barriers: 3, want: func(x []int32, i int) int32 {
		return sum(x[:i+1])
	}},
}

func sum(x []int32) int32 {
	var s int32
	for _, v := range x {
		s += v
	}
	return s
}

// runInts runs a kernel with an address of inputs and one of outputs, of i32. Inputs are odd numbers in order.
func runInts(k *kir.Kernel, groups, inputs, outputs int, o Options) (in, out []int32, err error) {
	m := NewMemory()
	x, y := m.Alloc(4*inputs), m.Alloc(4*outputs)
	for i := range inputs {
		in = append(in, int32(2*i+1))
	}
	data, _ := binary.Append(nil, binary.LittleEndian, in)
	m.Write(x, data)
	if err := run(k, Launch{groups, []uint64{x, y}}, m, o); err != nil {
		return in, nil, err
	}
	data = make([]byte, 4*outputs)
	if err := m.Read(y, data); err != nil {
		return in, nil, err
	}
	out = make([]int32, outputs)
	_, err = binary.Decode(data, binary.LittleEndian, out)
	return in, out, err
}

func TestCorrectKernelsHaveOneResult(t *testing.T) {
	for _, tt := range correct {
		k := parse(t, tt.text)
		if err := kir.Verify(k); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(20) {
			in, out, err := runInts(k, tt.groups, tt.inputs, tt.outputs, Options{Seed: seed})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", tt.name, seed, err)
			}
			for i, got := range out {
				if want := tt.want(in, i); got != want {
					t.Fatalf("%s, seed %d: result %d is %d, want %d", tt.name, seed, i, got, want)
				}
			}
		}
	}
}

// TestDroppedBarriersAreNoticed drops each barrier of the correct kernels in turn. That is noticed with every seed, as
// the detector does not depend on the order.
func TestDroppedBarriersAreNoticed(t *testing.T) {
	for _, tt := range correct {
		for drop := range tt.barriers {
			t.Run(fmt.Sprintf("%s_%d", tt.name, drop), func(t *testing.T) {
				k := parse(t, tt.text)
				if dropBarrier(k.Body, drop) >= 0 {
					t.Fatalf("no barrier %d", drop)
				}
				for seed := range uint64(10) {
					_, _, err := runInts(k, tt.groups, tt.inputs, tt.outputs, Options{Seed: seed})
					var f *Fault
					if !errors.As(err, &f) || f.Kind != Race && f.Kind != Uninitialised {
						t.Errorf("seed %d: got %v", seed, err)
					}
				}
			})
		}
	}
}

// dropBarrier removes a barrier, the first for number 0. It returns a negative number if it did.
func dropBarrier(b *kir.Block, number int) int {
	if b == nil {
		return number
	}
	for at, i := range b.Instrs {
		if i.Op == kir.OpBarrier {
			if number == 0 {
				b.Instrs = slices.Delete(b.Instrs, at, at+1)
				return -1
			}
			number--
		}
		if number = dropBarrier(i.Body, number); number >= 0 {
			number = dropBarrier(i.Else, number)
		}
		if number < 0 {
			return number
		}
	}
	return number
}

// deviceTest is a kernel whose threads access device memory; a has 16 words with contents, b has 16 without.
type deviceTest struct {
	name   string
	groups int
	body   string
	kind   string // of the fault; empty if it is correct
	text   string
}

var deviceTests = []deviceTest{
	{"same byte, two threads", 1, "store %a, %t", Race, "bytes 0 to 3 of allocation 0 are also written by group 0 thread"},
	{"own elements", 2, "store %at, %t", "", ""},
	{"neighbouring bytes", 2, "%v = convert u8 %t\n%o = offset %i {1}\n%p = add %a, %o\nstore %p, %v", "", ""},
	{"neighbouring halves", 2, "%v = convert u16 %t\n%o = offset %i {2}\n%p = add %a, %o\nstore %p, %v", "", ""},
	{"overlapping bytes", 1, "%v = convert u8 %t\nif %even {\nstore %a, %v\n} else {\n%w = load u32 %a\n}", Race, "of allocation 0 are also"},
	{"two reads", 4, "%v = load u32 %a\n%w = load u64 %a", "", ""},
	{"read and write", 1, "%v = load i32 %at\n%n = rem %i, %two\n%o = offset %n {4}\n%p = add %a, %o\n%w = load u32 %p\nstore %at, %v", Race, "of allocation 0"},
	{"ordered by a barrier", 1, "store %at, %t\nbarrier\n%x = xor %t, %one\n%p1 = offset %x {4}\n%p2 = add %a, %p1\n%v = load i32 %p2", "", ""},
	{"written after a barrier", 1, "%v = load i32 %a\nbarrier\nif %zeroth {\nstore %a, %v\n}", "", ""},
	{"barrier of another group", 2, "store %at, %t\nbarrier\n%v = load i32 %a", Race, "of allocation 0 are also"},
	{"read before another group", 2, "%v = load i32 %a\nbarrier\nif %zeroth {\nstore %a, %v\n}", Race, "group"},
	{"atomics", 4, "%v = atomic_add %a, %u", "", ""},
	{"atomic and read", 2, "%v = atomic_add %a, %u\n%w = load u32 %a", Race, "allocation 0"},
	{"atomic and write", 1, "%last = eq %t, %seven\nif %last {\nstore %a, %u\n} else {\n%v = atomic_add %a, %u\n}", Race, "of allocation 0 are also"},
	{"atomic, then read", 1, "%v = atomic_add %a, %u\nbarrier\n%w = load u32 %a", "", ""},
	{"undefined", 1, "%v = load u32 %b", Uninitialised, "byte 0 of allocation 1 was never written"},
	{"partly undefined", 1, "if %zeroth {\nstore %b, %t\n%v = load u64 %b\n}", Uninitialised, "byte 4 of allocation 1 was never written"},
	{"atomic on undefined", 1, "%v = atomic_add %b, %u", Uninitialised, "byte 0 of allocation 1"},
	{"uniform", 2, "%v = load_uniform u32 %a", "", ""},
	{"uniform of undefined", 2, "%v = load_uniform u32 %b", Uninitialised, "byte 0 of allocation 1"},
	{"uniform after write", 1, "if %zeroth {\nstore %a, %t\n}\nbarrier\n%v = load_uniform u32 %a", Uniform, "are also written by group 0 thread 0"},
	{"uniform before write", 1, "%v = load_uniform u32 %a\nbarrier\nif %zeroth {\nstore %a, %t\n}", Uniform, "are also read by load_uniform or copy_async by several threads of group 0"},
	{"uniform before atomic", 1, "%v = load_uniform u32 %a\nbarrier\n%w = atomic_add %a, %u", Uniform, "load_uniform"},
	{"uniform after atomic", 1, "%w = atomic_add %a, %u\nbarrier\n%v = load_uniform u32 %a", Uniform, "changed by atomic_add"},
	{"uniform of other bytes", 1, "%four = const u64 4\n%p = add %a, %four\n%v = load_uniform u32 %p\nif %zeroth {\nstore %a, %t\n}", "", ""},
	{"beyond the end", 1, "%o = offset %i {16}\n%p = add %a, %o\n%v = load i32 %p", Bounds, "of allocation 0, which has 64"},
	{"across the end", 1, "%c = const u64 60\n%p = add %a, %c\n%v = load u64 %p", Bounds, "byte 60 of allocation 0, which has 64"},
	{"store beyond the end", 1, "%c = const u64 64\n%p = add %a, %c\nstore %p, %t", Bounds, "byte 64 of allocation 0"},
	{"before the begin", 1, "%c = const u64 4\n%p = sub %a, %c\n%v = load u32 %p", Bounds, "no allocation is there"},
	{"null", 1, "%c = const u64 0\n%v = load u32 %c", Bounds, "4 bytes at 0x0: no allocation is there"},
	{"misaligned", 1, "%c = const u64 2\n%p = add %a, %c\n%v = load u32 %p", Alignment, "byte 2 of allocation 0 is no multiple of 4"},
	{"misaligned vector", 1, "%c = const u64 8\n%p = add %a, %c\n%v = load f32x4 %p", Alignment, "byte 8 of allocation 0 is no multiple of 16"},
	{"shared undefined", 1, "%v = shared_load s %t", Uninitialised, "element"},
	{"shared too large", 1, "shared_store s %sixteen, %t", SharedBounds, "element 16 of s, which has 16"},
	{"shared negative", 1, "%m = neg %one\n%v = shared_load s %m", SharedBounds, "element -1 of s"},
	{"shared race", 1, "shared_store s %one, %t", Race, "element 1 of s is also written by group 0 thread"},
	{"shared read and write", 1, "shared_store s %t, %t\nbarrier\n%v = shared_load s %zero\nshared_store s %t, %v", Race, "of s is also"},
	{"shared of each group", 3, "shared_store s %t, %t\nbarrier\n%v = shared_load s %one", "", ""},
	{"copy", 2, "copy_async s %t, %at {4}\ncopy_commit\ncopy_wait {0}\n%v = shared_load s %t", "", ""},
	{"copy for others", 2, "copy_async s %t, %at {4}\ncopy_commit\ncopy_wait {0}\nbarrier\n%v = shared_load s %zero", "", ""},
	{"copy read too early", 1, "copy_async s %t, %at {4}\ncopy_commit\n%v = shared_load s %t", Race, "has not waited for its copy to element"},
	{"copy not committed", 1, "copy_async s %t, %at {4}\ncopy_wait {0}\n%v = shared_load s %t", Race, "has not waited for its copy to element"},
	{"copy after a barrier only", 1, "copy_async s %t, %at {4}\ncopy_commit\nbarrier\n%v = shared_load s %zero", Race, "has not waited for its copy to element 0 of s"},
	{"copy without a barrier", 1, "shared_store s %t, %t\nbarrier\ncopy_async s %t, %at {4}\ncopy_commit\ncopy_wait {0}\n%v = shared_load s %seven", Race, "of s"},
	{"copy waited for after the barrier", 1, "copy_async s %t, %at {4}\ncopy_commit\nbarrier\ncopy_wait {0}\n%v = shared_load s %seven", Race, "of s"},
	{"copy overwritten", 1, "copy_async s %t, %at {4}\nshared_store s %t, %t", Race, "has not waited for its copy"},
	{"copy to what others read", 1, "shared_store s %t, %t\nbarrier\n%v = shared_load s %zero\ncopy_async s %t, %at {4}", Race, "element 0 of s"},
	{"two copies to an element", 1, "copy_async s %zero, %at {4}", Race, "element 0 of s"},
	{"last group under way", 1, "%e = add %t, %eight\ncopy_async s %t, %at {4}\ncopy_commit\ncopy_async s %e, %at {4}\ncopy_commit\ncopy_wait {1}\nbarrier\n%v = shared_load s %zero", "", ""},
	{"last group read", 1, "%e = add %t, %eight\ncopy_async s %t, %at {4}\ncopy_commit\ncopy_async s %e, %at {4}\ncopy_commit\ncopy_wait {1}\nbarrier\n%v = shared_load s %eight", Race, "has not waited for its copy to element 8"},
	{"copy of undefined", 1, "%p = add %b, %off\ncopy_async s %t, %p {4}", Uninitialised, "of allocation 1 was never written"},
	{"copy of what is written", 1, "copy_async s %t, %at {4}\nbarrier\nstore %at, %t", Uniform, "are also read by load_uniform or copy_async"},
	{"copy beyond the array", 1, "%e = add %t, %sixteen\ncopy_async s %e, %at {4}", SharedBounds, "of s, which has 16"},
	{"copy to a misaligned element", 1, "if %zeroth {\ncopy_async s %one, %a {8}\n}", Alignment, "element 1 of s is not at a multiple of 8 bytes"},
	{"copy of a misaligned address", 1, "if %zeroth {\n%c = const u64 4\n%p = add %a, %c\ncopy_async s %zero, %p {8}\n}", Alignment, "byte 4 of allocation 0 is no multiple of 8"},
}

// deviceKernel returns a kernel of 8 threads.
func deviceKernel(t *testing.T, body string) *kir.Kernel {
	return parse(t, `kernel device threads=8 args=(a: u64, b: u64) {
		shared s: i32[16]
		%t = thread
		%g = group
		%zero = const i32 0
		%one = const i32 1
		%two = const i32 2
		%seven = const i32 7
		%eight = const i32 8
		%sixteen = const i32 16
		%u = const u32 1
		%first = mul %g, %eight
		%i = add %first, %t
		%off = offset %i {4}
		%at = add %a, %off
		%zeroth = eq %t, %zero
		%half = rem %t, %two
		%even = eq %half, %zero
		`+body+"\n}")
}

func TestAccessesToMemory(t *testing.T) {
	for _, tt := range deviceTests {
		t.Run(tt.name, func(t *testing.T) {
			k := deviceKernel(t, tt.body)
			for seed := range uint64(10) {
				m := NewMemory()
				args := []uint64{m.Alloc(64), m.Alloc(64)}
				m.Write(args[0], make([]byte, 64))
				err := Run(k, Launch{tt.groups, args}, m, Options{Seed: seed})
				if tt.kind != "" {
					wantFault(t, err, tt.kind, tt.text)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestLaunchesAreOrdered demands that what a launch wrote is defined in the next one, and no race with it.
func TestLaunchesAreOrdered(t *testing.T) {
	m := NewMemory()
	args := []uint64{m.Alloc(64), m.Alloc(64)}
	for _, body := range []string{"store %at, %i", "%v = load i32 %a\nstore %at, %i"} {
		err := Run(deviceKernel(t, body), Launch{2, args}, m, Options{})
		if body[0] == 's' && err != nil {
			t.Error(err)
		} else if body[0] == '%' {
			wantFault(t, err, Race, "allocation 0")
		}
	}
	if err := Run(deviceKernel(t, "%v = load_uniform i32 %a"), Launch{2, args}, m, Options{}); err != nil {
		t.Error(err)
	}
}

// TestDetectorIsExact compares the detector with one that keeps all accesses, over random accesses of all sizes.
func TestDetectorIsExact(t *testing.T) {
	type event struct {
		at, size int
		mode     mode
		by       access
	}
	together := func(a, b event) bool { // a is earlier
		overlap := a.at < b.at+b.size && b.at < a.at+a.size
		if !overlap || a.mode == reads && b.mode == reads || a.mode == atomics && b.mode == atomics {
			return false
		}
		sameGroup := a.by.group() == b.by.group()
		return !sameGroup || a.by>>12 == b.by>>12 && a.by.thread() != b.by.thread()
	}
	raced, random := 0, rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		const bytes = 64
		m := NewMemory()
		m.Alloc(2*bytes + 4096)
		r := region{allocation: m.allocations[0]}
		var past []event
		phase := [2]int{}
		for range 40 {
			group := random.IntN(20) / 19
			phase[group] += random.IntN(4) / 3
			size := 1 << random.IntN(6)
			e := event{4096 - bytes + random.IntN(2*bytes/size)*size, size, mode(random.IntN(8) / 3), newAccess(group, phase[group], random.IntN(3))}
			want := slices.ContainsFunc(past, func(p event) bool { return together(p, e) })
			kind, _, _ := r.conflict(e.at, e.size, e.mode, e.by)
			if got := kind == Race; got != want {
				t.Fatalf("%+v after %+v: got %v, want %v", e, past, got, want)
			}
			if want {
				raced++
				continue // a race ends a run: it is not recorded
			}
			past = append(past, e)
			r.seen[e.mode].add(e.at, e.size, len(r.data), e.by)
		}
	}
	if raced < 1000 {
		t.Errorf("only %d races", raced)
	}
}

package interp

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// runWords runs a kernel with one argument, the address of as many words of 32 bits as it has threads, and returns
// them.
func runWords(t *testing.T, k *kir.Kernel, groups int, o Options) ([]uint32, error) {
	t.Helper()
	m := NewMemory()
	n := groups * k.Threads
	y := m.Alloc(4 * n)
	if err := run(k, Launch{groups, []uint64{y}}, m, o); err != nil {
		return nil, err
	}
	data := make([]byte, 4*n)
	if err := m.Read(y, data); err != nil {
		t.Fatal(err)
	}
	out := make([]uint32, n)
	if _, err := binary.Decode(data, binary.LittleEndian, out); err != nil {
		t.Fatal(err)
	}
	return out, nil
}

// each returns a kernel whose threads store the u32, i32 or f32 %r.
func each(t *testing.T, threads int, body string) *kir.Kernel {
	t.Helper()
	return parse(t, fmt.Sprintf(`kernel each threads=%d args=(y: u64) {
		%%t = thread
		%%g = group
		%%zero = const i32 0
		%%one = const i32 1
		%%two = const i32 2
		%%three = const i32 3
		%%ten = const i32 10
		%%big = const i32 2147483647
		%%large = const i32 2147483629
		%%width = const i32 %d
		%%first = mul %%g, %%width
		%%i = add %%first, %%t
		%%o = offset %%i {4}
		%%p = add %%y, %%o
		%s
		store %%p, %%r
	}`, threads, threads, body))
}

func TestResultsOfThreads(t *testing.T) {
	const sumOfLoop = "%%c = lt %%t, %%two\n%%r = for %%n = %s to %s step %s carry (%%s = %%zero) {\n%%q = add %%s, %%n\nyield %%q\n}"
	tests := []struct {
		name, body string
		want       [8]uint32 // of two groups of 4 threads
	}{
		{"thread", "%r = thread", [8]uint32{0, 1, 2, 3, 0, 1, 2, 3}},
		{"group", "%r = group", [8]uint32{0, 0, 0, 0, 1, 1, 1, 1}},
		{"groups", "%r = groups", [8]uint32{2, 2, 2, 2, 2, 2, 2, 2}},
		{"if", "if %true {\n} else {\nbarrier\n}\n%r = thread", [8]uint32{0, 1, 2, 3, 0, 1, 2, 3}},
		{"choose", "%c = lt %t, %two\n%r, %x = if %c {\nyield %i, %t\n} else {\n%n = neg %t\nyield %n, %i\n}", [8]uint32{0, 1, math.MaxUint32 - 1, math.MaxUint32 - 2, 4, 5, math.MaxUint32 - 1, math.MaxUint32 - 2}},
		{"loop", fmt.Sprintf(sumOfLoop, "%zero", "%i", "%one"), [8]uint32{0, 0, 1, 3, 6, 10, 15, 21}},
		{"loop by steps", fmt.Sprintf(sumOfLoop, "%one", "%ten", "%three"), [8]uint32{12, 12, 12, 12, 12, 12, 12, 12}},
		{"loop without iterations", fmt.Sprintf(sumOfLoop, "%ten", "%zero", "%one"), [8]uint32{}},
		// The carried values change places, so that they have to be moved at once.
		{"swap", "%r, %x = for %n = %zero to %i step %one carry (%a = %zero, %b = %one) {\nyield %b, %a\n}", [8]uint32{0, 1, 0, 1, 0, 1, 0, 1}},
		{"fibonacci", "%r, %x = for %n = %zero to %i step %one carry (%a = %zero, %b = %one) {\n%s = add %a, %b\nyield %b, %s\n}", [8]uint32{0, 1, 1, 2, 3, 5, 8, 13}},
		{"nested loops", "%r = for %n = %zero to %i step %one carry (%a = %zero) {\n%s = for %m = %zero to %n step %one carry (%b = %a) {\n%d = add %b, %m\nyield %d\n}\nyield %s\n}", [8]uint32{0, 0, 0, 1, 4, 10, 20, 35}},
		{"select", "%c = lt %t, %two\n%r = select %c, %i, %ten", [8]uint32{0, 1, 10, 10, 4, 5, 10, 10}},
		{"vectors", "%v = vector %i, %t, %one, %two\n%w = vector %ten, %ten, %ten, %ten\n%s = mul %v, %w\n%c = lt %t, %two\n%z = select %c, %s, %w\n%r = extract %z {1}", [8]uint32{0, 10, 10, 10, 0, 10, 10, 10}},
		{"shift of vectors", "%a = const u32 1\n%b = const u32 31\n%c = vector %a, %b\n%v = vector %two, %three\n%s = shl %v, %c\n%x = extract %s {0}\n%z = extract %s {1}\n%r = add %x, %z", [8]uint32{1<<31 + 4, 1<<31 + 4, 1<<31 + 4, 1<<31 + 4, 1<<31 + 4, 1<<31 + 4, 1<<31 + 4, 1<<31 + 4}},
		{"vector of floats", "%f = convert f32 %i\n%v = vector %f, %f\n%h = convert f16x2 %v\n%d = add %h, %h\n%j = convert u8x2 %d\n%s = convert i32x2 %j\n%r = extract %s {1}", [8]uint32{0, 2, 4, 6, 8, 10, 12, 14}},
		{"bitcast", "%v = bitcast i8x4 %i\n%w = vector %i, %t\n%q = bitcast u64 %w\n%k = const u32 32\n%h = shr %q, %k\n%l = convert u32 %h\n%b = convert u32x4 %v\n%c = extract %b {0}\n%ten2 = const u32 10\n%d = mul %c, %ten2\n%r = add %d, %l", [8]uint32{0, 11, 22, 33, 40, 51, 62, 73}},
		{"bytes", "%m = const u32 287454020\n%v = bitcast u8x4 %m\n%w = convert u32x4 %v\n%r = extract %w {1}", [8]uint32{0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33}},
		{"lane", "%r = lane", [8]uint32{0, 1, 2, 3, 0, 1, 2, 3}},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := each(t, 4, "%true = eq %zero, %zero\n"+tt.body)
			if err := kir.Verify(k); err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(5) {
				got, err := runWords(t, k, 2, Options{Seed: seed, Subgroup: 4})
				if err != nil || !slices.Equal(got, tt.want[:]) {
					t.Errorf("got %v, %v, want %v", got, err, tt.want)
				}
			}
		})
	}
}

// run runs a kernel whose barriers may be anywhere.
func run(k *kir.Kernel, l Launch, m *Memory, o Options) error {
	p, err := prepare(k, o)
	if err != nil {
		return err
	}
	return p.Run(l, m, o.Seed)
}

// TestSubgroups runs subgroup operations on subgroups of each size.
func TestSubgroups(t *testing.T) {
	k := each(t, 64, `%lane = lane
		%sub = subgroup
		%lanes = lanes
		%sum = reduce_add %i
		%f = convert f32 %t
		%nf = neg %f
		%max = reduce_max %nf
		%mi = convert i32 %max
		%near = shuffle_xor %i {3}
		%a = mul %sub, %lanes
		%b = add %a, %lane
		%own = eq %b, %t
		%sm = add %sum, %mi
		%sn = add %sm, %near
		%r = select %own, %sn, %zero`)
	for _, size := range []int{4, 8, 16, 32, 64} {
		got, err := runWords(t, k, 2, Options{Seed: 3, Subgroup: size})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range got {
			begin := i / size * size
			want := size*begin + size*(size-1)/2 - begin%64 + (i ^ 3)
			if int(r) != want {
				t.Errorf("subgroups of %d, thread %d: got %d, want %d", size, i, r, want)
			}
		}
	}
}

// TestSumsOfSubgroupsHaveOneOrder pins the order of a sum whose result depends on it.
func TestSumsOfSubgroupsHaveOneOrder(t *testing.T) {
	k := each(t, 4, `%huge = const f32 16777216
		%small = const f32 1
		%c = eq %t, %zero
		%x = select %c, %huge, %small
		%r = reduce_add %x`)
	got, err := runWords(t, k, 1, Options{Subgroup: 4})
	// 2^24 + 1 is rounded down, then 2 is added.
	if want := math.Float32bits(16777218); err != nil || got[0] != want || got[3] != want {
		t.Errorf("got %#x, %v, want %#x", got, err, want)
	}
}

// TestThreadsThatDoNotMeet runs kernels that Verify refuses, or whose subgroups do not fit.
func TestThreadsThatDoNotMeet(t *testing.T) {
	tests := []struct{ name, body, kind, text string }{
		{"barrier of some", "if %few {\nbarrier\n}", Barrier, "(barrier): barrier: thread 7 has ended"},
		{"two barriers", "if %few {\nbarrier\n} else {\nbarrier\n}", Barrier, "thread 0 is at instruction 17 (barrier), thread 2 is at instruction 18 (barrier)"},
		{"barrier in other iterations", "for %n = %zero to %three step %one {\n%m = min %t, %one\n%d = eq %n, %m\nif %d {\nbarrier\n}\n}", Barrier, "thread 0 is at instruction 20 (barrier), index 0, thread 1 is at instruction 20 (barrier), index 1"},
		{"barrier in more iterations", "for %n = %zero to %t step %one {\nbarrier\n}", Barrier, "thread 0 has ended"},
		{"reduction of some", "if %few {\n%s = reduce_add %i\n}", Subgroup, "(%s = reduce_add %i): subgroup: thread 3 has ended"},
		{"two reductions", "if %few {\n%s = reduce_add %i\n} else {\n%s2 = reduce_add %t\n}", Subgroup, "thread 0 is at instruction 17 (%s = reduce_add %i), thread 2 is at instruction 18"},
		{"reduction or barrier", "if %few {\n%s = shuffle_xor %i {1}\n} else {\nbarrier\n}", Subgroup, "thread 3 is at instruction 18 (barrier)"},
		{"step", "for %n = %zero to %three step %zero {\n}", Loop, "the step is 0"},
		{"endless", "for %n = %large to %big step %ten {\n}", Loop, "the index overflows: it would be 2147483649"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := each(t, 8, "%few = lt %t, %two\n"+tt.body+"\n%r = add %t, %t")
			for seed := range uint64(5) {
				_, err := runWords(t, k, 2, Options{Seed: seed, Subgroup: 4})
				wantFault(t, err, tt.kind, tt.text)
			}
		})
	}
}

// TestOneSubgroupMayMeet lets one subgroup of two reach an operation, which is no fault.
func TestOneSubgroupMayMeet(t *testing.T) {
	k := each(t, 8, "%four = add %two, %two\n%c = lt %t, %four\n%r = if %c {\n%s = reduce_add %t\nyield %s\n} else {\nyield %t\n}\nbarrier")
	got, err := runWords(t, k, 1, Options{Subgroup: 4})
	if want := []uint32{6, 6, 6, 6, 4, 5, 6, 7}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestLaunchesThatDoNotFit(t *testing.T) {
	plain, lanes := each(t, 48, "%r = thread"), each(t, 48, "%r = lane")
	tests := []struct {
		k    *kir.Kernel
		l    Launch
		o    Options
		want string
	}{
		{plain, Launch{0, []uint64{0}}, Options{}, "each: launch: 0 workgroups: want 1 to"},
		{plain, Launch{1, nil}, Options{}, "each: launch: 0 arguments for 1"},
		{plain, Launch{1, []uint64{0}}, Options{Subgroup: 5}, "subgroups of 5 threads: want 4, 8, 16, 32 or 64"},
		{lanes, Launch{1, []uint64{0}}, Options{}, "each: subgroup: 48 threads are no multiple of a subgroup's 32"},
		{each(t, 4, "%x = add %t, %y\n%r = thread"), Launch{1, []uint64{0}}, Options{}, "operand 1 is a u64"},
	}
	for _, tt := range tests {
		if err := Run(tt.k, tt.l, NewMemory(), tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := runWords(t, plain, 1, Options{}); err != nil {
		t.Errorf("48 threads without subgroups: %v", err)
	}
}

// TestArguments passes words with more bits than their type has.
func TestArguments(t *testing.T) {
	k := parse(t, `kernel a threads=1 args=(y: u64, i: i32, u: u32) {
		%f = convert u64 %i
		%g = convert u64 %u
		%s = sub %f, %g
		store %y, %s
	}`)
	m := NewMemory()
	y := m.Alloc(8)
	if err := Run(k, Launch{1, []uint64{y, 1<<40 | 0xffffffff, 1<<40 | 0xffffffff}}, m, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := readWords(t, m, y, 1)[0]; got != 0xffffffff00000000 { // -1 minus 2^32-1
		t.Errorf("got %#x", got)
	}
}

// TestGroupOf1024Threads runs the tree sum with the largest group, and more groups than are under way at once.
func TestGroupOf1024Threads(t *testing.T) {
	text := strings.NewReplacer("i32[64]", "i32[1024]", "threads=64", "threads=1024", "const i32 64", "const i32 1024",
		"const i32 32", "const i32 512", "const i32 6\n", "const i32 10\n").Replace(treeSum)
	in, out, err := runInts(parse(t, text), 3, 3072, 3, Options{Seed: 1})
	if err != nil || out[2] != sum(in[2048:]) {
		t.Errorf("got %v, %v", out, err)
	}
}

// TestGroupsTakeTurns runs more groups than are under way at once. Later groups take the memory of groups that have
// ended.
func TestGroupsTakeTurns(t *testing.T) {
	k := parse(t, treeSum)
	atOnce := maxRegisters / (len(compile(k, Options{}).start) * 64)
	groups := 2 * atOnce
	in, out, err := runInts(k, groups, 64*groups, groups, Options{Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for g, got := range out {
		if got != sum(in[64*g:64*g+64]) {
			t.Fatalf("group %d: got %d", g, got)
		}
	}
}

// TestSeedsDifferInOrder demands that atomics get different values with different seeds, and the same with one.
func TestSeedsDifferInOrder(t *testing.T) {
	k := parse(t, "kernel a threads=16 args=(x: u64, y: u64) {\n%t = thread\n%o = offset %t {4}\n%p = add %y, %o\n%one = const u32 1\n%v = atomic_add %x, %one\nstore %p, %v\n}")
	results := make(map[string]bool)
	for seed := range uint64(6) {
		_, a, err := runInts(k, 1, 1, 16, Options{Seed: seed})
		_, b, _ := runInts(k, 1, 1, 16, Options{Seed: seed})
		if err != nil || !slices.Equal(a, b) {
			t.Fatalf("seed %d: %v, then %v, %v", seed, a, b, err)
		}
		results[fmt.Sprint(a)] = true
	}
	if len(results) < 5 {
		t.Errorf("6 seeds have %d orders", len(results))
	}
}

// TestThreadsAreInterrupted demands that other threads run between two accesses of one, with some seed.
func TestThreadsAreInterrupted(t *testing.T) {
	k := parse(t, `kernel a threads=16 args=(x: u64, y: u64) {
		%t = thread
		%o = offset %t {4}
		%p = add %y, %o
		%one = const u32 1
		%v = atomic_add %x, %one
		%w = atomic_add %x, %one
		%d = sub %w, %v
		store %p, %d
	}`)
	for seed := range uint64(10) {
		_, between, err := runInts(k, 1, 1, 16, Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Max(between) > 1 {
			return
		}
	}
	t.Error("the accesses of each thread are together with all seeds")
}

func TestMemoryOfTheHost(t *testing.T) {
	m := NewMemory()
	a, b := m.Alloc(6), m.Alloc(0)
	if a%256 != 0 || b%256 != 0 || b-a < 1<<39 {
		t.Errorf("addresses %#x and %#x", a, b)
	}
	m.Write(a+1, []byte{1, 2, 3})
	data := make([]byte, 3)
	if err := m.Read(a+1, data); err != nil || !slices.Equal(data, []byte{1, 2, 3}) {
		t.Errorf("got %v, %v", data, err)
	}
	if err := m.Read(a+2, data); err == nil || !strings.Contains(err.Error(), "byte 4 of allocation 0 was never written") {
		t.Errorf("got %v", err)
	}
	if err := m.Read(a+4, data); err == nil || !strings.Contains(err.Error(), "outside of the allocations") {
		t.Errorf("got %v", err)
	}
	defer func() {
		if r := recover(); r == nil {
			t.Error("a write outside of memory is accepted")
		}
	}()
	m.Write(a+4, data)
}

// BenchmarkDot is the inner loop of a matrix-vector product: loads of two f32x4 and four FMAs in each iteration.
func BenchmarkDot(b *testing.B) {
	k := parse(b, `kernel dot threads=64 args=(w: u64, x: u64, y: u64) {
		%t = thread
		%g = group
		%zero = const i32 0
		%step = const i32 4
		%n = const i32 1024
		%width = const i32 64
		%f = const f32 0
		%first = mul %g, %width
		%row = add %first, %t
		%start = mul %row, %n
		%v0 = vector %f, %f, %f, %f
		%s = for %i = %zero to %n step %step carry (%a = %v0) {
			%at = add %start, %i
			%ow = offset %at {4}
			%pw = add %w, %ow
			%vw = load f32x4 %pw
			%ox = offset %i {4}
			%px = add %x, %ox
			%vx = load f32x4 %px
			%a2 = fma %vw, %vx, %a
			yield %a2
		}
		%r = extract %s {0}
		%o = offset %row {4}
		%q = add %y, %o
		store %q, %r
	}`)
	const rows, columns = 256, 1024
	m := NewMemory()
	args := []uint64{m.Alloc(4 * rows * columns), m.Alloc(4 * columns), m.Alloc(4 * rows)}
	m.Write(args[0], make([]byte, 4*rows*columns))
	m.Write(args[1], make([]byte, 4*columns))
	for b.Loop() {
		if err := Run(k, Launch{rows / 64, args}, m, Options{Seed: 1}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*columns), "ns/weight")
}

package interp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

// TestProgramsRunAgain runs one program on two memories, with other arguments and numbers of groups.
func TestProgramsRunAgain(t *testing.T) {
	p, err := Compile(parse(t, "kernel a threads=4 args=(y: u64, n: i32) {\n%g = group\n%t = thread\n%w = const i32 4\n%b = mul %g, %w\n%i = add %b, %t\n%o = offset %i {4}\n%q = add %y, %o\n%v = add %i, %n\nstore %q, %v\n}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, groups := range []int{2, 1, 3} {
		m := NewMemory()
		y := m.Alloc(16 * groups)
		if err := p.Run(Launch{groups, []uint64{y, uint64(groups)}}, m, 1); err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 16*groups)
		if err := m.Read(y, data); err != nil {
			t.Fatal(err)
		}
		for i := range 4 * groups {
			if got := int(get(data[4*i:], kir.I32)); got != i+groups {
				t.Errorf("%d groups: element %d is %d", groups, i, got)
			}
		}
	}
}

// TestChecksMayBeFewer runs kernels with faults that are not looked for, and with some that always are.
func TestChecksMayBeFewer(t *testing.T) {
	tests := []struct {
		name, body string
		kind       string // with CheckAll
		always     bool
	}{
		{"race", "store %y, %t", Race, false},
		{"race in shared memory", "shared_store s %zero, %t", Race, false},
		{"undefined", "%v = load i32 %y", Uninitialised, false},
		{"undefined in shared memory", "%v = shared_load s %t", Uninitialised, false},
		{"uniform", "%v = atomic_add %y, %u\n%w = load_uniform u32 %y", Uniform, false},
		{"bounds", "%o = offset %t {400}\n%p = add %y, %o\nstore %p, %t", Bounds, true},
		{"bounds of shared memory", "%b = add %t, %four\nshared_store s %b, %t", SharedBounds, true},
		{"barrier", "%c = eq %t, %zero\nif %c {\nbarrier\n}", Barrier, true},
		{"division", "%v = div %t, %zero", Division, true},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := parse(t, "kernel a threads=4 args=(y: u64) {\nshared s: i32[4]\n%t = thread\n%zero = const i32 0\n%four = const i32 4\n%u = const u32 1\n"+tt.body+"\n}")
			for _, checks := range []Checks{CheckAll, CheckBounds} {
				m := NewMemory()
				y := m.Alloc(16)
				if tt.kind == Uniform {
					m.Write(y, make([]byte, 16))
				}
				err := run(k, Launch{1, []uint64{y}}, m, Options{Checks: checks})
				if checks == CheckAll || tt.always {
					wantFault(t, err, tt.kind, "")
				} else if err != nil {
					t.Errorf("with fewer checks: %v", err)
				}
			}
		})
	}
}

// TestChecksDoNotChangeResults compares what random kernels compute with and without checks.
func TestChecksDoNotChangeResults(t *testing.T) {
	for n := range uint64(50) {
		c, err := kirtest.Random(rand.New(rand.NewPCG(n, 3)), kirtest.Options{Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4, Inexact: true})
		if err != nil {
			t.Fatal(err)
		}
		all, err := runCase(c, Options{Seed: n})
		few, err2 := runCase(c, Options{Seed: n, Checks: CheckBounds})
		if err := errors.Join(err, err2); err != nil || !slices.Equal(all, few) {
			t.Errorf("kernel %d: error %v, %v in\n%s", n, err, c.Compare(all, few), c.Kernel)
		}
	}
}

func TestMemoryIsForgottenAndFreed(t *testing.T) {
	m := NewMemory()
	a, b := m.Alloc(300), m.Alloc(8)
	data := make([]byte, 300)
	m.Write(a, data)
	m.Write(b, data[:8])
	m.Forget(a)
	if err := m.Read(a+4, data[:1]); err == nil || !strings.Contains(err.Error(), "byte 4 of allocation 0 was never written") {
		t.Errorf("after Forget: %v", err)
	}
	m.Write(a+63, data[:130])
	if err := m.Read(a+63, data[:130]); err != nil {
		t.Error(err)
	}
	for _, at := range []uint64{62, 64} {
		if err := m.Read(a+at, data[:130]); err == nil {
			t.Errorf("130 bytes from %d on are defined", at)
		}
	}
	m.Free(a)
	if err := m.Read(a, data[:1]); err == nil || !strings.Contains(err.Error(), "outside of the allocations") {
		t.Errorf("after Free: %v", err)
	}
	if c := m.Alloc(8); c == a {
		t.Error("an address is used again")
	}
	k := parse(t, "kernel a threads=1 args=(y: u64) {\n%u = const u32 1\nstore %y, %u\n}")
	wantFault(t, Run(k, Launch{1, []uint64{a}}, m, Options{}), Bounds, "no allocation is there")
	if err := m.Read(b, data[:8]); err != nil {
		t.Error(err)
	}
}

// TestLaunchesOfASectionRunAtTheSameTime runs pairs of kernels that a GPU may run at the same time.
func TestLaunchesOfASectionRunAtTheSameTime(t *testing.T) {
	kernel := func(name, body string) *Program {
		p, err := Compile(parse(t, "kernel "+name+" threads=4 args=(x: u64, y: u64) {\n%t = thread\n%o = offset %t {4}\n%p = add %x, %o\n%q = add %y, %o\n%u = const u32 1\n"+body+"\n}"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	read, write := kernel("read", "%v = load i32 %p\nstore %q, %v"), kernel("write", "store %p, %t")
	count, uniform := kernel("count", "%v = atomic_add %x, %u"), kernel("uniform", "%v = load_uniform i32 %p")
	tests := []struct {
		name          string
		first, second *Program
		kind, text    string // "" if nothing is wrong
	}{
		{"reads", read, read, Race, "of allocation 1 are also written by group 0 thread"}, // both write y
		{"a read and a write", read, write, Race, "are also read by group 0 thread 0 of read, which may run at the same time"},
		{"a write and a read", write, read, Race, "are also written by group 0 thread 0 of write, which may run at the same time"},
		{"atomic operations", count, count, "", ""},
		{"uniform reads", uniform, uniform, "", ""},
		{"a write and a uniform read", write, uniform, Uniform, "are also written by group 0 thread 0 of write"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			m := NewMemory()
			x, y := m.Alloc(16), m.Alloc(16)
			m.Write(x, make([]byte, 16))
			l := Launch{1, []uint64{x, y}}
			for _, p := range []*Program{tt.first, tt.second} { // one after the other
				if err := p.Run(l, m, 1); err != nil {
					t.Fatal(err)
				}
			}
			s := m.NewSection()
			if err := s.Run(tt.first, l, 1); err != nil {
				t.Fatal(err)
			}
			err := s.Run(tt.second, l, 1)
			if tt.kind == "" && err == nil {
				return
			}
			wantFault(t, err, tt.kind, "")
			if !strings.Contains(strings.NewReplacer("bytes 4 to 7", "bytes 0 to 3", "thread 1 of", "thread 0 of", "thread 2 of", "thread 0 of", "thread 3 of", "thread 0 of").Replace(err.Error()), tt.text) {
				t.Errorf("%v, without %q", err, tt.text)
			}
		})
	}
}

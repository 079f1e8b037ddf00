package ptx

import (
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// TestCorpusHasAllOperationsAndKinds looks at what the other tests run.
func TestCorpusHasAllOperationsAndKinds(t *testing.T) {
	ops, kindsSeen := make(map[kir.Op]bool), make(map[kir.Kind]bool)
	for _, s := range corpus() {
		s.kernel(t).Body.Walk(func(i *kir.Instr) {
			ops[i.Op] = true
			for _, r := range i.Results {
				kindsSeen[r.Type.Kind] = true
			}
		})
	}
	n := 0
	for op := kir.OpInvalid + 1; !strings.HasPrefix(op.String(), "Op("); op++ {
		if n++; !ops[op] {
			t.Errorf("no kernel of the corpus has %v", op)
		}
	}
	for _, k := range append(allKinds, kir.Bool) {
		if !kindsSeen[k] {
			t.Errorf("no kernel of the corpus has a %v", k)
		}
	}
	t.Logf("%d operations, %d kernels", n, len(corpus()))
	if n < 40 {
		t.Errorf("only %d operations are looked at", n)
	}
}

func TestCheckAcceptsWhatEmitPrints(t *testing.T) {
	for _, s := range corpus() {
		for _, target := range s.targets() {
			text := emit(t, s.kernel(t), target)
			if again := emit(t, s.kernel(t), target); again != text {
				t.Errorf("%s, %v: two runs differ", s.name, target)
			}
			if err := Check(text); err != nil {
				t.Errorf("%s, %v: %v\n%s", s.name, target, err, text)
			}
		}
	}
}

func emit(t testing.TB, k *kir.Kernel, target Target) string {
	t.Helper()
	text, err := Emit(k, target)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// edges are bits that are special numbers as f32 or as two f16 or bf16, or integers that round twice if they become
// bf16 by way of an f32.
var edges = []uint64{
	0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7fffffff, 1, 0x807fffff, 0x7f7fffff, 0x3f800000, 0x7f7f8000, 0x7f7f7fff,
	0x7c00fc00, 0x7e000001, 0x7bff8000, 0x80013c00, 0x40400001, 0x80800001, 0xbfbfffff, 0x7fff8001, 0x33000001, 0x477ff000,
}

// inputs returns memory whose first half has random bits, common f32 and edges.
func inputs(seed uint64) []byte {
	memory := make([]byte, 2*corpusBytes)
	state := seed*0x9e3779b97f4a7c15 + 1
	for n := 0; n < corpusBytes; n += 8 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		put(memory[n:], state, 64)
		if f := float32(int32(state>>40)-1<<23) / float32(int(1)<<(state%32)); state>>8%3 == 0 {
			put(memory[n:], uint64(math.Float32bits(f)), 32)
		}
		if state>>16%4 == 0 {
			put(memory[n+4:], edges[state>>20%uint64(len(edges))], 32)
		}
	}
	return memory
}

// TestCorpusRunsAsTheReference runs the text and compares memory, bit for bit.
func TestCorpusRunsAsTheReference(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for _, s := range corpus() {
		if s.meets || s.inexact {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			k := s.kernel(t)
			for seed := range seeds {
				compareWithReference(t, k, seed)
			}
		})
	}
}

// compareWithReference runs a kernel with random numbers on all targets.
func compareWithReference(t *testing.T, k *kir.Kernel, seed uint64) {
	t.Helper()
	args := []uint64{deviceBase, deviceBase + corpusBytes, 0xabcdef0000000003, 0xffffffff00000002 + seed}
	want := inputs(seed)
	runReference(k, 2, args, want)
	for _, target := range Targets() {
		got := inputs(seed)
		text := emit(t, k, target)
		run(t, text, 2, args, got, int64(seed))
		if at := firstDifference(got, want); at >= 0 {
			t.Fatalf("%v, seed %d: thread %d, byte %d of its results: got % x, want % x\n%s\n%s", target, seed, (at-corpusBytes)/1024, at%1024,
				got[at&^7:at&^7+8], want[at&^7:at&^7+8], k, text)
		}
	}
}

func firstDifference(a, b []byte) int {
	for n := range a {
		if a[n] != b[n] {
			return n
		}
	}
	return -1
}

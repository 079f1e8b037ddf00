package ptx

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

// onInterp runs kernels with package interp.
type onInterp struct {
	*interp.Memory
	seed uint64
}

func (m onInterp) Run(k *kir.Kernel, groups int, args []uint64) error {
	return interp.Run(k, interp.Launch{Groups: groups, Args: args}, m.Memory, interp.Options{Seed: m.seed})
}

// onPTX prints kernels for a target and runs the text.
type onPTX struct {
	t      *testing.T
	target Target
	seed   int64
	memory []byte
}

func (m *onPTX) Alloc(bytes int) uint64 {
	at := (len(m.memory) + 255) / 256 * 256
	m.memory = append(m.memory, make([]byte, at+bytes-len(m.memory))...)
	return deviceBase + uint64(at)
}

func (m *onPTX) Write(address uint64, data []byte) { copy(m.memory[address-deviceBase:], data) }

func (m *onPTX) Read(address uint64, data []byte) error {
	copy(data, m.memory[address-deviceBase:])
	return nil
}

func (m *onPTX) Run(k *kir.Kernel, groups int, args []uint64) error {
	text, err := Emit(k, m.target)
	if err != nil {
		return err
	}
	if err := Check(text); err != nil {
		return err
	}
	run(m.t, text, groups, args, m.memory, m.seed)
	return nil
}

// TestRandomKernelsRunAsInInterp compares what random kernels leave in memory, printed as PTX, with what package interp
// computes.
func TestRandomKernelsRunAsInInterp(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 30
	}
	for seed := range n {
		for _, target := range Targets() {
			o := kirtest.Options{Caps: target.caps(), Size: 4 + int(seed%20)}
			c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 3)), o)
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.Run(onInterp{interp.NewMemory(), seed})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, c.Kernel)
			}
			got, err := c.Run(&onPTX{t: t, target: target, seed: int64(seed)})
			if err == nil {
				err = c.Compare(want, got)
			}
			if err != nil {
				text, _ := Emit(c.Kernel, target)
				t.Fatalf("seed %d, %v: %v\n%s\n%s", seed, target, err, c.Kernel, text)
			}
		}
	}
}

// TestRandomComparisonFindsDifferences has a machine that changes one byte.
func TestRandomComparisonFindsDifferences(t *testing.T) {
	b := kir.NewBuilder("k", 32)
	b.Arg("in", kir.U64)
	b.Store(b.At(b.Arg("out", kir.U64), b.Thread(), 4), b.Thread())
	b.Arg("n", kir.I32)
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	c := &kirtest.Case{Kernel: k, Groups: 1, Out: 128, Results: []kirtest.Result{{Type: kir.Scalar(kir.I32), Len: 32}}}
	got, err := c.Run(&onPTX{t: t, target: SM80})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 0, 128)
	for i := range uint32(32) {
		want = binary.LittleEndian.AppendUint32(want, i)
	}
	if err := c.Compare(want, got); err != nil {
		t.Error(err)
	}
	got[9]++
	if c.Compare(want, got) == nil {
		t.Error("a wrong byte is not found")
	}
}

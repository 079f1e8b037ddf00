package kirtest

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

const allCaps = kir.CapSubgroup | kir.CapF16 | kir.CapDot4 | kir.CapAsync | kir.CapTile | kir.CapSlab

func random(t testing.TB, seed uint64, o Options) *Case {
	t.Helper()
	c, err := Random(rand.New(rand.NewPCG(seed, 0)), o)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return c
}

// TestRandomKernelsHaveEveryOperation makes kernels with and without the inexact operations.
func TestRandomKernelsHaveEveryOperation(t *testing.T) {
	seen := make(map[kir.Op]bool)
	for seed := range uint64(400) {
		c := random(t, seed, Options{Caps: allCaps, Inexact: seed%2 == 0})
		c.Kernel.Body.Walk(func(i *kir.Instr) { seen[i.Op] = true })
	}
	for op := kir.OpInvalid + 1; !strings.HasPrefix(op.String(), "Op("); op++ {
		if !seen[op] {
			t.Errorf("no kernel has %v", op)
		}
	}
}

func TestCapabilitiesAreKept(t *testing.T) {
	inexact := []kir.Op{kir.OpExp, kir.OpLog, kir.OpSqrt, kir.OpSin, kir.OpCos, kir.OpTanh}
	for seed := range uint64(200) {
		c := random(t, seed, Options{})
		if c.Kernel.Needs != 0 {
			t.Fatalf("seed %d: the kernel needs %v", seed, c.Kernel.Needs)
		}
		c.Kernel.Body.Walk(func(i *kir.Instr) {
			for _, op := range inexact {
				if i.Op == op {
					t.Fatalf("seed %d: %v", seed, op)
				}
			}
		})
	}
}

func TestEqualSeedsGiveEqualKernels(t *testing.T) {
	for seed := range uint64(20) {
		x, y := random(t, seed, Options{Caps: allCaps}), random(t, seed, Options{Caps: allCaps})
		if x.Kernel.String() != y.Kernel.String() || string(x.In) != string(y.In) {
			t.Errorf("seed %d: the kernels differ", seed)
		}
	}
}

func TestHalfBits(t *testing.T) {
	for x, want := range map[float64]uint64{0: 0, 1: 0x3c00, -1: 0xbc00, 0.125: 0x3000, 63.875: 0x53fc, -2.5: 0xc100} {
		if got := halfBits(x); got != want {
			t.Errorf("%v: %#x instead of %#x", x, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	c := &Case{Results: []Result{{4, kir.Vector(kir.F16, 2), 1}, {8, kir.Scalar(kir.U32), 1}}}
	of := func(x, y uint16, z uint32) []byte {
		b := binary.LittleEndian.AppendUint16(make([]byte, 4), x)
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint16(b, y), z)
	}
	tests := []struct {
		want, got []byte
		differ    bool
	}{
		{of(1, 2, 3), of(1, 2, 3), false},
		{of(0x8000, 0x7e00, 3), of(0, 0xfc01, 3), false},
		{of(0x7c00, 0, 0), of(0x7e00, 0, 0), true},
		{of(0x7c00, 0, 0), of(0xfc00, 0, 0), true},
		{of(0, 1, 0), of(0, 0, 0), true},
		{of(0, 0, 0), of(0, 0, 0x80000000), true},
	}
	for i, tt := range tests {
		if err := c.Compare(tt.want, tt.got); (err != nil) != tt.differ {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// doubler stores the bytes of In at out, doubled.
type doubler struct{ memory []byte }

func (d *doubler) Alloc(bytes int) uint64 {
	at := (len(d.memory) + 255) / 256 * 256
	d.memory = append(d.memory, make([]byte, at+bytes-len(d.memory))...)
	return uint64(at)
}
func (d *doubler) Write(address uint64, data []byte) { copy(d.memory[address:], data) }
func (d *doubler) Read(address uint64, data []byte) error {
	copy(data, d.memory[address:])
	return nil
}
func (d *doubler) Run(_ *kir.Kernel, groups int, args []uint64) error {
	for i := range uint64(4) {
		d.memory[args[1]+i] = 2*d.memory[args[0]+i] + byte(groups) + byte(args[2]>>24)
	}
	return nil
}

func TestRunPassesMemory(t *testing.T) {
	c := &Case{Groups: 3, In: []byte{1, 2, 3, 4}, Out: 4, N: -1}
	got, err := c.Run(&doubler{memory: make([]byte, 5)})
	if want := "\x04\x06\x08\x0a"; err != nil || string(got) != want {
		t.Errorf("%q, %v instead of %q", got, err, want)
	}
}

package ptx

import (
	"strings"
	"testing"
	"time"
)

const deviceBase = 0x7f0000001000

// flat is device memory from deviceBase on.
type flat []byte

func (m flat) At(address uint64, n int) []byte {
	if at := address - deviceBase; at <= uint64(len(m)) && uint64(n) <= uint64(len(m))-at {
		return m[at:][:n]
	}
	return nil
}

// withArgs is memory with a block of arguments elsewhere.
type withArgs struct {
	flat
	args []byte
}

const argsBase = 0x100

func (m withArgs) At(address uint64, n int) []byte {
	if at := address - argsBase; at+uint64(n) <= uint64(len(m.args)) {
		return m.args[at:][:n]
	}
	return m.flat.At(address, n)
}

// run runs a module with one entry, as Emit prints them.
func run(t *testing.T, text string, groups int, args []uint64, memory []byte, seed int64) {
	t.Helper()
	p, err := Load(text)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, argBytes*len(args))
	for i, a := range args {
		put(block[argBytes*i:], a, 64)
	}
	if err := p.Run(Launch{Groups: groups, Words: []uint64{argsBase}, Seed: seed}, withArgs{memory, block}); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

const runHead = ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a)\n.reqntid 32\n{\n" +
	".reg .u64 %d<4>; .reg .u32 %u<4>; .reg .pred %p<2>;\n"

// TestRunFindsFaults runs modules that Check accepts and that do what a device would not do.
func TestRunFindsFaults(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"outside", "ld.param.u64 %d0, [a];\nst.global.u64 [%d0+4096], %d0;\nret;\n}", "8 bytes at 0x7f0000002000 are outside of memory"},
		{"unaligned", "ld.param.u64 %d0, [a];\nadd.u64 %d1, %d0, 4;\nst.global.u64 [%d1], %d0;\nret;\n}", "8 bytes at 0x7f0000001004"},
		{"barrier", "mov.u32 %u0, %tid.x;\nsetp.eq.u32 %p0, %u0, 3;\n@%p0 bra L;\nbar.sync 0;\nL:\nret;\n}", "wait for each other"},
	} {
		p, err := Load(runHead + c.body)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err := p.Run(Launch{Groups: 1, Words: []uint64{deviceBase}}, flat(make([]byte, 4096))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := Load("nothing"); err == nil {
		t.Error("text that is no module is loaded")
	}
}

// TestRunStops stops a kernel that has no end.
func TestRunStops(t *testing.T) {
	p, err := Load(runHead + "L:\nbra L;\nret;\n}")
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(10 * time.Millisecond)
	stop := func() bool { return time.Now().After(end) }
	if err := p.Run(Launch{Groups: 3, Words: []uint64{0}, Stop: stop}, flat(nil)); err != nil {
		t.Error(err)
	}
}

package spirv

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

var update = flag.Bool("update", false, "rewrite testdata")

// scale is the kernel of kir's package comment.
func scale(t *testing.T) *kir.Kernel {
	b := kir.NewBuilder("scale_f32", 64)
	x, y, n := b.Arg("x", kir.U64), b.Arg("y", kir.U64), b.Arg("n", kir.I32)
	i := b.Add(b.Mul(b.Group(), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() {
		b.Store(b.At(y, i, 4), b.Mul(b.Load(kir.Scalar(kir.F32), b.At(x, i, 4)), b.Float(2)))
	})
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDisassembly(t *testing.T) {
	got := disassemble(t, words32(t, scale(t)))
	const path = "testdata/scale_f32.spvasm"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNamesAreAddedOnRequest(t *testing.T) {
	plain := words32(t, scale(t))
	if n := len(declared(plain, opName)); n != 0 {
		t.Errorf("%d names without being asked for", n)
	}
	named, err := EmitNamed(scale(t))
	if err != nil {
		t.Fatal(err)
	}
	names := declared(named, opName)
	if !slices.ContainsFunc(names, func(o []uint32) bool { return slices.Equal(o[1:], literal("x")) }) {
		t.Errorf("no name x among %v", names)
	}
}

func TestBytes(t *testing.T) {
	got := Bytes(append([]uint32{magic}, literal("main")...))
	if want := []byte("\x03\x02\x23\x07main\x00\x00\x00\x00"); !bytes.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}

package spirv

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

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

// goldens are the kernels of testdata.
var goldens = map[string]func(*testing.T) *kir.Kernel{"scale_f32": scale}

func TestGoldens(t *testing.T) {
	irtest.RunGoldens(t, "testdata", []string{"kernel", "spirv"}, func(t *testing.T, g *irtest.Golden) {
		k := goldens[strings.TrimSuffix(filepath.Base(g.Path()), ".txtar")](t)
		g.Want("kernel", k.String())
		g.Want("spirv", disassemble(t, words32(t, k)))
	})
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

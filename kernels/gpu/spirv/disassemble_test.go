package spirv

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// compareText compares the text of a module with that of spirv-dis.
func compareText(t *testing.T, module []uint32) {
	t.Helper()
	got, err := Disassemble(module)
	if err != nil {
		t.Fatal(err)
	}
	want := disassemble(t, module)
	if got == want {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d:\n%s\ninstead of\n%s", i+1, a[i], b[i])
		}
	}
	t.Fatalf("%d lines instead of %d", len(a), len(b))
}

// TestTextIsThatOfSPIRVTools compares the samples, which have every operation, and random kernels.
func TestTextIsThatOfSPIRVTools(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			named, err := EmitNamed(sample(t, s.name, s.fill))
			if err != nil {
				t.Fatal(err)
			}
			compareText(t, named)
		})
	}
	for seed := range uint64(20) {
		c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 21)), kirtest.Options{Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4, Inexact: true})
		if err != nil {
			t.Fatal(err)
		}
		compareText(t, words32(t, c.Kernel))
	}
}

// TestNumbersAreThoseOfSPIRVTools prints constants of all classes.
func TestNumbersAreThoseOfSPIRVTools(t *testing.T) {
	floats := []uint64{0, 1 << 31, 1, 0x007fffff, 0x00800000, 0x3f800000, 0xbf99999a, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00001, uint64(math.Float32bits(1e9)), uint64(math.Float32bits(1.5e-5))}
	compareText(t, words32(t, sample(t, "k", func(b *builder) {
		for _, f := range floats {
			b.keep(b.Bits(kir.F32, f))
		}
		x := b.read(kir.Scalar(kir.F16))
		for _, f := range []uint64{0, 0x8000, 1, 0x3ff, 0x400, 0x3c00, 0xbe66, 0x7bff, 0x7c00, 0xfc00, 0x7e01} {
			b.keep(b.Add(x, b.Bits(kir.F16, f)))
		}
		b.keep(b.Bits(kir.U64, 1<<63+5))
		b.keep(b.Int(-1))
	})))
}

// TestTextIsReadBack assembles the text and compares the words, but for the generator in the head.
func TestTextIsReadBack(t *testing.T) {
	for _, s := range samples {
		module := words32(t, sample(t, s.name, s.fill))
		text, err := Disassemble(module)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(needtest.Tool(t, "spirv-val", "spirv-as"), "--preserve-numeric-ids", "--target-env", "spv1.5", "-o", "-", "-")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if !slices.Equal(out[4*headerWords:], Bytes(module)[4*headerWords:]) {
			t.Errorf("%s: the words differ", s.name)
		}
	}
}

// TestTilesHaveNames reads the text of extensions that spirv-dis of Debian 12 does not know.
func TestTilesHaveNames(t *testing.T) {
	text, err := Disassemble(words32(t, sample(t, "k", func(b *builder) {
		b.tiles(kir.BF16)
	})))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`OpCapability CooperativeMatrixKHR\n`, `OpCapability BFloat16CooperativeMatrixKHR\n`, `OpExtension "SPV_KHR_cooperative_matrix"\n`,
		`%\d+ = OpTypeFloat 16 BFloat16KHR\n`, `%\d+ = OpTypeCooperativeMatrixKHR( %\d+){5}\n`,
		`%\d+ = OpCooperativeMatrixLoadKHR( %\d+){4} NonPrivatePointer\n`, `%\d+ = OpCooperativeMatrixLoadKHR( %\d+){4} Aligned\|NonPrivatePointer 16\n`,
		` OpCooperativeMatrixStoreKHR( %\d+){4} NonPrivatePointer\n`, `%\d+ = OpCooperativeMatrixMulAddKHR( %\d+){4}\n`,
		` OpDecorate %\d+ ArrayStride \d+\n`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "OpUnknown") {
		t.Errorf("an instruction has no name:\n%s", text)
	}
}

// TestTableHasAllOpcodes reads the constants of opcode.go. Each one has a line of its name.
func TestTableHasAllOpcodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "opcode.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, in := range grammar {
		named[in.name] = true
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != "opcode" {
			return true
		}
		declared++
		if name := "Op" + strings.TrimPrefix(spec.Names[0].Name, "op"); !named[name] {
			t.Errorf("%s has no line in the table of disassemble_table.go", name)
		}
		return true
	})
	if declared != len(grammar) {
		t.Errorf("%d opcodes, %d lines", declared, len(grammar))
	}
}

func TestDisassembleTakesWhatItDoesNotKnow(t *testing.T) {
	w := words{magic, version, 0, 9, 0}
	w.op(9999, 1, 2)
	w.op(opCapability, 77777)
	w.op(opReturn, 5)
	w.op(opName)
	got, err := Disassemble(w)
	const want = "               OpUnknown(9999) 1 2\n               OpCapability 77777\n               OpReturn 5\n               OpName\n"
	if err != nil || got != want {
		t.Errorf("%q, error %v", got, err)
	}
	for _, bad := range [][]uint32{nil, {1, 2, 3, 4, 5}, append(slices.Clone(w), 0), append(slices.Clone(w), 9<<16)} {
		if _, err := Disassemble(bad); err == nil {
			t.Errorf("%v is a module", bad)
		}
	}
}

func FuzzDisassemble(f *testing.F) {
	f.Add([]byte("\x03\x02\x23\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		module := []uint32{magic, version, 0, 9, 0}
		for ; len(data) >= 4; data = data[4:] {
			module = append(module, uint32(data[0])|uint32(data[1])<<8|uint32(data[2])<<16|uint32(data[3])<<24)
		}
		_, _ = Disassemble(module)
	})
}

package readback_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// TestRandomModulesAreReadBack reads the packages of random modules on random machines back: none may differ
// from its plan.
func TestRandomModulesAreReadBack(t *testing.T) {
	count := 20
	if testing.Short() {
		count = 8
	}
	if got := len(randoms(t, count)); got != count {
		t.Errorf("%d modules, not %d", got, count)
	}
}

// TestOddModulesAreReadBack reads packages of modules with names that mean something in Go or in emitted
// code, with sizes of zero, ranks from 0 to 4, and more iterations than are read.
func TestOddModulesAreReadBack(t *testing.T) {
	compiler := newCompiles(t)
	for i, text := range []string{
		"func @f(%x: f32[], %y: f32[0], %z: f32[3,0,4], %u: f32[2,1,3,1]) -> (x: f32[], y: f32[0], z: f32[3,0,4], u: f32[2,1,3,1]) {\n" +
			"  %a = exp %x\n  %b = exp %y\n  %c = exp %z\n  %d = exp %u\n  return %a, %b, %c, %d\n}\n",
		"symbol n 0 40\nsymbol w 1 2\nsymbol x.y 1 2\nsymbol x_y 1 2\nsymbol len 1 3\nsymbol a0 0 3\nsymbol mem0 0 3\nsymbol cpu 1 2\n" +
			"func @len(%x: f32[n,64], %y: f32[x.y,w], %z: f32[x_y,len], %u: f32[a0,mem0,cpu], %sw: i32[w], %sl: i32[len], %sm: i32[mem0], %sc: i32[cpu]) -> (y: f32[n,64], z: f32[x.y,w], a: f32[x_y,len], u: f32[a0,mem0,cpu]) {\n" +
			"  %a = softmax %x\n  %b = exp %y\n  %c = exp %z\n  %d = softmax %u\n  return %a, %b, %c, %d\n}\n",
		oneFunction("string") + oneFunction("nil") + oneFunction("true") + oneFunction("error") + oneFunction("min") + oneFunction("init") + oneFunction("main") +
			oneFunction("program") + oneFunction("Close") + oneFunction("decode") + oneFunction("a0") + oneFunction("f-1") + oneFunction("f_1") + oneFunction("F_1"),
		iterated(1200), namedValues,
		origins("blk.%d.attn"), origins("7.%d"), origins("a b.%d."), origins(`\nfunc init() {}//%d`), origins("+build \x00é.0%d"), origins(`..%d"`),
	} {
		for _, s := range []setting{{}, {pkg: "odd"}, {profile: true}, {targets: twoFakes, pins: ".*=fake:1", pipeline: 3}, {targets: sharing, pins: ".*=d0"}} {
			t.Run(fmt.Sprint(i, s), func(t *testing.T) {
				m, err := ir.Parse("odd.ggir", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				sub, err := emit(t.Context(), "odd", m, nil, s)
				if err != nil {
					t.Fatal(err)
				}
				if err := compiler.refuses(sub.files); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// origins is rolled into a repeat whose nodes come from places of that form, with the number of the layer.
func origins(form string) string {
	var b strings.Builder
	b.WriteString("func @f(%x0: f32[8,64]) -> (y: f32[8,64]) {\n")
	for i := range 6 {
		fmt.Fprintf(&b, "  %%s%d = softmax %%x%d : f32[8,64] pos=%q\n  %%x%d = add %%s%d, %%x%d : f32[8,64] pos=%[3]q\n", i, i, fmt.Sprintf(form, i), i+1, i, i)
	}
	return b.String() + "  return %x6\n}\n"
}

// namedValues has values whose names are taken in Go, in emitted code or by each other, and that are used several
// times.
var namedValues = func() string {
	names := []string{"x", "len", "int", "cpu", "tile", "unsafe", "a0", "k1", "mem3", "f", "main", "program", "n", "nAt", "softmax", "scale", "scale2",
		"a.b", "a_b", "A_b", "aB", "é", "_", "__", "9", "v9", "v", "u", "slot", "true", "iota", "MatMul", "type", strings.Repeat("long", 30), "a b", "//", "\n"}
	var b, sums strings.Builder
	b.WriteString("symbol n 1 40\nfunc @f(%in: f32[n,64]) -> (y: f32[n,64], z: f32[n,64]) {\n")
	for i, name := range names {
		fmt.Fprintf(&b, "  %%%q = scale %%in {scale=%d, bias=0.25}\n", name, i)
		fmt.Fprintf(&sums, "  %%sum.%d = add %%%q, %%%q\n  %%half.%d = scale %%sum.%d {scale=%d, bias=0.5}\n", i, name, names[(i+1)%len(names)], i, i, i)
	}
	sums.WriteString("  %total.0 = add %half.0, %in\n")
	for i := range names[1:] {
		fmt.Fprintf(&sums, "  %%total.%d = add %%total.%d, %%half.%d\n", i+1, i, i+1)
	}
	return b.String() + sums.String() + fmt.Sprintf("  return %%total.%d, %%half.0\n}\n", len(names)-1)
}()

func oneFunction(name string) string {
	return fmt.Sprintf("func @%s(%%x: f32[2]) -> (y: f32[2]) {\n  %%y = exp %%x\n  return %%y\n}\n", name)
}

// TestDeviceThatOnlyHoldsMemoryIsReadBack reads a program back in which d0 runs nothing, and its memory holds a weight
// that d1 reads there.
func TestDeviceThatOnlyHoldsMemoryIsReadBack(t *testing.T) {
	m, err := ir.Parse("held.ggir", []byte(`weight "w" : f32[64] @va
func @f(%x: f32[2,64]) -> (y: f32[2,64]) {
  %w = weight "w"
  %y = mul %x, %w
  return %y
}
`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := emit(t.Context(), "held", m, nil, setting{pins: "^y$=d1",
		targets: "target d0 like=fake space=va\ntarget d1 like=fake space=vb,va\ntarget cpu like=cpu\n"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Backend == "d0" {
				t.Errorf("d0 runs %v", n)
			}
		}
	}
	if err := s.check(s.files); err != nil {
		t.Error(err)
	}
}

package ir

import (
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

func TestForeignNodesHaveTheTraitsOfTheirAttributes(t *testing.T) {
	const text = `
func @f(%x: f32[4]) -> f32[4] {
  %in = foreign "NONE" {leaf=true, input=true} : f32[4] in host @cpu
  %a = foreign "ADD" %x, %in {srcs=[0,2], takes=[1]} : f32[4]
  %v = foreign "VIEW" %a, %a {view=true, offset=8, bytes=8} : f32[2]
  %s = foreign "SCALE" %v, %a {inplace=true} : f32[4]
  return %s
}
`
	m, err := Parse("t", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("t", []byte(m.String()))
	if err != nil {
		t.Fatal(err)
	}
	if same, diff := Equal(m, again); !same {
		t.Fatalf("the printed module is another: %s\n%s", diff, m)
	}
	in, a, v, s := m.Funcs[0].Nodes[0], m.Funcs[0].Nodes[1], m.Funcs[0].Nodes[2], m.Funcs[0].Nodes[3]
	if !in.Is(Leaf) || in.Is(View) || !v.Is(View) || s.Is(View) {
		t.Error("traits are not what the attributes say")
	}
	if a.SourcePos(1) != 2 || v.SourcePos(0) != 0 {
		t.Error("source positions are not what the attributes say")
	}
	if v.Result().MaxBytes() != 8 || a.Result().MaxBytes() != 16 {
		t.Error("extents are not what the attributes say")
	}
	if !slices.Equal(a.InPlace(), []int{1}) || v.InPlace() != nil {
		t.Error("operands that may be taken over are not what the attributes say")
	}
	if len(v.Sources()) != 1 || len(s.Sources()) != 1 || len(a.Sources()) != 2 {
		t.Error("an operand that is no source is read, or one that is, is not")
	}
	if v.Result().Root() != a.Result() || s.Result().Root() != a.Result() || a.Result().Source() != nil {
		t.Error("bytes do not belong to whom they should")
	}
}

func TestForeignAttributesThatContradictAreErrors(t *testing.T) {
	for _, tt := range []struct {
		attr ForeignAttr
		args int
		want string
	}{
		{ForeignAttr{View: true}, 0, "there is no operand"},
		{ForeignAttr{Srcs: []int{1}}, 2, "srcs has 1 position for 2 sources"},
		{ForeignAttr{View: true, InPlace: true}, 2, "not both"},
		{ForeignAttr{Leaf: true}, 1, "a leaf has no operands"},
		{ForeignAttr{Input: true}, 1, "only a leaf is an input"},
		{ForeignAttr{Takes: []int{1}}, 1, "takes [1]: it has 1 source"},
		{ForeignAttr{Takes: []int{0}, InPlace: true}, 2, "takes no others"},
		{ForeignAttr{Offset: 4}, 1, "an offset belongs to a view"},
		{ForeignAttr{View: true, Offset: -4}, 2, "one is negative"},
		{ForeignAttr{View: true, Offset: 4}, 2, "16 bytes from 4 on are not within the 16 of"},
		{ForeignAttr{InPlace: true, Bytes: 20}, 2, "20 bytes from 0 on"},
	} {
		b := NewBuilder("m")
		f := b.Func("f")
		x := f.Param("x", Type{DType: dtype.F32, Shape: Dims(4)})
		args := []*Value{x, x}[:tt.args]
		f.Return("y", f.Foreign(tt.attr, args, x.Type)[0])
		if _, err := b.Finish(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v with %d operands: %v, want %s", tt.attr, tt.args, err, tt.want)
		}
	}
}

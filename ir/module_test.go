package ir

import (
	"slices"
	"testing"
)

func TestMetadataAndHeadersKeepTheirOrder(t *testing.T) {
	b := NewBuilder("m")
	b.Meta("a", "1")
	b.Meta("b", "2")
	b.Meta("a", "3")
	m := b.Module()
	if m.GetMeta("a") != "3" || m.GetMeta("c") != "" || len(m.Meta) != 2 {
		t.Errorf("metadata %v", m.Meta)
	}
	m.Headers = []Header{{"target", "gpu"}, {"option", "x"}, {"target", "cpu"}}
	m.SortHeaders()
	if got := m.GetHeaders("target"); !slices.Equal(got, []string{"gpu", "cpu"}) || m.Headers[0].Key != "option" {
		t.Errorf("headers %v", m.Headers)
	}
}

func TestNamesAreMadeUnique(t *testing.T) {
	f := (&Module{}).AddFunc("f")
	var names []string
	for _, name := range []string{"x", "x", "x.1", "", "x"} {
		names = append(names, f.AddParam(name, Type{}).Name())
	}
	if want := []string{"x", "x.1", "x.1.1", "v3", "x.2"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	f.Rename(f.Params[0], "y")
	f.Rename(f.Params[1], "x")
	if f.Params[0].Name() != "y" || f.Params[1].Name() != "x" || f.Param("y") != f.Params[0] || f.Param("z") != nil {
		t.Errorf("after renaming: %v", f.Params)
	}
}

// TestTakenNameIsUnique checks that the names of both values stay unique, and those of values made later.
func TestTakenNameIsUnique(t *testing.T) {
	f := (&Module{}).AddFunc("f")
	old, v := f.AddParam("x", Type{}), f.AddParam("", Type{})
	f.TakeName(v, old)
	next := f.AddParam("x", Type{})
	if got := []string{old.Name(), v.Name(), next.Name()}; !slices.Equal(got, []string{"v0", "x", "x.1"}) {
		t.Errorf("names %q", got)
	}
}

func TestWalksFindReadersAndPositions(t *testing.T) {
	m := mustParse(t, `func @f(%x: f32[4], %y: f32[4]) -> f32[4] {
  %a = add %x, %x
  %b = mul %a, %y
  %c = slice %b {axis=0, start=0, len=4}
  return %a
}`)
	f := m.Funcs[0]
	a, b := f.Nodes[0], f.Nodes[1]
	if uses := Uses(f); len(uses.Of(f.Params[0])) != 1 || !slices.Equal(uses.Of(a.Results[0]), []*Node{b}) {
		t.Errorf("uses %v", uses)
	}
	Replace(a.Result(), f.Params[1])
	if b.Args[0] != f.Params[1] || f.Results[0] != f.Params[1] {
		t.Error("a reader was not replaced")
	}
	n := f.NewNode(OpNeg, nil, f.Params[:1], "n", f.Params[0].Type)
	if pos := Positions(f); pos[b.ID] != 1 || pos[n.ID] != -1 {
		t.Errorf("positions %v", pos)
	}
	f.InsertBefore(b, n)
	f.InsertBefore(nil, f.NewNode(OpNeg, nil, f.Params[:1], "", f.Params[0].Type))
	if Positions(f)[n.ID] != 1 || len(f.Nodes) != 5 {
		t.Errorf("nodes %v", f.Nodes)
	}
	if c := f.Nodes[3].Result(); c.Root() != b.Result() || c.Source() != b.Result() || c.IsWeight() {
		t.Errorf("root of %v is %v", c, c.Root())
	}
	if err := Verify(m); err != nil {
		t.Error(err)
	}
}

func TestPropsAreParsed(t *testing.T) {
	p := PropImported | PropPlaced
	if got, ok := ParseProps(p.String()); got != p || !ok {
		t.Errorf("got %v", got)
	}
	if got, ok := ParseProps(""); got != 0 || !ok {
		t.Errorf("got %v", got)
	}
	if _, ok := ParseProps("nice"); ok {
		t.Error("nice is a property")
	}
}

func TestShowNamesAreParsed(t *testing.T) {
	for _, s := range []Show{ShowAll, ShowBackend | ShowCause} {
		if got, err := ParseShow(s.String()); got != s || err != nil {
			t.Errorf("%v is read as %v (%v)", s, got, err)
		}
	}
	if got, err := ParseShow("all"); got != ShowAll || err != nil {
		t.Errorf("all is %v (%v)", got, err)
	}
	if _, err := ParseShow("type,colour"); err == nil {
		t.Error("colour is a column")
	}
}

func TestTypesHaveTheirSizes(t *testing.T) {
	n := &Symbol{"n", 1, 40}
	p := newParser("t", nil)
	p.m.Symbols = []*Symbol{n}
	tests := []struct {
		text, bytes string
		max         int64
	}{
		{"f32[]", "4", 4},
		{"f32[3,5]", "60", 60},
		{"q8_0[n,64]", "68*n", 2720},
		{"q4_0.r16[17,64]", "1152", 1152},
		{"f16.r16[n,5]", "160*((n+15)/16)", 480},
		{"q8a[2,64]", "192", 192},
		{"q8a_k[2,512]", "1280", 1280},
		{"q4_0.planar[17,64]", "816", 816},
		{"q4_0.planar[2,3,288]", "1056", 1056},
		{"q8_0.planar[n,96]", "112*n", 4480},
	}
	for _, tt := range tests {
		q := newParser("t", []byte(tt.text))
		q.m = p.m
		typ := q.typ()
		if q.failed() || typ.String() != tt.text || typ.Bytes().String() != tt.bytes || typ.MaxBytes() != tt.max {
			t.Errorf("%s (%v): %v bytes, at most %d, want %s and %d", typ, q.err(), typ.Bytes(), typ.MaxBytes(), tt.bytes, tt.max)
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestFirstTriesFindNothing makes the first tries, which are determined by their seeds.
func TestFirstTriesFindNothing(t *testing.T) {
	needtest.Slow(t, "fuzz")
	needtest.Data(t, "aidreams260K.gguf")
	got, err := run(t.Context(), options{seed: 1, tries: 300, workers: 2, group: 12, out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", got)
	if len(got.finds) > 0 {
		t.Errorf("finds; go run ./tests/seams -try SEED -out DIR shows one:\n%s", strings.Join(got.finds, "\n"))
	}
	var all counts
	for _, kind := range kinds {
		c := got.byKind[kind]
		if c == nil || c.built == 0 && kind != "graph-edit" {
			t.Fatalf("no program was built of kind %s:\n%s", kind, got)
		}
		all.built += c.built
	}
	if got.runs < 4*all.built {
		t.Errorf("%d programs were run %d times, and each has to be with four numbers of threads", all.built, got.runs)
	}
}

// TestSeedDeterminesTheTry draws the try of a seed twice.
func TestSeedDeterminesTheTry(t *testing.T) {
	one, other := randomMachine(newDraw(7, 1)), randomMachine(newDraw(7, 1))
	if one.text() != other.text() {
		t.Errorf("seed 7 draws\n%s and\n%s", one.text(), other.text())
	}
	text := "ggir 1\nmeta \"lm.batch\" \"4\"\nfunc @f(%x: f32[4] @host at 1:0x0+16) -> (y: f32[4]) epochs=2 {\n  %y = neg %x : f32[4] in host @cpu split=0 part=split(0, 4, 1) epoch=1 at 2:0x40+16\n  return %y\n}\n"
	for seed := range uint64(2000) {
		a, meaning := editText(newDraw(seed, 2), text, editLimits{})
		b, again := editText(newDraw(seed, 2), text, editLimits{})
		if a != b || meaning != again {
			t.Fatalf("seed %d edits to\n%s and\n%s", seed, a, b)
		}
	}
}

// TestPlaceOfAnEditTellsWhatItAffects edits each part of a line.
func TestPlaceOfAnEditTellsWhatItAffects(t *testing.T) {
	for _, c := range []struct {
		line, at string
		want     bool
	}{
		{"  %y = scale %x {factor=2} : f32[4] in host @cpu split=0 at 2:0x40+16", "2}", true},
		{"  %y = scale %x {factor=2} : f32[4] in host @cpu split=0 at 2:0x40+16", "x {", true},
		{"  %y = scale %x {factor=2} : f32[4] in host @cpu split=0 at 2:0x40+16", "4]", true},
		{"  %y = scale %x {factor=2} : f32[4] in host @cpu split=0 at 2:0x40+16", "host", false},
		{"  %y = scale %x {factor=2} : f32[4] in host @cpu split=0 at 2:0x40+16", "0 at", false},
		{"  %y = scale %x {factor=2} : f32[4] in host @cpu split=0 at 2:0x40+16", "40+", false},
		{`weight "w" : f32[64] @"fake:0" = m["w"] at 0:0x40+256`, "fake:0", false},
		{`weight "w" : f32[64] @"fake:0" = m["w"] at 0:0x40+256`, "40+", false},
		{`weight "w" : f32[64] @"fake:0" = m["w"] at 0:0x40+256`, `w"]`, true},
		{`weight "w" : f32[64] @"fake:0" = m["w"] at 0:0x40+256`, "64]", true},
		{`state "k" : f16[1,4] at 7:0x0+8`, "16[", true},
		{`state "k" : f16[1,4] at 7:0x0+8`, "0+8", false},
		{`meta "lm.batch" "4"`, `4"`, false},
		{"func @f(%x: f32[4] @host at 1:0x0+16) -> (y: f32[4]) epochs=2 {", "0+16", false},
		{"func @f(%x: f32[4] @host at 1:0x0+16) -> (y: f32[4]) epochs=2 {", "2 {", false},
		{"func @f(%x: f32[4] @host at 1:0x0+16) -> (y: f32[4]) epochs=2 {", "4] @", true},
	} {
		e := &editor{}
		if e.change(c.line, strings.Index(c.line, c.at)); e.meaning != c.want {
			t.Errorf("%s: %q changes what is computed: %t, want %t", c.line, c.at, e.meaning, c.want)
		}
	}
}

// TestEditOfAnOptionLineMayRoundDifferently: the comparison after such an edit has a bound, unless the line has no
// effect any more.
func TestEditOfAnOptionLineMayRoundDifferently(t *testing.T) {
	const head = "ggir 1\noption kv=f32\noption disable=fold\noption cpu=generic\noption disable=fuse-late.attention-bf16\n"
	numeric := []string{"--quantize", "Q8_0", "--cpu", "generic", "--disable", "fuse-late.attention-bf16"}
	quantized, exact := &subject{quantizes: true}, &subject{}
	for _, c := range []struct {
		subject  *subject
		numeric  []string
		old, new string
		want     float64
	}{
		{quantized, numeric, "option cpu=generic\n", "", 0.12},
		{quantized, numeric, "cpu=generic", "cpu=avx2", 0.12},
		{quantized, numeric, "option cpu=generic\n", "option cpu=generic\noption cpu=generic\n", 0},
		{quantized, numeric, "option disable=fuse-late.attention-bf16\n", "", 0.06},
		{quantized, numeric, "option disable=fold\n", "", 0},
		{quantized, numeric, "option kv=f32\n", "", 0},
		{quantized, numeric, "", "", 0},
		{exact, []string{"--cpu", "generic"}, "option cpu=generic\n", "", 0.0003},
	} {
		try := &try{subject: c.subject, numeric: c.numeric}
		try.loosened = c.subject.roundedByEdit(c.numeric, head, strings.Replace(head, c.old, c.new, 1))
		if got := try.bound(); got != c.want {
			t.Errorf("%q becomes %q: bound %g, want %g", c.old, c.new, got, c.want)
		}
	}
}

// TestLogitsAreNearUpToTheFirstOtherToken: results are equal only if every bit is, and near within a bound.
func TestLogitsAreNearUpToTheFirstOtherToken(t *testing.T) {
	const want = `{"id":1,"logits":[1,-4]}` + "\n" + `{"id":2,"logits":[3,2]}` + "\n"
	for _, c := range []struct {
		got  string
		want bool
	}{
		{want, true},
		{`{"id":1,"logits":[1.01,-4]}` + "\n" + `{"id":2,"logits":[3,2.01]}` + "\n", true},
		{`{"id":1,"logits":[2,-4]}` + "\n" + `{"id":2,"logits":[3,2]}` + "\n", false},
		{`{"id":1,"logits":[1,-4]}` + "\n" + `{"id":0,"logits":[3.01,2]}` + "\n", true}, // the texts differ from here on
		{`{"id":0,"logits":[1,-4]}` + "\n" + `{"id":0,"logits":[9,9]}` + "\n", true},
		{`{"id":1,"logits":[1,-4]}` + "\n", false},
		{"", false},
	} {
		if got := near(want, c.got, 0.05); got != c.want {
			t.Errorf("near(%s) = %t, want %t", c.got, got, c.want)
		}
	}
}

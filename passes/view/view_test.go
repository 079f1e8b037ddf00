package view

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// anything is a machine with a card and a processor that run all ops. The plan of random programs is then no plan that
// could be emitted, which nothing here asks for.
const anything = "target gpu space=vram ops=* queues=2 flops=8e12 bandwidth=4e11 launch=1e-9 link=1e13 linkdelay=1e-9\ntarget cpu space=host ops=* flops=1e11 bandwidth=2e10\n"

func parseTargets(t *testing.T, text string) *target.List {
	t.Helper()
	l, err := target.Parse("targets", text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// record runs all passes and returns the texts after each, as read from the recorder and as printed.
func record(t *testing.T, m *ir.Module, l *target.List) (r *Recorder, want []string) {
	t.Helper()
	r = NewRecorder(m)
	want = []string{printable.Text(m.String())}
	_, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: l, After: func(s passes.Step, m *ir.Module) error {
		want = append(want, printable.Text(m.String()))
		return r.After(s, m)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r, want
}

// applied returns the text that edits make of lines.
func applied(r *Recorder, lines []string, edits [][]int) []string {
	var out []string
	for _, e := range edits {
		switch len(e) {
		case 1:
			out = append(out, r.lines.list[e[0]])
		case 2:
			out = append(out, lines[e[0]:e[0]+e[1]]...)
		default:
			old := lines[e[0]]
			out = append(out, old[:e[1]]+r.lines.list[e[3]]+old[len(old)-e[2]:])
		}
	}
	return out
}

// TestEditsMakeTheTextsOfAllPasses replays the edits of random programs on two backends.
func TestEditsMakeTheTextsOfAllPasses(t *testing.T) {
	list := parseTargets(t, anything)
	kinds := make(map[int]int)
	for seed := range uint64(5) {
		p, err := irtest.Random(seed, 30)
		if err != nil {
			t.Fatal(err)
		}
		r, want := record(t, p.Module, list)
		var lines []string
		for i, page := range r.passes {
			lines = applied(r, lines, page.Edits)
			if got := strings.Join(lines, "\n") + "\n"; got != want[i] {
				t.Fatalf("seed %d, after %s: the edits make\n%s\nand the module is\n%s", seed, page.Pass, got, want[i])
			}
			for _, e := range page.Edits {
				kinds[len(e)]++
			}
		}
	}
	if kinds[1] == 0 || kinds[2] == 0 || kinds[4] == 0 {
		t.Errorf("kinds of edits: %v; some never occur", kinds)
	}
}

// TestUnchangedLinesAreStoredOnce compares the sizes of whole texts with that of the edits and lines.
func TestUnchangedLinesAreStoredOnce(t *testing.T) {
	l := irtest.SmallLlama
	l.Layers = 24
	r, want := record(t, irtest.Parse(t, l.Text()), parseTargets(t, "target cpu like=cpu\n"))
	stored, err := json.Marshal(r.passes)
	if err != nil {
		t.Fatal(err)
	}
	size, whole := len(stored), 0
	for _, line := range r.lines.list {
		size += len(line)
	}
	for _, text := range want {
		whole += len(text)
	}
	if size > whole/4 {
		t.Errorf("%d bytes are stored for %d texts of together %d bytes", size, len(want), whole)
	}
}

func TestDocument(t *testing.T) {
	irtest.RunGoldens(t, "testdata", []string{"module", "targets", "want"}, func(t *testing.T, g *irtest.Golden) {
		m, list := irtest.Parse(t, g.Section("module")), parseTargets(t, g.Section("targets"))
		r, _ := record(t, m, list)
		for _, p := range r.passes {
			p.MS = 0
		}
		d, err := NewDocument(m, r, Options{Explain: explain.Options{Targets: list}})
		if err != nil {
			t.Fatal(err)
		}
		g.Want("want", readable(t, d))
	})
}

// readable returns the document of a page with lines in place of their indexes.
func readable(t *testing.T, d *Document) string {
	var b strings.Builder
	for _, p := range d.Passes {
		if !p.Changed {
			continue
		}
		b.WriteString("pass " + p.Pass + "\n")
		for _, r := range p.Rules {
			b.WriteString("  rule " + r.Rule + ": " + r.Text + "\n")
		}
		for _, e := range p.Edits {
			if len(e) != 2 {
				b.WriteString("  line " + d.Lines[e[len(e)-1]] + "\n")
			}
		}
	}
	for _, n := range d.Nodes {
		b.WriteString(n.Kind + " " + n.ID + "\n")
		for _, a := range n.Tried {
			doc, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("  tried " + string(doc) + "\n")
		}
		for _, i := range n.Text {
			b.WriteString("  " + d.Lines[i] + "\n")
		}
	}
	return b.String()
}

// hostile are names that would end a script, be HTML, end a text, turn the direction of writing, or be long.
var hostile = []string{
	`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"'` + "`" + `\`, "nul\x00", "\u202eright to left", "<!--", "]]>", "{{document}}", "\u2028", "a&view=passes", "%v1",
	strings.Repeat("long", 2500), "\xff\xfe",
}

// TestHostileNames gives them to everything in a module that has a name.
func TestHostileNames(t *testing.T) {
	for _, name := range hostile {
		m := hostileModule(t, name)
		list := parseTargets(t, "target cpu like=cpu\n")
		r, _ := record(t, m, list)
		var b bytes.Buffer
		if err := Write(&b, m, r, Options{Explain: explain.Options{Targets: list}, Notes: []string{name}}); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		checkPage(t, name, b.String())
	}
}

func hostileModule(t *testing.T, name string) *ir.Module {
	text := `symbol n 1 4
meta NAME NAME
weight NAME : f32[4,4]
func @NAME(%x: f32[n,4]) -> (NAME: f32[n,4]) doc=NAME {
  %w = weight NAME : f32[4,4] pos=NAME
  %NAME = matmul %x, %w : f32[n,4] pos=NAME ; NAME/NAME %NAME was NAME now NAME
  %y = relu %NAME : f32[n,4] pos=NAME
  return %y
}
`
	m := irtest.Parse(t, strings.ReplaceAll(text, "NAME", strconv.QuoteToASCII(name)))
	m.Name = name
	return m
}

// checkPage checks that the page has its own elements only, that it holds no rune that does not print, and that its
// document can be read.
func checkPage(t *testing.T, name, page string) {
	t.Helper()
	for tag, want := range map[string]int{"<script": 2, "</script": 2, "<img": 0, "<style": 1, "<title": 1, "<meta": 4} {
		if got := strings.Count(strings.ToLower(page), tag); got != want {
			t.Errorf("%.40q: %d times %s, want %d", name, got, tag, want)
		}
	}
	if i := strings.IndexFunc(page, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("%.40q: the page has %q", name, page[i:min(i+20, len(page))])
	}
	_, doc, _ := strings.Cut(page, `id="data">`)
	doc, _, _ = strings.Cut(doc, "</script>")
	var d Document
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Fatalf("%.40q: %v", name, err)
	}
	kinds := make(map[string]int)
	for _, n := range d.Nodes {
		kinds[n.Kind]++
	}
	if kinds["node"] == 0 || kinds["weight"] != 1 || kinds["parameter"] != 1 {
		t.Errorf("%.40q: the document has %v", name, kinds)
	}
}

// TestSubject cuts lines with blanks, equals signs and brackets in quotes.
func TestSubject(t *testing.T) {
	for line, want := range map[string]string{
		`%v1 = add %a, %b`:                  "%v1 =",
		`%"a = b" = add %a, %b`:             `%"a = b" =`,
		`%"a\" = b", %c = split %a`:         `%"a\" = b", %c =`,
		`weight "a b" : f32[1]`:             `weight "a b"`,
		`weight "a\"(b" : f32[1]`:           `weight "a\"(b"`,
		`func @decode(%x: f32[1]) -> (y) {`: "func @decode",
		`return %a, %b`:                     "return %a,",
		`}`:                                 "}",
		``:                                  "",
	} {
		if got := subject(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestEveryPartOfTheScriptIsUsed compares the list of parts with the folder.
func TestEveryPartOfTheScriptIsUsed(t *testing.T) {
	entries, err := page.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".js") && !slices.Contains(scripts, name) {
			t.Errorf("no page has page/%s", name)
		}
	}
}

package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

const grammarPage = "docs/reference/grammar.md"

// ebnfBlock and ggirBlock are the fenced blocks of a page that hold productions and modules.
var (
	ebnfBlock = regexp.MustCompile("(?ms)^```ebnf\n(.*?)^```")
	ggirBlock = regexp.MustCompile("(?ms)^```ggir\n(.*?)^```")
)

// TestGrammarAcceptsWhatParses compares the page's grammar with ir.Parse on every module of the
// corpus: what is parsed has to be a sentence of the grammar.
func TestGrammarAcceptsWhatParses(t *testing.T) {
	g := readGrammar(t)
	parsed := 0
	for name, text := range modulesOfTests(t) {
		if _, err := ir.Parse(name, []byte(text)); err != nil {
			continue
		}
		parsed++
		if rest := g.accepts(text); rest != "" {
			t.Errorf("%s: ir.Parse reads it, the grammar of %s stops before %q", name, grammarPage, rest)
		}
	}
	if parsed < 300 {
		t.Errorf("only %d modules were found", parsed)
	}
}

// Broken sentences, one for each kind of statement, are in neither.
func TestGrammarRefusesWhatDoesNotParse(t *testing.T) {
	g := readGrammar(t)
	for _, text := range []string{
		"ggir 2", "module x", "module \"x\" y", "#", "source m \"p\" -1", "weight \"w\" : f32[4", "weight \"w\" : f32[1] = m",
		"weight \"w\" : f32[1] = mix(m[\"x\"])", "weight \"w\" : f32[1] at x", "func f", "func @f( {\n  return\n}", "func @f() -> () {\n",
		"func @f(%x: f32[1]) -> () {\n  %y = relu %x spit=1\n  return\n}", "func @f(%x: f32[1]) -> () {\n  %y = relu %x part=some\n  return\n}",
		"func @f(%x: f32[1]) -> () {\n  %y = relu %x ; a-\n  return\n}", "plan {\n  arena host io size=3\n}", "plan {\n  are\n}", "odd",
	} {
		if _, err := ir.Parse("t", []byte(text)); err == nil {
			t.Errorf("%q: ir.Parse reads it", text)
		}
		if g.accepts(text) == "" {
			t.Errorf("%q: the grammar of %s accepts it", text, grammarPage)
		}
	}
}

// Modules that pages show parse and are well formed.
func TestModulesInPagesParse(t *testing.T) {
	found := 0
	for page, text := range pagesOf(t, needtest.Root(t)) {
		for _, m := range ggirBlock.FindAllStringSubmatch(text, -1) {
			found++
			module, err := ir.Parse(page, []byte(m[1]))
			if err == nil {
				err = ir.Verify(module)
			}
			if err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d modules were found", found)
	}
}

// modulesOfTests returns the modules of all test files and examples, by file and section.
func modulesOfTests(t *testing.T) map[string]string {
	t.Helper()
	root, modules := needtest.Root(t), make(map[string]string)
	for _, m := range ggirBlock.FindAllStringSubmatch(pagesOf(t, root)[grammarPage], -1) {
		modules[grammarPage+":"+m[1]] = m[1]
	}
	for _, dir := range []string{"tests", "examples", "cmd", "ir"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if ext := filepath.Ext(path); err != nil || ext != ".ggir" && ext != ".txtar" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if filepath.Ext(path) == ".ggir" {
				modules[path] = string(text)
				return nil
			}
			for _, f := range txtar.Parse(text).Files {
				modules[path+":"+f.Name] = string(f.Data)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return modules
}

// readGrammar reads the productions of the page.
func readGrammar(t *testing.T) *grammar {
	t.Helper()
	var text strings.Builder
	for _, m := range ebnfBlock.FindAllStringSubmatch(pagesOf(t, needtest.Root(t))[grammarPage], -1) {
		text.WriteString(m[1])
	}
	g, err := parseGrammar(text.String())
	if err != nil {
		t.Fatalf("%s: %v", grammarPage, err)
	}
	return g
}

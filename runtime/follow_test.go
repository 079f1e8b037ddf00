package runtime

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// following returns the toy with a grammar, as a table or as text.
func following(t *testing.T, text string, asTable bool) *Program {
	t.Helper()
	p := script(t, 2, 13, 3, 4, 8, 2)
	p.Grammar = text
	if !asTable {
		return p
	}
	v, err := token.Load(p.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	data, err := g.Tabulate(grammar.NewVocab(v))
	if err != nil {
		t.Fatal(err)
	}
	p.Grammar = string(data)
	return p
}

// TestTextFollowsTheGrammarOfTheProgram generates with a grammar of both forms. Without it the toy says héc.
func TestTextFollowsTheGrammarOfTheProgram(t *testing.T) {
	const text = `root ::= [a-m] "b" [a-d]`
	other := writeText(t, `root ::= "xyz"`)
	for _, asTable := range []bool{true, false} {
		p := following(t, text, asTable)
		for args, want := range map[string]string{
			"--prompt a": "hbd", "--prompt a --any-text": "héc", "--prompt a --grammar " + other: "xyz",
		} {
			if status, out, errs := invoke(p, strings.Fields(args)...); status != 0 || out != want {
				t.Errorf("table %v, %s: status %d, %q, want %q (%s)", asTable, args, status, out, want, errs)
			}
		}
		if _, help, _ := invoke(p, "-h"); !strings.Contains(help, "--any-text") {
			t.Error("the help lacks --any-text")
		}
	}
	for args, want := range map[string]string{
		"--json-schema " + writeText(t, `{"const": 5}`) + " --grammar " + other: "give one of --grammar and --json-schema",
		"--json-schema " + writeText(t, `{"type": 5}`):                          "schema: #",
		"--json-schema none": "no such file",
	} {
		if status, _, errs := invoke(hello(t), append([]string{"--prompt", "a"}, strings.Fields(args)...)...); status != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %q, want %q", args, status, errs, want)
		}
	}
	if status, out, errs := invoke(hello(t), "--prompt", "a", "--json-schema", writeText(t, `{"const": true}`)); status != 0 || out != "true" {
		t.Errorf("--json-schema: status %d, %q, %q", status, out, errs)
	}
	if _, help, _ := invoke(hello(t), "-h"); strings.Contains(help, "--any-text") {
		t.Error("a program without a grammar has --any-text")
	}
	damaged := following(t, text, true)
	damaged.Grammar = damaged.Grammar[:len(damaged.Grammar)-1]
	if status, _, errs := invoke(damaged, "--prompt", "a"); status != exitFailed || !strings.Contains(errs, "damaged table") {
		t.Errorf("a damaged table: status %d, %q", status, errs)
	}
}

package runtime

import (
	"path/filepath"
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

// TestGenerationsThatContinueGoOn generates a text in pieces, by --save and --load and by calls: a grammar continues
// where it was, and a character of two tokens is whole. A new prompt, or a text that has ended, begins the grammar
// again.
func TestGenerationsThatContinueGoOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sequence")
	for _, asTable := range []bool{true, false} {
		for _, tt := range []struct {
			grammar string
			n       string
			pieces  []string
		}{
			{"", "2", []string{"h", "éc", ""}}, // h and a half of é
			{`root ::= [a-m] "b" [a-d]`, "1", []string{"h", "b", "d", ""}},
			{`root ::= "h" "é" "a"`, "2", []string{"h", "éa", ""}},
		} {
			p := hello(t)
			if tt.grammar != "" {
				p = following(t, tt.grammar, asTable)
			}
			p.States = []StateInfo{{Bytes: 4 * toyContext, Heads: 1}}
			args := []string{"--prompt", "a"}
			for i, want := range tt.pieces {
				status, out, errs := invoke(p, append(args, "-n", tt.n, "--save", file)...)
				if status != 0 || out != want {
					t.Errorf("%q, piece %d: status %d, %q, want %q (%s)", tt.grammar, i, status, out, want, errs)
				}
				args = []string{"--load", file}
			}
			if status, out, errs := invoke(p, "--load", file, "--prompt", "a", "-n", "1"); tt.grammar != "" && (status != 0 || strings.Trim(out, "abcdefghijklm") != "") {
				t.Errorf("%q, a new prompt: status %d, %q (%s)", tt.grammar, status, out, errs)
			}
		}
	}
}

func TestCallsThatContinueGoOn(t *testing.T) {
	_, s := openProgram(t, following(t, `root ::= [a-m] "b" [a-d]`, true), Options{Threads: 1})
	var got []string
	for prompt := "a"; len(got) < 5; prompt = "" {
		var ids []int32
		if prompt != "" {
			ids = s.encode(prompt)
		}
		for token, err := range s.GenerateTokens(t.Context(), ids, GenerateOptions{MaxTokens: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, token.Text)
		}
	}
	if text := strings.Join(got[:4], ","); text != "h,b,d," {
		t.Errorf("%q", got)
	}
}

// TestOtherGrammarsDoNotContinue: a text that was generated without this grammar does not follow it.
func TestOtherGrammarsDoNotContinue(t *testing.T) {
	p := following(t, `root ::= "h" "b"`, true)
	p.States = []StateInfo{{Bytes: 4 * toyContext, Heads: 1}}
	file := filepath.Join(t.TempDir(), "sequence")
	if status, _, errs := invoke(p, "--prompt", "a", "-n", "1", "--save", file); status != 0 {
		t.Fatal(errs)
	}
	status, _, errs := invoke(p, "--load", file, "--grammar", writeText(t, `root ::= "x"`))
	if status != exitUsage || !strings.Contains(errs, "the text that is continued does not follow the grammar") {
		t.Errorf("status %d, %q", status, errs)
	}
	if status, out, errs := invoke(p, "--load", file, "--any-text", "-n", "3"); status != 0 || out != "éc" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

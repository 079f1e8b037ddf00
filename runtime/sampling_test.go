package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/sample"
)

// TestSamplingFlagsReachTheSampler has an answer for each flag that the flag alone explains. Without flags the toy says
// "héc"; its second best token is always the highest id, z with 31.
func TestSamplingFlagsReachTheSampler(t *testing.T) {
	for _, tt := range []struct {
		args, want string
	}{
		{"", "héc"},
		{"--logit-bias 13-inf -n 1", "z"},
		{"--logit-bias 13-9 --logit-bias 20+3 -n 1", "o"},
		{"--presence-penalty 9 --ignore-eos -n 8 --logit-bias 2-99", "héczyxw"}, // each token once
		{"--frequency-penalty 0.02 --ignore-eos -n 8 --logit-bias 2-99 --logit-bias 13-99 --logit-bias 4-99 --logit-bias 3-99 --logit-bias 8-99", "zyzxyzwx"},
		{"--repeat-penalty 1000 --repeat-last-n 2 --ignore-eos -n 8 --logit-bias 2-99", "héczyxz"},
		{"--dry-multiplier 5 --dry-allowed-length 1 --ignore-eos -n 9 --logit-bias 2-99", "héczzyzx"},
		{"--xtc-probability 1 --xtc-threshold 0 -n 1", "h"},                           // nothing else has a tenth
		{"--xtc-probability 1 --xtc-threshold 0.00015 --min-p 0 --top-p 1 -n 1", "i"}, // e^(14/64) of 8143 is above it
		{"--temp 1 --top-nsigma 1 --seed 5 -n 3", "hé"},
		{"--temp 1000 --top-nsigma 1 --top-k 0 --min-p 0 --top-p 1 --seed 5 -n 3", "hé"},
		{"--temp 1 --typical 0.5 --top-k 0 --min-p 0 --top-p 1 --seed 5 -n 3", "hé"},
		{"--dynatemp-range 0.01 --dynatemp-exp 3 --seed 5 -n 3", "hé"},
		{"--temp 1 --mirostat 2 --mirostat-ent 0.001 --mirostat-lr 1 --seed 5 -n 3", "hé"},
	} {
		args := append([]string{"--prompt", "a", "--threads", "1"}, strings.Fields(tt.args)...)
		if status, out, errs := invoke(hello(t), args...); status != 0 || out != tt.want {
			t.Errorf("%s: status %d, %q, want %q\n%s", tt.args, status, out, tt.want, errs)
		}
	}
}

func TestBreakersAreTokensThatEndRepetitions(t *testing.T) {
	p := toyProgram()
	p.Tokenizer = toyTokenizer(t)
	_, s := openProgram(t, p, Options{Threads: 1})
	got := s.Breakers("b", "cab")
	want := []sample.Breaker{{Head: 7}, {Head: 8, Tail: s.encode("ab")[1:]}} // b; c and then a b
	if !slices.EqualFunc(got, want, func(a, b sample.Breaker) bool { return a.Head == b.Head && slices.Equal(a.Tail, b.Tail) }) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTextFollowsAGrammar limits the toy, which would say "héc", then z for ever. A text that is complete ends.
func TestTextFollowsAGrammar(t *testing.T) {
	file := filepath.Join(t.TempDir(), "g.gbnf")
	for _, tt := range []struct{ grammar, args, want string }{
		{`root ::= "héc"`, "", "héc"},
		{`root ::= [a-f] [a-z]+`, "-n 4", "fzzc"},
		{`root ::= "é" [^z] "x"`, "", "éyx"},
		{`root ::= ("a" | "b"){3}`, "--logit-bias 7-1", "aaa"}, // 7 is b
		{`root ::= [a-y]*`, "--temp 2 --seed 1 -n 5 --logit-bias 2-inf", "hswcs"},
	} {
		if err := os.WriteFile(file, []byte(tt.grammar), 0o666); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"--prompt", "a", "--threads", "1", "--grammar", file}, strings.Fields(tt.args)...)
		if status, out, errs := invoke(hello(t), args...); status != 0 || out != tt.want {
			t.Errorf("%s %s: status %d, %q, want %q\n%s", tt.grammar, tt.args, status, out, tt.want, errs)
		}
	}
}

func TestGrammarsThatCannotBeFollowedAreRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bare := hello(t)
	bare.Tokenizer = ""
	for _, tt := range []struct {
		program *Program
		file    string
		status  int
		want    string
	}{
		{hello(t), filepath.Join(dir, "none"), 2, "none: no such file"},
		{hello(t), write("bad", "root ::= (\n\"a\""), 2, "bad: grammar: line 2: a parenthesis is not closed"},
		{hello(t), write("large", strings.Repeat("#", grammar.MaxText+1)), 2, "are more than"},
		{hello(t), write("foreign", `root ::= "Ж"`), 1, "no token of the vocabulary can follow"},
		{bare, write("good", `root ::= "a"`), 2, "has no tokenizer"},
	} {
		from := []string{"--prompt", "a"}
		if tt.program == bare {
			from = []string{"--tokens", "1"}
		}
		status, _, errs := invoke(tt.program, append(from, "--grammar", tt.file)...)
		if status != tt.status || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: status %d, %q", tt.file, status, errs)
		}
	}
}

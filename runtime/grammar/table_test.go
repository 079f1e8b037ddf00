package grammar

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// recursive are the grammars whose states are not finite.
var recursive = []string{"recursion", "two stacks", "empty rules", "json"}

// TestTablesAllowWhatMatchersAllow walks random texts of tokens with a table and with a matcher. Both allow the same
// tokens in each state that is reached, and refuse the same others.
func TestTablesAllowWhatMatchersAllow(t *testing.T) {
	for _, tt := range grammars {
		if tt.alphabet == "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			w := randomWords(tt.alphabet, 150, 5)
			g, table := tableOf(t, tt.text, w)
			if slices.Contains(recursive, tt.name) != (table == nil) {
				t.Fatalf("has a table is %v", table != nil)
			}
			if table == nil {
				return
			}
			r := rand.New(rand.NewPCG(3, 4))
			for range 200 {
				compareWalks(t, g, table, w, r)
			}
		})
	}
}

// tableOf returns a grammar with its table, which has been encoded and loaded, or nil for one that is too large.
func tableOf(t *testing.T, text string, w words) (*Grammar, *Table) {
	t.Helper()
	g, err := Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	data, err := g.Tabulate(NewVocab(w))
	var large *TooLargeError
	if errors.As(err, &large) {
		return g, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	table, err := LoadTable(string(data), w)
	if err != nil {
		t.Fatal(err)
	}
	return g, table
}

// compareWalks follows one random text.
func compareWalks(t *testing.T, g *Grammar, table *Table, w words, r *rand.Rand) {
	t.Helper()
	matcher, err := g.Match(NewVocab(w))
	if err != nil {
		t.Fatal(err)
	}
	walker, text := table.Match(), ""
	for range 15 {
		a, b := make([]float32, len(w)), make([]float32, len(w))
		errA, errB := matcher.Limit(a), walker.Limit(b)
		if !errors.Is(errA, errB) || !slices.Equal(a, b) {
			t.Fatalf("after %q: the matcher gives %v, %v; the table %v, %v", text, a, errA, b, errB)
		}
		if errA != nil {
			return
		}
		var allowed []int32
		for id, x := range a {
			if x == 0 {
				allowed = append(allowed, int32(id))
			}
		}
		id := allowed[r.IntN(len(allowed))]
		if err := errors.Join(matcher.Accept(id), walker.Accept(id)); err != nil {
			t.Fatalf("after %q: token %d: %v", text, id, err)
		}
		text += w[id]
	}
}

func TestTokensAgainstTheGrammarAreRefused(t *testing.T) {
	w := words{"", "", "a", "b", "ab"}
	_, table := tableOf(t, `root ::= "ab" "b"`, w)
	for id, want := range map[int32]bool{0: true, 1: true, 2: true, 3: false, 4: true} {
		if err := table.Match().Accept(id); (err == nil) != want {
			t.Errorf("token %d: %v", id, err)
		}
	}
	walker := table.Match()
	for _, id := range []int32{4, 3} {
		if err := walker.Accept(id); err != nil {
			t.Fatal(err)
		}
	}
	logits := make([]float32, len(w))
	if err := walker.Limit(logits); err != nil || logits[0] != 0 || slices.Max(logits[1:]) == 0 {
		t.Errorf("at the end: %v, %v", logits, err)
	}
	if _, none := tableOf(t, `root ::= "c"`, w); !errors.Is(none.Match().Limit(logits), ErrNoToken) {
		t.Error("a state without tokens is no error")
	}
}

func TestLimitsOfTables(t *testing.T) {
	w := randomWords("abc", 200, 1)
	usual := tableLimits{1000, 10000, 100000}
	for name, c := range map[string]struct {
		text   string
		limits tableLimits
		want   string
	}{
		"none":   {`root ::= [a-c]{1,20}`, usual, ""},
		"states": {`root ::= "a" root "b" | "c"`, usual, "more than 1000 states"},
		"bytes":  {`root ::= [a-c]{1,20}`, tableLimits{1000, 400, 100000}, "bytes, more than 400"},
		"time":   {`root ::= [a-c]{1,20}`, tableLimits{1000, 10000, 1000}, "states for this vocabulary take too long"},
	} {
		g, err := Compile(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var large *TooLargeError
		_, err = g.tabulate(NewVocab(w), c.limits)
		if is := errors.As(err, &large); is != (c.want != "") || is && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestDamagedTablesAreRefused(t *testing.T) {
	w := randomWords("ab", 20, 1)
	g, err := Compile(`root ::= ("a" | "bb")+`)
	if err != nil {
		t.Fatal(err)
	}
	data, err := g.Tabulate(NewVocab(w))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadTable(string(data), w[:len(w)-1]); err == nil {
		t.Error("a table of another vocabulary is accepted")
	}
	for n := range data {
		if _, err := LoadTable(string(data[:n]), w); err == nil {
			t.Fatalf("%d of %d bytes are accepted", n, len(data))
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20000 { // no damage leads to a panic
		bad := slices.Clone(data)
		bad[r.IntN(len(bad))] = byte(r.Uint32())
		table, err := LoadTable(string(bad), w)
		if err != nil {
			continue
		}
		walker, logits := table.Match(), make([]float32, len(w))
		for range 5 {
			if walker.Limit(logits) != nil || walker.Accept(int32(r.IntN(len(w)))) != nil {
				break
			}
		}
	}
}

func TestWalkersAllocateNothing(t *testing.T) {
	w := randomWords("ab", 200, 1)
	_, table := tableOf(t, `root ::= [ab]*`, w)
	walker, logits := table.Match(), make([]float32, len(w))
	if n := testing.AllocsPerRun(100, func() {
		if errors.Join(walker.Limit(logits), walker.Accept(5)) != nil {
			t.Fatal("refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations a token", n)
	}
}

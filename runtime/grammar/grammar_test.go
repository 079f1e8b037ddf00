package grammar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// grammars are tried on all short texts of their alphabets.
var grammars = []struct{ name, text, alphabet string }{
	{"literal", `root ::= "ab" "a"`, "ab"},
	{"choice", `root ::= "a" | "ab" | "" | "bb" "a"`, "ab"},
	{"common beginnings", `root ::= "ab" "a"? | "ab" ("b" | "bb" | "") | "a" [bc] | "abab" | "é" | "éa" | "" | "ab"`, "abcé"},
	{"star", `root ::= "a"* "b"`, "ab"},
	{"nested stars", `root ::= ("a"* | "b"?)* "c"?`, "abc"},
	{"plus", `root ::= ("ab" | "a")+`, "ab"},
	{"counted", `root ::= "a"{2} "b"{1,} [ac]{0,2} "b"{,}`, ""},
	{"counts", `root ::= "a"{2} "b"{1,} [ac]{0,2}`, "abc"},
	{"class", `root ::= [^a-c] [a\-] | [\]b-] .`, "ab-]dé"},
	{"recursion", `root ::= "a" root "b" | "c"`, "abc"},
	{"right recursion", "root ::= item\nitem ::= \"a\" item | \"b\"", "ab"},
	{"two stacks", "root ::= x | y\nx ::= \"(\" x \")\" | \"a\"\ny ::= \"(\" y \"]\" | \"a\"", "(a)]"},
	{"empty rules", "root ::= e a e\ne ::= \"\"\na ::= e \"x\" a? e", "xy"},
	{"ambiguous", `root ::= ("a" | "aa" | "ab" | "b")* "b"`, "ab"},
	{"lines", "# comment\nroot ::= (\n  \"a\" | # one\n  b\n) |\n  \"c\" b\n\nb ::= \"b\" # two\n", "abc"},
	{"a comment that ends with CR", "root ::= \"a\" | # one\r \"b\"", "b"},
	{"unicode", `root ::= [α-ω]+ "é"? [^α-ω]`, "αωéa€"},
	{"json", `
root   ::= value
value  ::= object | array | "1" | "\"" [^"\\]* "\""
object ::= "{" (pair ("," pair)*)? "}"
pair   ::= "\"" "k" "\"" ":" value
array  ::= "[" (value ("," value)*)? "]"
`, `[]1,"`},
}

// matches returns the ends of all texts from at on that follow a node, by the definition of the notation.
func (p *parser) matches(n node, text []rune, at int) []int {
	add := func(list []int, ends ...int) []int {
		for _, e := range ends {
			if !slices.Contains(list, e) {
				list = append(list, e)
			}
		}
		return list
	}
	switch n := n.(type) {
	case literal:
		if want := []rune(string(n)); at+len(want) <= len(text) && slices.Equal(text[at:at+len(want)], want) {
			return []int{at + len(want)}
		}
	case class:
		if at < len(text) {
			in := slices.ContainsFunc(n.ranges, func(r runeRange) bool { return r.lo <= text[at] && text[at] <= r.hi })
			if in != n.not {
				return []int{at + 1}
			}
		}
	case choice:
		var list []int
		for _, part := range n {
			list = add(list, p.matches(part, text, at)...)
		}
		return list
	case sequence:
		list := []int{at}
		for _, part := range n {
			var next []int
			for _, from := range list {
				next = add(next, p.matches(part, text, from)...)
			}
			list = next
		}
		return list
	case repeat:
		var all []int
		list := []int{at}
		for i := 0; len(list) > 0 && (n.max < 0 || i <= n.max) && i <= len(text)+n.min; i++ {
			if i >= n.min {
				all = add(all, list...)
			}
			var next []int
			for _, from := range list {
				next = add(next, p.matches(n.of, text, from)...)
			}
			list = next
		}
		return all
	case reference:
		return p.matches(p.rules[p.index[n.name]].body, text, at)
	}
	return nil
}

func texts(alphabet string, longest int) []string {
	all := []string{""}
	for from := 0; longest > 0; longest-- {
		to := len(all)
		for _, t := range all[from:to] {
			for _, r := range alphabet {
				all = append(all, t+string(r))
			}
		}
		from = to
	}
	return all
}

// run returns the state after a text.
func run(t *testing.T, m *machine, from stateID, text string) stateID {
	t.Helper()
	for i := range len(text) {
		next, err := m.step(from, text[i])
		if err != nil {
			t.Fatal(err)
		}
		from = next
	}
	return from
}

// TestMachineAcceptsWhatTheNotationMeans tries all texts of up to 6 characters. A text that can be continued to another
// of them must not be dead; texts of up to 2 characters that cannot must be.
func TestMachineAcceptsWhatTheNotationMeans(t *testing.T) {
	for _, tt := range grammars {
		if tt.alphabet == "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			g, err := Compile(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			m, start, err := newMachine(g)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := parse(tt.text)
			alive := make(map[string]bool)
			all := texts(tt.alphabet, 6)
			accepted := 0
			for _, text := range all {
				want := slices.Contains(p.matches(p.rules[p.index[rootName]].body, []rune(text), 0), len([]rune(text)))
				if want {
					accepted++
					for i := range len(text) + 1 {
						alive[text[:i]] = true
					}
				}
				if got := m.complete(run(t, m, start, text)); got != want {
					t.Fatalf("%q: complete is %v, want %v", text, got, want)
				}
			}
			for _, text := range all {
				if got := run(t, m, start, text) != dead; got != alive[text] && (alive[text] || utf8.RuneCountInString(text) <= 2) {
					t.Fatalf("%q: alive is %v, want %v", text, got, alive[text])
				}
			}
			if accepted == 0 {
				t.Error("no text was accepted")
			}
		})
	}
}

// words is a vocabulary of texts. The first ends a text, the second is a control token.
type words []string

func (w words) Size() int                               { return len(w) }
func (w words) AppendPiece(dst []byte, id int32) []byte { return append(dst, w[id]...) }
func (w words) IsEOG(id int32) bool                     { return id == 0 }
func (w words) HasText(id int32) bool                   { return w[id] != "" }
func (w words) Single(text string) (int32, bool) {
	i := slices.Index(w, text)
	return int32(i), i >= 0
}

// randomWords returns pieces of characters, and equal ones.
func randomWords(alphabet string, n int, seed uint64) words {
	r := rand.New(rand.NewPCG(seed, 1))
	bytes := []byte(alphabet)
	w := words{"", ""}
	for len(w) < n {
		var b []byte
		for range 1 + r.IntN(4) {
			b = append(b, bytes[r.IntN(len(bytes))])
		}
		w = append(w, string(b))
	}
	return w
}

// TestMaskAllowsWhatEachTokenAllows compares masks with trying each token, along random texts of tokens, with tables
// that are forgotten now and then.
func TestMaskAllowsWhatEachTokenAllows(t *testing.T) {
	for _, tt := range grammars {
		if tt.alphabet == "" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			g, err := Compile(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			w := randomWords(tt.alphabet, 150, 3)
			v := NewVocab(w)
			r := rand.New(rand.NewPCG(7, 7))
			for range 30 {
				matcher, err := g.Match(v)
				if err != nil {
					t.Fatal(err)
				}
				text := ""
				for range 12 {
					if r.IntN(3) == 0 {
						matcher.at = matcher.m.renew(matcher.at)
					}
					allowed := wantAllowed(t, g, w, text)
					logits := make([]float32, len(w))
					if err := matcher.Limit(logits); (err == nil) != (len(allowed) > 0) || err != nil && !errors.Is(err, ErrNoToken) {
						t.Fatalf("after %q: %v with %d tokens", text, err, len(allowed))
					} else if err != nil {
						break
					}
					for id, l := range logits {
						if got := l == 0; got != slices.Contains(allowed, int32(id)) {
							t.Fatalf("after %q: token %d %q allowed is %v", text, id, w[id], got)
						}
					}
					id := allowed[r.IntN(len(allowed))]
					if err := matcher.Accept(id); err != nil {
						t.Fatal(err)
					}
					text += w[id]
				}
			}
		})
	}
}

// wantAllowed tries each token on a machine of its own.
func wantAllowed(t *testing.T, g *Grammar, w words, text string) []int32 {
	m, start, err := newMachine(g)
	if err != nil {
		t.Fatal(err)
	}
	at := run(t, m, start, text)
	var ids []int32
	for id := range int32(len(w)) {
		if id == 0 && m.complete(at) || w[id] != "" && run(t, m, at, w[id]) != dead {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestATokenThatDoesNotFollowIsAnError(t *testing.T) {
	g, _ := Compile(`root ::= "a"`)
	m, err := g.Match(NewVocab(words{"", "", "a", "b"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Accept(3); err == nil {
		t.Error("b was accepted")
	}
}

// TestRangesOfCharactersAreRangesOfBytes compares sequences of bytes with Go's encoding.
func TestRangesOfCharactersAreRangesOfBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	borders := []rune{0, 0x7f, 0x80, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x3ffff, 0x40000, 0x10ffff}
	near := func() rune {
		return min(max(borders[r.IntN(len(borders))]+rune(r.IntN(131)-65), 0), utf8.MaxRune)
	}
	for range 3000 {
		a, b := near(), near()
		n := class{ranges: []runeRange{{min(a, b), max(a, b)}, {min(a, b), min(a, b)}}, not: r.IntN(2) == 0}
		var seqs [][]byteRange
		for _, part := range n.runes() {
			seqs = appendUTF8(seqs, part)
		}
		for range 60 {
			c := near()
			want := (c >= min(a, b) && c <= max(a, b)) != n.not && utf8.ValidRune(c)
			if got := countIn(seqs, string(c)); utf8.ValidRune(c) && (got > 1 || (got == 1) != want) {
				t.Fatalf("%U in %U-%U, not %v: in %d sequences, want %v", c, min(a, b), max(a, b), n.not, got, want)
			}
		}
	}
}

func countIn(seqs [][]byteRange, s string) int {
	n := 0
	for _, seq := range seqs {
		ok := len(seq) == len(s)
		for i := range seq {
			ok = ok && s[i] >= seq[i].lo && s[i] <= seq[i].hi
		}
		if ok {
			n++
		}
	}
	return n
}

func TestFaultsOfGrammarsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "there is no rule root",
		"root = \"a\"":                     "line 1: after the name root comes ::=",
		"root ::= \"a":                     "line 1: a text is not closed",
		"root ::= [a":                      "line 1: a set of characters is not closed",
		"root ::= [b-a]":                   "line 1: a range of characters ends before it begins",
		"root ::= []":                      "a set of characters is empty",
		"root ::= (\"a\"":                  "a parenthesis is not closed",
		"root ::= \"a\" )":                 `")" is not expected in rule root`,
		"root ::= x":                       "line 1: there is no rule x",
		"root ::= \"a\"\n\nroot ::= \"b\"": "line 3: there are two rules root",
		"root ::= \"\\q\"":                 `unknown escape \q`,
		"root ::= \"\\x4\"":                "2 hexadecimal digits",
		"root ::= \"\\uD800\"":             "there is no character D800",
		"root ::= \"\\U00110000\"":         "there is no character 00110000",
		"root ::= \"a\"{3,2}":              "{3,2}: the second number is below the first",
		"root ::= \"a\"{99999}":            "between 0 and 10000",
		"root ::= \"a\"{2":                 "is not closed",
		"root ::= root \"a\" | \"b\"":      "line 1: left recursion: root begins with root",
		"root ::= \"x\" b\nb ::= c? d\nc ::= \"z\"\nd ::= b": "line 2: left recursion: b begins with d begins with b",
		"root ::= (((\"a\"{1000}){1000}){1000})":             "instructions",
		"root ::= \"\xff\"":                                  "no UTF-8",
		strings.Repeat("(", 600):                             "a name is expected",
		"root ::= " + strings.Repeat("(", 600):               "more than 500 parentheses",
	} {
		_, err := Compile(text)
		var s *SyntaxError
		if !errors.As(err, &s) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestDeepAndAmbiguousTextsHaveLimits runs grammars that could grow without bound.
func TestDeepAndAmbiguousTextsHaveLimits(t *testing.T) {
	deep, err := Compile(`root ::= "(" root ")" | "x"`)
	if err != nil {
		t.Fatal(err)
	}
	m, at, err := newMachine(deep)
	if err != nil {
		t.Fatal(err)
	}
	const depth = 50_000
	for i := range 2*depth + 1 {
		b := byte('(')
		if i == depth {
			b = 'x'
		} else if i > depth {
			b = ')'
		}
		if m.full() {
			at = m.renew(at)
		}
		if at, err = m.step(at, b); err != nil || at == dead {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if !m.complete(at) {
		t.Error("not complete")
	}
	wide, err := Compile(`root ::= ((("a"? "a"?){50} "a"?){50})`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := newMachine(wide); !errors.Is(err, ErrTooComplex) {
		t.Errorf("%v", err)
	}
}

// TestManyAlternativesHaveFewThreads compiles thousands of words, which have one thread for each next byte.
func TestManyAlternativesHaveFewThreads(t *testing.T) {
	var words []string
	for i := range 10_000 {
		words = append(words, fmt.Sprintf("%q", fmt.Sprintf("word %d", i*7919)))
	}
	g, err := Compile("root ::= " + strings.Join(words, " | "))
	if err != nil {
		t.Fatal(err)
	}
	m, at, err := newMachine(g)
	for i := 0; i < 6 && err == nil; i++ {
		if n := len(m.states[at].threads); n > 10 {
			t.Errorf("%d threads before byte %d", n, i)
		}
		at, err = m.step(at, "word 7"[i])
	}
	if err != nil || at == dead {
		t.Error(at, err)
	}
}

// TestTooComplexGrammarsHaveNoTable: one that fails for a short text is an error, as a program would fail with it.
func TestTooComplexGrammarsHaveNoTable(t *testing.T) {
	g, err := Compile(`root ::= "a" (("a"? "a"?){50} "a"?){50}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Tabulate(NewVocab(randomWords("ab", 50, 1))); !errors.Is(err, ErrTooComplex) {
		t.Errorf("%v", err)
	}
}

func FuzzCompile(f *testing.F) {
	for _, tt := range grammars {
		f.Add(tt.text, "ab")
	}
	f.Fuzz(func(t *testing.T, text, input string) {
		g, err := Compile(text)
		if err != nil {
			return
		}
		m, at, err := newMachine(g)
		for i := 0; i < min(len(input), 50) && err == nil; i++ {
			at, err = m.step(at, input[i])
		}
		if err != nil && !errors.Is(err, ErrTooComplex) {
			t.Error(err)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	g, err := Compile(grammars[len(grammars)-1].text)
	if err != nil {
		b.Fatal(err)
	}
	v := NewVocab(randomWords(`abcdefgh [],:"1{}`, 128_000, 1))
	for _, text := range []string{"", `{"k":[`, `["abc`} {
		b.Run(fmt.Sprintf("%q", text), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m, err := g.Match(v)
				if err != nil {
					b.Fatal(err)
				}
				for i := range len(text) {
					if m.at, err = m.m.step(m.at, text[i]); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := m.mask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

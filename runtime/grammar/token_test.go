package grammar

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// special is a vocabulary of which some tokens add nothing to a text: those whose text is <…>.
type special []string

func (s special) Size() int            { return len(s) }
func (s special) IsEOG(id int32) bool  { return id == 0 }
func (s special) HasText(i int32) bool { return s[i] != "" }
func (s special) AppendPiece(dst []byte, id int32) []byte {
	if strings.HasPrefix(s[id], "<") {
		return dst
	}
	return append(dst, s[id]...)
}
func (s special) Single(text string) (int32, bool) {
	i := slices.Index(s, text)
	return int32(i), i >= 0
}

// reading follows a grammar's rules by trying everything: a definition of what a text of tokens is.
type reading struct {
	rules map[string]node
	v     special
	ids   []int32
	alive bool // something could follow
}

// place is a position in the text: of a token, and in its bytes.
type place struct{ token, at int }

// match calls then for each place that n can reach from p.
func (r *reading) match(n node, p place, then func(p place)) {
	switch n := n.(type) {
	case sequence:
		if len(n) == 0 {
			then(p)
			return
		}
		r.match(n[0], p, func(p place) { r.match(n[1:], p, then) })
	case choice:
		for _, part := range n {
			r.match(part, p, then)
		}
	case reference:
		r.match(r.rules[n.name], p, then)
	case literal:
		if n == "" {
			then(p)
			return
		}
		r.read(p, func(b byte) bool { return b == n[0] }, func(p place) { r.match(n[1:], p, then) })
	case class:
		r.read(p, func(b byte) bool {
			return slices.ContainsFunc(n.ranges, func(x runeRange) bool { return x.lo <= rune(b) && rune(b) <= x.hi }) != n.not
		}, then)
	case repeat:
		if n.min == 0 {
			then(p)
		}
		if n.max != 0 {
			r.match(n.of, p, func(q place) {
				if q != p {
					r.match(repeat{n.of, max(n.min-1, 0), max(n.max-1, -1)}, q, then)
				}
			})
		}
	case tokenElement:
		switch {
		case p.token == len(r.ids):
			r.alive = true
		case p.at == 0 && r.ids[p.token] != 0 && (r.is(n, r.ids[p.token]) != n.not):
			then(place{p.token + 1, 0})
		}
	}
}

func (r *reading) is(n tokenElement, id int32) bool {
	return n.text == "" && id == n.id || n.text != "" && r.v[id] == n.text
}

// read reads a byte that ok accepts.
func (r *reading) read(p place, ok func(b byte) bool, then func(p place)) {
	if p.token == len(r.ids) {
		r.alive = true
		return
	}
	text := string(r.v.AppendPiece(nil, r.ids[p.token]))
	if p.at < len(text) && ok(text[p.at]) {
		if p.at++; p.at == len(text) {
			p = place{p.token + 1, 0}
		}
		then(p)
	}
}

// follows reports whether a text of tokens can be continued or is complete.
func (r *reading) follows(ids []int32) (alive, complete bool) {
	r.ids, r.alive = ids, false
	r.match(r.rules[rootName], place{}, func(p place) { complete = complete || p.token == len(ids) })
	return r.alive || complete, complete
}

// TestNamedTokens compares masks, along random texts, with all that the rules' definition allows.
func TestNamedTokens(t *testing.T) {
	v := special{"</s>", "<think>", "<end>", "a", "b", "ab", "aab", "<", "<think", ">", "<x>", "ba"}
	for _, text := range []string{
		`root ::= <think> "ab" <[2]>`,
		`root ::= <think> (!<end>)* <end> [ab]+`,
		`root ::= ("a" | <[3]>) "b"`,
		"root ::= (<a> | \"ab\") rest\nrest ::= !<b> | \"ab\" <x>{1,2}\n",
		`root ::= (!<[3]> | "a"){2}`,
		`root ::= "<think>" | <think> ">"`,
		"root ::= item+ <end>\nitem ::= <x> item | \"b\" | <[5]>\n",
		`root ::= !</s> !<think>?`,
	} {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "<a>", "<[3]>"), "!<b>", "!<[4]>")
		t.Run(text, func(t *testing.T) {
			g, err := Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := parse(text)
			want := &reading{rules: make(map[string]node), v: v}
			for _, r := range p.rules {
				want.rules[r.name] = r.body
			}
			vocab := NewVocab(v)
			r := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				m, err := g.Match(vocab)
				if err != nil {
					t.Fatal(err)
				}
				var ids []int32
				for range 6 {
					if r.IntN(4) == 0 {
						m.at = m.m.renew(m.at)
					}
					var allowed []int32
					for id := range int32(len(v)) {
						ok, _ := want.follows(append(slices.Clone(ids), id))
						if id == 0 {
							_, ok = want.follows(ids)
						}
						if ok {
							allowed = append(allowed, id)
						}
					}
					logits := make([]float32, len(v))
					err := m.Limit(logits)
					for id, l := range logits {
						if got := err == nil && l == 0; got != slices.Contains(allowed, int32(id)) {
							t.Fatalf("after %v: token %d %s allowed is %v", ids, id, v[id], got)
						}
					}
					if allowed = slices.DeleteFunc(allowed, func(id int32) bool { return id == 0 }); len(allowed) == 0 {
						break
					}
					ids = append(ids, allowed[r.IntN(len(allowed))])
					if err := m.Accept(ids[len(ids)-1]); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// TestTokensThatGrammarsCannotName are errors with their lines.
func TestTokensThatGrammarsCannotName(t *testing.T) {
	v := NewVocab(special{"</s>", "<think>", "a"})
	for text, want := range map[string]string{
		"root ::=\n <nothing>": "line 2: <nothing> is no token of this vocabulary, which has 3",
		"root ::= <[3]>":       "<[3]> is no token of this vocabulary",
		"root ::= <[-1]>":      "the id of a token is a number",
		"root ::= <[1>":        "not closed by ]>",
		"root ::= <think":      "not closed by >",
		"root ::= !\"a\"":      "after ! comes a token",
		"root ::= !":           "after ! comes a token",
	} {
		g, err := Compile(text)
		if err == nil {
			_, err = g.Match(v)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	g, err := Compile("root ::= <think>")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Tabulate(v); err == nil || !strings.Contains(err.Error(), "names tokens") {
		t.Errorf("a table: %v", err)
	}
	m, err := g.Match(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Accept(2); err == nil {
		t.Error("a token that does not follow is accepted")
	}
	if err := m.Accept(1); err != nil || m.Accept(1) == nil {
		t.Errorf("the named token: %v", err)
	}
}

package jsonschema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/grammar"
)

// patternSchema returns the schema of a string with a pattern; hi below 0 is no limit.
func patternSchema(pattern string, lo, hi int) string {
	text, err := json.Marshal(pattern)
	if err != nil {
		panic(err)
	}
	schema := `{"type": "string", "pattern": ` + string(text)
	if lo > 0 {
		schema += fmt.Sprintf(`, "minLength": %d`, lo)
	}
	if hi >= 0 {
		schema += fmt.Sprintf(`, "maxLength": %d`, hi)
	}
	return schema + "}"
}

// patterns have texts that match and texts that do not, which are decoded strings.
var patterns = []struct {
	pattern   string
	good, bad []string
}{
	{``, []string{"", "a", "\n\"\\"}, nil},
	{`^$`, []string{""}, []string{"a", "\n"}},
	{`^`, []string{"", "a"}, nil},
	{`$`, []string{"", "a"}, nil},
	{`foo`, []string{"foo", "a foo", "foo b", "ffoo\n"}, []string{"", "fo", "fooo"[1:]}},
	{`^foo`, []string{"foo", "foo b"}, []string{"a foo"}},
	{`foo$`, []string{"foo", "a foo"}, []string{"foo b", "foo\n"}},
	{`^a|b$`, []string{"a", "ax", "b", "xb"}, []string{"xa", "bx", ""}},
	{`^(a|b)$`, []string{"a", "b"}, []string{"ab", "", "ax"}},
	{`(^a|b)c`, []string{"ac", "bc", "xbcx"}, []string{"xac", "c"}},
	{`(^|,)x(,|$)`, []string{"x", "a,x", "x,a", "a,x,b"}, []string{"ax", "xa", "a,xa"}},
	{`(^a$)|(^b$)|`, []string{"a", "b", "", "c"}, nil},
	{`(?:^a$)|(?<name>^b$)`, []string{"a", "b"}, []string{"ab", "", "c"}},
	{`^^a$$`, []string{"a"}, []string{"", "aa"}},
	{`^(^a$)$`, []string{"a"}, []string{"", "aa"}},
	{`^.$`, []string{"a", "\"", "\\", "é", "😀", "\x00", "\x7f", "\u2027", "\u202a"}, []string{"\n", "\r", "\u2028", "\u2029", ""}},
	{`^[^]$`, []string{"\n", "a", "\u2028", "\U0010ffff"}, []string{"", "ab"}},
	{`^[\s\S]{2}$`, []string{"\n\n", "ab"}, []string{"", "a"}},
	{`^\d+\D\w\W\s\S$`, []string{"12xa- b", "1\"_\"\n\\"}, []string{"xxa- b", "1xa-bb"}},
	{`^\s$`, []string{" ", "\t", "\v", "\f", "\u00a0", "\u2003", "\u2028", "\ufeff", "\u3000"}, []string{"\u200b", "x", "\x1f"}},
	{`^\S$`, []string{"\u200b", "x", "\x1f", "\""}, []string{" ", "\t", "\u00a0"}},
	{`^[a-c0-9_-]+$`, []string{"a-b", "_9"}, []string{"d", ""}},
	{`^[^a-c"]+$`, []string{"d\\", "\n"}, []string{"da", "\""}},
	{`^[\w.-]+@[\w-.]+$`, []string{"a.b@c-d.e"}, []string{"@", "a@", "a!@b"}},
	{`^[\]\\^-]$`, []string{"]", "\\", "^", "-"}, []string{"_", "["}},
	{`^[\b]\t\n\v\f\r\0\cJ\x41\u0042\u{43}\/\-\"$`, []string{"\b\t\n\v\f\r\x00\nABC/-\""}, []string{"b"}},
	{`^\ud83d\ude00[\u{1F600}-\u{1F64F}]$`, []string{"😀😁"}, []string{"😀", "😀\U0001F650"}},
	{`^[\ud800-\ue000]$`, []string{"\ue000"}, []string{"\ue001"}},
	{`^é+$`, []string{"é", "éé"}, []string{"e", ""}},
	{`^(ab|cd)*e?$`, []string{"", "abcd", "abe"}, []string{"abc", "ee"}},
	{`^(?:a{2}){1,2}b{2,}c{0}(){9}d{1}$`, []string{"aabbd", "aaaabbbd"}, []string{"aaabbd", "aabd", "aabbcd"}},
	{`^a+?b*?c??d{1,2}?$`, []string{"ad", "aabbcdd"}, []string{"d", "addd"}},
	{`^((a*)*|b)*$`, []string{"", "aab", "bbb"}, []string{"c"}},
	{`^]}$`, []string{"]}"}, []string{"}"}},
	{`^\d{4}-\d{2}-\d{2}T[^"\\]+Z$`, []string{"2026-11-28T19:54Z"}, []string{"2026-11-28T\"Z"}},
}

// spellings returns a text as a JSON string in its ways: with as few escapes as possible, and with as many as are
// allowed.
func spellings(text string) []string {
	var few, many strings.Builder
	for _, c := range text {
		if s := quoteJSON(string(c)); true {
			few.WriteString(s[1 : len(s)-1])
		}
		if c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			many.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&many, `\u%04X`, unit)
		}
	}
	return []string{`"` + few.String() + `"`, `"` + many.String() + `"`}
}

func TestPatternsKnowGoodFromBad(t *testing.T) {
	for _, tt := range patterns {
		g := compile(t, patternSchema(tt.pattern, 0, -1))
		for _, text := range tt.good {
			for _, s := range spellings(text) {
				if !follows(t, g, s) {
					t.Errorf("%s: %s is refused", tt.pattern, s)
				}
			}
		}
		for _, text := range tt.bad {
			for _, s := range spellings(text) {
				if follows(t, g, s) {
					t.Errorf("%s: %s follows", tt.pattern, s)
				}
			}
		}
		for _, s := range []string{`"`, `a`, "\"\n\"", "\"\x7f\"", `"\"`, `"a""`, `"\ud800"`} {
			if follows(t, g, s) {
				t.Errorf("%s: %s follows", tt.pattern, s)
			}
		}
	}
}

// TestPrintableCharactersOfPatterns: a model does not spell letters as escapes where the pattern names characters.
func TestPrintableCharactersOfPatterns(t *testing.T) {
	for pattern, text := range map[string]string{`^a$`: `"\u0061"`, `^[a-z]$`: `"\u0061"`, `^.$`: `"\u0061"`, `^/$`: `"\/"`} {
		if follows(t, compile(t, patternSchema(pattern, 0, -1)), text) {
			t.Errorf("%s: %s follows", pattern, text)
		}
	}
}

// twins is a random pattern, and the same in the notation of Go's package regexp.
type twins struct{ ecma, re string }

// spaces are the characters of \s in ECMA-262.
const spaces = `\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// randomSets have the same characters in both notations.
var randomSets = []twins{
	{`a`, `a`}, {`b`, `b`}, {`"`, `"`}, {`\\`, `\\`}, {`\n`, `\n`}, {`é`, `é`}, {`\ud83d\ude00`, `\x{1F600}`}, {`\u0061`, `a`}, {`\x62`, `b`},
	{`.`, `[^\n\r\x{2028}\x{2029}]`}, {`[ab]`, `[ab]`}, {`[^a]`, `[^a]`}, {`[a-é]`, `[a-é]`}, {`[^\n-"]`, `[^\n-"]`}, {`\d`, `\d`}, {`\D`, `\D`}, {`\w`, `\w`}, {`\W`, `\W`},
	{`\s`, "[" + spaces + "]"}, {`\S`, "[^" + spaces + "]"}, {`[\w-é]`, `[\w\-é]`}, {`[^]`, `(?s:.)`}, {`[\u{e0}-\u{1f600}"]`, `[\x{e0}-\x{1f600}"]`},
}

// randomLetters are the characters of texts.
var randomLetters = []rune("aaabb\"\\\né😀 _0\u2028\u00a0\x7f\x01z")

func randomPattern(r *rand.Rand, depth int) twins {
	join := func(n int, between string) (all twins) {
		for i := range n {
			x := randomPattern(r, depth-1)
			if i > 0 {
				all.ecma, all.re = all.ecma+between, all.re+between
			}
			all.ecma, all.re = all.ecma+x.ecma, all.re+x.re
		}
		return all
	}
	switch n := r.IntN(10); {
	case depth == 0 || n < 3:
		return randomSets[r.IntN(len(randomSets))]
	case n < 6:
		return join(r.IntN(4), "")
	case n < 8:
		x := join(1+r.IntN(3), "|")
		return twins{[]string{"(", "(?:", "(?<n>"}[r.IntN(3)] + x.ecma + ")", "(" + x.re + ")"}
	default:
		x := randomPattern(r, depth-1)
		sign := []string{"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?", "{1}", "{0}"}[r.IntN(10)]
		return twins{"(" + x.ecma + ")" + sign, "(" + x.re + ")" + sign}
	}
}

// anchored puts anchors at the ends of alternatives.
func anchored(r *rand.Rand) (all twins) {
	for i := range 1 + r.IntN(2) {
		x := randomPattern(r, 3)
		x = twins{"(" + x.ecma + ")", "(" + x.re + ")"}
		if r.IntN(3) > 0 {
			x = twins{"^" + x.ecma, "^" + x.re}
		}
		if r.IntN(3) > 0 {
			x = twins{x.ecma + "$", x.re + "$"}
		}
		if i > 0 {
			x = twins{"|" + x.ecma, "|" + x.re}
		}
		all.ecma, all.re = all.ecma+x.ecma, all.re+x.re
	}
	return all
}

// TestPatternsMatchAsPackageRegexp compares random patterns, half of them with bounds of the length, on random texts
// and on texts of their grammars.
func TestPatternsMatchAsPackageRegexp(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 5))
	matches, drawn := 0, 0
	for range 400 {
		x, lo, hi := anchored(r), 0, -1
		if r.IntN(2) == 0 {
			lo, hi = r.IntN(3), 2+r.IntN(4)
		}
		want := regexp.MustCompile(x.re)
		has := func(text string) bool {
			n := utf8.RuneCountInString(text)
			return want.MatchString(text) && n >= lo && (hi < 0 || n <= hi)
		}
		text, _, err := Grammar(patternSchema(x.ecma, lo, hi))
		if err != nil {
			if !strings.Contains(err.Error(), "no text that it matches has a length") {
				t.Fatalf("%s: %v", x.ecma, err)
			}
			text = `root ::= "no text"`
		}
		g, err := grammar.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 25 {
			var s []rune
			for range r.IntN(6) {
				s = append(s, randomLetters[r.IntN(len(randomLetters))])
			}
			for _, spelling := range spellings(string(s)) {
				if got, want := follows(t, g, spelling), has(string(s)); got != want {
					t.Fatalf("%s, %d to %d, %s: %v, package regexp has %v\n%s", x.ecma, lo, hi, spelling, got, want, text)
				}
			}
			if has(string(s)) {
				matches++
			}
		}
		if text != `root ::= "no text"` {
			drawn += checkDrawn(t, r, g, x.ecma, has)
		}
	}
	if matches < 1000 || drawn < 500 {
		t.Errorf("only %d texts match, and %d texts of grammars ended", matches, drawn)
	}
}

// TestBoundsOfOneSet compares repetitions of one set with package regexp, for all small bounds of the length.
func TestBoundsOfOneSet(t *testing.T) {
	for _, sign := range []string{"*", "+", "?", "{0}", "{1}", "{2}", "{0,2}", "{1,2}", "{1,}", "{2,}"} {
		pattern := "^[ab]" + sign + "$"
		want := regexp.MustCompile(pattern)
		for lo := range 4 {
			for hi := -1; hi < 4; hi++ {
				text, _, err := Grammar(patternSchema(pattern, lo, hi))
				var g *grammar.Grammar
				if err == nil {
					g = compile(t, patternSchema(pattern, lo, hi))
				}
				for n := range 5 {
					s := strings.Repeat("b", n)
					has := want.MatchString(s) && n >= lo && (hi < 0 || n <= hi)
					if got := err == nil && follows(t, g, `"`+s+`"`); got != has {
						t.Errorf("%s, %d to %d, %q: %v, package regexp has %v\n%s%v", pattern, lo, hi, s, got, has, text, err)
					}
				}
			}
		}
	}
}

// checkDrawn draws texts of a grammar. It returns how many ended.
func checkDrawn(t *testing.T, r *rand.Rand, g *grammar.Grammar, pattern string, has func(string) bool) (n int) {
	for range 4 {
		m, err := g.Match(vocab)
		if err != nil {
			t.Fatal(err)
		}
		text := draw(m, r)
		if text == "" {
			continue
		}
		n++
		var s string
		if err := json.Unmarshal([]byte(text), &s); err != nil || !utf8.ValidString(text) || !has(s) {
			t.Fatalf("%s: the grammar allows %s, %v", pattern, text, err)
		}
	}
	return n
}

// TestEveryCharacterOfPatterns compares sets with package regexp on the characters near each change, in both spellings.
func TestEveryCharacterOfPatterns(t *testing.T) {
	var list []rune
	for _, c := range []rune{0, 0x80, 0x100, 0x2ff, 0x7ff, 0x800, 0xfff, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x103ff, 0x10400, 0xfffff, 0x10ffff} {
		for d := rune(-2); d <= 2; d++ {
			if utf8.ValidRune(c + d) {
				list = append(list, c+d)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 9))
	for range 60 {
		var ecma, in strings.Builder
		for range 1 + r.IntN(4) {
			lo, hi := list[r.IntN(len(list))], list[r.IntN(len(list))]
			lo, hi = min(lo, hi), max(lo, hi)
			fmt.Fprintf(&ecma, `\u{%x}-\u{%x}`, lo, hi)
			fmt.Fprintf(&in, `\x{%x}-\x{%x}`, lo, hi)
		}
		not := []string{"", "^"}[r.IntN(2)]
		want := regexp.MustCompile("^[" + not + in.String() + "]$")
		text, _, err := Grammar(patternSchema("^["+not+ecma.String()+"]$", 0, -1))
		if err != nil && strings.Contains(err.Error(), "no character is in the set") {
			continue
		}
		g, err2 := grammar.Compile(text)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		for _, c := range list {
			for _, s := range spellings(string(c)) {
				if got, want := follows(t, g, s), want.MatchString(string(c)); got != want {
					t.Fatalf("%s%s: %s: %v, package regexp has %v", not, ecma.String(), s, got, want)
				}
			}
		}
	}
}

func TestFaultsOfPatternsAreNamed(t *testing.T) {
	for pattern, want := range map[string]string{
		`a(?=b)`:                 `schema: #: pattern: character 2: look-ahead, (?=, is not supported`,
		`(?!b)`:                  `character 1: look-ahead, (?!, is not supported`,
		`é(?<=b)`:                `character 2: look-behind, (?<=, is not supported`,
		`(?<!b)`:                 `look-behind, (?<!, is not supported`,
		`(?i)a`:                  `character 1: groups with a question mark are (?:…) and (?<name>…)`,
		`(?P<n>a)`:               `groups with a question mark`,
		`(a)\1`:                  `character 4: references to groups, \1, are not supported`,
		`(?<n>a)\k<n>`:           `character 8: references to groups, \k, are not supported`,
		`a\b`:                    `character 2: word boundaries, \b, are not supported`,
		`\B`:                     `word boundaries, \B`,
		`\p{L}`:                  `character 1: properties of Unicode, \p, are not supported`,
		`[\P{L}]`:                `character 2: properties of Unicode, \P, are not supported`,
		`a^b`:                    `character 2: the anchor ^ is supported at the ends of a pattern only`,
		`a$b`:                    `character 2: the anchor $ is supported at the ends of a pattern only`,
		`$^`:                     `character 1: the anchor $ is supported at the ends`,
		`(a|x^)b`:                `character 5: the anchor ^ is supported at the ends`,
		`^*a`:                    `character 2: the anchor ^ cannot be repeated`,
		`(^a)+`:                  `character 2: the anchor ^ within a repetition is not supported`,
		`*a`:                     `character 1: there is nothing before * that it could repeat`,
		`a**`:                    `character 3: there is nothing before *`,
		`a{2}{3}`:                `character 5: { begins no number of repetitions here`,
		`a{,3}`:                  `character 2: { begins no number of repetitions from 0 to 10000`,
		`a{3`:                    `character 2: { begins no number of repetitions`,
		`a{10001}`:               `character 2: { begins no number of repetitions`,
		`a{3,2}`:                 `character 2: {3,2}: the second number is below the first`,
		`{`:                      `character 1: { begins no number`,
		`(a`:                     `character 1: the group is not closed`,
		`a)`:                     `character 2: the parenthesis closes no group`,
		`[a`:                     `character 1: the set of characters is not closed by ]`,
		`[a-`:                    `character 1: the set of characters is not closed by ]`,
		`[]`:                     `character 1: no character is in the set`,
		`[^\s\S]`:                `character 1: no character is in the set`,
		`[\ud800-\udbff]`:        `character 1: no character is in the set`,
		`\ud800`:                 `character 1: half of a surrogate pair is no character`,
		`a[z-a]`:                 `character 3: the range of characters ends before it begins`,
		`\`:                      `character 1: a character is expected after \`,
		`\A`:                     `character 1: there is no escape \A`,
		`\u12`:                   `character 1: an escape of a character is \x41, \u0041 or \u{41}`,
		`\u{110000}`:             `character 1: an escape of a character is`,
		`\u{}`:                   `character 1: an escape of a character is`,
		`\u{41`:                  `character 1: \u{ is not closed`,
		`\01`:                    `character 1: there is no escape \0`,
		`\x4g`:                   `character 1: an escape of a character is`,
		`\c1`:                    `character 1: there is no escape \c`,
		`(a{1000}){1000}`:        `it describes more than 20000 characters one by one`,
		"a\n\\z":                 `character 3: there is no escape \z`,
		strings.Repeat(`(`, 200): `character 101: more than 100 groups are within each other`,
	} {
		if _, _, err := Grammar(patternSchema(pattern, 0, -1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", pattern, err, want)
		}
	}
	for schema, want := range map[string]string{
		`{"type": "string", "pattern": 1}`:          "schema: #: pattern is a text",
		patternSchema(`^a{3}$`, 4, -1):              "pattern: no text that it matches has a length within minLength and maxLength",
		patternSchema(`^a{3}$`, 0, 2):               "no text that it matches has a length",
		patternSchema(`^(aa)*$`, 3, 3):              "no text that it matches has a length",
		patternSchema(`^a+$`, 3, 2):                 "the smallest number, 3, is above the largest, 2",
		patternSchema(`^(a?b?c?){300}$`, 0, 500):    "with minLength and maxLength it needs more than 16384 steps",
		`{"type": "integer", "pattern": "a"}`:       `the keyword "pattern" is not supported`,
		`{"enum": ["a"], "pattern": "b"}`:           "no value of enum or const follows the keywords beside it",
		`{"enum": ["a"], "pattern": "("}`:           "pattern: character 1: the group is not closed",
		`{"pattern": "^x.*[^a]{700}y"}`:             "character sets of a loop and of 700 repetitions after it overlap",
		`{"items": {"pattern": "(", "title": "x"}}`: "schema: #/items: pattern: character 1: the group is not closed",
	} {
		if _, _, err := Grammar(schema); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

// hostilePatterns are large, or describe very much.
func hostilePatterns() []string {
	var class, groups strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&class, `\u{%x}`, 0x400+7*i)
		groups.WriteString("(a|b)?")
	}
	return []string{
		strings.Repeat("(", 90) + "a" + strings.Repeat("{1000})", 90) + "{1000}",
		strings.Repeat("(?:", 60) + "a" + strings.Repeat(")*", 60),
		"^(((a?){20}){20}){20}$", ".*.*.*.*.*.*.*.*x", "^(a|a)*(a|aa)*$", "(.{1,100}){1,100}", "^.{10000}$", "^(a|b)*a(a|b){20}$",
		"[" + class.String() + "]{1,50}", "[^" + class.String() + "]", "^" + groups.String()[:12000] + "$", strings.Repeat("|", 19000), strings.Repeat("a|", 9000),
		strings.Repeat("é", 9000), strings.Repeat("[", 10<<20), strings.Repeat("(", 10<<20), strings.Repeat("a", 10<<20), strings.Repeat(`\`, 10<<20),
		strings.Repeat("(^|", 90) + "a" + strings.Repeat(")", 90), strings.Repeat("()*", 6000), "(){10000}", "((){1000}){1000}",
	}
}

// TestLargeProducts: lengths beside a pattern take limited memory, in one pattern and in many.
func TestLargeProducts(t *testing.T) {
	if maxSize != grammar.MaxText {
		t.Errorf("%d bytes are allowed, in package grammar %d", maxSize, grammar.MaxText)
	}
	var parts []string
	for i := range 200 {
		parts = append(parts, patternSchema(fmt.Sprintf("^%d[ab]*c[ab]*$", i), 0, 2000))
	}
	for schema, want := range map[string]string{
		patternSchema(`^(?:a?){8000}$`, 0, 1):          "",
		`{"anyOf":[` + strings.Join(parts, ",") + `]}`: "with it the grammar has more than 1048576 bytes",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Grammar(schema)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
			t.Errorf("%.60s: %d MiB are allocated", schema, n>>20)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

// TestEqualSetsAreWrittenOnce: the escapes of a set are computed once, in however many places it is.
func TestEqualSetsAreWrittenOnce(t *testing.T) {
	for _, part := range []string{".", "[^a]"} {
		var parts []string
		for i := range 8 {
			parts = append(parts, patternSchema(fmt.Sprint(i)+strings.Repeat(part, 19000/len(part)), 0, -1))
		}
		start := time.Now()
		text, _, err := Grammar(`{"anyOf":[` + strings.Join(parts, ",") + `]}`)
		if d := time.Since(start); d > soon || err != nil || strings.Count(text, "\nset-") != 1 {
			t.Errorf("%s: %v, %d sets, %v", part, d, strings.Count(text, "\nset-"), err)
		}
	}
}

// TestHostilePatterns: each ends soon, with a grammar that compiles or an error.
func TestHostilePatterns(t *testing.T) {
	for _, pattern := range hostilePatterns() {
		for _, hi := range []int{-1, 10, 3000} {
			if hi > 0 && len(pattern) > maxPattern {
				continue
			}
			start := time.Now()
			text, _, err := Grammar(patternSchema(pattern, 0, hi))
			if err == nil {
				_, err = grammar.Compile(text)
			}
			if d := time.Since(start); d > soon {
				t.Errorf("%.60s: %v", pattern, d)
			} else if testing.Verbose() {
				t.Logf("%.40s %d bytes, lengths to %d: %v, a grammar of %d bytes, %.120v", strconv.Quote(pattern), len(pattern), hi, d.Round(time.Millisecond), len(text), err)
			}
			if err != nil && !strings.Contains(err.Error(), "more than") && !strings.Contains(err.Error(), "has a length within") {
				t.Errorf("%.60s: %v", pattern, err)
			}
		}
	}
}

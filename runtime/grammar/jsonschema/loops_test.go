package jsonschema

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// soon is more than the race detector on a busy machine takes for what is limited, and less than what is not.
const soon = time.Minute

// TestLongRepetitionsAfterLoops: the number of readings of a text does not grow with that of repetitions.
func TestLongRepetitionsAfterLoops(t *testing.T) {
	rep := strings.Repeat
	tests := []struct {
		pattern   string
		good, bad []string
	}{
		{`[^a]{1000}`, []string{"aa" + rep("é", 1000) + "a", rep("b", 1001)}, []string{"b" + rep("b", 998) + "a" + rep("b", 999)}},
		{`\d{1000}$`, []string{"x" + rep("1", 1500)}, []string{rep("1", 999), rep("1", 1000) + "x"}},
		{`^x.*[b-d]{700}y`, []string{"x" + rep("b", 900) + "yz"}, []string{"x" + rep("b", 699) + "y"}},
		{`.{1000}`, []string{rep("b", 1200)}, []string{rep("b", 999), rep("b", 999) + "\n" + rep("b", 999)}},
		{`.{1,500}`, []string{rep("b", 3000), "\nb"}, []string{"", "\n"}},
		{`^[a-z]+[a-z]{0,3000}$`, []string{"b", rep("b", 3500)}, []string{"", "bB"}},
		{`^.+.{400}$`, []string{rep("b", 401), rep("b", 900)}, []string{rep("b", 400)}},
		{`^[a-z;]*[A-Z0-9;]{1500}$`, []string{"a" + rep("B", 1500)}, []string{"a" + rep("B", 1499)}},
		{`[^a]{2000}b`, []string{rep("b", 3000), "a" + rep("c", 2500) + "ba"}, []string{rep("b", 2000), rep("b", 1999) + "ab"}},
		{`.*(\w{2000})-`, []string{"\n" + rep("b", 3000) + "-"}, []string{rep("b", 1999) + "-"}},
		{`.+.?\w{2000}-`, []string{rep("b", 3000) + "-"}, []string{rep("b", 2000) + "-"}},
		{`^(a*){8000}(?:(b?)*)+$`, []string{"", rep("a", 3000) + "bb"}, []string{"aba"}},
		{`^[\s\S]*[^]{2,3}$`, []string{"ab", "abcd\n"}, []string{"a"}},
	}
	for _, tt := range tests {
		g := compile(t, patternSchema(tt.pattern, 0, -1))
		for _, s := range tt.good {
			if !follows(t, g, spellings(s)[0]) {
				t.Errorf("%s: %.20q with %d bytes is refused", tt.pattern, s, len(s))
			}
		}
		for _, s := range tt.bad {
			if follows(t, g, spellings(s)[0]) {
				t.Errorf("%s: %.20q with %d bytes follows", tt.pattern, s, len(s))
			}
		}
	}
}

// TestFewReadingsStay: a short repetition after a loop has as many steps as before, which lengths multiply.
func TestFewReadingsStay(t *testing.T) {
	g := compile(t, `{"type":"string","pattern":"\\d{4}","maxLength":2500}`)
	if !follows(t, g, `"ab1234"`) || follows(t, g, `"ab123"`) {
		t.Error("the pattern is not kept")
	}
}

// TestNestedLoopsBesideEnum: values are compared with a pattern in time that does not grow with the texts of the
// pattern.
func TestNestedLoopsBesideEnum(t *testing.T) {
	const depth = 40
	pattern := "^" + strings.Repeat("(", depth) + "a" + strings.Repeat("b?)+", depth) + "$"
	g := compile(t, `{"enum":["`+strings.Repeat("a", depth)+`","b"],"pattern":"`+pattern+`"}`)
	if !follows(t, g, `"`+strings.Repeat("a", depth)+`"`) || follows(t, g, `"b"`) {
		t.Error("the values are not those of the pattern")
	}
}

// TestManyValuesBesidePattern: values are compared with a pattern for a limited time, however many or long they are.
func TestManyValuesBesidePattern(t *testing.T) {
	rep := strings.Repeat
	for schema, want := range map[string]string{
		`{"enum":["` + rep("a", 200000) + `","b"],"pattern":"^(a?){9000}$"}`:                         "takes more than 16777216 steps",
		`{"enum":[` + rep(`"a",`, 200000) + `"b"],"pattern":"^(a?){9000}$"}`:                         "takes more than 16777216 steps",
		`{"anyOf":[` + rep(`{"const":"a","pattern":"^b?(a?){9000}$"},`, 10000) + `{"type":"null"}]}`: "takes more than 16777216 steps",
		`{"enum":[` + rep(`"",`, 200000) + `"b"],"pattern":"^(a?){9000}$"}`:                          "takes more than 16777216 steps",
		`{"enum":[` + rep(`"a",`, 100000) + `"b"],"pattern":"^a*$"}`:                                 "",
	} {
		start := time.Now()
		_, _, err := Grammar(schema)
		if d := time.Since(start); d > soon {
			t.Errorf("%.60s: %v", schema, d)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

// TestSettledMeansTheSame compares random expressions with what settled makes of them, on all short texts.
func TestSettledMeansTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sets := []set{makeSet(span{'a', 'a'}), makeSet(span{'a', 'b'}), makeSet(span{'b', 'c'}), makeSet(span{'a', 'c'}), everything}
	var texts []string
	for n := range 6 {
		total := 1
		for range n {
			total *= 3
		}
		for i := range total {
			text := ""
			for range n {
				text += string("abc"[i%3])
				i /= 3
			}
			texts = append(texts, text)
		}
	}
	changed := 0
	for range 200 {
		list := series{}
		for range 2 + rng.IntN(4) {
			s := sets[rng.IntN(len(sets))]
			lo := rng.IntN(4)
			list = append(list, []expression{s, repeated{s, 0, -1}, repeated{s, lo, lo + rng.IntN(3)}, repeated{s, lo, -1}}[rng.IntN(4)])
			if rng.IntN(3) == 0 { // a group
				list = append(list[:0:0], list[0], append(series{}, list[1:]...))
			}
		}
		e := settled(list, 0)
		if measure(e).size != measure(list).size {
			changed++
		}
		for _, text := range texts {
			if got, want := matches(e, text), matches(list, text); got != want {
				t.Fatalf("%v and %v of %q: %v", list, e, text, got)
			}
		}
	}
	if changed < 10 {
		t.Errorf("%d expressions changed", changed)
	}
}

// matches reports whether a text is one of an expression without anchors.
func matches(e expression, text string) bool {
	left := 1 << 20
	return newMatcher(e).matches(text, &left)
}

package plain

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"":                   `""`,
		"blk.0.attn_q":       "blk.0.attn_q",
		"naïve 世界":           "naïve 世界",
		`a\nb`:               `a\nb`,
		"a\nb":               `"a\nb"`,
		`"a"`:                `"\"a\""`,
		"\x1b[31mred\x1b[0m": `"\x1b[31mred\x1b[0m"`,
		"\u202eevil":         `"\u202eevil"`,
		"\u009b31m":          `"\u009b31m"`,
		"\xff\xfe":           `"\xff\xfe"`,
		"a\u2028b":           `"a\u2028b"`,
		"\U000e0041":         `"\U000e0041"`,
	} {
		if got := Name(in); got != want {
			t.Errorf("Name(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 10, `"abc"`},
		{"abcdefgh", 10, `"abcdefgh"`},
		{"abcdefghi", 10, `"abcde"…`},
		{"\x1b\x1b\x1b\x1b", 10, `"\x1b"…`},
		{"äöüäöüäöü", 10, `"äö"…`},
		{strings.Repeat("x", 1<<20), 12, `"xxxxxxx"…`},
	} {
		if got := Quote(c.in, c.most); got != c.want || len(got) > c.most {
			t.Errorf("Quote(%.20q, %d) = %s, want %s", c.in, c.most, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"one\n\ttwo\n":      "one\n\ttwo\n",
		`C:\models`:         `C:\models`,
		"a\x1b[2Jb\nc\r":    "a\\x1b[2Jb\nc\\r",
		"\u2066x\u2069\xc3": `\u2066x\u2069\xc3`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 5, "short"},
		{"what is wrong: what to do", 10, "what  … to do"},
		{"ääääää", 5, "ä … ä"},
	} {
		if got := Cut(c.in, c.most); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

// FuzzPlain: whatever the text is, what is printed is printable and within its limit, and what
// was quoted or encoded can be read back.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b]0;title\a", "\u202e\u2066", "\xff\xc3", "\u009b", "line\nline", `"\"`, "\U000e0041"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 8 + max(0, most)%1000
		clean(t, Name(s), "")
		clean(t, Quote(s, most), "")
		clean(t, Text(s), "\n\t")
		if q := Quote(s, most); len(q) > most {
			t.Errorf("%d bytes, at most %d", len(q), most)
		}
		if q := Name(s); strings.HasPrefix(q, `"`) {
			if back, err := strconv.Unquote(q); err != nil || back != s {
				t.Errorf("%s is not %q", q, s)
			}
		}
		if c := Cut(s, most); len(c) > most+len("  …") {
			t.Errorf("%d bytes of at most %d", len(c), most)
		}
		b, _ := json.Marshal(s)
		var plain, before string
		out := JSON(b)
		clean(t, string(out), "")
		if err := json.Unmarshal(out, &plain); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &before); err != nil || plain != before {
			t.Errorf("%q became %q", before, plain)
		}
	})
}

// clean demands that a terminal prints s as it is; runes in except may be there.
func clean(t *testing.T, s, except string) {
	t.Helper()
	for i, r := range s {
		_, n := utf8.DecodeRuneInString(s[i:])
		if bad := r == utf8.RuneError && n == 1 || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp); bad && !strings.ContainsRune(except, r) {
			t.Fatalf("%q at %d of %q", r, i, s)
		}
	}
}

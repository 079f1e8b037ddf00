package printable

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLineTextAndNameEscapeWhatDoesNotPrint(t *testing.T) {
	for _, c := range []struct{ in, line, text, name string }{
		{"", "", "", `""`},
		{"blk.0.attn_q größe 模型", "blk.0.attn_q größe 模型", "blk.0.attn_q größe 模型", "blk.0.attn_q größe 模型"},
		{`C:\models`, `C:\models`, `C:\models`, `C:\models`},
		{`a\n"b"`, `a\n"b"`, `a\n"b"`, `a\n"b"`},
		{`"a"`, `"a"`, `"a"`, `"\"a\""`},
		{"a\nb\tc", `a\nb\tc`, "a\nb\tc", `"a\nb\tc"`},
		{"\x1b[2Jx\r", `\x1b[2Jx\r`, `\x1b[2Jx\r`, `"\x1b[2Jx\r"`},
		{"\u009b2J", `\u009b2J`, `\u009b2J`, `"\u009b2J"`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`, `a\u202eb\u2066c`, `"a\u202eb\u2066c"`},
		{"a\u2028b\u0085", `a\u2028b\u0085`, `a\u2028b\u0085`, `"a\u2028b\u0085"`},
		{"\xff\xfea\x00", `\xff\xfea\x00`, `\xff\xfea\x00`, `"\xff\xfea\x00"`},
		{"a\xc3", `a\xc3`, `a\xc3`, `"a\xc3"`},
		{"\ufffd", "\ufffd", "\ufffd", "\ufffd"},
		{"\U000e0041", `\U000e0041`, `\U000e0041`, `"\U000e0041"`},
	} {
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
		if got := Name(c.in); got != c.name {
			t.Errorf("Name(%q) = %s, want %s", c.in, got, c.name)
		}
	}
}

func TestQuoteIsLimited(t *testing.T) {
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

func TestCutKeepsBothEnds(t *testing.T) {
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

func TestHeadKeepsWholeRunes(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"aä", 2, "a"},
		{"aä", 3, "aä"},
		{"a😀b", 4, "a"},
		{"😀", 0, ""},
	} {
		if got := Head(c.in, c.most); got != c.want {
			t.Errorf("Head(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

// TestJSONKeepsValues encodes every rune below U+1000 and some above.
func TestJSONKeepsValues(t *testing.T) {
	var b strings.Builder
	for r := rune(0); r < 0x1000; r++ {
		b.WriteRune(r)
	}
	b.WriteString("\u2028\u202e\U000e0041😀")
	doc, err := json.MarshalIndent(map[string]string{"name": b.String()}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	safe := JSON(doc)
	clean(t, string(safe), "\n\t")
	var got map[string]string
	if err := json.Unmarshal(safe, &got); err != nil || got["name"] != b.String() {
		t.Errorf("the value has changed: %v", err)
	}
}

// TestJSONReplacesInvalidUTF8 expects the replacement that decoders use.
func TestJSONReplacesInvalidUTF8(t *testing.T) {
	if got := string(JSON([]byte("\"a\xffb\""))); got != `"a\ufffdb"` {
		t.Errorf("got %q", got)
	}
}

// FuzzPrintable checks for any text that what is printed is printable and within its limit, and that what is quoted
// or encoded can be read back.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b]0;title\a", "\u202e\u2066", "\xff\xc3", "\u009b", "line\nline", `"\"`, "\U000e0041"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 8 + max(0, most)%1000
		clean(t, Line(s), "")
		clean(t, Text(s), "\n\t")
		checkQuoted(t, s, most)
		checkJSON(t, s)
		if c := Cut(s, most); len(c) > most+len("  …") {
			t.Errorf("%d bytes of at most %d", len(c), most)
		}
		if h := Head(s, most); len(h) > most || !strings.HasPrefix(s, h) || utf8.ValidString(s) && !utf8.ValidString(h) {
			t.Errorf("%q is no beginning of %q", h, s)
		}
	})
}

func checkQuoted(t *testing.T, s string, most int) {
	t.Helper()
	name, quoted := Name(s), Quote(s, most)
	clean(t, name, "")
	clean(t, quoted, "")
	if len(quoted) > most {
		t.Errorf("%d bytes, at most %d", len(quoted), most)
	}
	if strings.HasPrefix(name, `"`) {
		if back, err := strconv.Unquote(name); err != nil || back != s {
			t.Errorf("%s is not %q", name, s)
		}
	} else if name != s {
		t.Errorf("%s is not %q", name, s)
	}
}

// checkJSON encodes s both with Go's encoder and by hand, which keeps bytes that are not UTF-8.
func checkJSON(t *testing.T, s string) {
	t.Helper()
	encoded, _ := json.Marshal(s)
	for _, doc := range [][]byte{encoded, []byte(`"` + s + `"`)} {
		var got, want string
		if json.Unmarshal(doc, &want) != nil {
			continue // encoded by hand, s is not valid JSON
		}
		out := JSON(doc)
		clean(t, string(out), "\n\t")
		if err := json.Unmarshal(out, &got); err != nil || got != want {
			t.Errorf("%q became %q: %v", want, got, err)
		}
	}
}

// clean checks that a terminal prints s as it is. s may contain runes of except.
func clean(t *testing.T, s, except string) {
	t.Helper()
	for i, r := range s {
		_, n := utf8.DecodeRuneInString(s[i:])
		bad := r == utf8.RuneError && n == 1 || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
		if bad && !strings.ContainsRune(except, r) {
			t.Fatalf("%q at %d of %q", r, i, s)
		}
	}
}

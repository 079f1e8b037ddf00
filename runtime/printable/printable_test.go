package printable

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func TestLineAndText(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"", "", ""},
		{"blk.0.attn_q größe 模型", "blk.0.attn_q größe 模型", "blk.0.attn_q größe 模型"},
		{`a\n"b"`, `a\n"b"`, `a\n"b"`},
		{"a\nb\tc", `a\nb\tc`, "a\nb\tc"},
		{"\x1b[2Jx\r", `\x1b[2Jx\r`, `\x1b[2Jx\r`},
		{"\u009b2J", `\u009b2J`, `\u009b2J`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`, `a\u202eb\u2066c`},
		{"a\u2028b\u0085", `a\u2028b\u0085`, `a\u2028b\u0085`},
		{"\xff\xfea\x00", `\xff\xfea\x00`, `\xff\xfea\x00`},
		{"\ufffd", "\ufffd", "\ufffd"},
		{"\U000e0041", `\U000e0041`, `\U000e0041`},
	} {
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

// TestJSON has a document of every rune below U+1000 and some above: its value must stay.
func TestJSON(t *testing.T) {
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
	for _, r := range string(safe) {
		if r != '\n' && r != '\t' && !strconv.IsPrint(r) {
			t.Errorf("%U is left", r)
		}
	}
	var got map[string]string
	if err := json.Unmarshal(safe, &got); err != nil || got["name"] != b.String() {
		t.Errorf("the value has changed: %v", err)
	}
}

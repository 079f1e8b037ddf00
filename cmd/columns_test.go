package cmd

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct{ name, prefix, in, want string }{
		{"short", "", "  a b\n", "  a b\n"},
		{"exact", "", "12345678901234567890\n", "12345678901234567890\n"},
		{"at a blank", "", "  one two three four five\n", "  one two three four\n      five\n"},
		{"several times", "", "aaaa bbbb cccc dddd eeee ffff gggg hhhh\n", "aaaa bbbb cccc dddd\n    eeee ffff gggg\n    hhhh\n"},
		{"a word that is too wide", "", "  abcdefghijklmnopqrstuvwxyz\n", "  abcdefghijklmnopqr\n      stuvwxyz\n"},
		{"runes are columns", "", "µµµµµ µµµµµ µµµµµ µµµµµ\n", "µµµµµ µµµµµ µµµµµ\n    µµµµµ\n"},
		{"deeper than half", "", strings.Repeat(" ", 15) + "one two three\n", strings.Repeat(" ", 15) + "one\n" + strings.Repeat(" ", 14) + "two\n" + strings.Repeat(" ", 14) + "three\n"},
		{"a number and its unit", "", "one two three 40 KiB, four\n", "one two three\n    40 KiB, four\n"},
		{"no end of line", "", "one two three four five six", "one two three four\n    five six"},
		{"comment", "//", "//   rule two three four\n", "//   rule two three\n//       four\n"},
	} {
		if got := wrap(c.in, 20, c.prefix); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// No byte but blanks and ends of lines is lost, of any text.
func FuzzWrap(f *testing.F) {
	f.Add("  one two three\nfour")
	f.Add(strings.Repeat(" ", 130) + "x")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		words := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		got := wrap(text, 20, "")
		if words(got) != words(text) {
			t.Errorf("%q became %q", text, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 20 {
				t.Errorf("%q has %d columns", line, n)
			}
		}
	})
}

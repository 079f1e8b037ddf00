package lineedit

import "testing"

// typed applies keys to a buffer on a screen of ten columns and shows the cursor as |.
func typed(b *buffer, keys string) string {
	left := []byte(keys)
	for {
		k, n := decode(left)
		if n == 0 {
			return string(b.text[:b.at]) + "|" + string(b.text[b.at:])
		}
		b.do(k, 10)
		left = left[n:]
	}
}

// Keys of the tests.
const (
	keyUp, keyDown, keyRight, keyLeft = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
	keyHome, keyEnd                   = "\x1b[H", "\x1b[F"
	keyAltEnter                       = "\x1b\r"
)

func TestEditing(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"abc" + keyLeft + keyLeft + "X", "aX|bc"},
		{"abc" + keyHome + "X" + keyEnd + "Y", "XabcY|"},
		{"abc" + keyLeft + "\x7f", "a|c"},
		{"abc" + keyHome + "\x1b[3~", "|bc"},
		{"one two  three\x17", "one two  |"},
		{"one two\x17\x17", "|"},
		{"one two\x17" + keyHome + "\x19", "two|one "},
		{"one two" + "\x1b[1;5D" + "\x15", "|two"},
		{"one two" + "\x1b[1;5D" + "\x0b", "one |"},
		{"one two" + keyHome + "\x1bd", "| two"},
		{"one two" + keyHome + "\x1bf", "one| two"},
		{"日本語" + keyLeft + "\x7f", "日|語"},
		{"ae\u0301b" + keyLeft + keyLeft, "a|e\u0301b"}, // a mark belongs to its letter
		{"ae\u0301\x7f", "a|"},
		{"a\tb" + keyLeft + keyLeft, "a|\tb"},
		{"a" + keyAltEnter + "bc" + keyUp, "a|\nbc"},
		{"ab" + keyAltEnter + "cd" + keyHome + "\x15", "ab\n|cd"},
		{"ab" + keyAltEnter + "cd" + keyUp + "\x0b", "ab|\ncd"},
		{"0123456789ab" + keyUp, "012|3456789ab"}, // rows of nine columns
		{"0123456789ab" + keyUp + keyDown, "0123456789ab|"},
		{"日本語日本語" + keyUp, "日本|語日本語"}, // four characters in the first row
		{"\x7f\x1b[3~\x17\x15\x0b" + keyLeft + keyRight + keyUp + keyDown, "|"},
	} {
		if got := typed(&buffer{}, tt.keys); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.keys, got, tt.want)
		}
	}
}

func TestHistory(t *testing.T) {
	b := &buffer{}
	for _, line := range []string{"first", "second", "second", "", "third\nrow"} {
		b.begin()
		b.do(key{insert, []rune(line)}, 10)
		b.accept()
	}
	b.begin()
	for _, tt := range []struct{ keys, want string }{
		{"new" + keyUp, "third\nrow|"},
		{keyUp, "thi|rd\nrow"}, // the row above comes first
		{keyUp, "second|"},
		{keyUp, "first|"},
		{keyUp, "first|"},
		{"!" + keyDown + keyUp, "first|"}, // changes of the history are forgotten
		{keyDown + keyDown, "third\nrow|"},
		{keyDown, "new|"},
		{keyDown, "new|"},
	} {
		if got := typed(b, tt.keys); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.keys, got, tt.want)
		}
	}
}

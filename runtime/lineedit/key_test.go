package lineedit

import (
	"reflect"
	"testing"
)

// TestKeys decodes each sequence whole, and nothing from its beginnings.
func TestKeys(t *testing.T) {
	tests := []struct {
		bytes string
		want  key
	}{
		{"a", key{insert, []rune("a")}},
		{"é", key{insert, []rune("é")}},
		{"語", key{insert, []rune("語")}},
		{"🙂", key{insert, []rune("🙂")}},
		{"\x1b[A", key{action: up}},
		{"\x1bOB", key{action: down}},
		{"\x1b[C", key{action: right}},
		{"\x1b[1;2D", key{action: left}},
		{"\x1b[1;5D", key{action: wordLeft}},
		{"\x1b[1;3C", key{action: wordRight}},
		{"\x1bf", key{action: wordRight}},
		{"\x1b[H", key{action: home}},
		{"\x1b[4~", key{action: end}},
		{"\x1bOF", key{action: end}},
		{"\x1b[3~", key{action: deleteRight}},
		{"\x1b\x7f", key{action: deleteWordLeft}},
		{"\x1bd", key{action: deleteWordRight}},
		{"\x1b\r", key{insert, []rune("\n")}},
		{"\x01", key{action: home}},
		{"\x15", key{action: deleteToHome}},
		{"\x17", key{action: deleteWordLeft}},
		{"\x0b", key{action: deleteToEnd}},
		{"\x7f", key{action: deleteLeft}},
		{"\r", key{action: enter}},
		{"\x1b[200~a\r\nb\rc\x1b[A\x1b[201~", key{insert, []rune("a\nb\nc\x1b[A")}},
		{"\x1b[15~", key{}}, // F5
		{"\x1b[[E", key{}},  // F5 of the Linux console
		{"\x1bé", key{}},
		{"\xff", key{insert, []rune{'\uFFFD'}}},
		{"\x00", key{}},
	}
	for _, tt := range tests {
		for n := range len(tt.bytes) {
			if k, used := decode([]byte(tt.bytes[:n])); used != 0 {
				t.Errorf("%q: %v of %q alone", tt.bytes, k, tt.bytes[:n])
			}
		}
		if k, n := decode([]byte(tt.bytes + "x")); n != len(tt.bytes) || !reflect.DeepEqual(k, tt.want) {
			t.Errorf("%q: %v, %d bytes, want %v", tt.bytes, k, n, tt.want)
		}
	}
}

// FuzzDecode checks that every input is used up, in keys of at least a byte.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x1b[1;5D\xff\x1b[200~x\x1b[201~\x1b\x1b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		edited := buffer{}
		for len(b) > 0 {
			k, n := decode(b)
			if n < 0 || n > len(b) {
				t.Fatalf("%d of %d bytes", n, len(b))
			}
			if n == 0 {
				break
			}
			edited.do(k, 10)
			if edited.at < 0 || edited.at > len(edited.text) {
				t.Fatalf("the cursor is at %d of %d", edited.at, len(edited.text))
			}
			layOut("> ", edited.text, edited.at, 10)
			b = b[n:]
		}
	})
}

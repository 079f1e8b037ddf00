package lineedit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// action is what a key does.
type action int

// The actions of keys.
const (
	nothing action = iota
	insert
	left
	right
	up
	down
	wordLeft
	wordRight
	home
	end
	deleteLeft
	deleteRight
	deleteWordLeft
	deleteWordRight
	deleteToHome
	deleteToEnd
	restoreDeleted
	deleteOrEnd // the end of the input if the line is empty
	clearScreen
	enter
)

// key is one key, or a text that was pasted.
type key struct {
	action action
	text   []rune // of insert
}

// controls are the actions of control characters: those of Emacs and of most shells.
var controls = [32]action{
	'A' - 64: home, 'B' - 64: left, 'D' - 64: deleteOrEnd, 'E' - 64: end, 'F' - 64: right, 'H' - 64: deleteLeft,
	'J' - 64: enter, 'K' - 64: deleteToEnd, 'L' - 64: clearScreen, 'M' - 64: enter, 'N' - 64: down, 'P' - 64: up,
	'U' - 64: deleteToHome, 'W' - 64: deleteWordLeft, 'Y' - 64: restoreDeleted,
}

// Control characters that have names.
const (
	escape    = 0x1b
	backspace = 0x7f
)

// pasteBegin and pasteEnd are around pasted text.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// decode returns the first key in b and the number of its bytes; 0 if b has only its beginning.
func decode(b []byte) (k key, n int) {
	switch {
	case len(b) == 0:
		return key{}, 0
	case bytes.HasPrefix(b, []byte(pasteBegin)):
		return decodePaste(b)
	case b[0] == escape:
		return decodeEscape(b)
	case b[0] == '\t':
		return key{insert, []rune{'\t'}}, 1
	case b[0] < ' ':
		return key{action: controls[b[0]]}, 1
	case b[0] == backspace:
		return key{action: deleteLeft}, 1
	case !utf8.FullRune(b):
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	return key{insert, []rune{r}}, n
}

// decodePaste returns a text between the marks of a paste. Terminals send returns for newlines.
func decodePaste(b []byte) (key, int) {
	n := bytes.Index(b, []byte(pasteEnd))
	if n < 0 {
		return key{}, 0
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b[len(pasteBegin):n]))
	return key{insert, []rune(text)}, n + len(pasteEnd)
}

// decodeEscape returns the key of a sequence that begins with an escape.
func decodeEscape(b []byte) (key, int) {
	if len(b) == 1 {
		return key{}, 0
	}
	switch b[1] {
	case '[':
		return decodeControl(b)
	case 'O':
		if len(b) < 3 {
			return key{}, 0
		}
		return key{action: finals[b[2]]}, 3
	case escape:
		return key{}, 1
	case '\r', '\n':
		return key{insert, []rune{'\n'}}, 2
	case 'b':
		return key{action: wordLeft}, 2
	case 'f':
		return key{action: wordRight}, 2
	case 'd':
		return key{action: deleteWordRight}, 2
	case backspace, 'H' - 64:
		return key{action: deleteWordLeft}, 2
	}
	if !utf8.FullRune(b[1:]) {
		return key{}, 0
	}
	_, n := utf8.DecodeRune(b[1:])
	return key{}, 1 + n
}

// finals are the actions of sequences by their last byte.
var finals = [256]action{'A': up, 'B': down, 'C': right, 'D': left, 'F': end, 'H': home}

// numbered are the actions of sequences that end with ~ by their number.
var numbered = map[string]action{"1": home, "3": deleteRight, "4": end, "7": home, "8": end}

// decodeControl returns the key of a control sequence (ECMA-48, 5.4): ESC [, parameters, and a last byte from @ to ~.
func decodeControl(b []byte) (key, int) {
	n := 2
	for n < len(b) && (b[n] < '@' || b[n] > '~') {
		n++
	}
	if n == len(b) || b[n] == '[' && n+1 == len(b) {
		return key{}, 0
	}
	if b[n] == '[' { // a function key of the Linux console
		return key{}, n + 2
	}
	number, modifier, _ := strings.Cut(string(b[2:n]), ";")
	if b[n] == '~' {
		return key{action: numbered[number]}, n + 1
	}
	a := finals[b[n]]
	if modifier != "" && modifier != "2" { // not Shift alone: Alt, Ctrl, or several
		switch a {
		case left:
			a = wordLeft
		case right:
			a = wordRight
		}
	}
	return key{action: a}, n + 1
}

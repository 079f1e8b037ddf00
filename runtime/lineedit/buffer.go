package lineedit

import (
	"slices"
	"unicode"
)

// buffer is a text with a cursor, and the lines before it.
type buffer struct {
	text    []rune
	at      int // cursor: before this rune
	deleted []rune

	lines [][]rune // entered before
	line  int      // that is shown; len(lines): the new one
	draft []rune   // the new one, while another is shown
}

// begin starts an empty line.
func (b *buffer) begin() {
	b.text, b.at, b.line, b.draft = nil, 0, len(b.lines), nil
}

// accept returns the text and adds it to the history, unless it repeats the last line or is empty.
func (b *buffer) accept() string {
	if n := len(b.lines); len(b.text) > 0 && (n == 0 || !slices.Equal(b.lines[n-1], b.text)) {
		b.lines = append(b.lines, b.text)
	}
	return string(b.text)
}

// do applies a key. The width is that of the screen: up and down move by its rows.
func (b *buffer) do(k key, width int) {
	switch k.action {
	case insert:
		b.text = slices.Insert(b.text, b.at, k.text...)
		b.at += len(k.text)
	case restoreDeleted:
		b.text = slices.Insert(b.text, b.at, b.deleted...)
		b.at += len(b.deleted)
	case left, right, wordLeft, wordRight, home, end:
		b.at = b.target(k.action)
	case up, down:
		b.vertical(k.action, width)
	case deleteLeft:
		b.cut(b.target(left))
	case deleteRight:
		b.cut(b.target(right))
	case deleteWordLeft, deleteWordRight, deleteToHome, deleteToEnd:
		b.deleted = b.cut(b.target(motion[k.action]))
	}
}

// motion is how far actions delete.
var motion = map[action]action{deleteWordLeft: wordLeft, deleteWordRight: wordRight, deleteToHome: home, deleteToEnd: end}

// cut removes and returns what is between the cursor and another place. The text may be a line of the history, which
// keeps its own.
func (b *buffer) cut(to int) []rune {
	from, to := min(b.at, to), max(b.at, to)
	gone := slices.Clone(b.text[from:to])
	b.text, b.at = slices.Concat(b.text[:from], b.text[to:]), from
	return gone
}

// target returns where a motion leads.
func (b *buffer) target(a action) int {
	at := b.at
	switch a {
	case left:
		return b.before(at)
	case right:
		return b.after(at)
	case home:
		for at > 0 && b.text[at-1] != '\n' {
			at--
		}
	case end:
		for at < len(b.text) && b.text[at] != '\n' {
			at++
		}
	case wordLeft:
		for at > 0 && !isWord(b.text[at-1]) {
			at--
		}
		for at > 0 && isWord(b.text[at-1]) {
			at--
		}
	case wordRight:
		for at < len(b.text) && !isWord(b.text[at]) {
			at++
		}
		for at < len(b.text) && isWord(b.text[at]) {
			at++
		}
	}
	return at
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) || r == '_'
}

// before returns the place of the character before another one. Runes without a width belong to the one before them.
func (b *buffer) before(at int) int {
	for at > 0 {
		if at--; shownWidth(b.text[at]) > 0 || b.text[at] == '\n' {
			break
		}
	}
	return at
}

// after returns the place after a character.
func (b *buffer) after(at int) int {
	if at < len(b.text) {
		at++
	}
	for at < len(b.text) && b.text[at] != '\n' && shownWidth(b.text[at]) == 0 {
		at++
	}
	return at
}

// vertical moves to the row above or below, and beyond the first and the last one to another line of the history.
func (b *buffer) vertical(a action, width int) {
	l := layOut("", b.text, b.at, width)
	row := l.row - 1
	if a == down {
		row = l.row + 1
	}
	if row >= 0 && row < len(l.rows) {
		b.at = l.place(row, l.column)
		return
	}
	b.history(b.line + row - l.row)
}

// history shows a line of the history, or the new one after all of them.
func (b *buffer) history(line int) {
	if line < 0 || line > len(b.lines) {
		return
	}
	if b.line == len(b.lines) {
		b.draft = b.text
	}
	b.line, b.text = line, b.draft
	if line < len(b.lines) {
		b.text = slices.Clone(b.lines[line])
	}
	b.at = len(b.text)
}

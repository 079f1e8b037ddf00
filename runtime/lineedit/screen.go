package lineedit

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// screen draws a text on a terminal.
type screen struct {
	out    io.Writer
	size   func() (columns, rows int)
	prompt string
	above  int // rows that are drawn above the cursor
}

// begin starts a text in the row of the cursor.
func (s *screen) begin(prompt string) { s.prompt, s.above = prompt, 0 }

// width returns the columns of the screen.
func (s *screen) width() int {
	columns, _ := s.size()
	return columns
}

// clear makes the next drawing begin at the top of an empty screen.
func (s *screen) clear() {
	io.WriteString(s.out, "\x1b[H\x1b[2J")
	s.above = 0
}

// draw replaces what was drawn. Of a text that is higher than the screen it shows the rows around the cursor.
func (s *screen) draw(b *buffer) error {
	columns, height := s.size()
	l := layOut(s.prompt, b.text, b.at, columns)
	first := min(max(0, l.row-height/2), max(0, len(l.rows)-height))
	last := min(len(l.rows), first+height)
	var out strings.Builder
	if s.above > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", s.above)
	}
	out.WriteString("\r\x1b[J")
	for i, r := range l.rows[first:last] {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(r.shown)
	}
	if up := last - 1 - l.row; up > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", up)
	}
	out.WriteByte('\r')
	if l.column > 0 {
		fmt.Fprintf(&out, "\x1b[%dC", l.column)
	}
	s.above = l.row - first
	_, err := io.WriteString(s.out, out.String())
	return err
}

// end draws the text for the last time and moves to the row after it.
func (s *screen) end(b *buffer) error {
	if err := s.draw(b); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, "\r\n")
	return err
}

// leave moves to the row after the text, for the output of others. The cursor of the text stays.
func (s *screen) leave(b *buffer) error {
	at := b.at
	b.at = len(b.text)
	err := s.end(b)
	b.at = at
	return err
}

// layout is a text divided into rows.
type layout struct {
	text        []rune
	rows        []row
	row, column int // of the cursor
	first       int // columns of the prompt
}

// row is a row of the screen.
type row struct {
	shown    string
	from, to int // runes
}

// layOut divides a prompt and a text into rows of at most width columns. One column stays free: the cursor is there
// after a full row.
func layOut(prompt string, text []rune, at, width int) layout {
	width = max(width-1, 2)
	l := layout{text: text}
	for _, r := range prompt {
		l.first += runeWidth(r)
	}
	shown, column, from := []byte(prompt), l.first, 0
	next := func(to int) {
		l.rows = append(l.rows, row{string(shown), from, to})
		shown, column, from = shown[:0], 0, to
	}
	for i, r := range text {
		w := shownWidth(r)
		if column+w > width {
			next(i)
		}
		if i == at {
			l.row, l.column = len(l.rows), column
		}
		if r == '\n' {
			next(i + 1)
			continue
		}
		shown, column = appendShown(shown, r), column+w
	}
	if at >= len(text) {
		l.row, l.column = len(l.rows), column
	}
	next(len(text))
	return l
}

// place returns the rune of a row that is at a column, or its end.
func (l *layout) place(row, column int) int {
	r := l.rows[row]
	at := 0
	if row == 0 {
		at = l.first
	}
	for i := r.from; i < r.to; i++ {
		if at >= column || l.text[i] == '\n' {
			return i
		}
		at += shownWidth(l.text[i])
	}
	if row+1 < len(l.rows) && r.to > r.from { // the place after it is in the next row
		return r.to - 1
	}
	return r.to
}

// tabWidth is the number of spaces that show a tab.
const tabWidth = 4

// shownWidth returns the columns of a rune as appendShown shows it.
func shownWidth(r rune) int {
	switch {
	case r == '\n':
		return 0
	case r == '\t':
		return tabWidth
	case isControl(r):
		return 2
	}
	return runeWidth(r)
}

// appendShown appends a rune; control characters, which would move the cursor, as ^A.
func appendShown(b []byte, r rune) []byte {
	switch {
	case r == '\t':
		return append(b, slices.Repeat([]byte{' '}, tabWidth)...)
	case r < ' ' || r == backspace:
		return append(b, '^', byte(r)^0x40)
	case isControl(r):
		return append(b, '^', '?')
	}
	return utf8.AppendRune(b, r)
}

func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

package lineedit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// glass is a terminal: it obeys the sequences that this package writes, and fails at any other.
type glass struct {
	t          *testing.T
	cells      [][]string
	row, col   int
	scrolledUp int
}

func newGlass(t *testing.T, columns, rows int) *glass {
	g := &glass{t: t}
	for range rows {
		g.cells = append(g.cells, slices.Repeat([]string{" "}, columns))
	}
	return g
}

func (g *glass) Write(p []byte) (int, error) {
	for b := p; len(b) > 0; {
		var arg int
		var final byte
		switch {
		case b[0] == '\r':
			g.col, b = 0, b[1:]
		case b[0] == '\n':
			g.down()
			b = b[1:]
		case b[0] == 0x1b:
			n := slices.IndexFunc(b, func(c byte) bool { return c >= 'A' && c != '[' }) + 1
			final = b[n-1]
			fmt.Sscanf(string(b[2:n-1]), "%d", &arg)
			g.sequence(final, arg)
			b = b[n:]
		default:
			r, n := utf8.DecodeRune(b)
			g.put(r)
			b = b[n:]
		}
	}
	return len(p), nil
}

func (g *glass) sequence(final byte, arg int) {
	switch {
	case final == 'A' && arg <= g.row:
		g.row -= arg
	case final == 'C':
		g.col += arg
	case final == 'J' && arg == 0:
		for i := range g.cells[g.row][g.col:] {
			g.cells[g.row][g.col+i] = " "
		}
		for _, row := range g.cells[g.row+1:] {
			copy(row, slices.Repeat([]string{" "}, len(row)))
		}
	default:
		g.t.Fatalf("sequence %d%c in row %d", arg, final, g.row)
	}
}

func (g *glass) down() {
	if g.row++; g.row == len(g.cells) {
		g.row--
		g.scrolledUp++
		g.cells = append(g.cells[1:], slices.Repeat([]string{" "}, len(g.cells[0])))
	}
}

// put writes a character. The package must not write beyond the right margin, where terminals differ.
func (g *glass) put(r rune) {
	w := runeWidth(r)
	if w == 0 {
		g.cells[g.row][g.col-1] += string(r)
		return
	}
	if g.col+w > len(g.cells[0]) {
		g.t.Fatalf("%q is written beyond the margin", r)
	}
	g.cells[g.row][g.col] = string(r)
	if w == 2 {
		g.cells[g.row][g.col+1] = ""
	}
	g.col += w
}

// String returns the rows that are not empty, with | before the cell of the cursor.
func (g *glass) String() string {
	var b strings.Builder
	for i, row := range g.cells {
		row := slices.Clone(row)
		if i == g.row {
			row[g.col] = "|" + row[g.col]
		}
		if line := strings.TrimRight(strings.Join(row, ""), " "); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func TestDrawing(t *testing.T) {
	for _, tt := range []struct{ keys, want string }{
		{"", "> |\n"},
		{"ab" + keyLeft, "> a|b\n"},
		{"abcdefg", "> abcdefg|\n"},
		{"abcdefgh", "> abcdefg\nh|\n"},
		{"abcdefgh" + keyHome, "> |abcdefg\nh\n"},
		{"abcdefgh\x15", "> |\n"},
		{"日本語日", "> 日本語\n日|\n"}, // a wide character does not fit into the last column
		{"日本語" + keyLeft, "> 日本|語\n"},
		{"e\u0301" + keyLeft, "> |e\u0301\n"},
		{"\x1b[200~one\ntwo\n\x1b[201~", "> one\ntwo\n|\n"},
		{"\x1b[200~a\tb\x1b[Hc\x1b[201~", "> a    b\n^[[Hc|\n"},
		{strings.Repeat("abcdefghi", 9) + keyHome, "> |abcdefg\nhiabcdefg\nhiabcdefg\nhiabcdefg\nhiabcdefg\n"}, // higher than the screen
		{strings.Repeat("abcdefghi", 9), "hiabcdefg\nhiabcdefg\nhiabcdefg\nhiabcdefg\nhi|\n"},
	} {
		g := newGlass(t, 10, 5)
		s := screen{out: g, size: func() (int, int) { return 10, 5 }}
		s.begin("> ")
		b := buffer{}
		s.draw(&b)
		for left := []byte(tt.keys); len(left) > 0; { // drawn after each key
			k, n := decode(left)
			b.do(k, 10)
			s.draw(&b)
			left = left[n:]
		}
		if got := g.String(); got != tt.want {
			t.Errorf("%q:\n%swant\n%s", tt.keys, got, tt.want)
		}
	}
}

// TestWidths has one character of each kind; the table of wide characters is in order.
func TestWidths(t *testing.T) {
	for text, want := range map[string]int{"a": 1, "é": 1, "語": 2, "한": 2, "🙂": 2, "Ａ": 2, "\u0301": 0, "\u200d": 0, "\u1161": 0, "—": 1, "ﾊ": 1} {
		if r, _ := utf8.DecodeRuneInString(text); runeWidth(r) != want {
			t.Errorf("%q has width %d, want %d", text, runeWidth(r), want)
		}
	}
	for i, w := range wide[1:] {
		if w.first <= wide[i].last+1 || w.last < w.first {
			t.Errorf("%#x to %#x is out of order", w.first, w.last)
		}
	}
}

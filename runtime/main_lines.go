package runtime

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ggmlc/ggmlc/runtime/lineedit"
)

// line is a line of the input, or the error that ends it.
type line struct {
	text string
	err  error
}

// lineSource is the input of a conversation.
type lineSource interface {
	// next shows a sign to a user, and returns a channel that gives the next line.
	next(sign string) <-chan line

	// typed reports whether a user writes the lines, at a terminal.
	typed() bool

	// leave ends reading for good, also while a line is read.
	leave()
}

// newLineSource returns the lines of a terminal, which the user edits, or of any other input as they are.
func newLineSource(in io.Reader, signs io.Writer) lineSource {
	file, ok := in.(*os.File)
	if !ok || !terminal(file) {
		return plainLines{readLines(in), io.Discard, false}
	}
	if shown, ok := signs.(*os.File); ok {
		if t, err := lineedit.Open(file, shown); err == nil {
			return editedLines{t}
		}
	}
	return plainLines{readLines(in), signs, true}
}

// editedLines are lines that the user edits.
type editedLines struct{ terminal *lineedit.Terminal }

func (e editedLines) next(sign string) <-chan line {
	lines := make(chan line, 1) // has room, as no receiver waits after an interrupt
	go func() {
		text, err := e.terminal.ReadLine(sign)
		lines <- line{text, err}
	}()
	return lines
}

func (editedLines) typed() bool { return true }

func (e editedLines) leave() { e.terminal.Close() }

// plainLines are lines as they are.
type plainLines struct {
	lines      <-chan line
	signs      io.Writer
	atTerminal bool
}

func (p plainLines) next(sign string) <-chan line {
	fmt.Fprint(p.signs, sign)
	return p.lines
}

func (p plainLines) typed() bool { return p.atTerminal }

func (plainLines) leave() {}

// maxLine is the largest number of bytes of a line.
const maxLine = 64 << 20

// readLines returns the lines of a file, which end with an error.
func readLines(r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxLine)
		n := 1
		for ; s.Scan(); n++ {
			lines <- line{text: strings.TrimSuffix(s.Text(), "\r")}
		}
		err := cmp.Or(s.Err(), io.EOF)
		if err == bufio.ErrTooLong {
			err = fmt.Errorf("line %d has more than %d MiB, and the conversation ends here: write shorter messages", n, maxLine>>20)
		}
		lines <- line{err: err}
	}()
	return lines
}

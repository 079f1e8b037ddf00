package lineedit

import (
	"errors"
	"io"
	"os"
	"sync"
)

// Terminal reads lines that are edited. Only one goroutine may read at a time.
type Terminal struct {
	in, out *os.File
	buffer  buffer
	screen  screen
	unread  []byte // keys of the next line

	mu      sync.Mutex
	restore func() // ends the mode of single keys; nil in the terminal's own mode
	closed  bool
}

// Open returns a terminal, or an error if one of the files is none, or it cannot move its cursor.
func Open(in, out *os.File) (*Terminal, error) {
	if os.Getenv("TERM") == "dumb" {
		return nil, errors.ErrUnsupported
	}
	for _, f := range []*os.File{in, out} {
		if err := isTerminal(f); err != nil {
			return nil, err
		}
	}
	t := &Terminal{in: in, out: out}
	t.screen = screen{out: out, size: func() (int, int) { return size(out) }}
	return t, nil
}

// Sequences that turn marks around pasted text on and off.
const (
	pasteMarksOn  = "\x1b[?2004h"
	pasteMarksOff = "\x1b[?2004l"
)

// ReadLine shows a prompt and returns the line that the user enters, without its end. The line has newlines if it was
// pasted with them. The error is io.EOF when the user ends the input, by Ctrl-D in an empty line.
//
// Between two lines the terminal stays in the mode of single keys: what is typed meanwhile is not shown, and belongs to
// the next line. Close ends that mode.
func (t *Terminal) ReadLine(prompt string) (string, error) {
	if err := t.singleKeys(); err != nil {
		return "", err
	}
	t.buffer.begin()
	t.screen.begin(prompt)
	for {
		text, done, err := t.edit()
		if done || err != nil {
			return text, err
		}
		if err := t.screen.draw(&t.buffer); err != nil {
			return "", err
		}
		var b [4096]byte
		n, err := t.in.Read(b[:])
		t.unread = append(t.unread, b[:n]...)
		if err != nil {
			return "", err
		}
	}
}

// edit applies the keys that have been read, up to the one that ends the line.
func (t *Terminal) edit() (text string, done bool, err error) {
	for {
		k, n := decode(t.unread)
		if n == 0 {
			return "", false, nil
		}
		t.unread = t.unread[n:]
		switch k.action {
		case enter:
			t.buffer.at = len(t.buffer.text)
			err := t.screen.end(&t.buffer)
			return t.buffer.accept(), true, err
		case deleteOrEnd:
			if len(t.buffer.text) == 0 {
				t.screen.end(&t.buffer)
				return "", true, io.EOF
			}
			t.buffer.do(key{action: deleteRight}, t.screen.width())
		case clearScreen:
			t.screen.clear()
		default:
			t.buffer.do(k, t.screen.width())
		}
	}
}

// singleKeys switches the terminal to single keys, if it is not in that mode.
func (t *Terminal) singleKeys() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return os.ErrClosed
	}
	if t.restore != nil {
		return nil
	}
	restore, err := singleKeys(t.in, t.out)
	if err != nil {
		return err
	}
	t.out.WriteString(pasteMarksOn)
	t.restore = func() {
		t.out.WriteString(pasteMarksOff)
		restore()
	}
	return nil
}

// Close returns the terminal to its own mode for good. Another goroutine than that of ReadLine may call it, also while
// a line is read.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.restore != nil {
		t.restore()
		t.restore = nil
	}
}

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
	unread  []byte // keys of the next line

	mu      sync.Mutex // protects what follows
	buffer  buffer
	screen  screen
	reading bool     // a line
	restore func()   // ends the mode of single keys; nil in the terminal's own mode
	signals *signals // nil before the first line
	closed  bool
}

// IsTerminal reports whether f is a terminal. The null device is none, though it is a character device as well.
func IsTerminal(f *os.File) bool {
	err := isTerminal(f)
	if errors.Is(err, errors.ErrUnsupported) { // a system that cannot be asked
		info, err := f.Stat()
		return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
	}
	return err == nil
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
// the next line. Close ends that mode. So do signals that end the process, and Ctrl-Z until the process continues.
func (t *Terminal) ReadLine(prompt string) (string, error) {
	if err := t.begin(prompt); err != nil {
		return "", err
	}
	for {
		text, done, err := t.update()
		if done || err != nil {
			return text, err
		}
		var b [4096]byte
		n, err := t.in.Read(b[:])
		t.unread = append(t.unread, b[:n]...)
		if err != nil {
			return "", err
		}
	}
}

// begin begins a line.
func (t *Terminal) begin(prompt string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return os.ErrClosed
	}
	if t.signals == nil {
		t.signals = t.watch()
	}
	if err := t.singleKeys(); err != nil {
		return err
	}
	t.buffer.begin()
	t.screen.begin(prompt)
	t.reading = true
	return nil
}

// update applies the keys that have been read, and draws the line unless they end it.
func (t *Terminal) update() (text string, done bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text, done, err = t.edit()
	if t.reading = !done && err == nil; t.reading {
		err = t.screen.draw(&t.buffer)
	}
	return text, done, err
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

// singleKeys switches the terminal to single keys, if it is not in that mode. In the background it does not: the terminal
// has the mode of another process.
func (t *Terminal) singleKeys() error {
	if t.restore != nil || inBackground(t.in) {
		return nil
	}
	t.signals.catchEnds()
	restore, err := singleKeys(t.in, t.out)
	if err != nil {
		t.signals.releaseEnds()
		return err
	}
	t.out.WriteString(pasteMarksOn)
	t.restore = func() {
		t.out.WriteString(pasteMarksOff)
		restore()
	}
	return nil
}

// ownMode returns the terminal to its own mode.
func (t *Terminal) ownMode() {
	if t.restore == nil {
		return
	}
	if !inBackground(t.in) {
		t.restore()
	}
	t.restore = nil
	t.signals.releaseEnds()
}

// suspend returns the terminal to its own mode and calls stop, which returns when the process continues.
func (t *Terminal) suspend(stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.restore != nil && t.reading {
		t.screen.leave(&t.buffer)
	}
	t.ownMode()
	stop()
	t.resume()
}

// continued sets the mode of single keys after something else stopped the process: another process may have changed it.
func (t *Terminal) continued() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ownMode()
	t.resume()
}

// resume returns to single keys, and draws the line in the row of the cursor.
func (t *Terminal) resume() {
	if t.closed || t.singleKeys() != nil || t.restore == nil || !t.reading {
		return
	}
	t.screen.above = 0
	t.screen.draw(&t.buffer)
}

// Close returns the terminal to its own mode for good. Another goroutine than that of ReadLine may call it, also while
// a line is read: the cursor is then at its end, so that later output is not written over it.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	if t.restore != nil && t.reading && !inBackground(t.in) {
		t.buffer.at = len(t.buffer.text)
		t.screen.draw(&t.buffer)
	}
	t.ownMode()
	if t.signals != nil {
		t.signals.close()
	}
}

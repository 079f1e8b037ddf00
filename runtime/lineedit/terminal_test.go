package lineedit

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/pty"
)

// TestReadLine reads lines from a pseudo-terminal, whose own mode returns at the end. Keys that are typed between two
// lines are not shown then.
func TestReadLine(t *testing.T) {
	t.Setenv("TERM", "xterm")
	user, program := pty.Open(t, 40)
	terminal, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	shown := show(user)
	for _, tt := range []struct{ keys, want string }{
		{"\r", ""}, // in the terminal's own mode, as no line has been read
		{"hallo\x1b[D\x1b[D\x1b[D\x1b[D\x7fe\r", "eallo"},
		{"\x1b[200~one\rtwo\x1b[201~\r", "one\ntwo"},
		{"\x1b[A\x1b[A\x1b[A\r", "eallo"},
		{"日本\x7f語\r", "日語"},
	} {
		io.WriteString(user, tt.keys)
		time.Sleep(time.Millisecond) // so that the terminal could echo it
		if got, err := terminal.ReadLine("> "); got != tt.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", tt.keys, got, err, tt.want)
		}
	}
	io.WriteString(user, "a\r\x04")
	if a, err := terminal.ReadLine("> "); a != "a" || err != nil {
		t.Errorf("%q, %v", a, err)
	}
	if _, err := terminal.ReadLine("> "); err != io.EOF {
		t.Errorf("after Ctrl-D: %v", err)
	}
	terminal.Close()
	io.WriteString(user, "echo\n") // in the terminal's own mode
	if text := shown.until("echo\r\n"); strings.Contains(text, "^[") || !strings.Contains(text, pasteMarksOn) || !strings.HasSuffix(text, pasteMarksOff+"echo\r\n") {
		t.Errorf("%q", text)
	}
}

// TestClose leaves while a line is read.
func TestClose(t *testing.T) {
	t.Setenv("TERM", "xterm")
	user, program := pty.Open(t, 40)
	terminal, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	shown := show(user)
	go terminal.ReadLine("> ")
	shown.until("> ")
	terminal.Close()
	if text := shown.until(pasteMarksOff); !strings.HasSuffix(text, pasteMarksOff) {
		t.Errorf("%q", text)
	}
	if _, err := terminal.ReadLine("> "); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestCloseMovesToTheEnd: what is shown later is not written over the second row of a text whose cursor is in the first.
func TestCloseMovesToTheEnd(t *testing.T) {
	t.Setenv("TERM", "xterm")
	user, program := pty.Open(t, 40)
	terminal, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	shown := show(user)
	go terminal.ReadLine("> ")
	shown.until("> ")
	io.WriteString(user, strings.Repeat("a", 50)+"\x1b[H")
	shown.until("\x1b[1A\r\x1b[2C")
	terminal.Close()
	if text := shown.until(pasteMarksOff); !strings.HasSuffix(text, "aaa\r\x1b[13C"+pasteMarksOff) {
		t.Errorf("%q", text)
	}
}

func TestOnlyTerminalsAreOpened(t *testing.T) {
	t.Setenv("TERM", "dumb")
	_, program := pty.Open(t, 40)
	if _, err := Open(program, program); err == nil {
		t.Error("a terminal that moves no cursor")
	}
	t.Setenv("TERM", "xterm")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, files := range [][2]*os.File{{null, program}, {program, null}} {
		if _, err := Open(files[0], files[1]); err == nil {
			t.Errorf("%s and %s", files[0].Name(), files[1].Name())
		}
	}
}

// display is what a user sees.
type display struct{ pieces chan string }

func show(user *os.File) *display {
	d := &display{make(chan string, 1000)}
	go func() {
		var b [4096]byte
		for {
			n, err := user.Read(b[:])
			if err != nil {
				return
			}
			d.pieces <- string(b[:n])
		}
	}()
	return d
}

// until returns what was shown, up to and with some text or five seconds.
func (d *display) until(text string) (all string) {
	limit := time.After(5 * time.Second)
	for !strings.Contains(all, text) {
		select {
		case p := <-d.pieces:
			all += p
		case <-limit:
			return all
		}
	}
	return all
}

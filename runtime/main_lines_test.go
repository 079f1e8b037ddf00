package runtime

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/pty"
)

// user is at a pseudo-terminal with a conversation.
type user struct {
	*testing.T
	keys   *os.File
	pieces chan string
	seen   string // and not yet awaited
	status chan int
}

// atTerminal starts a conversation of p.
func atTerminal(t *testing.T, p *Program, interrupts <-chan os.Signal, args ...string) *user {
	t.Helper()
	t.Setenv("TERM", "xterm")
	keys, program := pty.Open(t, 40)
	u := &user{T: t, keys: keys, pieces: make(chan string, 1000), status: make(chan int, 1)}
	go func() {
		var b [4096]byte
		for {
			n, err := keys.Read(b[:])
			if err != nil {
				return
			}
			u.pieces <- string(b[:n])
		}
	}()
	c := &cli{program: p, in: program, out: program, err: program, interrupts: interrupts}
	go func() {
		u.status <- runWith(context.Background(), c, append([]string{"toy", "--chat", "--threads", "1"}, args...))
	}()
	return u
}

func (u *user) types(keys string) { io.WriteString(u.keys, keys) }

// sees waits for a text.
func (u *user) sees(text string) {
	u.Helper()
	for limit := time.After(10 * time.Second); !strings.Contains(u.seen, text); {
		select {
		case s := <-u.pieces:
			u.seen += s
		case <-limit:
			u.Fatalf("no %q in %q", text, u.seen)
		}
	}
	_, u.seen, _ = strings.Cut(u.seen, text)
}

// TestConversationOnATerminal edits a message, repeats it from the history, and ends the input.
func TestConversationOnATerminal(t *testing.T) {
	p := script(t, 5, 13, 3, 4, 8, 2) // after <s>uhia: héc
	p.ChatTemplates = chatJSON
	template := templateFile(t, "u{{ messages[-1].content }}a")
	u := atTerminal(t, p, nil, "--chat-template", template)
	u.sees("> ")
	u.types("xi\x1b[H\x1b[3~h\r") // x is deleted, h written before i
	u.sees("> hi")
	u.sees("héc\r\n")
	u.types("\x1b[A\r")
	u.sees("> hi")
	u.sees("héc\r\n")
	u.types("\x04")
	u.sees("2 answers")
	if got := <-u.status; got != exitDone {
		t.Errorf("status %d", got)
	}
}

// TestInterruptAtTheSign ends the program and returns the terminal's own mode.
func TestInterruptAtTheSign(t *testing.T) {
	interrupts := make(chan os.Signal)
	u := atTerminal(t, talker(t), interrupts)
	u.sees("> ")
	interrupts <- os.Interrupt
	u.sees("0 answers")
	if got := <-u.status; got != exitDone {
		t.Errorf("status %d", got)
	}
	u.types("abc") // echoed by the terminal
	u.sees("abc")
}

// TestSignsOfPlainInput: only a terminal gets them.
func TestSignsOfPlainInput(t *testing.T) {
	var signs bytes.Buffer
	l := newLineSource(strings.NewReader("a\r\nb"), &signs)
	for _, want := range []line{{"a", nil}, {"b", nil}, {"", io.EOF}} {
		if got := <-l.next("> "); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	l.leave()
	if signs.Len() > 0 {
		t.Errorf("%q", &signs)
	}
}

// TestNoSignsForTheNullDevice: standard input from it, as with < /dev/null, has another name than the device.
func TestNoSignsForTheNullDevice(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stdin")
	if err := os.Symlink(os.DevNull, name); err != nil {
		t.Skip(err)
	}
	null, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var signs bytes.Buffer
	l := newLineSource(null, &signs)
	if got := <-l.next("> "); got != (line{"", io.EOF}) || l.typed() || signs.Len() > 0 {
		t.Errorf("%v, %q, typed %v", got, &signs, l.typed())
	}
}

// TestInterruptBeforeAConversation ends the program: no sign and no answer has been shown yet.
func TestInterruptBeforeAConversation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{}, {"--prompt", "hi"}} {
		var out, errs bytes.Buffer
		c := &cli{program: talker(t), in: strings.NewReader("hi\n"), out: &out, err: &errs}
		status := runWith(ctx, c, append([]string{"toy", "--chat", "--threads", "1", "-n", "3"}, args...))
		if status != exitFailed || out.Len() > 0 || !strings.Contains(errs.String(), "cancel") {
			t.Errorf("%v: status %d, %q, %q", args, status, &out, &errs)
		}
	}
}

// TestLineWithoutEnd: the error of a line that no message can be has its number, and what to do.
func TestLineWithoutEnd(t *testing.T) {
	lines := readLines(io.MultiReader(strings.NewReader("a\n"), &zeros{maxLine + 1}))
	if got := <-lines; got != (line{"a", nil}) {
		t.Errorf("%v", got)
	}
	if got := <-lines; got.err == nil || got.err.Error() != "line 2 has more than 64 MiB, and the conversation ends here: write shorter messages" {
		t.Errorf("%v", got.err)
	}
}

// zeros reads as n bytes.
type zeros struct{ n int }

func (z *zeros) Read(b []byte) (int, error) {
	n := min(len(b), z.n)
	if z.n -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

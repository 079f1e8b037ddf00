//go:build linux

package lineedit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/tests/pty"
)

// asProgram makes this test binary read lines, so that signals are those of a process.
const asProgram = "GGMLC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	terminal, err := Open(os.Stdin, os.Stdout)
	for err == nil {
		var line string
		line, err = terminal.ReadLine("line: ")
		fmt.Printf("<%s>\n", line)
		if line == "work" {
			time.Sleep(time.Minute)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// withPrograms returns the environment of a program that reads lines.
func withPrograms() []string { return append(os.Environ(), asProgram+"=1", "TERM=xterm") }

// lines runs a program that reads lines from a pseudo-terminal.
func lines(t *testing.T) (cmd *exec.Cmd, user, program *os.File, shown *display) {
	t.Helper()
	user, program = pty.Open(t, 80)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of what a signal should have ended
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0])
	cmd.Env = withPrograms()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	shown = show(user)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	shown.until("line: ")
	return cmd, user, program, shown
}

// ownMode reports whether a terminal is in its own mode.
func ownMode(t *testing.T, f *os.File) bool {
	t.Helper()
	const bits = syscall.ICANON | syscall.ECHO
	var mode syscall.Termios
	if err := ioctl(f, getMode, unsafe.Pointer(&mode)); err != nil {
		t.Fatal(err)
	}
	return mode.Lflag&bits == bits
}

// TestSignalsReturnTheMode ends a program by a signal while it reads a line, and between two lines.
func TestSignalsReturnTheMode(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if sig == syscall.SIGHUP && signal.Ignored(sig) {
			t.Log("SIGHUP is ignored here, as under nohup, and so by programs that this test starts: not tried")
			continue
		}
		for _, keys := range []string{"abc", "work\r"} {
			cmd, user, program, shown := lines(t)
			if ownMode(t, program) {
				t.Fatal("not in the mode of single keys")
			}
			user.WriteString(keys)
			shown.until(strings.Replace(keys, "work\r", "<work>", 1))
			cmd.Process.Signal(sig)
			if text := shown.until(pasteMarksOff); !strings.HasSuffix(text, pasteMarksOff) && sig != syscall.SIGQUIT {
				t.Errorf("%v: %q", sig, text)
			}
			cmd.Wait()
			if !ownMode(t, program) {
				t.Errorf("%v after %q: the mode of single keys remains", sig, keys)
			}
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if ended := status.Signaled() && status.Signal() == sig; !ended && sig != syscall.SIGQUIT {
				t.Errorf("%v: %v", sig, cmd.ProcessState)
			}
			if sig == syscall.SIGQUIT && status.ExitStatus() != 2 { // that of Go's runtime after it printed the stacks
				t.Errorf("%v: %v", sig, cmd.ProcessState)
			}
		}
	}
}

// TestModeChangedWhileStopped is what SIGSTOP and a shell do: the terminal's mode is another one at SIGCONT.
func TestModeChangedWhileStopped(t *testing.T) {
	cmd, user, program, shown := lines(t)
	user.WriteString("abc")
	shown.until("abc")
	cmd.Process.Signal(syscall.SIGSTOP)
	var mode syscall.Termios
	ioctl(program, getMode, unsafe.Pointer(&mode))
	mode.Lflag |= syscall.ICANON
	ioctl(program, setMode, unsafe.Pointer(&mode))
	cmd.Process.Signal(syscall.SIGCONT)
	if text := shown.until("line: abc"); !strings.Contains(text, pasteMarksOn) {
		t.Errorf("%q", text)
	}
	if ownMode(t, program) {
		t.Error("not in the mode of single keys")
	}
	user.WriteString("d\r")
	if text := shown.until("<abcd>"); !strings.Contains(text, "<abcd>") {
		t.Errorf("%q", text)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if !ownMode(t, program) {
		t.Error("the mode of single keys remains")
	}
}

// shell is at a terminal with the shell of the system.
type shell struct {
	*testing.T
	user  *os.File
	shown *display
	rest  string // shown after what was awaited
}

func (s *shell) types(keys string) { s.user.WriteString(keys) }

// sees waits for texts, one after the other, and returns all that was shown.
func (s *shell) sees(texts ...string) (all string) {
	s.Helper()
	for _, text := range texts {
		for limit := time.After(10 * time.Second); !strings.Contains(s.rest, text); {
			select {
			case p := <-s.shown.pieces:
				s.rest += p
			case <-limit:
				s.Fatalf("no %q in %q after %q", text, s.rest, all)
			}
		}
		before, after, _ := strings.Cut(s.rest, text)
		all, s.rest = all+before+text, after
	}
	return all
}

// inShell starts a shell that controls jobs.
func inShell(t *testing.T) *shell {
	t.Helper()
	for _, name := range []string{"sh", "stty"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("skip: ", err)
		}
	}
	user, program := pty.Open(t, 200)
	cmd := exec.Command("sh", "-i")
	cmd.Env = append(withPrograms(), "PS1=sh$ ", "ENV=", "PROGRAM="+os.Args[0], "HISTFILE=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := &shell{T: t, user: user, shown: show(user)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // closing the terminal ends its jobs
		user.Close()
		program.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	s.sees("sh$ ")
	return s
}

// TestStopAndContinue types Ctrl-Z while a line is read, and between two lines. The shell has the terminal's own mode
// then; after fg the line is edited further.
func TestStopAndContinue(t *testing.T) {
	s := inShell(t)
	s.types("$PROGRAM\n")
	s.sees("line: ")
	s.types("abc\x1b[D")
	s.sees("abc")
	for range 2 {
		s.types("\x1a")
		s.sees(pasteMarksOff, "Stopped", "sh$ ")
		s.types("stty -a; echo en''d\n")
		if mode := s.sees("end"); strings.Contains(mode, "-icanon") || strings.Contains(mode, "-echo ") {
			t.Errorf("%s", mode)
		}
		s.types("fg\n")
		s.sees(pasteMarksOn, "line: abc")
	}
	s.types("-\r")
	s.sees("<ab-c>", "line: ")
	s.types("work\r")
	s.sees("<work>")
	s.types("\x1a")
	s.sees(pasteMarksOff, "Stopped", "sh$ ")
	s.types("fg\n")
	s.sees(pasteMarksOn)
	s.types("\x1a")
	s.sees(pasteMarksOff, "Stopped", "sh$ ")
}

// TestEndOfAStoppedProgram ends a stopped program. Its thread that reads may stop it again before another one handles
// the SIGTERM, so that SIGCONT is sent until it ends.
func TestEndOfAStoppedProgram(t *testing.T) {
	s := inShell(t)
	s.types("$PROGRAM\n")
	s.sees("line: ")
	s.types("\x1a")
	s.sees("Stopped", "sh$ ")
	s.types("kill %1; while kill -CONT %1; do sleep .1; jobs; done\n")
	s.sees("Terminated")
}

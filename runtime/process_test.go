package runtime

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// asProgram makes this test binary behave as an emitted program, so that signals, closed pipes and exit statuses are
// those of a process.
const asProgram = "GGMLC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	p := toyProgram()
	p.LM.Context = 1 << 30 // the steps below do not touch the state
	for i := range p.Funcs {
		p.Funcs[i].Inputs[p.LM.Decode.Pos].Below = []Dim{{Const: p.LM.Context}}
	}
	p.Symbols[1].Max = 1 << 30
	for i := range p.Funcs {
		p.Funcs[i].Run = func(w *Worker, _ *Args) {
			time.Sleep(time.Millisecond)
			w.Barrier()
			w.Stop()
		}
	}
	Main(p)
}

func process(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader, io.Closer, *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	errs := &strings.Builder{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out), out, errs
}

func TestProcessInterrupted(t *testing.T) {
	cmd, out, _, errs := process(t, "--tokens", "1", "-n", "100000000")
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err, errs)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip("skip: this system cannot interrupt a process: ", err)
	}
	io.Copy(io.Discard, out)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(errs.String(), "tok/s") || !strings.Contains(errs.String(), "cancelled") {
		t.Errorf("status %d, %s", code, errs)
	}
}

// TestProcessWhoseReaderLeaves is `program | head -1`: it must end at once and silently.
func TestProcessWhoseReaderLeaves(t *testing.T) {
	cmd, out, pipe, errs := process(t, "--tokens", "1", "-n", "100000000")
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err, errs)
	}
	pipe.Close()
	cmd.Wait()
	if cmd.ProcessState.Success() || errs.String() != "" {
		t.Errorf("%v: %q", cmd.ProcessState, errs)
	}
}

func TestProcessExitsWithTheStatus(t *testing.T) {
	cmd, out, _, errs := process(t, "--what")
	io.Copy(io.Discard, out)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(errs.String(), "unknown flag --what") {
		t.Errorf("status %d, %s", code, errs)
	}
}

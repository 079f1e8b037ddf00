package robust

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a running program that a test disturbs.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  *bufio.Reader
	errs strings.Builder
}

func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(pipe)
	cmd.Stderr = &p.errs
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return p
}

// line reads one line of the program's output.
func (p *process) line() {
	p.t.Helper()
	if _, err := p.out.ReadString('\n'); err != nil {
		p.cmd.Wait()
		p.t.Fatalf("%v: %s", err, p.errs.String())
	}
}

// end reads the rest of the output and waits.
func (p *process) end() outcome {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	rest, _ := io.ReadAll(p.out)
	p.cmd.Wait()
	return outcome{p.cmd.ProcessState.ExitCode(), string(rest), p.errs.String()}
}

// endless returns a generation that takes much longer than the test.
func endless(t *testing.T, more ...string) *exec.Cmd {
	program, weights := beside(t)
	return exec.Command(program, append([]string{"--tokens", "1", "-n", "4000", "--ignore-eos", "--json", "--logits", "--weights", weights}, more...)...)
}

func TestInterruptEndsWithAStatus(t *testing.T) {
	for _, threads := range []string{"1", "2"} {
		p := start(t, endless(t, "--threads", threads))
		p.line()
		p.cmd.Process.Signal(os.Interrupt)
		o := p.end()
		o.want(t, statusInterrupted, "cancelled")
		if !strings.Contains(o.stdout, `"summary"`) {
			t.Errorf("an interrupted generation ends without its summary")
		}
	}
}

func TestProgramEndsWhenItsReaderLeaves(t *testing.T) {
	cmd := endless(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	bufio.NewReaderSize(r, 16).ReadByte()
	r.Close()
	begin := time.Now()
	cmd.Wait()
	if strings.Contains(errs.String(), "goroutine") || time.Since(begin) > patience {
		t.Errorf("%v after %v: %s", cmd.ProcessState, time.Since(begin), tail(errs.String()))
	}
}

// TestStoppedProgramContinues stops a program at many moments, which has the effect of half a processor.
func TestStoppedProgramContinues(t *testing.T) {
	program, weights := beside(t)
	args := []string{"--tokens", "1", "-n", "1500", "--ignore-eos", "--threads", "2", "--weights", weights}
	want := run(t, program, args...)
	want.want(t, statusDone)
	p := start(t, exec.Command(program, args...))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 60 {
			p.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(time.Millisecond)
			p.cmd.Process.Signal(syscall.SIGCONT)
			time.Sleep(time.Millisecond)
		}
	}()
	got := p.end()
	<-done
	got.want(t, statusDone)
	if got.stdout != want.stdout {
		t.Error("a program that was stopped and went on gives other tokens")
	}
}

func TestAnyThreadsFlagGivesTheSameTokens(t *testing.T) {
	program, weights := beside(t)
	args := []string{"--tokens", "1,2,3", "-n", "30", "--ignore-eos", "--weights", weights}
	want := run(t, program, append(args, "--threads", "1")...)
	want.want(t, statusDone)
	for _, c := range []struct {
		threads, procs string
		status         int
		say            string
	}{
		{"0", "", statusDone, ""},
		{"0", "1", statusDone, "threads 1"},
		{"-1", "", statusUsage, "--threads -1"},
		{"many", "", statusUsage, "--threads many"},
		{"99999999999999999999", "", statusUsage, "--threads"},
		{"1000000", "", statusDone, "cut to"},
		{"7", "1", statusDone, "cut to 1"},
		{"7", "7", statusDone, ""},
		{"3", "3", statusDone, ""},
		{"64", "200", statusDone, ""},
		{"65", "200", statusDone, "cut to 64"},
	} {
		cmd := exec.Command(program, append(args, "--threads", c.threads)...)
		if c.procs != "" {
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+c.procs)
		}
		o := finish(t, cmd)
		o.want(t, c.status, c.say)
		if c.status == statusDone && o.stdout != want.stdout {
			t.Errorf("--threads %s with GOMAXPROCS=%s gives other tokens", c.threads, c.procs)
		}
	}
}

func TestFullContextIsAnError(t *testing.T) {
	program, weights := beside(t)
	long := strings.Repeat("1,", trained) + "1"
	run(t, program, "--weights", weights, "-n", "1", "--tokens", long).want(t, statusModel, "the context is full", "--ctx")
	o := run(t, program, "--weights", weights, "--ignore-eos", "--tokens", "1,2", "-n", "5000")
	o.want(t, statusModel, "the context is full")
	if n := strings.Count(o.stdout, "\n"); n != trained-1 {
		t.Errorf("%d tokens before the context was full, want %d", n, trained-1)
	}
}

func TestTokensOutsideOfVocabularyAreRefused(t *testing.T) {
	program, weights := beside(t)
	for _, tokens := range []string{"70", "-1", "1,2147483647", "4294967296", "", ",", "1,,2", "x", "1.5"} {
		run(t, program, "--weights", weights, "-n", "1", "--tokens", tokens).want(t, statusUsage)
	}
}

func TestSamplingFlagsAreChecked(t *testing.T) {
	program, weights := beside(t)
	for _, flags := range [][]string{
		{"--temp", "-1"}, {"--temp", "NaN"}, {"--temp", "Inf"}, {"--top-p", "-0.1"}, {"--top-p", "NaN"}, {"--min-p", "2"},
		{"--top-k", "-1"}, {"--repeat-penalty", "-Inf"}, {"-n", "-1"}, {"--seed", "-1"}, {"--prompt", "x"},
		{"--top-nsigma", "-1"}, {"--typical", "1.1"}, {"--xtc-probability", "NaN"}, {"--xtc-threshold", "-1"}, {"--dynatemp-range", "-1"},
		{"--dynatemp-exp", "Inf"}, {"--mirostat", "3", "--temp", "1"}, {"--mirostat", "1"}, {"--mirostat-ent", "-1"}, {"--mirostat-lr", "2"},
		{"--repeat-last-n", "-2"}, {"--repeat-last-n", "99999999999"}, {"--repeat-penalty", "0"}, {"--frequency-penalty", "Inf"}, {"--presence-penalty", "x"},
		{"--dry-multiplier", "-1"}, {"--dry-base", "0.5"}, {"--dry-allowed-length", "-1"}, {"--dry-penalty-last-n", "1e9"},
		{"--dry-sequence-breaker", ""}, {"--logit-bias", "1"}, {"--logit-bias", "+1"}, {"--logit-bias", "1+x"}, {"--logit-bias", "1+inf"},
		{"--logit-bias", "1+NaN"}, {"--logit-bias", "99999+1"}, {"--logit-bias", "99999999999999+1"},
	} {
		run(t, program, append([]string{"--weights", weights, "--tokens", "1", "-n", "2"}, flags...)...).want(t, statusUsage)
	}
	for _, flags := range [][]string{
		{"--temp", "1e-30"}, {"--temp", "1e30"}, {"--top-k", "1000000"}, {"--temp", "1", "--top-p", "0"}, {"--temp", "1", "--min-p", "1"},
		{"--repeat-penalty", "1e30"}, {"--repeat-penalty", "1e-30"}, {"--repeat-penalty", "2", "--repeat-last-n", "0"},
		{"--typical", "0", "--temp", "1"}, {"--xtc-probability", "1", "--xtc-threshold", "0"}, {"--dynatemp-range", "1e30"},
		{"--mirostat", "1", "--temp", "1e-30"}, {"--mirostat", "2", "--temp", "1e30", "--mirostat-ent", "1e30"},
		{"--frequency-penalty", "1e38"}, {"--presence-penalty", "-3e38"}, {"--dry-multiplier", "3e38", "--dry-base", "3e38"},
		{"--dry-multiplier", "1", "--dry-base", "1", "--dry-sequence-breaker", "none"}, {"--logit-bias", "1-inf", "--top-nsigma", "1e-30", "--temp", "1"},
		{"--logit-bias", "3+3e38", "--logit-bias", "3+3e38"},
	} {
		o := run(t, program, append([]string{"--weights", weights, "--tokens", "1", "-n", "20", "--ignore-eos", "--seed", "1"}, flags...)...)
		o.want(t, o.status&1, "") // done, or an error; never a crash
	}
}

// TestFullStandardOutputIsAnError writes to a device that is always full.
func TestFullStandardOutputIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("skip: no /dev/full: ", err)
	}
	defer full.Close()
	program, weights := beside(t)
	for _, args := range [][]string{{"--tokens", "1", "-n", "5"}, {"--tokens", "1", "-n", "5", "--json"}, {"plan"}, {"verify"}, {"version"}, {"-h"}} {
		cmd := exec.Command(program, append(args, "--weights", weights)...)
		if args[0] == "plan" || args[0] == "version" {
			cmd = exec.Command(program, args...)
		}
		var errs strings.Builder
		cmd.Stdout, cmd.Stderr = full, &errs
		cmd.Run()
		outcome{cmd.ProcessState.ExitCode(), "", errs.String()}.want(t, statusModel, "no space left")
	}
}

// TestCallRefusesWrongArrays gives arrays of other types and shapes than the function's.
func TestCallRefusesWrongArrays(t *testing.T) {
	program, weights := beside(t)
	dir := t.TempDir()
	good := npy("<i4", "(1,)", 4)
	files := map[string][]byte{
		"good": good, "empty": nil, "cut": good[:len(good)-1], "wide": npy("<i4", "(2,)", 8), "float": npy("<f4", "(1,)", 4),
		"huge": npy("<i4", "(4611686018427387904, 4)", 4), "object": npy("|O", "(1,)", 8), "negative": npy("<i4", "(-1,)", 4),
		"big": append(npy("<i4", "(1,)", 0), 70, 0, 0, 0), "below": append(npy("<i4", "(1,)", 0), 0xff, 0xff, 0xff, 0xff),
		"one": append(npy("<i4", "(1,)", 0), 1, 0, 0, 0),
		"far": append(npy("<i4", "(1,)", 0), 1, 0x10, 0, 0), // one position more than there are
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	arg := func(name, file string) string { return name + "=" + filepath.Join(dir, file) }
	out := filepath.Join(dir, "out")
	call := func(tokens, pos, slot, lengths string) outcome {
		return run(t, program, "call", "decode", arg("tokens", tokens), arg("pos", pos), arg("slot", slot), arg("lengths", lengths), "-o", out, "--weights", weights)
	}
	call("good", "good", "good", "one").want(t, statusDone)
	call("good", "one", "good", "one").want(t, statusUsage) // after the end of its sequence
	for name := range files {
		if name == "good" || name == "one" {
			continue
		}
		if o := call(name, "good", "good", "one"); o.status != statusModel && o.status != statusUsage {
			t.Errorf("tokens=%s: status %d: %s", name, o.status, tail(o.stderr))
		} else {
			o.want(t, o.status)
		}
	}
	for _, bad := range []string{"below", "far"} {
		call("good", bad, "good", "one").want(t, statusUsage)
		call("good", "good", bad, "one").want(t, statusUsage)
		call("good", "good", "good", bad).want(t, statusUsage)
	}
	for _, path := range special(t, t.TempDir()) {
		if path == "/dev/zero" || !strings.Contains(path, "fifo") { // a FIFO is a valid input
			run(t, program, "call", "decode", "tokens="+path, arg("pos", "good"), arg("slot", "good"), arg("lengths", "one"), "-o", out, "--weights", weights).want(t, statusModel)
		}
	}
	run(t, program, "call", "decode", arg("tokens", "good"), arg("pos", "good"), arg("slot", "good"), arg("lengths", "one"),
		"-o", filepath.Join(dir, "good", "x"), "--weights", weights).want(t, statusModel)
}

// npy returns an array file of zeros. The format: numpy.lib.format, version 1.0.
func npy(descr, shape string, bytes int) []byte {
	head := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), make([]byte, bytes)...)
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
	}
}

package robust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// wideRows makes the feed-forward layer of a tiny model 25 MB large, so that its steps are divided among workers.
const wideRows = 32768

// wide returns a program with enough work for several workers, and its tokens.
func wide(t *testing.T) (program string, args []string, want outcome) {
	t.Helper()
	cc := ggmlc(t)
	program = filepath.Join(folder, "wide")
	wideOnce.Do(func() {
		model := program + ".gguf"
		tiny(t, model, func(c *contents) {
			c.set("llama.feed_forward_length", uint32(wideRows))
			for name, shape := range map[string][]int{"ffn_gate": {wideRows, embd}, "ffn_up": {wideRows, embd}, "ffn_down": {embd, wideRows}} {
				c.tensor("blk.0." + name + ".weight").shape = shape
			}
		})
		run(t, cc, "build", model, "-o", program).want(t, statusDone)
		wideTokens = run(t, program, append(wideArgs, "--threads", "1")...)
	})
	wideTokens.want(t, statusDone)
	return program, wideArgs, wideTokens
}

var (
	wideOnce   sync.Once
	wideTokens outcome
	wideArgs   = []string{"--tokens", "1,2,3,4,5,6,7,8", "-n", "150", "--ignore-eos"}
)

// TestBusyProcessorGivesTheSameTokens runs a program next to a process that occupies one of the processors.
func TestBusyProcessorGivesTheSameTokens(t *testing.T) {
	taskset := needtest.Tool(t, "taskset", "taskset")
	program, args, want := wide(t)
	hog := exec.Command(taskset, "-c", "0", "sh", "-c", "while :; do :; done")
	if err := hog.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		hog.Process.Kill()
		hog.Wait()
	}()
	for _, procs := range []string{"2", "4"} {
		cmd := exec.Command(program, append(args, "--threads", procs)...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS="+procs)
		sameTokens(t, finish(t, cmd), want, procs+" threads beside a busy process")
	}
}

// TestOneProcessorGivesTheSameTokens runs all workers on a single processor.
func TestOneProcessorGivesTheSameTokens(t *testing.T) {
	taskset := needtest.Tool(t, "taskset", "taskset")
	program, args, want := wide(t)
	for _, c := range []struct{ threads, procs string }{{"", ""}, {"2", ""}, {"2", "2"}, {"64", "64"}} {
		more := args
		if c.threads != "" {
			more = append(more[:len(more):len(more)], "--threads", c.threads)
		}
		cmd := exec.Command(taskset, append([]string{"-c", "0", program}, more...)...)
		if c.procs != "" {
			cmd.Env = append(os.Environ(), "GOMAXPROCS="+c.procs)
		}
		sameTokens(t, finish(t, cmd), want, "one processor, --threads "+c.threads+", GOMAXPROCS="+c.procs)
	}
}

// TestFrozenProgramContinues freezes and thaws a program whose workers are in the middle of steps, for longer than
// they spin.
func TestFrozenProgramContinues(t *testing.T) {
	program, args, want := wide(t)
	cmd := exec.Command(program, append(args, "--threads", "2")...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	p := start(t, cmd)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Millisecond):
			}
			p.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(4 * time.Millisecond)
			p.cmd.Process.Signal(syscall.SIGCONT)
		}
	}()
	got := p.end()
	close(stop)
	<-done
	sameTokens(t, got, want, "a program that is frozen and thawed")
}

// TestHalfAProcessorMakesOneWorker gives a program half a processor's time. It then has one worker by default, though
// Go's GOMAXPROCS is 2.
func TestHalfAProcessorMakesOneWorker(t *testing.T) {
	program, args, want := wide(t)
	under := quota(t)
	sameTokens(t, finish(t, under(program, args...)), want, "half a processor")
	sameTokens(t, finish(t, under(program, append(args[:len(args):len(args)], "--threads", "2")...)), want, "half a processor for two workers")
	o := finish(t, under(program, "bench", "-p", "8", "-n", "8", "-r", "1"))
	o.want(t, statusDone)
	if !strings.Contains(o.stdout, ", 1 threads") {
		t.Errorf("half a processor does not mean one worker:\n%s", o.stdout)
	}
}

// quota returns a function that makes a command in a cgroup with half a processor's time, of version 1 or 2,
// according to the system.
func quota(t *testing.T) func(program string, args ...string) *exec.Cmd {
	t.Helper()
	for _, v := range []struct {
		parent string
		limits map[string]string
	}{
		{"/sys/fs/cgroup/cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}},
		{"/sys/fs/cgroup", map[string]string{"cpu.max": "50000 100000"}},
	} {
		group := filepath.Join(v.parent, "ggmlc-half-test")
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(group) })
		limited := true
		for name, value := range v.limits {
			limited = os.WriteFile(filepath.Join(group, name), []byte(value), 0o644) == nil && limited
		}
		if limited {
			return func(program string, args ...string) *exec.Cmd {
				return exec.Command("sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group, program}, args...)...)
			}
		}
	}
	t.Skip("skip: no cgroup with a quota can be made here")
	return nil
}

// sameTokens checks that a disturbed program succeeds with the same output as an undisturbed one.
func sameTokens(t *testing.T, got, want outcome, what string) {
	t.Helper()
	got.want(t, statusDone)
	if got.stdout != want.stdout {
		t.Errorf("%s: other tokens", what)
	}
}

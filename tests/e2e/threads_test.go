package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestThreadLimitCannotBeExceeded: a program for targets with a number of threads never runs more, and reports that.
// Its plan is proved for each number of workers up to that limit, and no edit of the text raises the limit without
// proof.
func TestThreadLimitCannotBeExceeded(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	dir := t.TempDir()
	dump, edited := filepath.Join(dir, "plan.ggir"), filepath.Join(dir, "edited.ggir")
	for n := 1; n <= 3; n++ {
		if testing.Short() && n == 2 {
			continue
		}
		limit := fmt.Sprintf("threads=%d", n)
		e2etest.GGMLC(t, "dump", "--after", "check", "--targets", "cpu:"+limit, "--kv", "f32", "-o", dump, e2etest.AIDreams(t))
		runsAtMost(t, e2etest.Build(t, dump), n, refs[n])

		text := string(e2etest.ReadFile(t, dump))
		// Two nodes of an epoch have 4 units each. Half as many units of twice the size belong to the same workers if
		// there are 1 or 2.
		larger := strings.ReplaceAll(text, "split(1, 64, 16)", "split(1, 64, 32)")
		lifted := strings.Replace(larger, "plan "+limit+" {", "plan {", 1)
		for _, c := range []struct {
			name, text, refusal string // an empty refusal is none
		}{
			{"larger units", larger, map[bool]string{n > 2: "hazard"}[true]},
			{"no limit in the plan", strings.Replace(text, "plan "+limit+" {", "plan {", 1), "the plan is for up to 64 threads, and the targets allow"},
			{"another limit in the plan", strings.Replace(text, "plan "+limit+" {", "plan threads=65 {", 1), "threads=65: a program has at most 64 workers"},
			{"no limit at all", regexp.MustCompile(`(?m)^(target cpu .*)threads=\d`).ReplaceAllString(lifted, "${1}threads=64"), "hazard"},
		} {
			if c.text == text {
				t.Fatalf("%s, %s: nothing to edit", limit, c.name)
			}
			e2etest.WriteFile(t, edited, []byte(c.text))
			exe := filepath.Join(dir, "edited")
			switch status, out := tryBuild(t, edited, exe); {
			case c.refusal == "" && status == 0:
				runsAtMost(t, exe, n, refs[0])
			case c.refusal == "" || status != 1 || !strings.Contains(out, c.refusal):
				t.Errorf("%s, %s: exit status %d:\n%s", limit, c.name, status, out)
			}
		}
	}
}

// runsAtMost runs a program with a larger --threads and compares its output.
func runsAtMost(t *testing.T, exe string, n int, ref e2etest.Reference) {
	t.Helper()
	e2etest.Executable(exe, "--threads", "8").Tells(t, ref)
	cmd := exec.Command(exe, "--threads", "8", "-n", "2", "--prompt", ref.Prompt)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=8")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	for _, want := range []string{fmt.Sprintf("--threads 8: cut to %d:", n), fmt.Sprintf("; threads %d\n", n)} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("a program for %d threads does not say %q:\n%s", n, want, said.Bytes())
		}
	}
}

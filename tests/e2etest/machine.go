package e2etest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Machine is a made-up computer with simulated devices.
type Machine struct {
	Name    string
	Targets string // the text of a target file
	Flags   []string
}

// Fast makes devices worth using even for a model this small.
const Fast = " flops=1e15 qops=1e15 bandwidth=1e14 workerbw=1e14 launch=1e-9 link=1e13 linkout=1e13 linkdelay=1e-9"

// BuildOn compiles the small model for a machine, with a batch so small that prompts take several steps. It returns
// the executable, or the message of ggmlc if it refused.
func (m Machine) BuildOn(t *testing.T, flags ...string) (exe, refusal string) {
	t.Helper()
	dir := t.TempDir()
	targets := filepath.Join(dir, "machine.targets")
	WriteFile(t, targets, []byte(m.Targets))
	exe = filepath.Join(dir, "story")
	args := slices.Concat([]string{"build", AIDreams(t), "-o", exe, "--kv", "f32", "--batch", "4", "--target-file", targets}, m.Flags, flags)
	if out, err := exec.Command(Path(), args...).CombinedOutput(); err != nil {
		return "", fmt.Sprintf("%v: %v\n%s", args, err, out)
	}
	return exe, ""
}

// MustBuildOn is BuildOn for machines that ggmlc must not refuse.
func (m Machine) MustBuildOn(t *testing.T, flags ...string) string {
	t.Helper()
	exe, refusal := m.BuildOn(t, flags...)
	if refusal != "" {
		t.Fatal(refusal)
	}
	return exe
}

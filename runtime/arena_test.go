//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runtime

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestImpossibleMemoryIsAnError opens a session that needs more memory than any system provides. Go itself would end
// the process.
func TestImpossibleMemoryIsAnError(t *testing.T) {
	const much = 1 << 48
	dir := t.TempDir()
	writeNPY(t, dir, "x.npy", Array{dtype.F32, []int{1, 1}, raw([]float32{1})})
	writeNPY(t, dir, "y.npy", Array{dtype.I32, []int{1}, raw([]int32{0})})
	for want, change := range map[string]func(p *Program){
		"2.621e+05 GiB of memory for the session's state: ":   func(p *Program) { p.StateBytes = much },
		"2.621e+05 GiB of memory for activations: ":           func(p *Program) { p.ActivationBytes = much },
		"2.621e+05 GiB of memory for inputs and outputs: mma": func(p *Program) { p.IOBytes = much },
	} {
		p := grid()
		change(p)
		m, err := Open(p, Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.NewSession(); !errors.Is(err, syscall.ENOMEM) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		status, _, errs := invoke(p, "call", "add", "x="+filepath.Join(dir, "x.npy"), "y="+filepath.Join(dir, "y.npy"), "-o", dir)
		if status != exitFailed || !strings.Contains(errs, want) {
			t.Errorf("status %d, %s, want %s", status, errs, want)
		}
	}
}

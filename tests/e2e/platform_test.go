package e2e

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestCrossBuildsAreForTheirSystems builds programs for other systems and checks the headers of their files.
func TestCrossBuildsAreForTheirSystems(t *testing.T) {
	needtest.Slow(t, "e2e")
	for _, c := range []struct {
		platform string
		check    func(exe []byte) error
	}{
		{"windows/amd64", func(exe []byte) error { _, err := pe.NewFile(bytes.NewReader(exe)); return err }},
		{"darwin/arm64", func(exe []byte) error { _, err := macho.NewFile(bytes.NewReader(exe)); return err }},
		{"linux/arm64", func(exe []byte) error { _, err := elf.NewFile(bytes.NewReader(exe)); return err }},
	} {
		t.Run(c.platform, func(t *testing.T) {
			exe := buildFor(t, c.platform, e2etest.Demo(t))
			if err := c.check(e2etest.ReadFile(t, exe)); err != nil {
				t.Error(err)
			}
		})
	}
}

func buildFor(t *testing.T, platform, model string, flags ...string) string {
	system, arch, _ := strings.Cut(platform, "/")
	exe := filepath.Join(t.TempDir(), "story")
	return e2etest.BuildTo(t, exe, []string{"GOOS=" + system, "GOARCH=" + arch}, model, flags...)
}

// TestArm64TellsTheSame runs the pure-Go kernels on an emulated processor.
func TestArm64TellsTheSame(t *testing.T) {
	qemu := needQEMU(t, "qemu-aarch64")
	exe := buildFor(t, "linux/arm64", e2etest.AIDreams(t), "--kv", "f32")
	e2etest.Program{Words: []string{qemu, exe}}.TellsAll(t, e2etest.AIDreamsReferences(t))
}

// TestOlderProcessorsTellTheSame: older processors use other kernels of the same executable. The emulator has no
// AVX-512; baseline x86-64 has not even AVX.
func TestOlderProcessorsTellTheSame(t *testing.T) {
	qemu := needQEMU(t, "qemu-x86_64")
	if runtime.GOOS != "linux" {
		t.Skip("skip: user-mode emulation is Linux's")
	}
	exe := buildFor(t, "linux/amd64", e2etest.AIDreams(t), "--kv", "f32")
	for _, c := range []struct{ cpu, kernels string }{
		{"Haswell", "avx2"},
		{"qemu64", "generic"},
	} {
		t.Run(c.cpu, func(t *testing.T) {
			p := e2etest.Program{Words: []string{qemu, "-cpu", c.cpu, exe}}
			out := e2etest.Command{Args: append(p.Words, "version")}.Run(t)
			if !strings.Contains(string(out), c.kernels) {
				t.Errorf("%s does not choose the %s kernels: %s", c.cpu, c.kernels, out)
			}
			p.TellsAll(t, e2etest.AIDreamsReferences(t))
		})
	}
}

func needQEMU(t *testing.T, name string) string {
	needtest.Slow(t, "qemu")
	return needtest.Tool(t, "qemu", name)
}

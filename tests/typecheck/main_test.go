package main

import (
	"os"
	"testing"
)

// TestFaultsOfOneSystemAreFound has a constant that 32 bits do not hold, in a test, and a name that Windows does not
// have.
func TestFaultsOfOneSystemAreFound(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":    "module sample\n\ngo 1.26\n",
		"a.go":      "package sample\n\nimport \"syscall\"\n\nvar Handler = syscall.Getpgid\n",
		"a_test.go": "package sample\n\nvar large int = 1 << 40\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for system, want := range map[string]int{"linux/amd64": 0, "linux/386": 1, "windows/amd64": 1, "windows/386": 2} {
		if got, err := check(t.Context(), system, []string{"./..."}); err != nil || got != want {
			t.Errorf("%s: %d faults, error %v; want %d", system, got, err, want)
		}
	}
	if _, err := check(t.Context(), "linux", []string{"./..."}); err == nil {
		t.Error("linux is a system")
	}
}

// Package e2etest has what end-to-end tests share: the ggmlc that they run, programs that it builds, models, and the
// tokens that another program makes of them.
package e2etest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// folder is the environment variable with the folder of the ggmlc that Main has built.
const folder = "GGMLC_E2E"

// Main builds ggmlc and runs the tests of a package. It is the whole of the package's TestMain.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "ggmlc-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(folder, dir)
	code := 1
	if out, err := exec.Command("go", "build", "-o", Path(), "github.com/ggmlc/ggmlc/cmd/ggmlc").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ggmlc: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// Path returns the path of the ggmlc that all tests run.
func Path() string { return filepath.Join(os.Getenv(folder), "ggmlc") }

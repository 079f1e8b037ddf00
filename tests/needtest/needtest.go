// Package needtest decides about tests whose requirements are missing. They are skipped with a reason, or fail if the
// environment variable GGMLC_REQUIRE, a list separated by commas or spaces, names the requirement.
//
//	accuracy   random models of all shapes and formats, not only a sample (4 minutes)
//	chromium   the browser, which opens pages of ggmlc view (Debian's chromium)
//	cuda       an NVIDIA GPU with its driver, in place of a simulated driver
//	cudasim    a C compiler, which makes a library of the simulated CUDA driver
//	data       the files of ../shared/data
//	e2e        the end-to-end tests that take more than a few seconds
//	fuzz       programs built at random, and run (half a minute)
//	generate   tools from the module proxy, with which generated files are made again
//	jinja2     Python's jinja2 (Debian's python3-jinja2)
//	ptxas      NVIDIA's assembler of PTX
//	qemu       user-mode emulators of other processors
//	race       a C compiler, which Go's race detector needs
//	root       the rights to change the root folder and to leave the network
//	spirv-val  the validator and the disassembler of SPIR-V (Debian's spirv-tools)
//	taskset    the command that restricts another one to some processors
//	vulkan     a Vulkan driver, the validation layer and the tools of SPIR-V
package needtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Required reports whether GGMLC_REQUIRE names the word.
func Required(word string) bool {
	words := strings.FieldsFunc(os.Getenv("GGMLC_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(words, word)
}

// Skip skips the test, or fails it if the word is required.
func Skip(t testing.TB, word, format string, args ...any) {
	t.Helper()
	if Required(word) {
		t.Fatalf("GGMLC_REQUIRE names "+word+": "+format, args...)
	}
	t.Skipf("skip: "+format+" (GGMLC_REQUIRE="+word+" makes this a failure)", args...)
}

// Slow skips a test that takes more than a few seconds, unless the word is required.
func Slow(t testing.TB, word string) {
	t.Helper()
	if !Required(word) {
		t.Skipf("skip: takes more than a few seconds: GGMLC_REQUIRE=%s runs it", word)
	}
}

// Data returns the path of a file of ../shared/data, next to the repository.
func Data(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		Skip(t, "data", "no %s beside the repository", filepath.Join("shared", "data", name))
	}
	return path
}

// Root returns the folder of the repository: the closest one above the test's that contains go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no go.mod above the test: %v", err)
	return ""
}

// CacheEnv returns an environment in which a program keeps its cache in dir, while the Go command, whose cache would
// follow, keeps its own.
func CacheEnv(t testing.TB, dir string) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"XDG_CACHE_HOME=" + dir, "GOCACHE=" + strings.TrimSpace(string(out))}
}

// Tool returns the path of a command. If it is missing, Tool skips the test or fails it by the word.
func Tool(t testing.TB, word, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, word, "no %s on this machine", name)
	}
	return path
}

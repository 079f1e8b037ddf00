package codegen

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSourcesAreWhatProgramsAreBuiltFrom: the module that is unpacked beside an emitted program has Go files and
// what they assemble, no tests, test data or notes.
func TestSourcesAreWhatProgramsAreBuiltFrom(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSources(dir); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]int)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if kinds[filepath.Ext(path)]++; strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s is a test", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, n := range kinds {
		if !slices.Contains([]string{".go", ".s", ".h", ".mod"}, kind) {
			t.Errorf("%d files %s", n, kind)
		}
	}
	if kinds[".go"] == 0 || kinds[".s"] == 0 || kinds[".mod"] != 1 {
		t.Errorf("files of each kind: %v", kinds)
	}
}

// TestDevicesTreeHasWhatTheProgramImports compares the module of the program with the packages of this one, on each
// kind of system.
func TestDevicesTreeHasWhatTheProgramImports(t *testing.T) {
	dir := t.TempDir()
	if err := writeDevicesTree(dir); err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-f",
			`{{if .Module}}{{if .Module.Main}}{{$p := .ImportPath}}{{range .GoFiles}}{{$p}}/{{.}}{{"\n"}}{{end}}{{range .SFiles}}{{$p}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`,
			ModulePath+"/cmd/ggmlc/devices")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for path := range bytes.FieldsSeq(out) {
			files++
			name := strings.TrimPrefix(string(path), ModulePath)
			if _, err := os.Stat(filepath.Join(dir, "ggmlc", name)); err != nil {
				t.Errorf("%s: %v", system, err)
			}
		}
	}
	if files == 0 {
		t.Error("no files")
	}
}

// TestProgramsOfModelsHaveNoSourcesOfDevices: what only ggmlc devices needs is not written for models.
func TestProgramsOfModelsHaveNoSourcesOfDevices(t *testing.T) {
	dir := t.TempDir()
	if err := WriteSources(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cmd", "passes", "ir/op.go", "kernels/gpu/spirv"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

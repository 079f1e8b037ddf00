package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/cmd/ggmlc/demo"
)

// TestDumpedKernelsAreThoseOfTheProgram compares the kernels of the demo model with those of the package that gen
// writes: their names, what they compute, and their code.
func TestDumpedKernelsAreThoseOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, demo.Name)
	if err := os.WriteFile(model, demo.Model(), 0o666); err != nil {
		t.Fatal(err)
	}
	ggmlc := func(args ...string) {
		t.Helper()
		var errs bytes.Buffer
		args = append(args, "--targets", "vulkan,cpu", "--rules", "ggml-2026")
		if code := run(t.Context(), args, nil, new(bytes.Buffer), &errs); code != 0 {
			t.Fatalf("%v: exit status %d: %s", args, code, &errs)
		}
	}
	ggmlc("dump", model, "--kernels", "-o", filepath.Join(dir, "kernels"))
	ggmlc("gen", model, "-o", filepath.Join(dir, "story"))
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	code, program := read("story/kernels.spv"), read("story/program.go")
	rows := strings.Split(strings.TrimSpace(read("kernels/index.tsv")), "\n")[1:]
	at := 0
	for _, row := range rows {
		columns := strings.Split(row, "\t")
		module := read("kernels/" + columns[0] + ".spv")
		if !strings.HasPrefix(code[at:], module) {
			t.Errorf("%s has other code in the program", columns[0])
		}
		at += len(module)
		declared := strings.Index(program, "var "+columns[0]+" = gpu.Kernel{\n")
		if declared < 0 || !strings.Contains(program[declared:min(declared+400, len(program))], strconv.Quote(columns[5])) {
			t.Errorf("the program does not declare %s, which computes %s", columns[0], columns[5])
		}
	}
	if n := strings.Count(program, " = gpu.Kernel{"); n != len(rows) || at != len(code) || n < 10 {
		t.Errorf("%d kernels with %d bytes are dumped, the program has %d with %d", len(rows), at, n, len(code))
	}
}

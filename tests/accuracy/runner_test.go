package accuracy

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Job, Row and Result are those of testdata/runner/main.go.
type Job struct {
	Model    int
	Impl     string
	Threads  int
	Tokens   []int32
	Prefills []int
}

type Row struct {
	Prefill  int
	Position int
	Logits   []float32
}

type Result struct {
	Job  Job
	Rows []Row
	Err  string
}

// compiled is what the test keeps of a compilation.
type compiled struct{ imported *ir.Module }

// compileAll writes a package m0, m1, … for each model below dir.
func compileAll(t *testing.T, dir string, set []*random) []compiled {
	t.Helper()
	var all []compiled
	for i, r := range set {
		c, err := r.compile(filepath.Join(dir, fmt.Sprintf("m%d", i)), fmt.Sprintf("m%d", i))
		if err != nil {
			t.Fatalf("%v: %v", r, err)
		}
		all = append(all, c)
	}
	return all
}

// compile generates the package of one model.
func (r *random) compile(dir, name string) (compiled, error) {
	return compileFile(r.path, r.loadOptions(), r.bf16, dir, name)
}

// compileFile generates the package of a file.
func compileFile(path string, options driver.LoadOptions, bf16 bool, dir, name string) (compiled, error) {
	ctx := context.Background()
	md, err := driver.Load(ctx, path, options)
	if err != nil {
		return compiled{}, err
	}
	defer md.Close()
	c := compiled{md.Module.Clone()}
	targets, err := cpuTarget()
	if err != nil {
		return c, err
	}
	if _, err := driver.Compile(ctx, md, driver.CompileOptions{Targets: targets, Passes: pass.Options{AllowBF16: bf16}}); err != nil {
		return c, err
	}
	return c, emit(ctx, md, dir, name)
}

// emit writes the package of a compiled model.
func emit(ctx context.Context, md *driver.Model, dir, name string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	var weights bytes.Buffer
	hash, err := codegen.PackWeights(ctx, md.Module, md, &weights, nil)
	if err != nil {
		return err
	}
	p, err := codegen.Emit(md.Module, codegen.Options{Package: name, Name: name, WeightsHash: hash})
	if err != nil {
		return err
	}
	files := append(p.Files,
		codegen.SourceFile{Name: "weights.bin", Data: weights.Bytes()},
		codegen.SourceFile{Name: "export.go", Data: fmt.Appendf(nil, exportText, name)})
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// exportText gives the runner what a package keeps to itself.
const exportText = `package %s

import "github.com/ggmlc/ggmlc/runtime"

// Program returns the description of the model.
func Program() *runtime.Program { return &program }
`

// buildRunner builds the program that holds all models, as name in dir.
func buildRunner(t *testing.T, dir, name string, models int, flags ...string) string {
	t.Helper()
	if err := codegen.WriteSources(filepath.Join(dir, "ggmlc")); err != nil {
		t.Fatal(err)
	}
	runner, err := os.ReadFile(filepath.Join("testdata", "runner", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"go.mod":    "module runner\n\ngo 1.26\n\nrequire github.com/ggmlc/ggmlc v0.0.0\n\nreplace github.com/ggmlc/ggmlc => ./ggmlc\n",
		"main.go":   string(runner),
		"models.go": modelsFile(models),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, name)
	cmd := exec.Command("go", append(append([]string{"build", "-trimpath", "-buildvcs=false", "-o", exe}, flags...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// modelsFile is the source of the table of models.
func modelsFile(n int) string {
	var b, list strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"github.com/ggmlc/ggmlc/runtime\"\n\n")
	for i := range n {
		fmt.Fprintf(&b, "\t\"runner/m%d\"\n", i)
		fmt.Fprintf(&list, "\tm%d.Program(),\n", i)
	}
	fmt.Fprintf(&b, ")\n\nvar models = []*runtime.Program{\n%s}\n", list.String())
	return b.String()
}

// runJobs has the runner do jobs.
func runJobs(t *testing.T, exe string, jobs []Job) []Result {
	t.Helper()
	var in, out, errs bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(jobs); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("runner: %v\n%s", err, errs.String())
	}
	var results []Result
	dec := gob.NewDecoder(&out)
	for range jobs {
		var r Result
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	return results
}

// cpuTarget is what --targets cpu means.
func cpuTarget() (*target.List, error) { return target.Select("cpu") }

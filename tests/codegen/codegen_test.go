// Package codegen_test tests emitted code: its text for tiny modules, and what it computes.
package codegen_test

import (
	"context"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestTextIsTheGoldens compares emitted files with those of testdata. Section in.ggir is the module,
// the other sections are files of the package: steps.go is what runs, model.go is what callers
// see. Section targets is the backends, the CPU alone where it is absent; section pins assigns nodes to
// backends; two steps may be in progress. All packages are then compiled and vetted together.
func TestTextIsTheGoldens(t *testing.T) {
	root := t.TempDir()
	irtest.RunGoldens(t, "testdata", []string{"in.ggir", "targets", "pins", "steps.go", "program.go", "model.go", "plan.txt"}, func(t *testing.T, g *irtest.Golden) {
		m, err := ir.Parse("in.ggir", []byte(g.Section("in.ggir")))
		if err != nil {
			t.Fatal(err)
		}
		o := options(t, g)
		again := m.Clone()
		p := emitWith(t, m, "tiny", o)
		if !equalPackages(p, emitWith(t, again, "tiny", o)) {
			t.Error("emitting twice gives two texts")
		}
		for _, f := range p.Files {
			if filepath.Ext(f.Name) == ".go" {
				checkFormat(t, f)
			}
			if g.Has(f.Name) {
				g.Want(f.Name, string(f.Data))
			}
		}
		writePackage(t, filepath.Join(root, strings.TrimSuffix(filepath.Base(g.Path()), ".txtar")), p, m)
	})
	if !testing.Short() {
		vet(t, root)
	}
}

// options returns how the module of a golden is compiled.
func options(t *testing.T, g *irtest.Golden) (o passes.RunOptions) {
	t.Helper()
	if !g.Has("targets") {
		return o
	}
	var err error
	if o.Targets, err = target.Parse("targets", g.Section("targets")); err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Fields(g.Section("pins")) {
		o.Options.Pins = append(o.Options.Pins, pinOf(t, text))
	}
	o.Options.Pipeline = 2
	return o
}

// compile runs all passes for the CPU.
func compile(m *ir.Module) error { return compileWith(m, passes.RunOptions{}) }

// compileWith runs all passes, for the CPU where there are no targets.
func compileWith(m *ir.Module, o passes.RunOptions) (err error) {
	if o.Targets == nil {
		if o.Targets, err = target.NewList(target.CPU()); err != nil {
			return err
		}
	}
	_, err = passes.Run(context.Background(), m, o)
	return err
}

// emitWith compiles a module and returns its package.
func emitWith(t *testing.T, m *ir.Module, name string, o passes.RunOptions) *codegen.Package {
	t.Helper()
	if err := compileWith(m, o); err != nil {
		t.Fatal(err)
	}
	p, err := codegen.Emit(m, codegen.Options{Package: name, Compiler: "ggmlc test", Name: m.Name, PlanID: "test", Targets: o.Targets})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func equalPackages(a, b *codegen.Package) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y codegen.SourceFile) bool {
		return x.Name == y.Name && string(x.Data) == string(y.Data)
	})
}

func checkFormat(t *testing.T, f codegen.SourceFile) {
	t.Helper()
	formatted, err := format.Source(f.Data)
	if err != nil {
		t.Fatalf("%s: %v\n%s", f.Name, err, f.Data)
	}
	if string(formatted) != string(f.Data) {
		t.Errorf("%s is not as gofmt has it", f.Name)
	}
}

// writePackage writes a package with weights of zeros into a folder.
func writePackage(t *testing.T, dir string, p *codegen.Package, m *ir.Module) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	files := append([]codegen.SourceFile{{Name: "weights.bin", Data: make([]byte, codegen.WeightsBytes(m))}}, p.Files...)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// vet makes a module of the packages below root and runs go vet, which compiles them.
func vet(t *testing.T, root string) {
	t.Helper()
	if err := codegen.WriteSources(filepath.Join(root, "ggmlc")); err != nil {
		t.Fatal(err)
	}
	mod := "module emitted\n\ngo 1.26\n\nrequire " + codegen.ModulePath + " v0.0.0\n\nreplace " + codegen.ModulePath + " => ./ggmlc\n"
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte(mod), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

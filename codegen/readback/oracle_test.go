package readback_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/readback"
)

// oracle knows whether changed packages do what they did before: it compiles them and runs
// them against the runtime and kernels of this module, whose functions then only note how they
// are called. Nothing of readback decides here.
type oracle struct {
	t        testing.TB
	dir      string
	packages []oraclePackage
}

// oraclePackage is a package that the oracle runs.
type oraclePackage struct {
	id, of string // of: the package that it has to be like
	pkg    string // the name of the Go package
	refuse string // why the Go compiler does not take it
}

// recorded are the functions and methods of the runtime that note their calls, with the code that they
// run in addition. Without such code they return zeros.
var recorded = map[string]string{
	"Worker.Barrier":    "w.pool.taken.Store(0)",
	"Worker.Mark":       "",
	"Worker.Stop":       "return record.Stop()",
	"Queues.Slot":       "return record.Slot",
	"Queues.Run":        "record.Command(queue, iteration, c.Label, c.Kernel)",
	"Queues.Copy":       "",
	"Queues.CopyBox":    "",
	"Queues.CopyPicked": "",
	"Queues.Record":     "",
	"Queues.Wait":       "",
	"Queues.WaitPrev":   "",
	"Queues.Await":      "",
	"Queues.AwaitPrev":  "",
	"Queues.Finish":     "",
	"Main":              "",
	"Open":              "return &Model{}, nil",
	"Model.Close":       "",
	"Model.Threads":     "return 7",
	"Model.NewSession":  "return &Session{}, nil",
	"Session.Call":      "",
	"Session.Generate":  "",
	"Session.Prefill":   "return []float32{1}, nil",
	"Session.Decode":    "return []float32{2}, nil",
	"Session.Len":       "return 5",
	"Session.Truncate":  "",
	"Session.Reset":     "",
}

// newOracle writes a module with instrumented sources.
func newOracle(t testing.TB) *oracle {
	t.Helper()
	o := &oracle{t: t, dir: t.TempDir()}
	ours := filepath.Join(o.dir, "ggmlc")
	if err := codegen.WriteSources(ours); err != nil {
		t.Fatal(err)
	}
	o.write("go.mod", "module program\n\ngo 1.26\n\nrequire "+codegen.ModulePath+" v0.0.0\n\nreplace "+codegen.ModulePath+" => ./ggmlc\n"+codegen.DriverMod)
	o.write("go.sum", codegen.DriverSum)
	o.write("ggmlc/record/record.go", o.testdata("record.go.txt"))
	o.write("main.go", o.testdata("main.go.txt"))
	seen := make(map[string]bool)
	o.instrument(filepath.Join(ours, "kernels/cpu"), func(fn *ast.FuncDecl, names []string, types []string) string {
		if !fn.Name.IsExported() || fn.Recv != nil || fn.Type.Results != nil || len(types) < 3 || types[0] != "unsafe.Pointer" {
			return ""
		}
		return fmt.Sprintf("record.Kernel(%q, %s)\nreturn", fn.Name.Name, strings.Join(names, ", "))
	})
	o.instrument(filepath.Join(ours, "runtime"), func(fn *ast.FuncDecl, names []string, types []string) string {
		id := fn.Name.Name
		if fn.Recv != nil {
			id = typeName(fn.Recv.List[0].Type) + "." + id
		}
		also, ok := recorded[id]
		if !ok {
			return ""
		}
		seen[id] = true
		var args []string
		for i, name := range names {
			if types[i] != "context.Context" && types[i] != "*Command" {
				args = append(args, name)
			}
		}
		code := fmt.Sprintf("record.Call(%s)\n", strings.Join(append([]string{fmt.Sprintf("%q", id)}, args...), ", "))
		if id == "Queues.Run" || id == "Worker.Stop" || id == "Queues.Slot" {
			code = ""
		}
		if strings.HasPrefix(also, "return") {
			return code + also
		}
		return code + also + "\nreturn" + zeros(fn)
	})
	o.instrument(filepath.Join(ours, "runtime/gpu"), func(fn *ast.FuncDecl, names []string, types []string) string {
		if fn.Name.Name != "Dispatch" {
			return ""
		}
		return `record.Call("Dispatch", k, len(e.Dispatches) > 0 && e.barrier, args)` // any number of workgroups does the same
	})
	if len(seen) != len(recorded) {
		t.Fatalf("of %d functions of the runtime %d are there: %v", len(recorded), len(seen), seen)
	}
	o.write("ggmlc/runtime/record.go", "package runtime\n\n// NewWorker returns a worker by itself.\nfunc NewWorker(part, parts int) *Worker { return &Worker{Part: part, Parts: parts, pool: &pool{}} }\n")
	return o
}

// typeName returns the name of a receiver's type.
func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	return e.(*ast.Ident).Name
}

// zeros returns as many zeros as a function has results.
func zeros(fn *ast.FuncDecl) string {
	if fn.Type.Results == nil {
		return ""
	}
	return " nil" + strings.Repeat(", nil", fn.Type.Results.NumFields()-1)
}

func (o *oracle) testdata(name string) string {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		o.t.Fatal(err)
	}
	return string(data)
}

func (o *oracle) write(name, text string) {
	path := filepath.Join(o.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		o.t.Fatal(err)
	}
}

// instrument puts code before the bodies of functions: what code returns for them.
func (o *oracle) instrument(dir string, code func(fn *ast.FuncDecl, names, types []string) string) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		o.t.Fatal(dir, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			o.t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, data, parser.SkipObjectResolution)
		if err != nil {
			o.t.Fatal(err)
		}
		base, src := int(file.FileStart), string(data)
		for _, d := range slices.Backward(file.Decls) {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			var names []string
			for _, p := range fn.Type.Params.List {
				for _, id := range p.Names {
					names = append(names, id.Name)
				}
			}
			if text := code(fn, names, typesOf(fn, string(data), base)); text != "" {
				at := int(fn.Body.Lbrace) - base + 1
				src = src[:at] + "\nif record.On {\n" + text + "\n}\n" + src[at:]
			}
		}
		if src != string(data) {
			at := int(file.Name.End()) - base
			src = src[:at] + "\n\nimport \"" + codegen.ModulePath + "/record\"\n" + src[at:]
			if err := os.WriteFile(path, []byte(src), 0o666); err != nil {
				o.t.Fatal(err)
			}
		}
	}
}

// add adds a package that has to do what another one does; of is empty for that one.
func (o *oracle) add(id, of string, pkg string, files []readback.File) {
	o.packages = append(o.packages, oraclePackage{id: id, of: of, pkg: pkg})
	o.write(id+"/weights.bin", "weights")
	for _, f := range files {
		if f.Name != filepath.Base(f.Name) { // the folder of a package holds no such file
			o.packages[len(o.packages)-1].refuse = f.Name
			return
		}
		data := f.Data
		if pkg == "main" && filepath.Ext(f.Name) == ".go" { // otherwise nothing can import it
			data = regexp.MustCompile(`(?m)^package main$`).ReplaceAll(data, []byte("package emitted"))
		}
		o.write(filepath.Join(id, f.Name), string(data))
	}
	name, face := pkg, "Open"
	if pkg == "main" {
		name, face = "emitted", "main"
	}
	o.write(id+"/zz_export.go", "package "+name+"\n\nimport \""+codegen.ModulePath+"/runtime\"\n\n// Export returns what there is to run.\nfunc Export() (*runtime.Program, any) { return &program, "+face+" }\n")
}

// broken finds the packages that the Go command complains about.
var broken = regexp.MustCompile(`(?m)^(?:# program/|(?:[^:\s]+:\d+:\d+: )?package program/|)(p[0-9]+)[/\s:]`)

// run compiles and runs all packages, and returns the packages that do something else than their original. A package
// that the compiler refuses is marked.
func (o *oracle) run() map[string]bool {
	for {
		o.main()
		out, err := o.goCommand("build", "-gcflags=-e", "-o", "all", ".")
		if err == nil {
			break
		}
		found := false
		for _, m := range broken.FindAllStringSubmatch(out, -1) {
			for i := range o.packages {
				if p := &o.packages[i]; p.id == m[1] && p.refuse == "" {
					p.refuse, found = out, true
				}
			}
		}
		if !found {
			o.t.Fatalf("%v\n%s", err, out)
		}
	}
	sums, differ := make(map[string]string), make(map[string]bool)
	for _, p := range o.packages {
		if p.refuse == "" {
			sums[p.id] = o.notes(p.id)
		}
		switch {
		case p.of == "" && len(sums[p.id]) != len("0123456789abcdef\n"):
			o.t.Fatalf("%s did not run: %s%s", p.id, p.refuse, sums[p.id])
		case p.of != "" && p.refuse == "" && sums[p.id] != sums[p.of]:
			differ[p.id] = true
		}
	}
	return differ
}

// notes runs a package in a process of its own, and returns what it prints, or how it ends.
func (o *oracle) notes(id string, more ...string) string {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(o.dir, "all"), append([]string{id}, more...)...).Output()
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// difference returns the first notes that differ of two packages.
func (o *oracle) difference(id, of string) string {
	a, b := strings.Split(o.notes(id, "text"), "\n"), strings.Split(o.notes(of, "text"), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%.300s, where it was %.300s", a[i], b[i])
		}
	}
	return fmt.Sprintf("%d notes, where there were %d", len(a), len(b))
}

// main writes the list of packages that can be compiled.
func (o *oracle) main() {
	var imports, list bytes.Buffer
	for _, p := range o.packages {
		if p.refuse != "" {
			continue
		}
		fmt.Fprintf(&imports, "import %s \"program/%s\"\n", p.id, p.id)
		fmt.Fprintf(&list, "\tof(%q, %s.Export),\n", p.id, p.id)
	}
	o.write("list.go", "package main\n\nimport \""+codegen.ModulePath+"/runtime\"\n"+imports.String()+"\nvar packages = []emitted{\n"+list.String()+`}

func of(name string, export func() (*runtime.Program, any)) emitted {
	p, open := export()
	e := emitted{name: name, program: p, open: open}
	e.main, _ = open.(func())
	return e
}
`)
}

func (o *oracle) goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = o.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0", "GOENV=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

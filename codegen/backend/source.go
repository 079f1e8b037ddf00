package backend

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc"
)

// Paths of modules.
const (
	ourModule    = "github.com/ggmlc/ggmlc"
	puregoModule = "github.com/ebitengine/purego"
)

// EmittedNames are the names that other packages have in emitted code.
var EmittedNames = []string{
	"cmp", "context", "cpu", "cuda", "dtype", "embed", "fake", "fallback", "fs", "gpu", "gpusim", "grammar", "io", "iter", "jsonschema", "maps", "math", "runtime",
	"sample", "slices", "slog", "tile", "time", "token", "unsafe", "vulkan",
}

// EachFile calls f for each file of the sources that is part of programs, in the order of their paths.
func (b *Backend) EachFile(f func(name string, data []byte) error) error {
	return fs.WalkDir(b.Sources, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !isSource(name) {
			return err
		}
		data, err := fs.ReadFile(b.Sources, name)
		if err != nil {
			return err
		}
		return f(name, data)
	})
}

func isSource(name string) bool {
	return slices.Contains([]string{".go", ".s", ".h"}, path.Ext(name)) && !strings.HasSuffix(name, "_test.go")
}

// reader collects what the sources declare.
type reader struct {
	b         *Backend
	folder    string // of the package that programs link
	folders   map[string]bool
	imports   map[string]string // to the first file that has them
	files     int               // of the package
	types     map[string]bool
	constants map[string]int
}

// readSources checks that programs can be built from the sources, and notes what emitted code needs to know of them.
func (b *Backend) readSources() error {
	r := &reader{b: b, folders: make(map[string]bool), imports: make(map[string]string), types: make(map[string]bool), constants: make(map[string]int)}
	b.methods = make(map[string]bool)
	rest, inside := strings.CutPrefix(b.Package, b.Module+"/")
	switch {
	case b.Package == b.Module && b.Module != "":
		r.folder = "."
	case !inside || rest == "":
		return fmt.Errorf("its package %q is not in its module %q", b.Package, b.Module)
	default:
		r.folder = rest
	}
	if name := b.PackageName(); !token.IsIdentifier(name) || slices.Contains(EmittedNames, name) {
		return fmt.Errorf("%q is not a name for its package: write an identifier that is none of %s, which are other packages in emitted code", name, strings.Join(EmittedNames, ", "))
	}
	if err := b.EachFile(r.file); err != nil {
		return err
	}
	return errors.Join(r.declared(), r.checkImports())
}

// file reads one file.
func (r *reader) file(name string, data []byte) error {
	r.folders[path.Dir(name)] = true
	if path.Ext(name) != ".go" {
		return nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, s := range f.Imports {
		from, _ := strconv.Unquote(s.Path.Value)
		if r.imports[from] == "" {
			r.imports[from] = name
		}
	}
	if path.Dir(name) != r.folder {
		return nil
	}
	r.files++
	if f.Name.Name != r.b.PackageName() {
		return fmt.Errorf("%s: package %s, not %s as the last word of %s", name, f.Name.Name, r.b.PackageName(), r.b.Package)
	}
	for _, d := range f.Decls {
		r.declaration(d)
	}
	return nil
}

// declaration notes the types, the constants that are whole numbers, and the methods of *Env.
func (r *reader) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) != 1 {
			return
		}
		if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
			if id, ok := star.X.(*ast.Ident); ok && id.Name == "Env" {
				r.b.methods[d.Name.Name] = true
			}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				r.types[s.Name.Name] = true
			case *ast.ValueSpec:
				r.numbers(s)
			}
		}
	}
}

func (r *reader) numbers(s *ast.ValueSpec) {
	for i, id := range s.Names {
		if i >= len(s.Values) {
			return
		}
		if lit, ok := s.Values[i].(*ast.BasicLit); ok && lit.Kind == token.INT {
			if n, err := strconv.Atoi(lit.Value); err == nil {
				r.constants[id.Name] = n
			}
		}
	}
}

// declared demands the declarations that emitted code refers to.
func (r *reader) declared() error {
	if r.files == 0 {
		return fmt.Errorf("no Go file of %s is in the folder %s of Sources: embed them from the root of the module, as in //go:embed %s/*.go", r.b.Package, r.folder, r.b.PackageName())
	}
	var errs []error
	for _, id := range []string{"Loader", "Kernel", "Env"} {
		if !r.types[id] {
			errs = append(errs, fmt.Errorf("%s declares no type %s", r.b.Package, id))
		}
	}
	for _, id := range []string{"Version", "Generation"} {
		if r.constants[id] == 0 {
			errs = append(errs, fmt.Errorf("%s declares no constant %s that is a whole number from 1 on", r.b.Package, id))
		}
	}
	r.b.version = r.constants["Version"]
	if g := r.constants["Generation"]; g != 0 {
		errs = append(errs, checkGeneration(g))
	}
	return errors.Join(errs...)
}

// checkImports reports imports that are not there when a program is built.
func (r *reader) checkImports() error {
	var errs []error
	for from, file := range r.imports {
		first, _, _ := strings.Cut(from, "/")
		own, isOwn := inModule(from, r.b.Module)
		ours, isOurs := inModule(from, ourModule)
		_, purego := inModule(from, puregoModule)
		switch {
		case from == "C":
			errs = append(errs, fmt.Errorf("%s: it imports C: programs are built without cgo", file))
		case !strings.Contains(first, "."), isOwn && r.folders[own], isOurs && travels(ours):
		case purego:
			r.b.driver = true
		default:
			errs = append(errs, fmt.Errorf("%s: it imports %s, which is not there when a program is built: only the standard library, packages in Sources, those of ggmlc that programs link, and purego are", file, from))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// inModule returns the folder of a package in a module.
func inModule(pkg, module string) (folder string, ok bool) {
	if pkg == module {
		return ".", true
	}
	return strings.CutPrefix(pkg, module+"/")
}

// travels reports whether programs have a package of this module.
func travels(folder string) bool {
	files, err := fs.Glob(ggmlc.Sources, folder+"/*.go")
	return err == nil && len(files) > 0
}

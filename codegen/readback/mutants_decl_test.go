package readback_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc"
	"github.com/ggmlc/ggmlc/codegen/readback"
)

// declarations drops, doubles, renames and exchanges declarations of a file, and adds others.
func (g *mutator) declarations(file *ast.File) {
	var embeds []*ast.Comment
	for i, d := range file.Decls {
		from, end := g.at(d.Pos()), g.at(d.End())
		if doc := docOf(d); doc != nil {
			from = g.at(doc.Pos())
			for _, c := range doc.List {
				if strings.HasPrefix(c.Text, "//go:embed") {
					embeds = append(embeds, c)
				}
			}
		}
		g.add("drop declaration", edit{g.file, from, end, ""})
		g.add("double declaration", g.after(d, "\n"+g.src[from:end]))
		if fn, ok := d.(*ast.FuncDecl); ok {
			g.function(file, fn, i)
		}
		if i > 1 && i+1 < len(file.Decls) {
			g.add("declarations in another order", edit{g.file, from, end, ""}, g.after(file.Decls[len(file.Decls)-1], "\n"+g.src[from:end]))
		}
		g.variables(d)
	}
	for i, c := range embeds {
		g.add("drop directive", g.put(c, ""))
		g.add("another file", g.put(c, "//go:embed program.go"))
		g.add("directive in another form", g.put(c, strings.Replace(c.Text, "embed ", "embed \"", 1)+"\""))
		g.add("directive that is a comment", g.put(c, strings.Replace(c.Text, "//", "// ", 1)))
		if i > 0 {
			g.swap("swap directives", embeds[i-1], c)
		}
	}
	g.imports(file)
	end := file.Decls[len(file.Decls)-1]
	for _, text := range additions {
		g.add("add "+kindOfAddition(text), g.after(end, "\n"+text+"\n"))
	}
	for _, text := range []string{"//go:build linux\n\n", "//go:build ignore\n\n", "// +build ignore\n\n", "//+build ignore\n\n", "//go:debug panicnil=1\n\n"} {
		g.add("build tag", edit{g.file, 0, 0, text})
	}
	g.add("another package", g.put(file.Name, "other"))
}

func docOf(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}

// additions are declarations that no emitted package has.
var additions = []string{
	"func init() { program.Name = \"\" }",
	"func init() {}",
	"var _ = func() int { program.Funcs = nil; return 0 }()",
	"var extra = func() int { program.Funcs = nil; return 0 }()",
	"func min(a, b int) int { return a }",
	"func max(a, b int) int { return a }",
	"func len(a int) int { return a }",
	"type int int32",
	"type int = int32",
	"type string = []byte",
	"type float32 uint32",
	"type int32 float32",
	"type error = any",
	"type bool int",
	"var nil = 0",
	"var true = false",
	"const true = false",
	"const false = true",
	"const nil = 0",
	"const iota = 3",
	"var cpu = 0",
	"var tile = struct{ Range func(n, granule, part, parts int) (int, int) }{func(n, _, _, _ int) (int, int) { return 0, n }}",
	"var unsafe = 1",
	"type cpu struct{}",
	"func extra() {}",
	"type extra struct{}",
	"func (s *Session) Extra() {}",
	"func (s Session) Extra() {}",
	"func (s *Session) Verify() error { return nil }",
	"var extra = 3",
	"const extra = 3",
	"//go:linkname extra runtime.nanotime\nfunc extra() int64",
	"//go:noinline\nfunc extra() {}",
	"//export extra\nfunc extra() {}",
	"var extra = offsets",
}

func kindOfAddition(text string) string {
	words := strings.Fields(text[strings.LastIndex(text, "\n")+1:])
	return words[0] + " " + regexp.MustCompile(`[(=].*`).ReplaceAllString(strings.Join(words[1:min(3, len(words))], " "), "")
}

// function gives a function the body of another one, and another name.
func (g *mutator) function(file *ast.File, fn *ast.FuncDecl, i int) {
	g.add("another name", g.put(fn.Name, fn.Name.Name+"2"))
	g.add("no body", edit{g.file, g.at(fn.Body.Lbrace) + 1, g.at(fn.Body.Rbrace), "\n"})
	if fn.Recv != nil {
		g.add("receiver without a pointer", g.put(fn.Recv, strings.Replace(g.text(fn.Recv), "*", "", 1)))
	}
	for _, d := range file.Decls[i+1:] {
		if other, ok := d.(*ast.FuncDecl); ok && g.text(other.Type.Params) == g.text(fn.Type.Params) {
			g.swap("swap bodies", fn.Body, other.Body)
			g.swap("swap names", fn.Name, other.Name)
			break
		}
	}
}

// variables gives variables another value or type.
func (g *mutator) variables(d ast.Decl) {
	gen, ok := d.(*ast.GenDecl)
	if !ok || gen.Tok != token.VAR {
		return
	}
	for _, s := range gen.Specs {
		v := s.(*ast.ValueSpec)
		switch {
		case v.Type != nil && g.text(v.Type) == "string":
			g.add("value of a variable", g.after(v, ` = "text"`))
			if gen.Doc != nil {
				g.add("value, no file", edit{g.file, g.at(gen.Doc.Pos()), g.at(gen.End()), "var " + v.Names[0].Name + ` = "text"`})
			}
			g.add("another type", g.put(v.Type, "[]byte"))
		case v.Type != nil && g.text(v.Type) == "fake.Loader":
			g.add("value of a variable", g.put(v, v.Names[0].Name+" = fake.Loader{fake.Options{Seed: 3}}"))
			g.add("value of a variable", g.put(v, v.Names[0].Name+" fake.Loader = fake.Loader{}"))
		case len(v.Values) == 1:
			g.add("value made by a function", g.put(v.Values[0], "func() "+typeOf(v.Values[0], g)+" { return "+g.text(v.Values[0])+" }()"))
			g.add("another type", g.before(v.Values[0], "any("), g.after(v.Values[0], ")"))
		}
	}
}

func typeOf(e ast.Expr, g *mutator) string {
	if c, ok := e.(*ast.CompositeLit); ok {
		return g.text(c.Type)
	}
	return "any"
}

// imports drops, renames and exchanges what a file imports.
func (g *mutator) imports(file *ast.File) {
	for i, s := range file.Imports {
		g.add("drop import", g.put(s, ""))
		g.add("import of another", g.put(s.Path, `"fmt"`))
		if s.Name == nil {
			g.add("import under another name", g.before(s, ". "))
			g.add("import under another name", g.before(s, "_ "))
			g.add("import under another name", g.before(s, path.Base(strings.Trim(s.Path.Value, `"`))+" "))
		}
		if i > 0 && s.Name == nil && file.Imports[i-1].Name == nil {
			names := [2]string{path.Base(strings.Trim(s.Path.Value, `"`)), path.Base(strings.Trim(file.Imports[i-1].Path.Value, `"`))}
			g.add("swap names of imports", g.before(s, names[1]+" "), g.before(file.Imports[i-1], names[0]+" "))
		}
	}
	g.add("import of C", g.after(file.Name, "\n\nimport \"C\""))
	g.add("import for effects", g.after(file.Name, "\n\nimport _ \"net/http/pprof\""))
}

// packages changes which files there are.
func (g *mutator) packages() {
	add := func(op, what string, change func(files []readback.File) []readback.File) {
		g.list = append(g.list, mutant{op: op, what: what, files: change})
	}
	for i, f := range g.s.files {
		ext := filepath.Ext(f.Name)
		for _, to := range []string{strings.TrimSuffix(f.Name, ext) + "_windows" + ext, strings.TrimSuffix(f.Name, ext) + "_test" + ext, "_" + f.Name, "../" + f.Name, f.Name + ".txt"} {
			add("name of a file", f.Name+" becomes "+to, func(files []readback.File) []readback.File {
				files[i].Name = to
				return files
			})
		}
		add("drop a file", f.Name, func(files []readback.File) []readback.File { return slices.Delete(files, i, i+1) })
		add("double a file", f.Name, func(files []readback.File) []readback.File {
			return append(files, readback.File{Name: "more" + ext, Data: f.Data})
		})
		add("shadow a file", f.Name, func(files []readback.File) []readback.File {
			return append(files, readback.File{Name: f.Name, Data: []byte("package " + g.s.facts.Package + "\n")})
		})
	}
	for _, f := range []readback.File{
		{Name: "more.go", Data: []byte("package " + g.s.facts.Package + "\n")},
		{Name: "more.s", Data: []byte("TEXT ·f(SB),7,$0\nRET\n")},
		{Name: "more.c", Data: []byte("int f;\n")},
		{Name: "more.syso", Data: []byte("x")},
		{Name: "go.mod", Data: []byte("module program\n")},
		{Name: "weights.bin", Data: []byte("x")},
	} {
		add("add a file", f.Name, func(files []readback.File) []readback.File { return append(files, f) })
	}
}

// next returns the float32 after f, or before.
func next(f float32, by int32) float32 {
	return math.Float32frombits(uint32(int32(math.Float32bits(f)) + by))
}

// kernelsBySignature returns the kernels of kernels/cpu by the text of their parameters'
// types.
var kernelSignatures = sync.OnceValues(func() (map[string][]string, error) {
	kernels := make(map[string][]string)
	err := eachKernel(func(d *ast.FuncDecl, types []string) {
		key := strings.Join(types, " ")
		if !slices.Contains(kernels[key], d.Name.Name) {
			kernels[key] = append(kernels[key], d.Name.Name)
		}
	})
	for _, key := range slices.Collect(maps.Keys(kernels)) {
		slices.Sort(kernels[key])
	}
	return kernels, err
})

func kernelsBySignature(t testing.TB) map[string][]string {
	t.Helper()
	kernels, err := kernelSignatures()
	if err != nil {
		t.Fatal(err)
	}
	return kernels
}

// eachKernel calls yield for each exported function of kernels/cpu without results whose
// parameters begin with a pointer.
func eachKernel(yield func(d *ast.FuncDecl, types []string)) error {
	paths, err := fs.Glob(ggmlc.Sources, "kernels/cpu/*.go")
	if err != nil {
		return err
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		data, err := fs.ReadFile(ggmlc.Sources, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() && fn.Type.Results == nil {
				if types := typesOf(fn, string(data), int(file.FileStart)); len(types) > 2 && types[0] == "unsafe.Pointer" {
					yield(fn, types)
				}
			}
		}
	}
	return nil
}

// typesOf returns the texts of the types of a function's parameters, each as often as there
// are names.
func typesOf(fn *ast.FuncDecl, src string, base int) []string {
	var types []string
	for _, p := range fn.Type.Params.List {
		for range p.Names {
			types = append(types, src[int(p.Type.Pos())-base:int(p.Type.End())-base])
		}
	}
	return types
}

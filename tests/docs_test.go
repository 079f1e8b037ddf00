package tests

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// pagesOf returns the Markdown files of the repository, by their paths from its root.
func pagesOf(t *testing.T, root string) map[string]string {
	pages := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return skipDir(err)
		}
		if !d.IsDir() && filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			pages[filepath.ToSlash(rel)] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages["README.md"] == "" || pages["ARCHITECTURE.md"] == "" {
		t.Fatal("README.md or ARCHITECTURE.md was not found")
	}
	return pages
}

func skipDir(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

var (
	link     = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Links lead to files, and to headings where they name one.
func TestLinksResolve(t *testing.T) {
	root := needtest.Root(t)
	pages := pagesOf(t, root)
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(page), m[1]))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link to %s is dead", page, m[1])
			} else if m[2] != "" && !hasHeading(pages[target], m[2]) {
				t.Errorf("%s: %s has no heading for the link to %s", page, target, m[2])
			}
		}
	}
}

// hasHeading reports whether a page has a heading with that anchor, as GitHub makes them.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		id := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if "#"+id == anchor {
			return true
		}
	}
	return false
}

// referringPages are those whose code spans are checked: names and files in them exist.
var referringPages = []string{"ARCHITECTURE.md", "CONTRIBUTING.md"}

var (
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	goName    = regexp.MustCompile(`^((?:[a-z0-9_]+/)*[a-z0-9_]+)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)$`)
	fileName  = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
)

func TestNamesInPagesExist(t *testing.T) {
	root := needtest.Root(t)
	names := &declarations{root: root, packages: make(map[string]map[string]bool)}
	pages := pagesOf(t, root)
	for _, page := range referringPages {
		text := codeBlock.ReplaceAllString(pages[page], "")
		checked := 0
		for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
			found, err := names.resolve(m[1])
			if err != nil {
				t.Errorf("%s: `%s`: %v", page, m[1], err)
			}
			if found {
				checked++
			}
		}
		if checked < 10 {
			t.Errorf("%s: only %d names were recognized: does the test still read it?", page, checked)
		}
	}
}

// TestPagesInSourcesExist looks for the Markdown files in capitals that the Makefile and comments name: beside the
// file, in the root, or in docs.
func TestPagesInSourcesExist(t *testing.T) {
	root := needtest.Root(t)
	found := 0
	for _, file := range append(goFilesOf(t, root), "Makefile", ".ci/run", ".ci/fuzz", ".ci/replay") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if file == "tests/docs_test.go" {
			continue // it names some that do not exist
		}
		for _, name := range pageInCapitals.FindAllString(string(text), -1) {
			found++
			known := func(dir string) bool { _, err := os.Stat(filepath.Join(root, dir, name)); return err == nil }
			if !slices.ContainsFunc([]string{filepath.Dir(file), ".", "docs"}, known) {
				t.Errorf("%s names %s, which the repository does not have", file, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d names were found", found)
	}
}

var pageInCapitals = regexp.MustCompile(`\b[A-Z]{4,}\.md\b`)

// goFilesOf returns the Go files of the repository, by their paths from its root.
func goFilesOf(t *testing.T, root string) (files []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return skipDir(err)
		}
		if rel, err := filepath.Rel(root, path); err == nil && filepath.Ext(path) == ".go" && !d.IsDir() {
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Declarations that pages of docs name exist. Files are not checked there: a how-to names some that its
// reader is going to write, and measurements keep the names of their day.
func TestDeclarationsInPagesExist(t *testing.T) {
	root := needtest.Root(t)
	names := &declarations{root: root, packages: make(map[string]map[string]bool)}
	checked := 0
	for page, text := range pagesOf(t, root) {
		if !strings.HasPrefix(page, "docs/") || strings.HasPrefix(page, "docs/measurements/") {
			continue
		}
		for _, m := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if name := goName.FindStringSubmatch(m[1]); name == nil || !names.isPackage(name[1]) {
				continue
			}
			if _, err := names.resolve(m[1]); err != nil {
				t.Errorf("%s: `%s`: %v", page, m[1], err)
			}
			checked++
		}
	}
	if checked < 40 {
		t.Errorf("only %d names were recognized", checked)
	}
}

// declarations looks up names of Go packages; packages are read when they are asked for.
type declarations struct {
	root     string
	packages map[string]map[string]bool // by folder, then by Name or Type.Method
}

// resolve reports whether the text of a code span names a declaration or a file. It returns an error if the text
// names one that does not exist.
func (d *declarations) resolve(span string) (bool, error) {
	if m := goName.FindStringSubmatch(span); m != nil && d.isPackage(m[1]) {
		names, err := d.load(m[1])
		if err != nil {
			return false, err
		}
		if !names[m[2]] {
			return false, fmt.Errorf("package %s declares no %s", m[1], m[2])
		}
		return true, nil
	}
	if !fileName.MatchString(span) || !looksLikePath(span) {
		return false, nil
	}
	_, err := os.Stat(filepath.Join(d.root, span))
	return err == nil, err
}

// looksLikePath reports whether the text names a file or folder of the repository.
func looksLikePath(span string) bool {
	first, _, nested := strings.Cut(span, "/")
	switch filepath.Ext(span) {
	case ".go", ".md":
		return true
	}
	return nested && slices.Contains([]string{"cmd", "codegen", "docs", "examples", "frontend", "ir", "kernels", "passes", "runtime", "tests"}, first)
}

func (d *declarations) isPackage(dir string) bool {
	files, err := filepath.Glob(filepath.Join(d.root, dir, "*.go"))
	return err == nil && len(files) > 0
}

// load parses all files of a package, including tests and files for other systems.
func (d *declarations) load(dir string) (map[string]bool, error) {
	if names, ok := d.packages[dir]; ok {
		return names, nil
	}
	files, err := filepath.Glob(filepath.Join(d.root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool)
	d.packages[dir] = names
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, decl := range f.Decls {
			addNames(names, decl)
		}
	}
	return names, nil
}

func addNames(names map[string]bool, decl ast.Decl) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		name := decl.Name.Name
		if decl.Recv != nil {
			name = receiver(decl.Recv.List[0].Type) + "." + name
		}
		names[name] = true
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names[spec.Name.Name] = true
				addFields(names, spec)
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					names[id.Name] = true
				}
			}
		}
	}
}

// addFields adds the fields of a struct and the methods of an interface.
func addFields(names map[string]bool, spec *ast.TypeSpec) {
	var fields *ast.FieldList
	switch t := spec.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return
	}
	for _, f := range fields.List {
		for _, id := range f.Names {
			names[spec.Name.Name+"."+id.Name] = true
		}
	}
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func TestResolveNoticesMissingNames(t *testing.T) {
	names := &declarations{root: needtest.Root(t), packages: make(map[string]map[string]bool)}
	for span, want := range map[string]bool{"tests.declarations.resolve": true, "tests.declarations.root": true, "tests/docs_test.go": true, "Name": false, "go.mod": false} {
		if got, err := names.resolve(span); got != want || err != nil {
			t.Errorf("%s: %v, %v", span, got, err)
		}
	}
	for _, span := range []string{"tests.noSuchName", "tests.declarations.none", "tests/none.txt", "none.go", "DOCS.md"} {
		if _, err := names.resolve(span); err == nil {
			t.Errorf("%s: that it does not exist is not noticed", span)
		}
	}
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// TestReadmeCommandsRun runs every command of the README, with the demo model as the reader's model.
func TestReadmeCommandsRun(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: compiles several programs")
	}
	dir := readmeFolder(t)
	env := append(os.Environ(), needtest.CacheEnv(t, filepath.Join(dir, "cache"))...)
	ran := 0
	for _, block := range shellBlock.FindAllStringSubmatch(pagesOf(t, needtest.Root(t))["README.md"], -1) {
		for line := range strings.Lines(block[1]) {
			command := commandOf(line)
			if command == "" {
				continue
			}
			start := time.Now()
			cmd := exec.Command("sh", "-ec", command)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("README.md: %s: %v\n%s", command, err, out)
			}
			t.Logf("%v %s", time.Since(start).Round(time.Millisecond), command)
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were found in README.md", ran)
	}
}

// readmeFolder returns a folder in which the README's commands work: it contains ggmlc and a model.gguf.
func readmeFolder(t *testing.T) string {
	root, dir := needtest.Root(t), t.TempDir()
	// With the commit of a checkout in them, outputs would differ from pages.
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "ggmlc"), "./cmd/ggmlc")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	model, err := os.ReadFile(filepath.Join(root, "cmd", "ggmlc", "demo", "stories.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model.gguf"), model, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// commandOf returns the command in a line of a shell block, or "" for commands that other tests run: all tests, the
// build of ggmlc, and the downstream module of tests/e2e.
func commandOf(line string) string {
	command, _, _ := strings.Cut(line, " #")
	command = strings.TrimSpace(command)
	if rest, ok := strings.CutPrefix(command, "go run ./cmd/ggmlc "); ok {
		return "./ggmlc " + rest
	}
	if strings.HasPrefix(command, "go ") {
		return ""
	}
	return command
}

var dumpBlock = regexp.MustCompile("(?s)`(\\./ggmlc dump [^`]+)`.*?\n```\n(.*?)```")

// TestReadmeDumpIsReal compares the excerpt of a dump with the output of the command above it. A line of … matches
// any lines.
func TestReadmeDumpIsReal(t *testing.T) {
	root := needtest.Root(t)
	m := dumpBlock.FindStringSubmatch(pagesOf(t, root)["README.md"])
	if m == nil {
		t.Fatal("README.md shows no dump")
	}
	cmd := exec.Command("go", append([]string{"run", "./cmd/ggmlc"}, strings.Fields(m[1])[1:]...)...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", m[1], err)
	}
	for piece := range strings.SplitSeq(m[2], "    …\n") {
		if !bytes.Contains(out, []byte(piece)) {
			t.Errorf("%s does not print\n%s", m[1], piece)
		}
	}
}

var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.]+\.[a-z]+/\S+) v\S+$`)

// TestDependenciesAreExplained: each module that a go.mod requires directly has a line about what it replaces, and no
// line is about any other module.
func TestDependenciesAreExplained(t *testing.T) {
	root := needtest.Root(t)
	page := pagesOf(t, root)["docs/dependencies.md"]
	used := make(map[string]bool)
	for _, pattern := range []string{"go.mod", "kernels/cpu/_asm/go.mod", "docs/*/go.mod", "examples/*/go.mod", "examples/*/*/_asm/go.mod"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no such files (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
		}
	}
	for module := range used {
		if module != "github.com/ggmlc/ggmlc" && !strings.Contains(page, "| `"+module+"` |") {
			t.Errorf("docs/dependencies.md has no line for %s", module)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1) {
		if !used[m[1]] {
			t.Errorf("docs/dependencies.md explains %s, which no go.mod requires", m[1])
		}
	}
}

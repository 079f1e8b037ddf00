// Package api tests generated packages as their users see them: what go doc prints, the example of the reference page,
// and what the functions do.
package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }

// module is the path of the users' module, and that of ggmlc.
const (
	module = "example.com/teller"
	ours   = "github.com/ggmlc/ggmlc"
)

// newModule makes a module that may import ggmlc, without network.
func newModule(t *testing.T) (dir string) {
	t.Helper()
	dir, root := t.TempDir(), needtest.Root(t)
	e2etest.WriteFile(t, filepath.Join(dir, "go.mod"), []byte("module "+module+"\n\ngo 1.26\n\nrequire "+ours+" v0.0.0\n\nreplace "+ours+" => "+root+"\n"))
	return dir
}

// offline is the environment of the Go command.
var offline = []string{"GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off"}

// inModule runs a command in a module.
func inModule(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	return e2etest.Command{Args: args, Dir: dir, Env: offline}.Run(t)
}

// modelFile returns the file of a model: demo, mlp, or a random one of archtest.
func modelFile(t *testing.T, name string) string {
	t.Helper()
	switch name {
	case "demo":
		return e2etest.Demo(t)
	case "mlp":
		return filepath.Join(needtest.Root(t), "examples", "mlp", "mlp.ggir")
	}
	models := slices.Concat(archtest.Models(), archtest.Encoders())
	at := slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == name })
	if at < 0 {
		t.Fatalf("there is no model %q", name)
	}
	path := filepath.Join(t.TempDir(), name+".gguf")
	e2etest.WriteModel(t, path, models[at])
	return path
}

// gen generates a package of a module.
func gen(t *testing.T, dir, pkg, model string, flags ...string) {
	t.Helper()
	args := []string{"gen", modelFile(t, model), "-o", filepath.Join(dir, pkg), "--package", pkg}
	e2etest.GGMLC(t, append(args, flags...)...)
}

// TestGoDoc is what go doc prints about packages of each kind: everything that they export, with the fields of all
// types.
func TestGoDoc(t *testing.T) {
	irtest.RunGoldens(t, "testdata/doc", []string{"gen", "doc"}, func(t *testing.T, g *irtest.Golden) {
		dir, words := newModule(t), strings.Fields(g.Section("gen"))
		gen(t, dir, "story", words[0], words[1:]...)
		got := string(inModule(t, dir, "go", "doc", "-all", "./story"))
		g.Want("doc", got)
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "type ") && strings.Contains(line, " = ") {
				t.Errorf("an alias: %s", line)
			}
		}
	})
}

// examples returns the Go texts of the reference page: a program, and parts of one.
func examples(t *testing.T) (program string, parts []string) {
	t.Helper()
	page := string(e2etest.ReadFile(t, filepath.Join(needtest.Root(t), "docs", "reference", "package.md")))
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1) {
		switch {
		case strings.Contains(m[1], "func main()"):
			program = m[1]
		case strings.Contains(m[1], "story."):
			parts = append(parts, m[1])
		}
	}
	if program == "" || len(parts) != 1 {
		t.Fatalf("the page has the program %q and %d parts", program, len(parts))
	}
	return program, parts
}

// howto returns the file that the Go texts of the how-to page make together.
func howto(t *testing.T) (file string) {
	t.Helper()
	page := string(e2etest.ReadFile(t, filepath.Join(needtest.Root(t), "docs", "howto", "service.md")))
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1) {
		file += m[1] + "\n"
	}
	return strings.Replace(file, "package teller", "package main", 1)
}

// TestUsers runs the tests of testdata/teller in a module that uses generated packages, and the program of the
// reference page.
func TestUsers(t *testing.T) {
	needtest.Slow(t, "e2e")
	dir := newModule(t)
	gen(t, dir, "story", "demo", "--kv", "f32", "--sequences", "3")
	gen(t, dir, "parity", "mlp")
	gen(t, dir, "encoder", "bert-mean")
	one := []string{"--kv", "f32", "--batch", "4", "--observe", "^(v37|v70|v103|v136)$"} // of each layer
	gen(t, dir, "seen", "demo", one...)
	gen(t, dir, "seendevice", "demo", append(one, "--targets", "fake:0,cpu", "--pin", "blk.*=fake:0", "--pipeline", "2")...)
	program, parts := examples(t)
	e2etest.WriteFile(t, filepath.Join(dir, "main.go"), []byte(program))
	e2etest.WriteFile(t, filepath.Join(dir, "part.go"), []byte("package main\n\nimport (\n\t\"math\"\n\n\t\""+module+"/story\"\n)\n\n"+
		"func part(options story.GenerateOptions) story.GenerateOptions {\n"+parts[0]+"\treturn options\n}\n\nvar _ = part\n"))
	e2etest.WriteFile(t, filepath.Join(dir, "service.go"), []byte(howto(t)))
	tests, err := os.ReadDir("testdata/teller")
	if err != nil || len(tests) == 0 {
		t.Fatal(err)
	}
	for _, f := range tests {
		e2etest.CopyFile(t, filepath.Join("testdata/teller", f.Name()), filepath.Join(dir, f.Name()))
	}
	inModule(t, dir, "go", "vet", "./...")
	out := string(inModule(t, dir, "go", "run", "."))
	if !regexp.MustCompile(`(?s)^.+\n(end|stop|length) after \d+ tokens, seed [1-9]\d*, \S+s\n$`).MatchString(out) {
		t.Errorf("the program of the page prints %q", out)
	}
	test := exec.Command("go", "test", "-count=1", "./...")
	test.Dir, test.Env = dir, append(os.Environ(), offline...)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

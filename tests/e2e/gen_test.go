package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// downstream is another module: its go.mod, and a program that uses the package made by go generate. The program
// prints what emitted programs print, so that the same comparison applies.
var downstream = map[string]string{
	"go.mod": "module example.com/teller\n\ngo 1.26\n",
	"story/generate.go": `// Package story tells stories.
package story

DIRECTIVE go tool ggmlc gen MODEL -o . --package story --kv f32
`,
	"main.go": `// Command teller continues a prompt.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"

	"example.com/teller/story"
)

var (
	prompt    = flag.String("prompt", "", "text to go on from")
	count     = flag.Int("n", 0, "tokens")
	ignoreEOS = flag.Bool("ignore-eos", false, "go on after the end")
	steps     = flag.Bool("steps", false, "choose tokens here, from the logits of Prefill and Decode")
	threads   = flag.Int("threads", 0, "workers")
	_         = flag.Bool("json", true, "always")
	_         = flag.Bool("logits", true, "always")
)

type line struct {
	ID     int32     ` + "`json:\"id\"`" + `
	Text   string    ` + "`json:\"text\"`" + `
	Logits []float32 ` + "`json:\"logits\"`" + `
}

func main() {
	flag.Parse()
	if err := tell(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func tell(ctx context.Context) error {
	model, err := story.Open(story.Options{Threads: *threads})
	if err != nil {
		return err
	}
	defer model.Close()
	s, err := model.NewSession()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	generated := 0
	o := story.GenerateOptions{MaxTokens: *count, IgnoreEOG: *ignoreEOS}
	if *steps {
		o.MaxTokens = 1
	}
	var last int32
	for token, err := range s.Generate(ctx, *prompt, o) {
		if err != nil {
			return err
		}
		if err := out.Encode(line{token.ID, token.Text, token.Logits}); err != nil {
			return err
		}
		last = token.ID
		generated++
	}
	promptTokens := s.Len() - max(0, generated-1)
	for ; *steps && generated < *count; generated++ {
		var logits []float32
		if logits, err = s.Decode(ctx, last); err != nil {
			return err
		}
		last = largest(logits)
		if err := out.Encode(line{last, "", logits}); err != nil {
			return err
		}
	}
	return out.Encode(map[string]any{"summary": map[string]int{"prompt_tokens": promptTokens, "generated": generated}})
}

func largest(logits []float32) (id int32) {
	for i, l := range logits {
		if l > logits[id] {
			id = int32(i)
		}
	}
	return id
}
`,
}

// makeDownstream writes the module, adds the tool as described in the README, and generates the package.
func makeDownstream(t *testing.T) (dir string) {
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "story"), 0o777); err != nil {
		t.Fatal(err)
	}
	// The directive is assembled here: go generate would find it in this file.
	fill := strings.NewReplacer("MODEL", e2etest.AIDreams(t), "DIRECTIVE", "//go:"+"generate")
	for name, text := range downstream {
		e2etest.WriteFile(t, filepath.Join(dir, name), []byte(fill.Replace(text)))
	}
	const ours = "github.com/ggmlc/ggmlc"
	inModule(t, dir, "go", "mod", "edit", "-require="+ours+"@v0.0.0", "-replace="+ours+"="+needtest.Root(t), "-tool="+ours+"/cmd/ggmlc")
	inModule(t, dir, "go", "mod", "tidy")
	inModule(t, dir, "go", "generate", "./...")
	return dir
}

func inModule(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	return e2etest.Command{Args: args, Dir: dir, Env: []string{"GOWORK=off"}}.Run(t)
}

func TestDownstreamModuleTellsTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	dir := makeDownstream(t)
	inModule(t, dir, "go", "vet", "./...")
	if out := inModule(t, dir, "gofmt", "-l", "."); len(out) > 0 {
		t.Errorf("not formatted: %s", out)
	}

	inModule(t, dir, "go", "build", "-o", "teller", ".")
	exe := filepath.Join(dir, "teller")
	refs := e2etest.AIDreamsReferences(t)
	e2etest.Executable(exe).TellsAll(t, refs)
	e2etest.Executable(exe, "--steps", "--threads", "2").Tells(t, refs[0])

	inModule(t, dir, "go", "build", "-tags", "purego", "-o", "teller-purego", ".")
	e2etest.Executable(filepath.Join(dir, "teller-purego")).Tells(t, refs[1])
}

// TestGenCheckNoticesAChangedPackage recompiles without model file and weights.
func TestGenCheckNoticesAChangedPackage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "story")
	e2etest.GGMLC(t, "gen", e2etest.Demo(t), "-o", dir, "--package", "story")
	if err := os.Remove(filepath.Join(dir, "weights.bin")); err != nil {
		t.Fatal(err)
	}
	check := []string{"gen", "--check", e2etest.Demo(t), "-o", dir, "--package", "story"}
	e2etest.GGMLC(t, check...)

	steps := filepath.Join(dir, "steps.go")
	e2etest.WriteFile(t, steps, bytes.Replace(e2etest.ReadFile(t, steps), []byte("0x"), []byte("0x1"), 1))
	out, err := exec.Command(e2etest.Path(), check...).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !bytes.Contains(out, []byte("steps.go")) {
		t.Errorf("a changed steps.go: %v, and the diff is %q", err, out)
	}
}

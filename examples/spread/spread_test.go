package spread_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/cmd/ggmlc/demo"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

const machineFile = "machine.targets"

// model is the demo model, whose reference was computed with an f32 cache.
const model = "../../cmd/ggmlc/demo/" + demo.Name

// pinTexts are those of the README.
var pinTexts = []string{`blk\.[01]\.=gpu`, `blk\.[23]\..*(attn_[qkv]|ffn_down)\.weight=npu`}

// compile plans the model for the machine.
func compile(t *testing.T, o pass.Options) *driver.Model {
	t.Helper()
	text, err := os.ReadFile(machineFile)
	if err != nil {
		t.Fatal(err)
	}
	targets, err := target.Parse(machineFile, string(text))
	if err != nil {
		t.Fatal(err)
	}
	md, err := driver.Load(t.Context(), model, driver.LoadOptions{KV: dtype.F32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { md.Close() })
	if _, err := driver.Compile(t.Context(), md, driver.CompileOptions{Targets: targets, Passes: o}); err != nil {
		t.Fatal(err)
	}
	return md
}

// backends counts the nodes of each backend.
func backends(md *driver.Model) map[string]int {
	count := make(map[string]int)
	for _, f := range md.Module.AllFuncs() {
		for _, n := range f.Nodes {
			count[n.Backend]++
		}
	}
	return count
}

func pins(t *testing.T) []pass.Pin {
	t.Helper()
	var list []pass.Pin
	for _, text := range pinTexts {
		p, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// TestPinsSpread: with the README's pins all three backends have work. The rules ggml-2024 are
// left out: they put nodes on the neural processor that it does not run.
func TestPinsSpread(t *testing.T) {
	for _, rules := range []string{"cost", "ggml-2026"} {
		count := backends(compile(t, pass.Options{Rules: rules, Pins: pins(t)}))
		for _, name := range []string{"gpu", "npu", "cpu"} {
			if count[name] == 0 {
				t.Errorf("--rules %s: nothing runs on %s: %v", rules, name, count)
			}
		}
	}
}

// TestReadmeHasThePins: the command of the README is what is tested here.
func TestReadmeHasThePins(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range append([]string{machineFile}, pinTexts...) {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md lacks %s", want)
		}
	}
}

// reference is a prompt of the demo model with the ids of the most probable tokens, according to the
// tool that trained it.
type reference struct {
	Prompt string
	Tokens []int
	Greedy []int
}

// TestTokens builds the README's program and compares its tokens with the reference.
func TestTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: go build takes seconds")
	}
	data, err := os.ReadFile(strings.TrimSuffix(model, ".gguf") + ".greedy.json")
	if err != nil {
		t.Fatal(err)
	}
	var references []reference
	if err := json.Unmarshal(data, &references); err != nil {
		t.Fatal(err)
	}
	md := compile(t, pass.Options{Pins: pins(t), Pipeline: 2})
	exe := filepath.Join(t.TempDir(), "story.exe") // the ending that Windows wants
	if err := driver.Build(t.Context(), md, driver.OutputOptions{Compiler: "ggmlc", Out: exe}); err != nil {
		t.Fatal(err)
	}
	for _, r := range references[:2] {
		if got, want := generate(t, exe, r.Tokens), r.Greedy[:count]; !slices.Equal(got, want) {
			t.Errorf("%s: tokens %v, want %v", r.Prompt, got, want)
		}
	}
}

// count is how many tokens are compared.
const count = 16

func generate(t *testing.T, exe string, prompt []int) []int {
	t.Helper()
	ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(prompt), " ", ","), "[]")
	cmd := exec.CommandContext(t.Context(), exe, "--tokens", ids, "-n", fmt.Sprint(count), "--json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for line := range bytes.Lines(out) {
		var token struct{ ID *int }
		if err := json.Unmarshal(line, &token); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if token.ID != nil {
			got = append(got, *token.ID)
		}
	}
	return got
}

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// reference holds the results of another program for one prompt. It always chooses the largest logit, and has weights
// and cache in F32.
type reference struct {
	Prompt string
	Tokens []int32   // of the prompt
	Greedy []int32   // generated
	Logits []float64 // of the first generated token
}

// logitDistance is how far the first logits may be from those of the reference.
const logitDistance = 1e-3

// readReferences reads a .greedy.json file.
func readReferences(t testing.TB, path string) []reference {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var refs []reference
	if err := json.Unmarshal(data, &refs); err != nil || len(refs) == 0 {
		t.Fatalf("%s: %d references, error %v", path, len(refs), err)
	}
	return refs
}

// aidreamsReferences returns llama.cpp's tokens: six prompts with 96 ids each.
func aidreamsReferences(t testing.TB) []reference {
	return readReferences(t, needtest.Data(t, "aidreams260K.greedy.json"))
}

// demoReferences returns those of the tool that trained the demo model.
func demoReferences(t testing.TB) []reference {
	return readReferences(t, filepath.Join(filepath.Dir(demo(t)), "stories.greedy.json"))
}

// generated is a line of an emitted program's --json output.
type generated struct {
	ID      *int32
	Text    string
	Logits  []float64
	Summary *struct {
		Prompt    int `json:"prompt_tokens"`
		Generated int
	}
}

// parseTokens parses the output of a program with --json.
func parseTokens(out []byte) ([]generated, error) {
	var lines []generated
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<24) // lines with logits are long
	for s.Scan() {
		var g generated
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			return nil, fmt.Errorf("line %q: %w", s.Text(), err)
		}
		lines = append(lines, g)
	}
	if n := len(lines); n == 0 || lines[n-1].Summary == nil {
		return nil, fmt.Errorf("no summary at the end of %q", out)
	}
	return lines, s.Err()
}

// program is a way to run an emitted program: the words before its own arguments, and additions to the environment.
type program struct {
	words []string
	env   []string
	flags []string
}

func executable(path string, flags ...string) program {
	return program{words: []string{path}, flags: flags}
}

// tells runs the program on the reference's prompt and compares ids, text and logits. The prompt is passed as text,
// so that tokenizing is tested too.
func (p program) tells(t testing.TB, ref reference) {
	t.Helper()
	args := slices.Concat(p.words, []string{"--prompt", ref.Prompt, "-n", fmt.Sprint(len(ref.Greedy)), "--json", "--logits", "--ignore-eos"}, p.flags)
	lines, err := parseTokens(command{args: args, env: p.env}.run(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := ref.compare(lines); err != nil {
		t.Errorf("%q: %v", ref.Prompt, err)
	}
}

// tellsAll calls tells for several references.
func (p program) tellsAll(t testing.TB, refs []reference) {
	t.Helper()
	for _, ref := range refs {
		p.tells(t, ref)
	}
}

// compare returns how the lines of a program differ from the reference.
func (ref reference) compare(lines []generated) error {
	var ids []int32
	for _, l := range lines {
		if l.ID != nil {
			ids = append(ids, *l.ID)
		}
	}
	if !slices.Equal(ids, ref.Greedy) {
		return fmt.Errorf("ids\n got %v\nwant %v", ids, ref.Greedy)
	}
	if got, want := lines[len(lines)-1].Summary.Prompt, len(ref.Tokens); got != want {
		return fmt.Errorf("a prompt of %d tokens, want %d", got, want)
	}
	return closeLogits(lines[0].Logits, ref.Logits)
}

func closeLogits(got, want []float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d logits, want %d", len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(got[i] - want[i]); !(d <= logitDistance) {
			return fmt.Errorf("logit %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// TestCompareNotices: the comparison itself has to be able to fail.
func TestCompareNotices(t *testing.T) {
	ref := reference{Tokens: []int32{1}, Greedy: []int32{5, 6}, Logits: []float64{1, 2}}
	const good = `{"id":5,"text":"a","logits":[1,2.0005]}
{"id":6,"text":"b","logits":[0,0]}
{"summary":{"prompt_tokens":1,"generated":2}}
`
	for _, c := range []struct{ name, from, to, want string }{
		{"equal", "", "", ""},
		{"another id", `"id":6`, `"id":7`, "ids"},
		{"far logits", "2.0005", "2.002", "logit 1"},
		{"not a number", "2.0005", "null", ""},
		{"another prompt", `"prompt_tokens":1`, `"prompt_tokens":2`, "a prompt of 2"},
	} {
		lines, err := parseTokens([]byte(strings.Replace(good, c.from, c.to, 1)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err = ref.compare(lines); c.name == "not a number" {
			if err == nil {
				t.Errorf("%s: not noticed", c.name)
			}
		} else if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := parseTokens([]byte(`{"id":5}`)); err == nil {
		t.Error("a missing summary is not noticed")
	}
}

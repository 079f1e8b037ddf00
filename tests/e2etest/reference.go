package e2etest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// Reference holds the results of another program for one prompt. It always chooses the largest logit, and has weights
// and cache in F32.
type Reference struct {
	Prompt string
	Tokens []int32   // of the prompt
	Greedy []int32   // generated
	Logits []float64 // of the first generated token
}

// logitDistance is how far the first logits may be from those of the reference.
const logitDistance = 1e-3

// readReferences reads a .greedy.json file.
func readReferences(t testing.TB, path string) []Reference {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var refs []Reference
	if err := json.Unmarshal(data, &refs); err != nil || len(refs) == 0 {
		t.Fatalf("%s: %d references, error %v", path, len(refs), err)
	}
	return refs
}

// AIDreamsReferences returns llama.cpp's tokens: six prompts with 96 ids each.
func AIDreamsReferences(t testing.TB) []Reference {
	return readReferences(t, needtest.Data(t, "aidreams260K.greedy.json"))
}

// DemoReferences returns those of the tool that trained the demo model.
func DemoReferences(t testing.TB) []Reference {
	return readReferences(t, filepath.Join(filepath.Dir(Demo(t)), "stories.greedy.json"))
}

// Generated is a line of an emitted program's --json output.
type Generated struct {
	ID      *int32
	Text    string
	Logits  []float64
	Summary *struct {
		Prompt    int `json:"prompt_tokens"`
		Generated int
	}
}

// ParseTokens parses the output of a program with --json.
func ParseTokens(out []byte) ([]Generated, error) {
	var lines []Generated
	s := bufio.NewScanner(bytes.NewReader(out))
	s.Buffer(nil, 1<<24) // lines with logits are long
	for s.Scan() {
		var g Generated
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

// Program is a way to run an emitted program: the words before its own arguments, and additions to the environment.
type Program struct {
	Words []string
	Env   []string
	Flags []string
}

// Executable returns the way to run an executable of this machine.
func Executable(path string, flags ...string) Program {
	return Program{Words: []string{path}, Flags: flags}
}

// Tells runs the program on the reference's prompt and compares ids, text and logits. The prompt is passed as text,
// so that tokenizing is tested too.
func (p Program) Tells(t testing.TB, ref Reference) {
	t.Helper()
	args := slices.Concat(p.Words, []string{"--prompt", ref.Prompt, "-n", fmt.Sprint(len(ref.Greedy)), "--json", "--logits", "--ignore-eos"}, p.Flags)
	lines, err := ParseTokens(Command{Args: args, Env: p.Env}.Run(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := ref.Compare(lines); err != nil {
		t.Errorf("%q: %v", ref.Prompt, err)
	}
}

// TellsAll calls tells for several references.
func (p Program) TellsAll(t testing.TB, refs []Reference) {
	t.Helper()
	for _, ref := range refs {
		p.Tells(t, ref)
	}
}

// Compare returns how the lines of a program differ from the reference.
func (ref Reference) Compare(lines []Generated) error {
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

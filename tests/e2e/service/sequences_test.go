package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// sharedPrompts have common beginnings and different lengths.
var sharedPrompts = []string{
	"Once upon a time", "Once upon a time there was a girl named Lily. She", "The dog", "a", "Once upon a time there was a dog",
	"Lily and Tom went to the park to play with a big red ball and a small blue boat. They were very happy and", "The dog ran", "It was a sunny day",
}

// lineToken is a line of --prompts --json, with the logits as they are printed.
type lineToken struct {
	Line   int
	ID     int32
	Logits json.RawMessage
}

// tokensByLine runs a program and returns what it prints for each line of the prompts; 0 for a single prompt.
func tokensByLine(t *testing.T, exe string, args ...string) map[int][]lineToken {
	t.Helper()
	lines := make(map[int][]lineToken)
	for _, text := range bytes.Split(bytes.TrimSpace(e2etest.Command{Args: append([]string{exe, "--json"}, args...)}.Run(t)), []byte("\n")) {
		if bytes.HasPrefix(text, []byte(`{"summary"`)) {
			continue
		}
		var l lineToken
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		lines[l.Line] = append(lines[l.Line], l)
	}
	return lines
}

func sameTokens(a, b []lineToken) bool {
	return slices.EqualFunc(a, b, func(a, b lineToken) bool { return a.ID == b.ID && bytes.Equal(a.Logits, b.Logits) })
}

// TestSequencesGenerateWhatOneDoes compares tokens and logits of prompts that are continued together, bit for bit, with
// those of a program without --sequences.
func TestSequencesGenerateWhatOneDoes(t *testing.T) {
	prompts := filepath.Join(t.TempDir(), "prompts.txt")
	e2etest.WriteFile(t, prompts, []byte(strings.Join(sharedPrompts, "\n")))
	for _, flags := range [][]string{
		{"--batch", "16"}, {"--quantize", "Q8_0", "--kv", "f32"}, {"--quantize", "Q4_0", "--ctx", "1000"}, {"--cpu", "generic"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			alone := e2etest.Build(t, e2etest.AIDreams(t), flags...)
			together := e2etest.Build(t, e2etest.AIDreams(t), append([]string{"--sequences", "5"}, flags...)...)
			for _, sampling := range [][]string{{"-n", "40"}, {"-n", "25", "--temp", "0.9", "--seed", "7"}} {
				args := append([]string{"--logits", "--ignore-eos"}, sampling...)
				got := tokensByLine(t, together, append([]string{"--prompts", prompts}, args...)...)
				for i, p := range sharedPrompts {
					want := tokensByLine(t, alone, append([]string{"--prompt", p}, args...)...)[0]
					if len(want) < 25 || !sameTokens(got[i+1], want) {
						t.Errorf("%v: line %d: %d tokens, not the %d of the prompt alone", sampling, i+1, len(got[i+1]), len(want))
					}
				}
			}
		})
	}
}

// TestSequencesHaveNoRaces runs sequences under Go's race detector, with kernels in Go.
func TestSequencesHaveNoRaces(t *testing.T) {
	needtest.Slow(t, "race")
	needtest.Tool(t, "race", "gcc")
	exe := e2etest.Build(t, e2etest.AIDreams(t), "--sequences", "3", "--race", "--tags", "purego")
	prompts := filepath.Join(t.TempDir(), "prompts.txt")
	e2etest.WriteFile(t, prompts, []byte(strings.Join(sharedPrompts, "\n")))
	if lines := tokensByLine(t, exe, "--prompts", prompts, "-n", "20", "--threads", "2"); len(lines) != len(sharedPrompts) {
		t.Errorf("%d answers to %d prompts", len(lines), len(sharedPrompts))
	}
}

// TestSavedSequencesGoOn saves a sequence after some tokens, and continues from it in another process.
func TestSavedSequencesGoOn(t *testing.T) {
	exe, dir := e2etest.Build(t, e2etest.AIDreams(t), "--sequences", "2", "--batch", "16"), t.TempDir()
	const all = 40
	for i, p := range sharedPrompts {
		want := tokensByLine(t, exe, "--prompt", p, "-n", strconv.Itoa(all), "--logits", "--ignore-eos")[0]
		first, file := 1+7*i%(all-1), filepath.Join(dir, "saved")
		got := tokensByLine(t, exe, "--prompt", p, "-n", strconv.Itoa(first), "--logits", "--ignore-eos", "--save", file)[0]
		got = append(got, tokensByLine(t, exe, "--load", file, "-n", strconv.Itoa(all-first), "--logits", "--ignore-eos")[0]...)
		if !sameTokens(got, want) {
			t.Errorf("%q, saved after %d tokens: %d tokens differ from the %d without a break", p, first, len(got), len(want))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".ggmlc-*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// TestDamagedSequencesAreRefused has files that the program must not continue from.
func TestDamagedSequencesAreRefused(t *testing.T) {
	exe, dir := e2etest.Build(t, e2etest.AIDreams(t)), t.TempDir()
	good := filepath.Join(dir, "good")
	tokensByLine(t, exe, "--prompt", "Once upon", "-n", "5", "--save", good)
	data := e2etest.ReadFile(t, good)
	flipped := slices.Clone(data)
	flipped[len(data)/2] ^= 1
	for _, c := range []struct {
		name string
		exe  string
		data []byte
		want string
	}{
		{"cut", exe, data[:len(data)-1], "it was cut off"},
		{"empty", exe, nil, "it was cut off"},
		{"flipped", exe, flipped, "its checksum is not that of its contents"},
		{"longer", exe, append(slices.Clone(data), 0), "something was appended to it"},
		{"a model", exe, e2etest.ReadFile(t, e2etest.AIDreams(t)), "it does not begin as one does"},
		{"another program's", e2etest.Build(t, e2etest.AIDreams(t), "--kv", "f32"), data, "it was saved by a program with plan"},
	} {
		file := filepath.Join(dir, "file")
		e2etest.WriteFile(t, file, c.data)
		status, errs := fails(t, c.exe, "--load", file, "-n", "3")
		if status != 1 || !strings.Contains(errs, file+": saved sequence: ") || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit status %d, %s", c.name, status, errs)
		}
	}
}

// fails runs a program and returns its exit status and what it prints to standard error.
func fails(t *testing.T, exe string, args ...string) (status int, errs string) {
	t.Helper()
	cmd := exec.Command(exe, args...)
	var b bytes.Buffer
	cmd.Stderr = &b
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%v: error %v, output %s", args, err, out)
	}
	return exit.ExitCode(), b.String()
}

// TestPromptsRefuseWrongUse has command lines about several sequences that cannot work.
func TestPromptsRefuseWrongUse(t *testing.T) {
	exe, dir := e2etest.Build(t, e2etest.AIDreams(t), "--sequences", "2"), t.TempDir()
	prompts, empty := filepath.Join(dir, "prompts"), filepath.Join(dir, "empty")
	e2etest.WriteFile(t, prompts, []byte("a\nb\r\n\nc"))
	e2etest.WriteFile(t, empty, []byte("\n\n"))
	for _, c := range []struct {
		status int
		want   string
		args   []string
	}{
		{2, "this program was built for 2 at a time: build it with --sequences 3", []string{"--prompts", prompts, "--parallel", "3"}},
		{2, "leave --prompt, --tokens, --save and --load out", []string{"--prompts", prompts, "--save", "x"}},
		{2, "--parallel: give --prompts FILE with it", []string{"--parallel", "2", "--prompt", "a"}},
		{1, "it has no lines", []string{"--prompts", empty}},
		{1, "no such file", []string{"--prompts", filepath.Join(dir, "none")}},
		{1, "no such file", []string{"--load", filepath.Join(dir, "none")}},
		{1, "cannot be written", []string{"--prompt", "a", "--save", filepath.Join(dir, "none", "x")}},
		{2, "this program was built for 2 at a time", []string{"bench", "--sequences", "3"}},
	} {
		status, errs := fails(t, exe, c.args...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit status %d, %s", c.args, status, errs)
		}
	}
	if lines := tokensByLine(t, exe, "--prompts", prompts, "-n", "2"); fmt.Sprint(len(lines[1]), len(lines[2]), len(lines[3]), len(lines[4])) != "2 2 0 2" {
		t.Errorf("lines %v", lines)
	}
}

// TestSequencesBesideOtherEntries builds for several sequences with logits and states after each token of a prompt. The
// tokens of lines are those of a program for sequences alone, and a text has the perplexity and the embedding that a
// program without sequences gives it.
func TestSequencesBesideOtherEntries(t *testing.T) {
	prompts, text := filepath.Join(t.TempDir(), "prompts.txt"), filepath.Join(t.TempDir(), "text")
	e2etest.WriteFile(t, prompts, []byte(strings.Join(sharedPrompts[:3], "\n")))
	e2etest.WriteFile(t, text, []byte(strings.Repeat(sharedPrompts[5]+". ", 20)))
	all := e2etest.Build(t, e2etest.AIDreams(t), "--sequences", "3", "--all-logits", "--embeddings")
	plain := e2etest.Build(t, e2etest.AIDreams(t), "--sequences", "3")
	one := e2etest.Build(t, e2etest.AIDreams(t), "--all-logits", "--embeddings")
	args := []string{"--prompts", prompts, "-n", "20"}
	if got, want := tokensByLine(t, all, args...), tokensByLine(t, plain, args...); len(want) != 3 || !slices.EqualFunc(got[1], want[1], func(a, b lineToken) bool { return a.ID == b.ID }) {
		t.Errorf("tokens %v, want %v", got, want)
	}
	for _, args := range [][]string{{"perplexity", "--file", text, "--chunk", "64"}, {"embed", sharedPrompts[1]}} {
		got := e2etest.Command{Args: append([]string{all}, args...)}.Run(t)
		if want := (e2etest.Command{Args: append([]string{one}, args...)}).Run(t); !bytes.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %q, want %q", args[0], got, want)
		}
	}
}

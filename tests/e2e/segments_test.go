package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// longContext makes the context of aidreams260K so long that the attention of one token is divided into segments.
var longContext = []string{"--ctx", "8192"}

// TestLogitsDoNotDependOnSegments generates after prompts that end near the borders of segments. The bits of the
// logits do not depend on which worker computes a segment, on whether attention is divided, nor on whether a token is
// part of a prompt.
func TestLogitsDoNotDependOnSegments(t *testing.T) {
	model, dir := aidreams(t), t.TempDir()
	dump := filepath.Join(dir, "cut.ggir")
	ggmlc(t, slices.Concat([]string{"dump", "--after", "check", "-o", dump}, longContext, []string{model})...)
	if !bytes.Contains(readFile(t, dump), []byte("attention_segments")) {
		t.Fatal("no attention is cut")
	}
	cut := build(t, dump)
	whole := build(t, model, slices.Concat(longContext, []string{"--disable", "fuse-late.segments"})...)
	type run struct {
		name  string
		words []string
	}
	runs := []run{{"2 threads", []string{cut, "--threads", "2"}}, {"3 threads", []string{cut, "--threads", "3"}},
		{"16 threads", []string{cut, "--threads", "16"}}, {"not cut", []string{whole, "--threads", "2"}}}
	if needtest.Required("e2e") {
		runs = append(runs, run{"8 threads", []string{cut, "--threads", "8"}},
			run{"generic", []string{buildTo(t, filepath.Join(dir, "generic"), nil, model, slices.Concat(longContext, []string{"--cpu", "generic"})...), "--threads", "2"}},
			run{"on devices", []string{buildTo(t, filepath.Join(dir, "device"), nil, model, slices.Concat(longContext, []string{"--targets", "fake:0,cpu", "--pin", "blk.2.*=fake:0"})...), "--threads", "2"}})
	}
	for _, prompt := range []int{3, 505, 1019} {
		const n = 12
		tokens := storyTokens(prompt)
		want := logitsAfter(t, []string{cut, "--threads", "1"}, tokens, n)
		for _, r := range runs {
			got := logitsAfter(t, r.words, tokens, n)
			if r.name == "generic" {
				continue // other kernels round differently
			}
			if !slices.Equal(got, want) {
				t.Errorf("a prompt of %d tokens, %s: other logits than with one thread", prompt, r.name)
			}
		}
		last := logitsAfter(t, []string{cut}, append(tokens, idsOf(t, want[:n-1])...), 1)
		if last[0] != want[n-1] {
			t.Errorf("behind %d tokens: the last logits differ when the tokens before are a prompt", prompt+n-1)
		}
	}
}

// storyTokens returns n ids below 512, the size of the vocabulary of aidreams260K.
func storyTokens(n int) []int {
	tokens := make([]int, n)
	for i := range tokens {
		tokens[i] = 3 + i*i*37%500
	}
	return tokens
}

// logitsAfter returns a line with id and logits for each of n tokens after a prompt.
func logitsAfter(t *testing.T, words []string, tokens []int, n int) []string {
	t.Helper()
	args := slices.Concat(words, []string{"--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(tokens), " ", ","), "[]"),
		"-n", fmt.Sprint(n), "--json", "--logits", "--ignore-eos"})
	lines := strings.Split(string(command{args: args, env: []string{"GOMAXPROCS=16"}}.run(t)), "\n")
	if len(lines) < n {
		t.Fatalf("%d lines, want %d tokens", len(lines), n)
	}
	return lines[:n]
}

// idsOf returns the ids of lines.
func idsOf(t *testing.T, lines []string) []int {
	t.Helper()
	ids := make([]int, len(lines))
	for i, line := range lines {
		var g generated
		if err := json.Unmarshal([]byte(line), &g); err != nil || g.ID == nil {
			t.Fatalf("line %q: %v", line, err)
		}
		ids[i] = int(*g.ID)
	}
	return ids
}

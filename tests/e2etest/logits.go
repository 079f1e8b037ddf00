package e2etest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// StoryTokens returns n ids below 512, the size of the vocabulary of aidreams260K.
func StoryTokens(n int) []int {
	tokens := make([]int, n)
	for i := range tokens {
		tokens[i] = 3 + i*i*37%500
	}
	return tokens
}

// LogitsAfter returns a line with id and logits for each of n tokens after a prompt.
func LogitsAfter(t *testing.T, words []string, tokens []int, n int) []string {
	t.Helper()
	args := slices.Concat(words, []string{"--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(tokens), " ", ","), "[]"),
		"-n", fmt.Sprint(n), "--json", "--logits", "--ignore-eos"})
	lines := strings.Split(string(Command{Args: args, Env: []string{"GOMAXPROCS=16"}}.Run(t)), "\n")
	if len(lines) < n {
		t.Fatalf("%d lines, want %d tokens", len(lines), n)
	}
	return lines[:n]
}

// IDsOf returns the ids of lines.
func IDsOf(t *testing.T, lines []string) []int {
	t.Helper()
	ids := make([]int, len(lines))
	for i, line := range lines {
		var g Generated
		if err := json.Unmarshal([]byte(line), &g); err != nil || g.ID == nil {
			t.Fatalf("line %q: %v", line, err)
		}
		ids[i] = int(*g.ID)
	}
	return ids
}

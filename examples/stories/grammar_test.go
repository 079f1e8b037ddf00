package main

import (
	"regexp"
	"strings"
	"testing"
)

func testStories(seed uint64, n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = Story(seed, uint64(i))
	}
	return texts
}

func TestStoryIsDecidedBySeedAndNumber(t *testing.T) {
	if Story(1, 5) != Story(1, 5) {
		t.Error("the same story came out differently")
	}
	seen := map[string]bool{}
	for _, seed := range []uint64{1, 2} {
		for _, text := range testStories(seed, 100) {
			seen[text] = true
		}
	}
	if len(seen) < 195 {
		t.Errorf("%d different stories of 200", len(seen))
	}
}

// TestStoriesAreWellFormed looks for the traces of mistakes in templates.
func TestStoriesAreWellFormed(t *testing.T) {
	bad := regexp.MustCompile(`[{}\[\]|]|  |[.!?] [a-z]|\." [a-z]`)
	for _, text := range testStories(3, 2000) {
		if at := bad.FindStringIndex(text); at != nil {
			t.Fatalf("at %d of: %s", at[0], text)
		}
		if strings.Count(text, `"`)%2 != 0 {
			t.Fatalf("an open quotation in: %s", text)
		}
	}
}

// TestLostToysAreFound holds each story about a lost toy to its facts: the toy
// that is lost is the one that is found.
func TestLostToysAreFound(t *testing.T) {
	lost := regexp.MustCompile(`"I lost my (\w+ \w+),"`)
	stories := 0
	for _, text := range testStories(4, 2000) {
		m := lost.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		stories++
		if !strings.Contains(text, "there was the "+m[1]+"!") {
			t.Errorf("the %s was never found: %s", m[1], text)
		}
	}
	if stories < 100 {
		t.Errorf("only %d of 2000 stories have a lost toy", stories)
	}
}

func TestAlternatives(t *testing.T) {
	tests := map[string][]string{
		"a":           {"a"},
		"a|b":         {"a", "b"},
		"a|":          {"a", ""},
		"a [b|c]|{d}": {"a [b|c]", "{d}"},
	}
	for in, want := range tests {
		if got := alternatives(in); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("alternatives(%q) = %q, not %q", in, got, want)
		}
	}
}

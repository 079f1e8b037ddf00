package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"example.com/teller/story"
)

// TestHowTo runs what the how-to page has.
func TestHowTo(t *testing.T) {
	c := &Counts{}
	m, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if !fits(m, prompt, 10) || fits(m, prompt, m.ContextLength()) || fits(m, strings.Repeat(prompt, 100), 1) {
		t.Error("fits")
	}
	text, sum, err := answer(t.Context(), m, prompt, 0)
	again, _, _ := answer(t.Context(), m, prompt, sum.Seed)
	if err != nil || text == "" || text != again || c.generated.Load() != 2*int64(sum.Generated) || c.failed.Load() != 0 {
		t.Errorf("%q and %q, %+v, %v, %d generated", text, again, sum, err, c.generated.Load())
	}
	_, sum, err = answer(t.Context(), m, strings.Repeat(prompt, 100), 1)
	if status(err) != http.StatusRequestEntityTooLarge || sum.Finish != story.FinishContext {
		t.Errorf("a long prompt: %v, %+v", err, sum)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, sum, err := answer(ctx, m, prompt, 1); sum.Finish != story.FinishCancelled || status(err) != http.StatusInternalServerError {
		t.Errorf("cancelled: %v, %+v", err, sum)
	}
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	tokens, _ := all(t, s, story.GenerateOptions{MaxTokens: 30})
	banned := map[int32]bool{tokens[0].ID: true, tokens[3].ID: true}
	tokens, _ = all(t, s, story.GenerateOptions{MaxTokens: 30, Sampler: without(banned)})
	for _, tok := range tokens {
		if banned[tok.ID] {
			t.Errorf("token %d", tok.ID)
		}
	}
}

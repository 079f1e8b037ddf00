package main

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"

	"example.com/teller/encoder"
	"example.com/teller/parity"
	"example.com/teller/story"
)

// counts counts calls of Metrics.
type counts struct {
	mu     sync.Mutex
	tokens map[string]int
	steps  map[string]int
	done   []story.Summary
}

func (c *counts) Step(s story.StepMetrics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[s.Func] += s.Tokens
	c.steps[s.Func]++
}

func (c *counts) Generated(s story.Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, s)
}

func TestMetricsAndLogger(t *testing.T) {
	c, log := &counts{tokens: make(map[string]int), steps: make(map[string]int)}, new(bytes.Buffer)
	m, s := open(t, story.Options{Metrics: c, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	all(t, s, story.GenerateOptions{MaxTokens: 9, IgnoreEOG: true})
	prefilled := s.Summary().PromptTokens
	all(t, s, story.GenerateOptions{MaxTokens: 3, IgnoreEOG: true}) // runs the last token of the prompt alone
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if c.steps["prefill"] != 2 || c.tokens["prefill"] != prefilled+1 || c.steps["decode"] != 8+2 || c.tokens["decode"] != 8+2 {
		t.Errorf("steps %v of tokens %v, a prompt of %d", c.steps, c.tokens, prefilled)
	}
	if len(c.done) != 2 || c.done[0].Generated != 9 || c.done[1] != s.Summary() {
		t.Errorf("%+v", c.done)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	for i, want := range []string{`level=INFO msg="model opened"`, "level=DEBUG msg=generated finish=length", "level=DEBUG msg=generated finish=length", `level=INFO msg="model closed"`} {
		if len(lines) != 4 || !strings.Contains(lines[i], want) {
			t.Errorf("want %s in\n%s", want, log)
		}
	}
}

// TestCloseWhileGenerating: the generation ends with ErrClosed.
func TestCloseWhileGenerating(t *testing.T) {
	m, s := open(t, story.Options{})
	begun, once := make(chan struct{}), sync.Once{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			for _, err := range s.Generate(t.Context(), prompt, story.GenerateOptions{Whole: true}) {
				if once.Do(func() { close(begun) }); errors.Is(err, story.ErrClosed) {
					return
				}
			}
		}
	})
	<-begun
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := m.Verify(); !errors.Is(err, story.ErrClosed) {
		t.Errorf("Verify: %v", err)
	}
}

// calls counts steps of a graph.
type calls []parity.StepMetrics

func (c *calls) Step(s parity.StepMetrics) { *c = append(*c, s) }

func TestGraph(t *testing.T) {
	var c calls
	m, err := parity.Open(parity.Options{Metrics: &c})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Parity(t.Context(), parity.ParityInputs{X: []float32{1, 0, 1, 1, 1, 1, 0, 0}})
	if err != nil || len(out.Y) != 2 || out.Y[0] != 1 || out.Y[1] != 0 {
		t.Errorf("%v, %v", out.Y, err)
	}
	if len(c) != 1 || c[0].Func != "parity" || c[0].Sessions != 1 || c[0].Time <= 0 || c[0].Err != nil {
		t.Errorf("%+v", c)
	}
	if _, err := s.Parity(t.Context(), parity.ParityInputs{X: []float32{1}}); !errors.Is(err, parity.ErrInput) {
		t.Errorf("one number: %v", err)
	}
}

// TestEncoder computes the mean and the first of the embeddings of all tokens.
func TestEncoder(t *testing.T) {
	m, err := encoder.Open(encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	tokens, width := []int32{3, 1, 4, 1, 5}, m.EmbeddingWidth()
	rows, err := s.EmbedTokens(t.Context(), tokens, encoder.PoolNone)
	if err != nil || len(rows) != width*len(tokens) {
		t.Fatalf("%d numbers, %v", len(rows), err)
	}
	mean, err := s.EmbedTokens(t.Context(), tokens, encoder.PoolDefault)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.EmbedTokens(t.Context(), tokens, encoder.PoolCLS)
	if err != nil {
		t.Fatal(err)
	}
	for i := range width {
		sum := 0.0
		for row := range tokens {
			sum += float64(rows[row*width+i])
		}
		if math.Abs(sum/5-float64(mean[i])) > 1e-5 || first[i] != rows[i] {
			t.Errorf("element %d: mean %v, want %v; first %v, want %v", i, mean[i], sum/5, first[i], rows[i])
		}
	}
	if _, err := s.EmbedTokens(t.Context(), make([]int32, m.ContextLength()+1), encoder.PoolMean); !errors.Is(err, encoder.ErrInput) {
		t.Errorf("a text of one token more than %d: %v", m.ContextLength(), err)
	}
}

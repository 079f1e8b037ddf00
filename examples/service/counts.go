package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ggmlc/ggmlc/examples/service/stories"
)

// counts counts what the model does. It implements stories.Metrics, whose methods are called by the goroutines of all
// requests.
type counts struct {
	mu                        sync.Mutex
	prompt, cached, generated int
	waited, decoded           time.Duration
	ends                      map[stories.Finish]int
	failed                    int // steps
}

// Step counts steps that failed.
func (c *counts) Step(s stories.StepMetrics) {
	if s.Err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
}

// Generated counts a generation.
func (c *counts) Generated(s stories.Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prompt, c.cached, c.generated = c.prompt+s.PromptTokens, c.cached+s.CachedTokens, c.generated+s.Generated
	c.waited, c.decoded = c.waited+s.Prefill, c.decoded+s.Decode
	if c.ends == nil {
		c.ends = make(map[stories.Finish]int)
	}
	c.ends[s.Finish]++
}

// ServeHTTP writes the counts.
func (c *counts) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(w, "prompt_tokens_total %d\ncached_tokens_total %d\ngenerated_tokens_total %d\n", c.prompt, c.cached, c.generated)
	fmt.Fprintf(w, "prefill_seconds_total %g\ndecode_seconds_total %g\nfailed_steps_total %d\n", c.waited.Seconds(), c.decoded.Seconds(), c.failed)
	for _, finish := range slices.Sorted(maps.Keys(c.ends)) {
		fmt.Fprintf(w, "generations_total{finish=%q} %d\n", finish, c.ends[finish])
	}
}

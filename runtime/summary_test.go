package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/sample"
)

// counts is Metrics that keeps everything, for one goroutine at a time.
type counts struct {
	mu    sync.Mutex
	steps []StepMetrics
	done  []Summary
}

func (c *counts) Step(s StepMetrics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.steps = append(c.steps, s)
}

func (c *counts) Generated(s Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done = append(c.done, s)
}

// records is a Logger that keeps lines.
type records struct {
	mu    sync.Mutex
	lines []string
}

func (r *records) add(level, msg string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, level+" "+msg+" "+strings.TrimSpace(fmt.Sprintln(args...)))
}

func (r *records) DebugContext(_ context.Context, msg string, args ...any) { r.add("debug", msg, args) }
func (r *records) InfoContext(_ context.Context, msg string, args ...any)  { r.add("info", msg, args) }
func (r *records) WarnContext(_ context.Context, msg string, args ...any)  { r.add("warn", msg, args) }
func (r *records) ErrorContext(_ context.Context, msg string, args ...any) { r.add("error", msg, args) }

// TestFinishReasons ends a generation in every way. The last token, the summary and the metrics have the same reason.
func TestFinishReasons(t *testing.T) {
	failed := errors.New("failed")
	cancelled, cancel := context.WithCancel(t.Context())
	for _, c := range []struct {
		want   Finish
		ctx    context.Context
		prompt []int32
		o      GenerateOptions
		body   func(i int) (more bool)
		made   int
		err    error
	}{
		{want: FinishEnd, made: 5},
		{want: FinishLength, o: GenerateOptions{MaxTokens: 2}, made: 2},
		{want: FinishStop, o: GenerateOptions{Stop: []string{"éc"}}, made: 4},
		{want: FinishContext, o: GenerateOptions{IgnoreEOG: true}, made: toyContext - 1, err: ErrContextFull},
		{want: FinishContext, prompt: prompt(toyContext + 1), err: ErrContextFull},
		{want: FinishCancelled, ctx: cancelled, body: func(i int) bool {
			if i == 1 {
				cancel()
			}
			return true
		}, made: 2, err: context.Canceled},
		{want: FinishBreak, body: func(i int) bool { return i < 2 }, made: 3},
		{want: FinishError, o: GenerateOptions{MaxTokens: -1}, err: ErrInput},
		{want: FinishError, o: GenerateOptions{Sampler: func(*Choice) (int32, error) { return 0, failed }}, err: failed},
		{want: FinishError, o: GenerateOptions{Sampler: func(*Choice) (int32, error) { return toyVocab, nil }}, err: ErrInput},
	} {
		m := &counts{}
		_, s := openProgram(t, hello(t), Options{Metrics: m})
		ctx, ids := t.Context(), []int32{1, 6}
		if c.ctx != nil {
			ctx = c.ctx
		}
		if c.prompt != nil {
			ids = c.prompt
		}
		var last Finish
		var failure error
		n := 0
		for tok, err := range s.GenerateTokens(ctx, ids, c.o) {
			if err == nil && n > 0 && last != FinishNone {
				t.Errorf("%s: a token after the last one", c.want)
			}
			if last, failure = tok.Finish, err; err != nil {
				continue
			}
			if n++; s.Summary().Generated != n {
				t.Errorf("%s: %d tokens so far, the summary has %d", c.want, n, s.Summary().Generated)
			}
			if c.body != nil && !c.body(n-1) {
				break
			}
		}
		sum := s.Summary()
		if sum.Finish != c.want || sum.Generated != c.made || n != c.made || !errors.Is(failure, c.err) || last != c.want && c.want != FinishBreak {
			t.Errorf("want %s, %d tokens, %v: last token %q, error %v, %+v", c.want, c.made, c.err, last, failure, sum)
		}
		if len(m.done) != 1 || m.done[0] != sum {
			t.Errorf("%s: metrics got %+v", c.want, m.done)
		}
	}
}

// TestSummaryCountsThePrompt runs a prompt again that the session has the beginning of.
func TestSummaryCountsThePrompt(t *testing.T) {
	_, s := openToy(t, 1)
	generate := func(ids []int32, o GenerateOptions) Summary {
		o.MaxTokens, o.IgnoreEOG = 2, true
		for _, err := range s.GenerateTokens(t.Context(), ids, o) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return s.Summary()
	}
	first := generate(prompt(5), GenerateOptions{Whole: true})
	again := generate(append(prompt(5), 9, 9, 9), GenerateOptions{Whole: true})
	more := generate([]int32{7, 7}, GenerateOptions{})
	for _, c := range []struct {
		got            Summary
		prompt, cached int
	}{{first, 5, 0}, {again, 8, 5}, {more, 2, 0}} {
		if c.got.PromptTokens != c.prompt || c.got.CachedTokens != c.cached || c.got.Generated != 2 || c.got.Prefill <= 0 || c.got.Decode <= 0 {
			t.Errorf("%+v, want a prompt of %d, %d of them cached", c.got, c.prompt, c.cached)
		}
	}
}

// secondBest returns the id of the second largest logit.
func secondBest(logits []float32) int32 {
	ids := make([]int32, len(logits))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortStableFunc(ids, func(a, b int32) int { return int(math.Copysign(1, float64(logits[b]-logits[a]))) })
	return ids[1]
}

// TestSamplerThatTakesTheSecondBest is compared with the model's definition. Changes of the logits do not reach the
// caller's token.
func TestSamplerThatTakesTheSecondBest(t *testing.T) {
	_, s := openToy(t, 2)
	all := prompt(3)
	o := GenerateOptions{MaxTokens: 12, IgnoreEOG: true, Sampler: func(c *Choice) (int32, error) {
		best, err := c.Next()
		if err != nil {
			return 0, err
		}
		c.Logits[best] = float32(math.Inf(-1))
		return c.Next()
	}}
	for tok, err := range s.GenerateTokens(t.Context(), all, o) {
		if err != nil {
			t.Fatal(err)
		}
		logits := toyWant(all)
		if want := secondBest(logits); tok.ID != want || !slices.Equal(tok.Logits, logits) {
			t.Fatalf("after %v: %d, want %d", all, tok.ID, want)
		}
		all = append(all, tok.ID)
	}
	if len(all) != 15 {
		t.Errorf("%d tokens", len(all))
	}
}

// TestSamplerAndGrammar: a sampler sees which tokens the grammar excludes, and is refused if it takes one all the same.
func TestSamplerAndGrammar(t *testing.T) {
	g, err := grammar.Compile(`root ::= "ab" "c"*`)
	if err != nil {
		t.Fatal(err)
	}
	const a, b, c = 6, 7, 8
	var open [][]int32
	want := []int32{a, b, c}
	o := GenerateOptions{Grammar: g, MaxTokens: 3, Sampler: func(ch *Choice) (int32, error) {
		var ids []int32
		for id, l := range ch.Logits {
			if !math.IsInf(float64(l), -1) {
				ids = append(ids, int32(id))
			}
		}
		clear(ch.Logits) // the copy is the sampler's
		open = append(open, ids)
		return want[len(open)-1], nil
	}}
	_, s := openProgram(t, hello(t), Options{})
	for tok, err := range s.GenerateTokens(t.Context(), []int32{1, 6}, o) {
		if err != nil {
			t.Fatal(err)
		}
		if tok.ID != want[len(open)-1] {
			t.Errorf("token %d", tok.ID)
		}
	}
	if fmt.Sprint(open) != fmt.Sprint([][]int32{{a}, {b}, {2, c}}) {
		t.Errorf("the sampler sees %v", open)
	}
	open, want = nil, []int32{a, c}
	var last error
	for _, err := range s.GenerateTokens(t.Context(), []int32{1, 6}, o) {
		last = err
	}
	if !errors.Is(last, ErrInput) || !strings.Contains(last.Error(), "token 8, which the grammar excludes") {
		t.Errorf("error %v", last)
	}
}

// TestOneGenerationAtATime begins another generation in the loop of one. It gets ErrBusy, and the first one does not
// notice.
func TestOneGenerationAtATime(t *testing.T) {
	m := &counts{}
	_, s := openProgram(t, hello(t), Options{Metrics: m})
	text := ""
	for tok, err := range s.Generate(t.Context(), "a", GenerateOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		text += tok.Text
		for _, err := range s.Generate(t.Context(), "b", GenerateOptions{}) {
			if !errors.Is(err, ErrBusy) {
				t.Errorf("a generation in a generation: %v", err)
			}
		}
		for _, err := range s.Chat(t.Context(), nil, ChatOptions{}) {
			if !errors.Is(err, ErrBusy) {
				t.Errorf("a conversation in a generation: %v", err)
			}
		}
	}
	if text != "héc" || len(m.done) != 1 || s.Summary() != m.done[0] || m.done[0].Finish != FinishEnd {
		t.Errorf("%q, %+v, %+v", text, s.Summary(), m.done)
	}
	for tok, err := range s.Generate(t.Context(), "a", GenerateOptions{MaxTokens: 1}) {
		if err != nil || tok.Finish != FinishLength {
			t.Errorf("afterwards: %v, %v", tok.Finish, err)
		}
	}
}

// TestTheSummarysSeedMakesTheTokensAgain chooses a seed, and draws with it twice.
func TestTheSummarysSeedMakesTheTokensAgain(t *testing.T) {
	_, s := openToy(t, 1)
	draw := func(seed uint64) (ids []int32) {
		sampling := sample.Defaults()
		sampling.Temperature, sampling.Seed = 500, seed
		o := GenerateOptions{Whole: true, MaxTokens: 20, IgnoreEOG: true, Sampling: &sampling}
		for tok, err := range s.GenerateTokens(t.Context(), prompt(2), o) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, tok.ID)
		}
		return ids
	}
	first := draw(AnySeed(0))
	if again := draw(s.Summary().Seed); !slices.Equal(first, again) {
		t.Errorf("%v, then %v", first, again)
	}
	if other := draw(AnySeed(0)); slices.Equal(first, other) {
		t.Errorf("two seeds, one text: %v", first)
	}
	if AnySeed(7) != 7 || AnySeed(0) == 0 {
		t.Error("a seed that is given is another one, or none")
	}
}

// TestMetricsCountSteps: each prompt, token, call and joint step is reported once.
func TestMetricsCountSteps(t *testing.T) {
	m := &counts{}
	_, s := openProgram(t, toyProgram(), Options{Metrics: m, Threads: 1})
	for _, err := range s.GenerateTokens(t.Context(), prompt(10), GenerateOptions{MaxTokens: 3, IgnoreEOG: true}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Decode(cancelled, 3); err == nil {
		t.Fatal("a step without a context")
	}
	want := []StepMetrics{{"prefill", 10, 1, 0, nil}, {"decode", 1, 1, 0, nil}, {"decode", 1, 1, 0, nil}, {"decode", 0, 1, 0, nil}, {"decode", 1, 1, 0, ErrCancelled}}
	if len(m.steps) != len(want) {
		t.Fatalf("%+v", m.steps)
	}
	for i, got := range m.steps {
		if w := want[i]; got.Func != w.Func || got.Tokens != w.Tokens || got.Sessions != w.Sessions || !errors.Is(got.Err, w.Err) || got.Time <= 0 {
			t.Errorf("step %d is %+v, want %+v", i, got, w)
		}
	}
}

// TestLogger opens, generates, fails and closes.
func TestLogger(t *testing.T) {
	r := &records{}
	m, s := openProgram(t, hello(t), Options{Logger: r})
	for _, o := range []GenerateOptions{{}, {MaxTokens: -1}} {
		for range s.GenerateTokens(t.Context(), []int32{1, 6}, o) {
			continue
		}
	}
	for range s.Chat(t.Context(), nil, ChatOptions{}) {
		continue
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"info model opened model toy", "debug generated finish end prompt_tokens 2 cached_tokens 0 generated 5", "warn generation failed finish error",
		"warn generation failed finish error", "info model closed"} {
		if i >= len(r.lines) || !strings.HasPrefix(r.lines[i], want) {
			t.Errorf("want %q in\n%s", want, strings.Join(r.lines, "\n"))
		}
	}
	if len(r.lines) != 5 {
		t.Errorf("%d lines", len(r.lines))
	}
}

// TestCloseWhileGenerating closes the model while two sessions generate. Both end with ErrClosed, and Verify with it.
func TestCloseWhileGenerating(t *testing.T) {
	m, _ := openToy(t, 2)
	var all, begun sync.WaitGroup
	for range 2 {
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		begun.Add(1)
		all.Go(func() {
			once := sync.OnceFunc(begun.Done)
			for {
				for _, err := range s.GenerateTokens(context.Background(), prompt(4), GenerateOptions{Whole: true, MaxTokens: 20, IgnoreEOG: true}) {
					if once(); err != nil {
						if !errors.Is(err, ErrClosed) || s.Summary().Finish != FinishError {
							t.Errorf("%v, %+v", err, s.Summary())
						}
						return
					}
				}
			}
		})
	}
	begun.Wait()
	if err := m.Verify(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if err := m.Verify(); !errors.Is(err, ErrClosed) {
		t.Errorf("Verify of a closed model: %v", err)
	}
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/teller/story"
)

const prompt = "Once upon a time"

// open opens the model and a session.
func open(t *testing.T, o story.Options) (*story.Model, *story.Session) {
	t.Helper()
	m, err := story.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	s, err := m.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// all returns the tokens of a generation, and its text.
func all(t *testing.T, s *story.Session, o story.GenerateOptions) (tokens []story.Token, text string) {
	t.Helper()
	o.Whole = true
	for tok, err := range s.Generate(t.Context(), prompt, o) {
		if err != nil {
			t.Fatal(err)
		}
		tok.Logits = slices.Clone(tok.Logits)
		tokens, text = append(tokens, tok), text+tok.Text
	}
	return tokens, text
}

func ids(tokens []story.Token) (ids []int32) {
	for _, tok := range tokens {
		ids = append(ids, tok.ID)
	}
	return ids
}

func TestGenerateTokensIsGenerate(t *testing.T) {
	m, s := open(t, story.Options{})
	want, _ := all(t, s, story.GenerateOptions{MaxTokens: 40})
	n := 0
	for tok, err := range s.GenerateTokens(t.Context(), m.Tokenizer().Encode(prompt, story.EncodeOptions{}), story.GenerateOptions{MaxTokens: 40, Whole: true}) {
		if err != nil {
			t.Fatal(err)
		}
		w := want[n]
		if tok.ID != w.ID || tok.Text != w.Text || tok.End != w.End || tok.Finish != w.Finish || !slices.Equal(tok.Logits, w.Logits) {
			t.Errorf("token %d is %d %q %s, want %d %q %s", n, tok.ID, tok.Text, tok.Finish, w.ID, w.Text, w.Finish)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d tokens, want %d", n, len(want))
	}
}

// TestStopStringsAcrossTokens stops at texts that begin in one token and end in the next one.
func TestStopStringsAcrossTokens(t *testing.T) {
	_, s := open(t, story.Options{})
	tokens, text := all(t, s, story.GenerateOptions{MaxTokens: 60})
	for i := range len(tokens) - 1 {
		a, b := tokens[i].Text, tokens[i+1].Text
		if a == "" || b == "" {
			continue
		}
		stop := a[len(a)-1:] + b[:1]
		cut, _, _ := strings.Cut(text, stop)
		_, got := all(t, s, story.GenerateOptions{MaxTokens: 60, Stop: []string{"never in it", stop}})
		if sum := s.Summary(); got != cut || sum.Finish != story.FinishStop {
			t.Errorf("stop %q: %q, %s, want %q", stop, got, sum.Finish, cut)
		}
	}
}

func TestSeedOfTheSummary(t *testing.T) {
	_, s := open(t, story.Options{})
	o := story.GenerateOptions{MaxTokens: 40, Sampling: story.Sampling{Temperature: 1}}
	_, first := all(t, s, o)
	seed := s.Summary().Seed
	_, other := all(t, s, o)
	o.Sampling.Seed = seed
	_, again := all(t, s, o)
	if again != first || first == other || seed == 0 || s.Summary().Seed != seed {
		t.Errorf("seed %d: %q and %q, another seed: %q", seed, first, again, other)
	}
}

// second returns the id of the second largest logit.
func second(logits []float32) int32 {
	best, next := int32(0), int32(-1)
	for i := range int32(len(logits)) {
		switch {
		case i > 0 && logits[i] > logits[best]:
			best, next = i, best
		case i > 0 && (next < 0 || logits[i] > logits[next]):
			next = i
		}
	}
	return next
}

// TestSecondBestToken: a sampler that excludes the best token makes the same sequence as Prefill and Decode with a choice of the
// second best.
func TestSecondBestToken(t *testing.T) {
	m, s := open(t, story.Options{})
	tokens, _ := all(t, s, story.GenerateOptions{MaxTokens: 30, IgnoreEOG: true, Sampler: func(c *story.Choice) (int32, error) {
		best, err := c.Next()
		if err != nil {
			return 0, err
		}
		c.Logits[best] = float32(math.Inf(-1))
		return c.Next()
	}})
	s.Reset()
	logits, err := s.Prefill(t.Context(), m.Tokenizer().Encode(prompt, story.EncodeOptions{}))
	var want []int32
	for err == nil && len(want) < 30 {
		want = append(want, second(logits))
		logits, err = s.Decode(t.Context(), want[len(want)-1])
	}
	if err != nil || !slices.Equal(ids(tokens), want) {
		t.Errorf("%v\nwant %v, %v", ids(tokens), want, err)
	}
}

// TestEnds ends generations in other ways than the page's program does.
func TestEnds(t *testing.T) {
	m, s := open(t, story.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last story.Token
	var failed error
	for last, failed = range s.Generate(ctx, prompt, story.GenerateOptions{IgnoreEOG: true}) {
		if s.Summary().Generated == 5 {
			cancel()
		}
	}
	if !errors.Is(failed, story.ErrCancelled) || !errors.Is(failed, context.Canceled) || last.Finish != story.FinishCancelled || s.Summary().Finish != story.FinishCancelled {
		t.Errorf("cancelled: %v, %+v", failed, s.Summary())
	}
	s.Reset()
	for last, failed = range s.Generate(t.Context(), prompt, story.GenerateOptions{IgnoreEOG: true}) {
		continue
	}
	if sum := s.Summary(); !errors.Is(failed, story.ErrContextFull) || last.Finish != story.FinishContext || sum.PromptTokens+sum.Generated != m.ContextLength()+1 {
		t.Errorf("context of %d: %v, %+v", m.ContextLength(), failed, sum)
	}
	tokens, _ := all(t, s, story.GenerateOptions{})
	if end := tokens[len(tokens)-1]; end.Finish != story.FinishEnd || !end.End || !m.Tokenizer().IsEnd(end.ID) || s.Summary().CachedTokens != s.Summary().PromptTokens-1 {
		t.Errorf("the end: %+v, %+v", end.Finish, s.Summary())
	}
}

func TestTokenizer(t *testing.T) {
	m, s := open(t, story.Options{})
	tok, err := story.NewTokenizer()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{prompt, "", " ", "Tim's 12 dogs.\n\nwörds 中文 😀", "</s> <s>", strings.Repeat("a ", 1000)} {
		ids := m.Tokenizer().Encode(text, story.EncodeOptions{})
		if got := tok.Decode(ids); got != text || ids[0] != tok.BOS() || tok.Count(text, story.EncodeOptions{}) != len(ids) || slices.Contains(ids, tok.EOS()) {
			t.Errorf("%.40q: %d tokens, back %.40q", text, len(ids), got)
		}
		if bare := tok.Encode(text, story.EncodeOptions{Bare: true}); !slices.Equal(bare, ids[1:]) {
			t.Errorf("%.40q: bare %v", text, bare)
		}
	}
	if ids := tok.Encode("a</s>", story.EncodeOptions{Bare: true, Special: true}); ids[len(ids)-1] != tok.EOS() {
		t.Errorf("special: %v", ids)
	}
	if name := tok.Name(tok.EOS()); tok.Lookup(name) != tok.EOS() || !tok.IsEnd(tok.EOS()) || !tok.IsSpecial(tok.EOS()) || !slices.Contains(tok.Specials(), tok.BOS()) {
		t.Errorf("EOS is %q", name)
	}
	for _, id := range []int32{-1, math.MinInt32, math.MaxInt32, int32(tok.Size())} {
		if tok.Decode([]int32{id}) != "" || tok.Name(id) != "" || tok.IsEnd(id) || tok.IsSpecial(id) {
			t.Errorf("there is a token %d", id)
		}
	}
	if tok.Lookup("no such token") != story.NoToken || tok.Size() != m.VocabSize() {
		t.Error("a token that there is not, or another number of tokens")
	}
	if _, err := s.Prefill(t.Context(), []int32{1}); !errors.Is(err, story.ErrClosed) {
		t.Errorf("a closed model: %v", err)
	}
}

func TestFactsAboutTheModel(t *testing.T) {
	m, s := open(t, story.Options{Verify: true})
	logits, err := s.Prefill(t.Context(), []int32{m.Tokenizer().BOS()})
	if err != nil || len(logits) != m.VocabSize() || m.BatchSize() > m.ContextLength() {
		t.Errorf("%d logits, %d ids, batch %d, context %d, %v", len(logits), m.VocabSize(), m.BatchSize(), m.ContextLength(), err)
	}
	if _, err := s.Prefill(t.Context(), make([]int32, m.ContextLength())); !errors.Is(err, story.ErrContextFull) {
		t.Errorf("a context of one more: %v", err)
	}
	if !json.Valid([]byte(m.PlanJSON())) || !strings.Contains(m.Plan(), "function prefill: ") || len(m.PlanID()) != 64 || m.Name() == "" || m.Threads() < 1 {
		t.Errorf("plan %s of %q:\n%s", m.PlanID(), m.Name(), m.Plan())
	}
	if err := m.Verify(); err != nil {
		t.Error(err)
	}
}

func TestGrammars(t *testing.T) {
	_, s := open(t, story.Options{})
	g, err := story.CompileGrammar(`root ::= ("yes" | "no") "."`)
	if err != nil {
		t.Fatal(err)
	}
	if _, text := all(t, s, story.GenerateOptions{Grammar: g}); text != "yes." && text != "no." {
		t.Errorf("%q", text)
	}
	g, notes, err := story.CompileJSONSchema(`{"type": "object", "properties": {"age": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["age"]}`)
	if err != nil || notes != nil {
		t.Fatal(err, notes)
	}
	_, text := all(t, s, story.GenerateOptions{Grammar: g})
	var got struct{ Age int }
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Age < 1 || got.Age > 9 {
		t.Errorf("%q: %v", text, err)
	}
	for _, bad := range []string{"", "root ::= (", "other ::= \"a\""} {
		if _, err := story.CompileGrammar(bad); err == nil {
			t.Errorf("%q is a grammar", bad)
		}
	}
	if _, _, err := story.CompileJSONSchema("{"); err == nil {
		t.Error("{ is a schema")
	}
}

func TestChat(t *testing.T) {
	m, s := open(t, story.Options{})
	o := story.ChatOptions{GenerateOptions: story.GenerateOptions{MaxTokens: 10}, Template: "{% for m in messages %}{{ m.content }} {% endfor %}{{ end }}", Variables: `{"end": "Then"}`}
	messages := []story.Message{{Role: "user", Content: prompt}}
	ids, err := m.ChatTokens(messages, o)
	if err != nil || m.Tokenizer().Decode(ids) != prompt+" Then" {
		t.Errorf("%q, %v", m.Tokenizer().Decode(ids), err)
	}
	for range 2 {
		for _, err := range s.Chat(t.Context(), messages, o) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.Summary().PromptTokens != len(ids) {
			t.Errorf("%+v, want a prompt of %d", s.Summary(), len(ids))
		}
	}
	if s.Summary().CachedTokens != len(ids)-1 || m.HasChatTemplate() {
		t.Errorf("%+v", s.Summary())
	}
	for _, err := range s.Chat(t.Context(), messages, story.ChatOptions{}) {
		if !errors.Is(err, story.ErrTemplate) || s.Summary().Finish != story.FinishError {
			t.Errorf("without a template: %v, %+v", err, s.Summary())
		}
	}
}

// TestSessionsDoNotMix generates in several goroutines at once, in sessions of their own and in some that share steps.
func TestSessionsDoNotMix(t *testing.T) {
	m, s := open(t, story.Options{})
	_, want := all(t, s, story.GenerateOptions{MaxTokens: 50})
	group, err := m.NewSessions()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s, err := m.NewSession()
			if i >= 2 {
				s, err = group.NewSession(t.Context())
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if _, text := all(t, s, story.GenerateOptions{MaxTokens: 50}); text != want {
				t.Errorf("session %d: %q, want %q", i, text, want)
			}
		})
	}
	wg.Wait()
	if group.Limit() != 3 {
		t.Errorf("%d sessions at once", group.Limit())
	}
}

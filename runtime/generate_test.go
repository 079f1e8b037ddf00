package runtime

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/sample"
)

func TestGenerateYieldsTheTextAndStops(t *testing.T) {
	_, s := openProgram(t, hello(t), Options{})
	text, ids := "", []int32{}
	for tok, err := range s.Generate(context.Background(), "a", GenerateOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		text += tok.Text
		ids = append(ids, tok.ID)
		if tok.End != (tok.ID == 2) || len(tok.Logits) != toyVocab {
			t.Errorf("%+v", tok)
		}
	}
	if text != "héc" || len(ids) != 5 {
		t.Errorf("%q, %v", text, ids)
	}
}

// TestGenerateContinuesWhereItStopped stops twice, by the limit and by breaking, and continues. The token that was
// yielded last must be part of the sequence.
func TestGenerateContinuesWhereItStopped(t *testing.T) {
	_, s := openToy(t, 2)
	ctx := context.Background()
	all := []int32{4, 5}
	generate := func(prompt []int32, n int, stop int) {
		seen := 0
		for tok, err := range s.GenerateTokens(ctx, prompt, GenerateOptions{MaxTokens: n, IgnoreEOG: true}) {
			if err != nil {
				t.Fatal(err)
			}
			want, _ := sample.New(sample.Defaults(), toyVocab)
			if id, _ := want.Next(toyWant(all)); id != tok.ID {
				t.Fatalf("after %v: %d, want %d", all, tok.ID, id)
			}
			all = append(all, tok.ID)
			if seen++; seen == stop {
				break
			}
		}
	}
	generate(all, 4, -1)
	all = append(all, 9, 9)
	generate([]int32{9, 9}, 10, 3)
	all = append(all, 7)
	generate([]int32{7}, 2, -1)
	if s.Len() != len(all)-1 {
		t.Errorf("Len %d after %d tokens, of which the last has not run", s.Len(), len(all))
	}
}

// TestTokensAfterAGenerationReplaceTheOneThatDidNotRun: what the caller appends follows the positions that are filled,
// and the token that Generate yielded last is no part of the sequence any more.
func TestTokensAfterAGenerationReplaceTheOneThatDidNotRun(t *testing.T) {
	ctx := context.Background()
	for name, appendTokens := range map[string]func(*Session, ...int32) error{
		"Decode":  func(s *Session, ids ...int32) error { _, err := s.Decode(ctx, ids[0]); return err },
		"Prefill": func(s *Session, ids ...int32) error { _, err := s.Prefill(ctx, ids); return err },
		"StartDecode": func(s *Session, ids ...int32) error {
			st, err := s.StartDecode(ctx, ids[0])
			if err == nil {
				_, err = st.Wait()
			}
			return err
		},
	} {
		_, s := openToy(t, 2)
		var all []int32
		generate := func(prompt ...int32) {
			all = append(all, prompt...)
			for tok, err := range s.GenerateTokens(ctx, prompt, GenerateOptions{MaxTokens: 1, IgnoreEOG: true}) {
				if err != nil {
					t.Fatal(err)
				}
				want, _ := sample.New(sample.Defaults(), toyVocab)
				if id, _ := want.Next(toyWant(all)); id != tok.ID {
					t.Errorf("%s: after %v: %d, want %d", name, all, tok.ID, id)
				}
			}
		}
		generate(4, 5)
		if err := appendTokens(s, 9); err != nil {
			t.Fatal(err)
		}
		all = append(all, 9)
		generate(7, 3)
		if s.Len() != len(all) {
			t.Errorf("%s: Len %d, want %d", name, s.Len(), len(all))
		}
	}
}

func TestGenerateRefusesBadInput(t *testing.T) {
	ctx := context.Background()
	_, s := openToy(t, 1)
	first := func(prompt []int32, o GenerateOptions) error {
		for _, err := range s.GenerateTokens(ctx, prompt, o) {
			return err
		}
		return nil
	}
	for name, err := range map[string]error{
		"no tokenizer": func() (e error) {
			s.Generate(ctx, "a", GenerateOptions{})(func(_ Token, err error) bool { e = err; return false })
			return
		}(),
		"no prompt":     first(nil, GenerateOptions{}),
		"negative":      first(prompt(1), GenerateOptions{MaxTokens: -1}),
		"wrong options": first(prompt(1), GenerateOptions{Sampling: &sample.Options{TopK: -1}}),
	} {
		if !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := first(prompt(toyContext+1), GenerateOptions{}); !errors.Is(err, ErrContextFull) {
		t.Errorf("long prompt: %v", err)
	}
	var last error
	n := 0
	for _, err := range s.GenerateTokens(ctx, prompt(toyContext-3), GenerateOptions{}) {
		last = err
		n++
	}
	if !errors.Is(last, ErrContextFull) || n != 5 {
		t.Errorf("%d pairs, then %v", n, last)
	}
}

func TestNaNLogitsAreAnError(t *testing.T) {
	p := toyProgram()
	p.Funcs[0].Run = func(w *Worker, a *Args) {
		if w.Part == 0 {
			logits := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyLogits)), toyVocab)
			clear(logits)
			logits[3] = float32(math.NaN())
		}
	}
	_, s := openProgram(t, p, Options{})
	for _, err := range s.GenerateTokens(context.Background(), prompt(1), GenerateOptions{}) {
		if !errors.Is(err, ErrNumerics) {
			t.Errorf("%v", err)
		}
	}
}

// TestNextTokenAllocatesNothing covers everything that the command line does per token.
func TestNextTokenAllocatesNothing(t *testing.T) {
	_, s := openProgram(t, hello(t), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sampling := sample.Defaults()
	sampling.Temperature, sampling.TopK, sampling.TopP, sampling.RepeatPenalty = 1, 5, 0.9, 1.1
	o := GenerateOptions{IgnoreEOG: true, Sampling: &sampling}
	gen, err := newGeneration(s, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := gen.start(ctx, []int32{1}); err != nil {
		t.Fatal(err)
	}
	command := &generateCommand{cli: &cli{json: true, out: discard{}}, withLogits: true, line: make([]byte, 0, 4096)}
	if n := testing.AllocsPerRun(30, func() {
		if err := errors.Join(gen.next(ctx), command.print(gen)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestJSONStringsParseBack(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 😀": `"plain é 😀"`, "a\"b\\c": `"a\"b\\c"`, "\n\t\r\x00\x7f": `"\n\t\u000d\u0000\u007f"`, "cut \xc3": `"cut ` + "\ufffd" + `"`,
	} {
		if got := string(appendJSONString(nil, in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[float64]string{1.5: "1.5", math.Inf(1): "null", float64(float32(0.1)): "0.1"} {
		if got := string(appendJSONFloat(nil, in, 32)); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
}

// TestPenaltiesSeeEarlierCalls generates a text at once and in two calls: recent tokens are those of the sequence, not
// of the call.
func TestPenaltiesSeeEarlierCalls(t *testing.T) {
	sampling := sample.Defaults()
	sampling.RepeatPenalty, sampling.FrequencyPenalty = 3, 5
	generate := func(counts ...int) (ids []int32) {
		_, s := openToy(t, 2)
		prompt := []int32{4, 5, 4}
		for _, n := range counts {
			o := GenerateOptions{MaxTokens: n, IgnoreEOG: true, Sampling: &sampling}
			for tok, err := range s.GenerateTokens(t.Context(), prompt, o) {
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tok.ID)
			}
			prompt = nil
		}
		return ids
	}
	if got, want := generate(6, 6), generate(12); !slices.Equal(got, want) {
		t.Errorf("tokens %v, at once %v", got, want)
	}
}

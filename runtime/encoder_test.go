package runtime

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// toyEncoder is an encoder written by hand: the state of token i has the id, i, n-1, 0 and n.
func toyEncoder(t testing.TB) *Program {
	p := toyProgram()
	p.LM, p.Tokenizer = nil, toyTokenizer(t)
	n := []Dim{{Sym: 0, Scale: 1}}
	f := Func{Name: "embed", Nodes: 1}
	for i, name := range []string{"tokens", "pos", "last", "slot"} {
		f.Inputs = append(f.Inputs, Tensor{Name: name, Type: dtype.I32, Dims: n, Offset: int64(i * 0x40), Below: []Dim{{Const: toyVocab}}})
	}
	f.Inputs = append(f.Inputs, Tensor{Name: "lengths", Type: dtype.I32, Dims: []Dim{{Const: 1}}, Offset: 0x100})
	f.Outputs = []Tensor{{Name: "hidden", Type: dtype.F32, Dims: []Dim{n[0], {Const: 5}}, Offset: 0x140}}
	f.Run = func(w *Worker, a *Args) {
		if w.Part != 0 {
			return
		}
		hidden := unsafe.Slice((*float32)(unsafe.Add(a.IO, 0x140)), 5*a.Dims[0])
		for i := range a.Dims[0] {
			for k := range 4 {
				hidden[5*i+k] = float32(unsafe.Slice((*int32)(unsafe.Add(a.IO, k*0x40)), a.Dims[0])[i])
			}
			hidden[5*i+4] = float32(*(*int32)(unsafe.Add(a.IO, 0x100)))
		}
	}
	p.Funcs, p.IOBytes = []Func{f}, 0x140+4*5*toyBatch
	p.Encoder = &Encoder{Tokens: 0, Pos: 1, Last: 2, Slot: 3, Lengths: 4, Pooling: PoolLast}
	return p
}

// toyRanker is toyEncoder with scores: the first token's id, and twice that.
func toyRanker(t testing.TB) *Program {
	p := toyEncoder(t)
	f := &p.Funcs[0]
	f.Inputs = append(f.Inputs, Tensor{Name: "first", Type: dtype.I32, Dims: []Dim{{Const: 1}}, Offset: 0x120, Below: f.Inputs[0].Dims})
	f.Outputs = append(f.Outputs, Tensor{Name: "scores", Type: dtype.F32, Dims: []Dim{{Const: 1}, {Const: 2}}, Offset: p.IOBytes})
	at, hidden := uintptr(p.IOBytes), f.Run
	f.Run = func(w *Worker, a *Args) {
		hidden(w, a)
		if w.Part == 0 {
			texts := 1
			if i := slices.IndexFunc(p.Symbols, func(s Symbol) bool { return s.Name == "texts" }); i >= 0 {
				texts = a.Dims[i]
			}
			for i := range uintptr(texts) {
				first := *(*int32)(unsafe.Add(a.IO, 0x120+4*i))
				id := float32(*(*int32)(unsafe.Add(a.IO, 4*first)))
				*(*[2]float32)(unsafe.Add(a.IO, at+8*i)) = [2]float32{id, 2 * id}
			}
		}
	}
	p.IOBytes += 8 * 4
	p.Encoder.Pooling, p.Encoder.First, p.Encoder.Scores = PoolRank, 5, 1
	return p
}

// several makes an encoder take so many texts in a step.
func several(p *Program, texts int) *Program {
	f := &p.Funcs[0]
	f.Inputs[4].Dims = []Dim{{Const: texts}}
	if p.Encoder.Pooling == PoolRank {
		p.Symbols = append(p.Symbols, Symbol{"texts", 1, texts})
		f.Inputs[5].Dims = []Dim{{Sym: len(p.Symbols) - 1, Scale: 1}}
		f.Outputs[1].Dims[0] = f.Inputs[5].Dims[0]
	}
	return p
}

// TestSeveralTextsInAStep: which texts share steps, and what a step gets.
func TestSeveralTextsInAStep(t *testing.T) {
	p := several(toyEncoder(t), 3)
	var steps []int // tokens
	run := p.Funcs[0].Run
	p.Funcs[0].Run = func(w *Worker, a *Args) {
		if w.Part == 0 {
			steps = append(steps, a.Dims[0])
		}
		run(w, a)
	}
	_, s := openProgram(t, p, Options{Threads: 2})
	texts := [][]int32{{7, 9, 4}, {5}, {6, 6, 6, 6, 6}, {1, 2, 3}, {1}, {2}, {3}, {9, 9, 9, 9, 9, 9, 9, 9}}
	var all [][]float32
	for v, err := range s.EmbedAll(t.Context(), texts, "") {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	// The state of the last token: its id, its position twice, its number in the step, and the tokens of the step's
	// first text.
	want := [][]float32{{4, 2, 2, 0, 3}, {5, 0, 0, 1, 3}, {6, 4, 4, 0, 5}, {3, 2, 2, 1, 5}, {1, 0, 0, 0, 1}, {2, 0, 0, 1, 1}, {3, 0, 0, 2, 1}, {9, 7, 7, 0, 8}}
	if !slices.EqualFunc(all, want, slices.Equal) || !slices.Equal(steps, []int{4, 8, 3, 8}) {
		t.Errorf("%v in steps of %v tokens, want %v", all, steps, want)
	}
}

// TestTextsThatFail: the error is that of its text, after those before it.
func TestTextsThatFail(t *testing.T) {
	for want, bad := range map[string][]int32{
		"a text of 0 tokens": nil, "a text of 9 tokens": make([]int32, 9), "element 1 is 32: it selects one of 32": {1, toyVocab}, "element 0 is -1": {-1},
	} {
		_, s := openProgram(t, several(toyEncoder(t), 4), Options{Threads: 1})
		n, failed := 0, error(nil)
		for v, err := range s.EmbedAll(t.Context(), [][]int32{{1}, {2, 3}, bad, {4}}, "") {
			if failed = err; err == nil && len(v) == 5 {
				n++
			}
		}
		if n != 2 || !errors.Is(failed, ErrInput) || !strings.Contains(failed.Error(), want) {
			t.Errorf("%d texts, then %v, want %q", n, failed, want)
		}
	}
	_, s := openProgram(t, several(toyEncoder(t), 4), Options{Threads: 1})
	for _, err := range s.EmbedAll(t.Context(), [][]int32{{1}, {2}}, "most") {
		if !errors.Is(err, ErrInput) {
			t.Errorf("an unknown pooling: %v", err)
		}
	}
}

// TestTextsOfLanguageModels run one after the other.
func TestTextsOfLanguageModels(t *testing.T) {
	_, s := openProgram(t, embedding(PoolMean), Options{Threads: 1})
	n := 0
	for v, err := range s.EmbedAll(t.Context(), [][]int32{{1, 2}, {3}}, PoolMean) {
		one, _ := s.Embed(t.Context(), [][]int32{{1, 2}, {3}}[n], PoolMean)
		if err != nil || len(v) == 0 || !slices.Equal(v, one) {
			t.Errorf("text %d: %v, %v, want %v", n, v, err, one)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d embeddings", n)
	}
}

// TestSeveralTextsAreRanked: each by its first token.
func TestSeveralTextsAreRanked(t *testing.T) {
	p := several(toyRanker(t), 2)
	_, s := openProgram(t, p, Options{Threads: 2})
	want, n := [][]float32{{7, 14}, {5, 10}, {6, 12}}, 0
	for v, err := range s.EmbedAll(t.Context(), [][]int32{{7, 9, 4}, {5}, {6, 2}}, "") {
		if err != nil || !slices.Equal(v, want[n]) {
			t.Errorf("text %d: %v, %v, want %v", n, v, err, want[n])
		}
		n++
	}
}

// TestRankersGiveScores: by default, and the states' pooling on demand.
func TestRankersGiveScores(t *testing.T) {
	m, s := openProgram(t, toyRanker(t), Options{Threads: 2})
	if m.program.Labels() != 2 || m.program.EmbeddingWidth() != 5 {
		t.Errorf("%d labels, width %d", m.program.Labels(), m.program.EmbeddingWidth())
	}
	for pooling, want := range map[Pooling][]float32{"": {7, 14}, PoolRank: {7, 14}, PoolLast: {4, 2, 2, 0, 3}, PoolMean: {20. / 3, 1, 2, 0, 3}} {
		got, err := s.Embed(t.Context(), []int32{7, 9, 4}, pooling)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", pooling, got, err, want)
		}
	}
	got, err := s.Rank(t.Context(), "a", "b")
	ids := s.model.vocab.EncodePair(nil, "a", "b")
	if want := float32(ids[0]); err != nil || !slices.Equal(got, []float32{want, 2 * want}) {
		t.Errorf("rank: %v, %v, want %g", got, err, want)
	}
	if got, err := s.EmbedText(t.Context(), "ab"); err != nil || len(got) != 2 || got[1] != 2*got[0] {
		t.Errorf("of a text: %v, %v", got, err)
	}
	_, plain := openProgram(t, toyEncoder(t), Options{Threads: 1})
	if _, err := plain.Rank(t.Context(), "a", "b"); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "no classification head") {
		t.Errorf("rank without a head: %v", err)
	}
	if _, err := plain.Embed(t.Context(), []int32{1}, PoolRank); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "no classification head") {
		t.Errorf("pooling rank without a head: %v", err)
	}
	p := toyRanker(t)
	p.Tokenizer = ""
	_, bare := openProgram(t, p, Options{Threads: 1})
	if _, err := bare.Rank(t.Context(), "a", "b"); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), "no tokenizer") {
		t.Errorf("rank without a tokenizer: %v", err)
	}
}

func TestEncoderTakesWholeTexts(t *testing.T) {
	m, s := openProgram(t, toyEncoder(t), Options{Threads: 2})
	if !m.program.Embeds() || m.program.EmbeddingWidth() != 5 {
		t.Errorf("embeds %v, width %d", m.program.Embeds(), m.program.EmbeddingWidth())
	}
	for _, c := range []struct {
		ids     []int32
		pooling Pooling
		want    []float32
	}{
		{[]int32{7, 9, 4}, "", []float32{4, 2, 2, 0, 3}},
		{[]int32{7, 9, 5}, PoolMean, []float32{7, 1, 2, 0, 3}},
		{[]int32{8, 3}, PoolCLS, []float32{8, 0, 1, 0, 2}},
		{[]int32{6}, PoolNone, []float32{6, 0, 0, 0, 1}},
	} {
		got, err := s.Embed(t.Context(), c.ids, c.pooling)
		if err != nil || len(got) != len(c.want) {
			t.Fatalf("%v %s: %v, %v", c.ids, c.pooling, got, err)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v %s: %v, want %v", c.ids, c.pooling, got, c.want)
			}
		}
	}
	for want, ids := range map[string][]int32{
		"a text of 0 tokens: toy takes 1 to 8 at once": nil, "a text of 9 tokens": make([]int32, 9), "element 1 is 32: it selects one of 32": {1, toyVocab},
	} {
		if _, err := s.Embed(t.Context(), ids, ""); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%d tokens: error %v, want %q", len(ids), err, want)
		}
	}
}

// TestEmbedText: the tokens that belong around a text are added, and the result has length 1.
func TestEmbedText(t *testing.T) {
	_, s := openProgram(t, toyEncoder(t), Options{Threads: 1})
	got, err := s.EmbedText(t.Context(), "ab")
	ids := s.model.vocab
	if err != nil || ids == nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range got {
		sum += float64(x) * float64(x)
	}
	if math.Abs(sum-1) > 1e-6 || math.Abs(float64(got[4]/got[2])-1.5) > 1e-6 { // <s>, a and b
		t.Errorf("%v, of length² %v", got, sum)
	}
	p := toyEncoder(t)
	p.Tokenizer = ""
	if _, s := openProgram(t, p, Options{Threads: 1}); s != nil {
		if _, err := s.EmbedText(t.Context(), "ab"); !errors.Is(err, ErrInput) {
			t.Errorf("without a tokenizer: %v", err)
		}
	}
}

// TestBrokenEncoders have tables that no compiler of ours emits.
func TestBrokenEncoders(t *testing.T) {
	for name, change := range map[string]func(p *Program){
		"no such function":                 func(p *Program) { p.Encoder.Func = 1 },
		"two roles":                        func(p *Program) { p.Encoder.Slot = 1 },
		"no tokens":                        func(p *Program) { p.Encoder.Tokens = -1 },
		"a number of positions of its own": func(p *Program) { p.Funcs[0].Inputs[1].Dims = []Dim{{Const: 1}} },
		"no such output":                   func(p *Program) { p.Encoder.Hidden = 1 },
		"no scores":                        func(p *Program) { p.Encoder.Scores = 2 },
		"scores of each token":             func(p *Program) { p.Encoder.Scores = 0 },
		"first is another input":           func(p *Program) { p.Encoder.First = 4 },
		"one state":                        func(p *Program) { p.Funcs[0].Outputs[0].Dims = []Dim{{Const: 1}, {Const: 5}} },
	} {
		p := toyRanker(t)
		change(p)
		func() {
			defer func() {
				if v := recover(); v == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			Open(p, Options{Threads: 1})
		}()
	}
}

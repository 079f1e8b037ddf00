package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// The toy is a language model written by hand in the form of emitted code. Its state is one i32 per position: the
// token there. Its logits are a function of all positions so far, computed on several workers with barriers, so that
// a lost position, a missed barrier or a wrong size changes them.
const (
	toyVocab   = 32
	toyContext = 64
	toyBatch   = 8
	toyLayers  = 3
)

// Offsets in the IO arena.
const (
	toyTokens = 0x0
	toyPos    = 0x40
	toyLogits = 0x80
	toyIO     = 0x100
)

// toyWeights are one byte per id.
func toyWeights() []byte {
	b := make([]byte, toyVocab)
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
	return b
}

func toyProgram() *Program {
	w := toyWeights()
	sum := sha256.Sum256(w)
	tokens := []Dim{{Sym: 0, Scale: 1}}
	step := Func{
		Inputs: []Tensor{
			{Name: "tokens", Type: dtype.I32, Dims: tokens, Offset: toyTokens, Below: []Dim{{Const: toyVocab}}},
			{Name: "pos", Type: dtype.I32, Dims: tokens, Offset: toyPos, Below: []Dim{{Const: toyContext}}},
		},
		Outputs: []Tensor{{Name: "logits", Type: dtype.F32, Dims: []Dim{{Const: 1}, {Const: toyVocab}}, Offset: toyLogits}},
		Reaches: []Reach{{Sym: 1, Pos: 1}},
		Run:     toyStep, Nodes: 3 * toyLayers, Barriers: 1 + toyLayers,
	}
	prefill, decode := step, step
	prefill.Name, decode.Name = "prefill", "decode"
	return &Program{
		Name: "toy", Compiler: "ggmlc test", PlanID: "0123456789abcdef",
		Weights:    WeightsInfo{Size: int64(len(w)), SHA256: hex.EncodeToString(sum[:]), Embedded: string(w)},
		StateBytes: 4 * toyContext, ActivationBytes: 4 * toyVocab, IOBytes: toyIO, ScratchBytes: Align,
		Symbols: []Symbol{{"tokens", 1, toyBatch}, {"kv", 1, toyContext}},
		Funcs:   []Func{prefill, decode},
		LM: &LanguageModel{
			Prefill: Entry{Func: 0, Tokens: 0, Pos: 1, Slot: -1, Lengths: -1, Logits: 0},
			Decode:  Entry{Func: 1, Tokens: 0, Pos: 1, Slot: -1, Lengths: -1, Logits: 0},
			Vocab:   toyVocab, Context: toyContext, Batch: toyBatch,
			PrefillOpsPerToken: 100, DecodeBytes: toyVocab, Peak: "f32",
		},
		PlanText: "split 0 @cpu\n", PlanJSON: `{"splits":1}`,
	}
}

// share is tile.Range with a granule of 1.
func share(n int, w *Worker) (lo, hi int) { return n * w.Part / w.Parts, n * (w.Part + 1) / w.Parts }

// toyStep writes the tokens into the state, then sums all positions, layer by layer.
func toyStep(w *Worker, a *Args) {
	n, kv := a.Dims[0], a.Dims[1]
	tokens := unsafe.Slice((*int32)(unsafe.Add(a.IO, toyTokens)), n)
	pos := unsafe.Slice((*int32)(unsafe.Add(a.IO, toyPos)), n)
	state := unsafe.Slice((*int32)(a.State), toyContext)
	weights := unsafe.Slice((*byte)(a.Weights), toyVocab)
	act := unsafe.Slice((*float32)(a.Arena), toyVocab)
	logits := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyLogits)), toyVocab)

	lo, hi := share(n, w)
	for i := lo; i < hi; i++ {
		state[pos[i]] = tokens[i]
	}
	lo, hi = share(toyVocab, w)
	clear(act[lo:hi])
	w.Barrier()
	for l := range toyLayers {
		if w.Stop() {
			return
		}
		for v := lo; v < hi; v++ {
			for p := range kv {
				act[v] += float32((int(weights[state[p]])*(v+1) + p*l) % 97)
			}
		}
		w.Barrier()
		if l == toyLayers-1 {
			for v := lo; v < hi; v++ {
				logits[v] = act[v] - act[(v+1)%toyVocab] // another worker's
			}
		}
	}
}

// toyWant returns the logits by the definition of the model, without steps, workers or barriers.
func toyWant(tokens []int32) []float32 {
	w := toyWeights()
	act := make([]float32, toyVocab)
	for v := range act {
		for l := range toyLayers {
			for p, id := range tokens {
				act[v] += float32((int(w[id])*(v+1) + p*l) % 97)
			}
		}
	}
	out := make([]float32, toyVocab)
	for v := range out {
		out[v] = act[v] - act[(v+1)%toyVocab]
	}
	return out
}

// toyTokenizer is a vocabulary of letters, with the two bytes of é as byte tokens. No text is generated with the suppressed ids.
func toyTokenizer(t testing.TB, suppressed ...int32) string {
	t.Helper()
	v := token.Table{BOS: 1, EOS: 2, UNK: 0, EOG: []int32{2}, AddBOS: true, Suppressed: suppressed}
	add := func(text string, kind token.Type) {
		v.Tokens, v.Scores, v.Types = append(v.Tokens, text), append(v.Scores, 0), append(v.Types, kind)
	}
	add("<unk>", token.Unknown)
	add("<s>", token.Control)
	add("</s>", token.Control)
	add("<0xC3>", token.Byte)
	add("<0xA9>", token.Byte)
	add("\u2581", token.Normal)
	for c := 'a'; len(v.Tokens) < toyVocab; c++ {
		add(string(c), token.Normal)
	}
	b, err := v.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// script returns a toy whose greedy tokens are the given ones, in turn, for any prompt: its logits are highest for
// the token that the number of positions selects.
func script(t testing.TB, first int, ids ...int32) *Program {
	p := toyProgram()
	p.Tokenizer = toyTokenizer(t)
	run := func(w *Worker, a *Args) {
		w.Barrier()
		logits := unsafe.Slice((*float32)(unsafe.Add(a.IO, toyLogits)), toyVocab)
		lo, hi := share(toyVocab, w)
		for v := lo; v < hi; v++ {
			logits[v] = float32(v) / 64
			if at := a.Dims[1] - first; at >= 0 && at < len(ids) && ids[at] == int32(v) {
				logits[v] = 9
			}
		}
	}
	for i := range p.Funcs {
		p.Funcs[i].Run = run
	}
	return p
}

func openToy(t testing.TB, threads int) (*Model, *Session) {
	t.Helper()
	return openProgram(t, toyProgram(), Options{Threads: threads, Poison: true, Steady: true})
}

func openProgram(t testing.TB, p *Program, o Options) (*Model, *Session) {
	t.Helper()
	m, err := Open(p, o)
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

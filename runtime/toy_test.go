package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// The toy is a language model written by hand in the form of emitted code. Its state is
// one i32 per position, the token that stands there; its logits are a function of all
// positions so far, computed on several workers with barriers, so that a lost position, a
// missed barrier or a wrong size changes them.
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
			{Name: "tokens", Type: dtype.I32, Dims: tokens, Offset: toyTokens},
			{Name: "pos", Type: dtype.I32, Dims: tokens, Offset: toyPos},
		},
		Outputs: []Tensor{{Name: "logits", Type: dtype.F32, Dims: []Dim{{Const: 1}, {Const: toyVocab}}, Offset: toyLogits}},
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
			Prefill: 0, Decode: 1, Tokens: "tokens", Pos: "pos", Slot: "slot", Logits: "logits",
			TokensSym: 0, SeqsSym: -1, KVSym: 1, Vocab: toyVocab, Context: toyContext, Batch: toyBatch,
			PrefillOpsPerToken: 100, DecodeBytes: toyVocab, Peak: "f32",
		},
		PlanText: "split 0 @cpu\n", PlanJSON: `{"splits":1}`,
	}
}

// share is tile.Range with a granule of 1, which the toy must not import.
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

// toyLogits is what the model defines, computed without any of the machinery.
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

func openToy(t testing.TB, threads int) (*Model, *Session) {
	t.Helper()
	return openProgram(t, toyProgram(), Options{Threads: threads, Poison: true})
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

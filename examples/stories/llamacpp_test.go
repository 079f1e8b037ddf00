package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

// sharedData is the folder of the project's real data; see its README.md.
const sharedData = "../../../shared/data"

// TestReferenceIsLlamaCpp runs the tool's own tokenizer and forward pass on a
// model that is not ours and compares them with what llama.cpp recorded: so
// stories.greedy.json means the same as a recording of llama.cpp.
func TestReferenceIsLlamaCpp(t *testing.T) {
	m, output := aiDreams(t)
	data, err := os.ReadFile(filepath.Join(sharedData, "aidreams260K.greedy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []greedyCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, want := range cases {
		if got := m.Vocab.Encode(want.Prompt); !slices.Equal(got, want.Tokens) {
			t.Errorf("%q is %v, not %v", want.Prompt, got, want.Tokens)
		}
		s := newSession(m)
		s.output = output
		var logits []float32
		for _, id := range want.Tokens {
			logits = s.next(id)
		}
		for i, x := range logits {
			if math.Abs(float64(x-want.Logits[i])) > 1e-3 {
				t.Fatalf("%q: logit %d is %g, not %g", want.Prompt, i, x, want.Logits[i])
			}
		}
		for i, id := range want.Greedy {
			if got := choose(logits, 0, nil); got != id {
				t.Fatalf("%q: token %d is %d, not %d", want.Prompt, i, got, id)
			}
			logits = s.next(id)
		}
	}
}

// aiDreams reads aidreams260K.gguf, whose output matrix is one of its own and
// whose metadata lack some of the keys that write makes.
func aiDreams(t *testing.T) (*Model, []float32) {
	t.Helper()
	f, err := gguf.Open(filepath.Join(sharedData, "aidreams260K.gguf"))
	if err != nil {
		if strings.Contains(os.Getenv("GGMLC_REQUIRE"), "data") {
			t.Fatal(err)
		}
		t.Skip("the shared data is not here: ", err)
	}
	defer f.Close()
	c := Config{
		Vocab: 512, Dim: 64, Layers: 4, Heads: 4, KVHeads: 4, FF: 172, Context: 128,
		Eps: 1e-5, RopeBase: 10000,
	}
	k := keys{f: f}
	m := &Model{Config: c, Vocab: k.vocab(), Params: make([]float32, c.size())}
	if k.err != nil {
		t.Fatal(k.err)
	}
	read := func(x matrix, values []float32) {
		if err := x.read(f, values); err != nil {
			t.Fatal(err)
		}
	}
	c.bind(m.Params).each(c, func(x matrix, part *[]float32) { read(x, *part) })
	turned, output := make([]float32, c.Dim*c.Vocab), make([]float32, c.Dim*c.Vocab)
	read(matrix{"output.weight", c.Dim, c.Vocab, 1}, turned)
	transposeMatrix(output, turned, c.Dim, c.Vocab)
	return m, output
}

package arch_test

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// windowModels have layers with a sliding window of 5.
var windowModels = []string{"cohere2", "gemma2", "gemma3", "gpt-oss", "olmo3"}

// TestWindowsKeepWhatTheyRead: prompts longer than the rings, in chunks, and tokens after them have the logits that
// caches of the whole context give.
func TestWindowsKeepWhatTheyRead(t *testing.T) {
	for _, model := range archtest.Models() {
		if !slices.Contains(windowModels, model.Name) {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			file := open(t, model)
			build := func(whole bool) *ir.Module {
				m, err := arch.Build(file, arch.Options{Context: archtest.Positions, Batch: 60, KV: dtype.F32, WholeCache: whole})
				if err != nil {
					t.Fatal(err)
				}
				if err := ir.Verify(m); err != nil {
					t.Fatal(err)
				}
				return m
			}
			rings, all := build(false), build(true)
			if rows, window := rings.Ring(); rows != 128 || window != 5 || rings.Context() != archtest.Positions || len(all.RingStates()) != 0 {
				t.Errorf("rings of %d for windows of %d, %d positions; %d rings with --whole-cache", rows, window, rings.Context(), len(all.RingStates()))
			}
			tokens := make([]int32, 190)
			for i := range tokens {
				tokens[i] = int32((7*i*i + 3*i + 5) % archtest.Vocab)
			}
			got, want := logitsInChunks(t, model, rings, tokens), logitsInChunks(t, model, all, tokens)
			for i := range want {
				if !(distance(got[i], want[i]) < 1e-12) {
					t.Errorf("step %d: distance %.3g", i, distance(got[i], want[i]))
				}
			}
		})
	}
}

// logitsInChunks returns the logits of each step: the last three tokens one by one after those before in chunks.
func logitsInChunks(t *testing.T, model archtest.Model, m *ir.Module, tokens []int32) (logits [][]float64) {
	states := make(map[string]eval.Tensor)
	alone := len(tokens) - 3
	for at := 0; at < len(tokens); {
		fn, n := "decode", 1
		if at < alone {
			fn, n = "prefill", min(60, alone-at)
		}
		in := inputs(tokens[at:at+n], 0, 1)
		for i := range n {
			in["pos"].Data[i] = float64(at + i)
		}
		in["lengths"].Data[0] = float64(at + n)
		logits = append(logits, run(t, model, m, fn, in, states))
		at += n
	}
	return logits
}

// TestRingsFitSteps: a ring has room for the window of the first token of the largest step, and is made only where that
// is less than the context.
func TestRingsFitSteps(t *testing.T) {
	models := archtest.Models()
	model := models[slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == "gemma3" })]
	for _, c := range []struct {
		context, batch, sequences int
		rows                      int64
	}{
		{2048, 64, 1, 128}, {2048, 124, 1, 128}, {2048, 125, 1, 256}, {2048, 0, 1, 640},
		{2048, 1, 200, 256}, {128, 64, 1, 0}, {129, 64, 1, 128}, {600, 0, 1, 0},
	} {
		m, err := arch.Build(open(t, model), arch.Options{Context: c.context, Batch: c.batch, Sequences: c.sequences})
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := m.Ring(); rows != c.rows || m.Context() != int64(c.context) || m.Sequences() != int64(c.sequences) {
			t.Errorf("%+v: rings of %d, %d positions, %d sequences", c, rows, m.Context(), m.Sequences())
		}
	}
}

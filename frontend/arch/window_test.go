package arch_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// windowModels have layers with a sliding window of 5.
var windowModels = []string{"cohere2", "gemma2", "gemma3", "gemma4", "gpt-oss", "olmo3"}

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

// TestWindowedLayersAreThoseOfTheFile: the layers with windows are those of a period, or of a list.
func TestWindowedLayersAreThoseOfTheFile(t *testing.T) {
	models := archtest.Deep(4)
	usual := map[string]string{"cohere2": "wwwfwwwf", "gemma2": "wfwfwfwf", "gemma3": "wwwwwfww", "gpt-oss": "wfwfwfwf", "olmo3": "wwwfwwwf"}
	for _, c := range []struct {
		value any
		want  string // "": the usual ones
	}{
		{nil, ""},
		{uint32(0), "wwwwwwww"}, {uint32(1), "ffffffff"}, {uint32(3), "wwfwwfww"}, {uint64(9), "wwwwwwww"},
		{[]bool{false, true, true, false, false, false, true, false}, "fwwfffwf"},
		{[]uint32{1, 0, 0, 1, 1, 0, 0, 1}, "wffwwffw"},
		{[]int32{0, 0, 0, 0, 0, 0, 0, 1}, "fffffffw"},
	} {
		for name, want := range usual {
			if c.want != "" {
				want = c.want
			}
			if got, _ := layersOf(t, models, name, map[string]any{"attention.sliding_window_pattern": c.value}); got != want {
				t.Errorf("%s, %v: layers %s, want %s", name, c.value, got, want)
			}
		}
	}
}

// TestWindowedLayersHaveTheirAngles: rope.freq_base_swa is the base in layers with a window, but not in cohere2 and
// olmo2, and rope.dimension_count the part of a head that they rotate.
func TestWindowedLayersHaveTheirAngles(t *testing.T) {
	models := archtest.Deep(4)
	for name, want := range map[string]string{"cohere2": "-", "gemma2": "1", "gemma3": "1", "gpt-oss": "1", "olmo3": "1"} {
		keys := map[string]any{"rope.freq_base": float32(1e5), "rope.freq_base_swa": float32(256), "rope.dimension_count": uint32(8)}
		keys["rope.scaling.type"] = "none"
		windows, bases := layersOf(t, models, name, keys)
		for i := range windows {
			got, want := bases[i], want
			switch {
			case windows[i] == 'w' && name != "cohere2" && name != "olmo3":
				want = "[1 0.25 0.0625 0.015625]" // 256^(-2i/8)
			case windows[i] == 'w', want == "1":
				want = "[1 0.056234132 0.0031622776 0.00017782794]" // 100000^(-2i/8)
			}
			if got != want {
				t.Errorf("%s, layer %d (%c): angles %s, want %s", name, i, windows[i], got, want)
			}
		}
	}
}

// layersOf returns w for each layer with a window and f for the others, and the angles of each; "-": none.
func layersOf(t *testing.T, models []archtest.Model, name string, keys map[string]any) (windows string, angles []string) {
	t.Helper()
	const layers = 8
	model := models[slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == name })]
	model.Keys, model.Tensors = slices.Clone(model.Keys), slices.Clone(model.Tensors)
	keys["block_count"] = uint32(layers)
	for key, value := range keys {
		full := model.Arch() + "." + key
		model.Keys = slices.DeleteFunc(model.Keys, func(k archtest.Key) bool { return k.Name == full })
		if value != nil {
			model.Keys = append(model.Keys, archtest.Key{Name: full, Value: value})
		}
	}
	model.Tensors = slices.DeleteFunc(model.Tensors, func(x archtest.Tensor) bool {
		var layer int
		n, _ := fmt.Sscanf(x.Name, "blk.%d.", &layer)
		return n == 1 && layer >= layers
	})
	m, err := arch.Build(open(t, model), arch.Options{KV: dtype.F32})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	last := "-"
	for _, n := range m.Func("decode").Nodes {
		switch n.Op {
		case ir.OpRope:
			w := m.Weight(n.Args[1].Def.Args[1].Def.Attr.(*ir.WeightAttr).Name)
			last = fmt.Sprint(floats(w.Expr.Data))
		case ir.OpAttention:
			mark := "f"
			if ir.ScoringOf(n).Window == 5 {
				mark = "w"
			}
			windows, angles, last = windows+mark, append(angles, last), "-"
		}
	}
	return windows, angles
}

// floats decodes f32 values.
func floats(data []byte) []float32 {
	list := make([]float32, len(data)/4)
	binary.Decode(data, binary.LittleEndian, list)
	return list
}

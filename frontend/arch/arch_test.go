package arch

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// variants are the models of testdata, one golden file each.
var variants = map[string]struct {
	edit func(*spec)
	o    Options
}{
	"grouped_heads":       {oneLayer, Options{}},
	"tied_output":         {func(s *spec) { s.drop("output.weight") }, Options{}},
	"one_head_per_key":    {oneHeadPerKey, Options{}},
	"head_size_of_itself": {headSizeOfItself, Options{}},
	"linear_scaling": {func(s *spec) {
		s.set("rope.scaling.type", "linear")
		s.set("rope.scaling.factor", float32(4))
	}, Options{}},
	"rope_factors": {func(s *spec) {
		s.add("rope_freqs.weight", gguf.TensorF32, 8)
		s.tensor("rope_freqs.weight").data = floats(1, 1, 1, 1, 2, 4, 8, 8)
	}, Options{}},
	"partial_rope":       {func(s *spec) { s.set("rope.dimension_count", uint32(4)) }, Options{}},
	"norms_of_bf16":      {func(s *spec) { s.tensor("blk.0.attn_norm.weight").typ = gguf.TensorBF16 }, Options{}},
	"quantize_q8_0":      {func(*spec) {}, Options{Quantize: dtype.Q8_0}},
	"quantize_narrow":    {narrowFeedForward, Options{Quantize: dtype.Q4_0}},
	"short_context":      {func(*spec) {}, Options{Context: 32, Batch: 64, KV: dtype.F32}},
	"lists_per_layer":    {listsPerLayer, Options{}},
	"harmless_leftovers": {func(s *spec) { s.add("blk.0.attn_rot_embd", gguf.TensorF32, 4) }, Options{}},
}

func oneLayer(s *spec) {
	s.set("block_count", uint32(1))
	s.tensors = slices.DeleteFunc(s.tensors, func(t tensor) bool { return strings.HasPrefix(t.name, "blk.1.") })
}

func oneHeadPerKey(s *spec) {
	s.drop("attention.head_count_kv")
	for i := range int64(2) {
		s.tensor(layerName(i, "attn_k.weight")).shape = []int{64, 64}
		s.tensor(layerName(i, "attn_v.weight")).shape = []int{64, 64}
	}
}

// headSizeOfItself has heads of 8 keys and 24 values; neither is the width divided by the number of heads.
func headSizeOfItself(s *spec) {
	s.set("attention.key_length", uint32(8))
	s.set("attention.value_length", uint32(24))
	s.set("rope.dimension_count", uint32(8))
	for i := range int64(2) {
		s.tensor(layerName(i, "attn_q.weight")).shape = []int{32, 64}
		s.tensor(layerName(i, "attn_k.weight")).shape = []int{16, 64}
		s.tensor(layerName(i, "attn_v.weight")).shape = []int{48, 64}
		s.tensor(layerName(i, "attn_output.weight")).shape = []int{64, 96}
	}
}

// narrowFeedForward has rows of 80 in ffn_down, which are not a multiple of the block size.
func narrowFeedForward(s *spec) {
	s.set("feed_forward_length", uint32(80))
	for i := range int64(2) {
		s.tensor(layerName(i, "ffn_gate.weight")).shape = []int{80, 64}
		s.tensor(layerName(i, "ffn_up.weight")).shape = []int{80, 64}
		s.tensor(layerName(i, "ffn_down.weight")).shape = []int{64, 80}
	}
}

func listsPerLayer(s *spec) {
	s.set("attention.head_count", []uint32{4, 4})
	s.set("feed_forward_length", []int64{96, 96})
}

// TestGraphsAreThoseOfTestdata compares the graphs of variants with the files of testdata. They show only what the
// variant changes: the function of section func, and the lines that begin as section lines demands.
func TestGraphsAreThoseOfTestdata(t *testing.T) {
	seen := make(map[string]bool)
	irtest.RunGoldens(t, "testdata/graph", []string{"func", "lines", "want"}, func(t *testing.T, g *irtest.Golden) {
		name := strings.TrimSuffix(strings.TrimPrefix(g.Path(), "testdata/graph/"), ".txtar")
		seen[name] = true
		v, ok := variants[name]
		if !ok {
			t.Fatalf("no variant has this name")
		}
		s := tiny()
		v.edit(s)
		m, err := Build(s.file(t), v.o)
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(m); err != nil {
			t.Fatal(err)
		}
		g.Want("want", selected(text(t, g, m), g.Lines("lines")))
	})
	for name := range variants {
		if !seen[name] {
			t.Errorf("testdata/graph/%s.txtar is missing", name)
		}
	}
}

// text prints the module, or the function that section func names.
func text(t *testing.T, g *irtest.Golden, m *ir.Module) string {
	if !g.Has("func") {
		return m.String()
	}
	var b strings.Builder
	if err := ir.Print(&b, m, ir.PrintOptions{Show: ir.ShowTypes, Funcs: g.Lines("func")}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// selected returns the lines that begin with one of the texts after their indentation, or all lines if there are no
// texts.
func selected(text string, begins []string) string {
	if len(begins) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(begins, func(p string) bool { return strings.HasPrefix(strings.TrimSpace(line), p) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestRopeFrequenciesFollowTheFormula checks the folded angles against the formula of the architecture.
func TestRopeFrequenciesFollowTheFormula(t *testing.T) {
	s := tiny()
	s.set("rope.freq_base", float32(500000))
	s.set("rope.scaling.type", "linear")
	s.set("rope.scaling.factor", float32(2))
	s.add("rope_freqs.weight", gguf.TensorF32, 8)
	s.tensor("rope_freqs.weight").data = floats(1, 1, 1, 1, 2, 4, 8, 8)
	m, err := Build(s.file(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// 500000^(-2i/16) / 2 / factor for three of them.
	want := map[int]float64{0: 0.5, 4: 1 / 707.10678 / 2 / 2, 7: 6.445866e-07}
	got := make([]float64, 8)
	if err := dtype.Decode(dtype.F32, got, m.Weight(freqsName).Expr.Data); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if d := got[i]/w - 1; d > 1e-3 || d < -1e-3 {
			t.Errorf("frequency %d is %g, want %g", i, got[i], w)
		}
	}
}

// TestModuleIsNamedAfterTheModel: a long name keeps the runes that fit.
func TestModuleIsNamedAfterTheModel(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"tiny", "tiny"},
		{"", "llama"},
		{strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{strings.Repeat("x", 201), strings.Repeat("x", 200)},
		{"x" + strings.Repeat("ä", 1<<20), "x" + strings.Repeat("ä", 99)},
		{strings.Repeat("x", 197) + "😀", strings.Repeat("x", 197)},
	} {
		s := tiny()
		s.set("general.name", c.name)
		m, err := Build(s.file(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != c.want {
			t.Errorf("the name %.20q of %d bytes became %q, want %q", c.name, len(c.name), m.Name, c.want)
		}
	}
}

// TestHeadsOfValuesHaveTheirOwnDefault: heads of values are width/heads unless the file states them, whatever those of
// keys are.
func TestHeadsOfValuesHaveTheirOwnDefault(t *testing.T) {
	s := tiny()
	s.set("attention.key_length", uint32(8))
	s.set("rope.dimension_count", uint32(8))
	for i := range int64(2) {
		s.tensor(layerName(i, "attn_q.weight")).shape[0] = 32
		s.tensor(layerName(i, "attn_k.weight")).shape[0] = 16
	}
	m, err := Build(s.file(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"blk.1.keys": 8, "blk.1.values": 16} {
		if got := m.State(name).Type.Shape[3]; !got.Equal(ir.Const(want)) {
			t.Errorf("%s: heads of %v, want %d", name, got, want)
		}
	}
}

// TestContextIsWithinTheWindow: within a sliding window all positions are read, as without one.
func TestContextIsWithinTheWindow(t *testing.T) {
	s := tiny()
	s.set("attention.sliding_window", uint32(64))
	m, err := Build(s.file(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.State("blk.0.keys").Type.Shape[2]; !got.Equal(ir.Const(64)) {
		t.Errorf("the cache has %v positions, want 64", got)
	}
	if key := Limit(m); key != "llama.attention.sliding_window" {
		t.Errorf("the context is limited by %q", key)
	}
	if m, err = Build(s.file(t), Options{Context: 64}); err != nil || Limit(m) != "" {
		t.Errorf("a context that the user chose is limited by %q, or error %v", Limit(m), err)
	}
}

// TestMatricesThatDoNotFitGetAnotherFormat: those whose rows are no whole blocks of the user's get the one in its place, or
// stay as they are, and are counted, each once.
func TestMatricesThatDoNotFitGetAnotherFormat(t *testing.T) {
	for _, c := range []struct {
		inner int
		q     dtype.DType
		down  dtype.DType // of ffn_down
		want  Kept
	}{
		{96, dtype.Invalid, dtype.F16, Kept{}},
		{96, dtype.Q8_0, dtype.Q8_0, Kept{}},
		{97, dtype.Q8_0, dtype.F16, Kept{Type: "q8_0", Block: 32, Wanted: 16, Kept: 2, Misfits: []Misfit{{"blk.*.ffn_down.weight", 97, "", 2}}}},
		{256, dtype.Q4_K, dtype.Q4_K, Kept{Type: "q4_k", Block: 256, Wanted: 16, Kept: 14, Misfits: misfits("q5_0")}},
		{96, dtype.Q5_K, dtype.Q5_1, Kept{Type: "q5_k", Block: 256, Wanted: 16, Kept: 16, Misfits: misfits("q5_1", Misfit{"blk.*.ffn_down.weight", 96, "q5_1", 2})}},
		{97, dtype.IQ4_XS, dtype.F16, Kept{Type: "iq4_xs", Block: 256, Wanted: 16, Kept: 16, Misfits: misfits("iq4_nl", Misfit{"blk.*.ffn_down.weight", 97, "", 2})}},
	} {
		s := tiny()
		s.set("feed_forward_length", uint32(c.inner))
		for i := range int64(2) {
			for _, name := range []string{"ffn_gate.weight", "ffn_up.weight"} {
				s.tensor(layerName(i, name)).shape[0] = c.inner
			}
			s.tensor(layerName(i, "ffn_down.weight")).shape[1] = c.inner
		}
		m, err := Build(s.file(t), Options{Quantize: c.q})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := KeptOf(m); !reflect.DeepEqual(got, c.want) || err != nil {
			t.Errorf("%d, %v: %+v, %v; want %+v", c.inner, c.q, got, err, c.want)
		}
		for _, w := range m.Weights {
			if w.Name == "blk.1.ffn_down.weight" && w.Type.DType != c.down {
				t.Errorf("%d, %v: %s is %v, want %v", c.inner, c.q, w.Name, w.Type.DType, c.down)
			}
		}
	}
}

// misfits returns the matrices of the tiny model with rows of 64, which are converted to a type, and if there are any ffn_down.
func misfits(to string, down ...Misfit) []Misfit {
	list := []Misfit{{"token_embd.weight", 64, to, 1}}
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up"} {
		list = append(list, Misfit{"blk.*." + name + ".weight", 64, to, 2})
	}
	return append(append(list, down...), Misfit{"output.weight", 64, to, 1})
}

// TestFormatsInPlaceOfOthers: each format of superblocks that floats are converted to has one with blocks of 32 in its place,
// and no other has.
func TestFormatsInPlaceOfOthers(t *testing.T) {
	for q, want := range map[dtype.DType]dtype.DType{
		dtype.Q2_K: dtype.Q4_0, dtype.Q3_K: dtype.Q4_0, dtype.Q4_K: dtype.Q5_0, dtype.Q5_K: dtype.Q5_1, dtype.Q6_K: dtype.Q8_0,
		dtype.IQ4_XS: dtype.IQ4_NL,
	} {
		for row, want := range map[int64]dtype.DType{512: q, 96: want, 97: dtype.Invalid} {
			if got := fitting(q, row); got != want {
				t.Errorf("rows of %d get %v in place of %v, want %v", row, got, q, want)
			}
		}
	}
	for d := range dtype.NumDTypes {
		s := d.Scheme()
		if super := s != nil && s.Super && !d.IsExpansion(); super != (inPlaceOf[d] != dtype.Invalid) {
			t.Errorf("%v: a format in its place: %v", d, inPlaceOf[d])
		}
	}
}

// TestDamagedAdviceIsAnError: a module may come from a file.
func TestDamagedAdviceIsAnError(t *testing.T) {
	m, err := Build(tiny().file(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.SetMeta("arch.kept", "{")
	if _, err := KeptOf(m); err == nil || !strings.Contains(err.Error(), `metadata "arch.kept"`) {
		t.Errorf("error %v", err)
	}
}

// TestContextIsWithinLearnedPositions: a table of positions has no more than the trained ones.
func TestContextIsWithinLearnedPositions(t *testing.T) {
	s := tiny()
	s.keys = nil
	for _, k := range tiny().keys {
		s.keys = append(s.keys, key{strings.Replace(k.name, "llama.", "gpt2.", 1), k.value})
	}
	s.keys[0].value = "gpt2"
	s.keys = append(s.keys, key{"gpt2.attention.layer_norm_epsilon", float32(1e-5)})
	_, err := Build(s.file(t), Options{Context: 129})
	if want := "--ctx 129 is more than the 128 positions that gpt2 has embeddings for (gpt2.context_length)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

package arch_test

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// variant returns the model of that name with further keys of its architecture, and without those whose value is nil.
func variant(t *testing.T, name string, keys map[string]any) archtest.Model {
	t.Helper()
	models := archtest.Models()
	m := models[slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == name })]
	for key, value := range keys {
		full := m.Arch() + "." + key
		m.Keys = slices.DeleteFunc(slices.Clone(m.Keys), func(k archtest.Key) bool { return k.Name == full })
		if value != nil {
			m.Keys = append(m.Keys, archtest.Key{Name: full, Value: value})
		}
	}
	return m
}

// textOf returns the module of a model as text, without the line that has the size of the file.
func textOf(t *testing.T, m archtest.Model) string {
	t.Helper()
	o := arch.Options{KV: dtype.F32}
	if slices.ContainsFunc(archtest.Encoders(), func(e archtest.Model) bool { return e.Name == m.Name }) {
		o = arch.Options{}
	}
	mod, err := arch.Build(open(t, m), o)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	var b strings.Builder
	for line := range strings.Lines(mod.String()) {
		if !strings.HasPrefix(line, "source ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestFactorsOfYaRN: llama.cpp reads what YaRN is made of for grok and mistral3 alone, though converters write it for all.
func TestFactorsOfYaRN(t *testing.T) {
	stated := map[string]any{
		"rope.scaling.yarn_attn_factor": float32(1.2079), "rope.scaling.yarn_ext_factor": float32(0.5),
		"rope.scaling.yarn_beta_fast": float32(1), "rope.scaling.yarn_beta_slow": float32(0.5),
	}
	for _, name := range []string{"olmo3", "qwen2-yarn", "deepseek2", "llama-yarn"} {
		if textOf(t, variant(t, name, stated)) != textOf(t, variant(t, name, nil)) {
			t.Errorf("%s: the factors of the file change the module", name)
		}
	}
	if textOf(t, variant(t, "mistral3", map[string]any{"rope.scaling.yarn_beta_fast": float32(3)})) == textOf(t, variant(t, "mistral3", nil)) {
		t.Error("mistral3: the turns of the file change nothing")
	}
}

// TestKeysOfOtherArchitectures: llama.cpp reads them for some architectures, and files of others may have them.
func TestKeysOfOtherArchitectures(t *testing.T) {
	for _, c := range []struct {
		model, key string
		value      any
		changes    bool
	}{
		{"mistral3", "rope.scaling.yarn_log_multiplier", float32(0.7), true},
		{"mistral3", "rope.scaling.yarn_log_multiplier", float32(0), true}, // as if there was none
		{"llama-yarn", "rope.scaling.yarn_log_multiplier", float32(0.7), false},
		{"qwen2-yarn", "rope.scaling.yarn_log_multiplier", float32(0.7), false},
		{"qwen3", "rope.scaling.yarn_log_multiplier", float32(0.7), false},
		{"gemma3", "rope.scaling.attn_factor", float32(1.5), true},
		{"gemma4", "rope.scaling.attn_factor", float32(1.5), true},
		{"gemma4-experts", "rope.scaling.attn_factor", float32(1.5), true},
		{"hunyuan-dense", "rope.scaling.alpha", float32(8), true},
		{"hunyuan-dense", "rope.scaling.alpha", float32(0), false},
		{"hunyuan-moe", "rope.scaling.alpha", float32(8), false},
		{"minicpm", "rope.scaling.finetuned", false, false},
		{"granite", "rope.scaling.finetuned", false, true},
	} {
		if changed := textOf(t, variant(t, c.model, map[string]any{c.key: c.value})) != textOf(t, variant(t, c.model, nil)); changed != c.changes {
			t.Errorf("%s: the module changes with %s of %v: %v", c.model, c.key, c.value, changed)
		}
	}
}

// TestStretchedScores: of deepseek2, scores have the square of attn_factor without stretched angles, and the old key of the factor
// is that of the new one.
func TestStretchedScores(t *testing.T) {
	plain := map[string]any{"rope.scaling.factor": nil, "rope.scaling.yarn_log_multiplier": nil, "rope.scaling.type": nil}
	with := func(key string, value any) string {
		keys := maps.Clone(plain)
		keys[key] = value
		return textOf(t, variant(t, "deepseek2", keys))
	}
	without := textOf(t, variant(t, "deepseek2", plain))
	if with("rope.scaling.attn_factor", float32(1.5)) == without {
		t.Error("attn_factor changes nothing")
	}
	if old := with("rope.scale_linear", float32(4)); old != with("rope.scaling.factor", float32(4)) || old == without {
		t.Error("the old key of the factor gives another module")
	}
}

// TestGrowthOfQueries: programs that have no positions at which queries grow multiply by no factors.
func TestGrowthOfQueries(t *testing.T) {
	const half = archtest.Positions / 2
	for _, c := range []struct{ model, from string }{
		{"mistral3", "rope.scaling.original_context_length"}, {"deepseek2", "attention.temperature_length"},
	} {
		for _, tt := range []struct {
			by      float32
			context int
			grow    bool
		}{{0.1, half, false}, {0.1, half + 1, true}, {0, half + 1, false}} {
			m := variant(t, c.model, map[string]any{"attention.temperature_scale": tt.by, c.from: uint32(half)})
			mod, err := arch.Build(open(t, m), arch.Options{Context: tt.context})
			if err != nil {
				t.Fatalf("%s: %v", c.model, err)
			}
			if got := mod.Weight("queries.growth") != nil; got != tt.grow {
				t.Errorf("%s, %g, %d positions: factors %v, want %v", c.model, tt.by, tt.context, got, tt.grow)
			}
		}
	}
	_, err := arch.Build(open(t, variant(t, "deepseek2", map[string]any{"attention.temperature_scale": float32(0.1)})), arch.Options{})
	if err == nil || !strings.Contains(err.Error(), "attention.temperature_length") {
		t.Errorf("deepseek2 without the length: error %v", err)
	}
}

// TestHeadsWithoutKindOfPooling: a file that has a classification head and no kind of pooling ranks texts.
func TestHeadsWithoutKindOfPooling(t *testing.T) {
	for _, m := range archtest.Encoders() {
		key := m.Arch() + ".pooling_type"
		i := slices.IndexFunc(m.Keys, func(k archtest.Key) bool { return k.Name == key })
		if i < 0 || m.Keys[i].Value != uint32(4) {
			continue
		}
		want := textOf(t, m)
		m.Keys = slices.Delete(slices.Clone(m.Keys), i, i+1)
		if textOf(t, m) != want {
			t.Errorf("%s: the module is another one", m.Name)
		}
	}
}

// TestGatingOfGLMLite: files of GLM 4.7 Lite that do not state how weights of experts are made of scores mean sigmoids.
func TestGatingOfGLMLite(t *testing.T) {
	m := archtest.Deep(24)[slices.IndexFunc(archtest.Models(), func(m archtest.Model) bool { return m.Name == "deepseek2" })]
	m.Keys = slices.DeleteFunc(slices.Clone(m.Keys), func(k archtest.Key) bool { return k.Name == "deepseek2.expert_gating_func" })
	if strings.Contains(textOf(t, m), "sigmoid") {
		t.Error("another model of 48 layers has sigmoids")
	}
	const vocab = 154880
	for i, x := range m.Tensors {
		if x.Shape[0] == archtest.Vocab && len(x.Shape) == 2 && x.Shape[1] == archtest.Width && !strings.HasPrefix(x.Name, "blk.") {
			m.Tensors[i].Shape, m.Tensors[i].Data = []int{vocab, archtest.Width}, make([]float32, vocab*archtest.Width)
		}
	}
	for i, k := range m.Keys {
		if k.Name == "deepseek2.vocab_size" {
			m.Keys[i].Value = uint32(vocab)
		}
	}
	if !strings.Contains(textOf(t, m), "sigmoid") {
		t.Error("there are no sigmoids")
	}
}

// TestKeysThatFilesMayLack: they have the defaults of llama.cpp.
func TestKeysThatFilesMayLack(t *testing.T) {
	for _, c := range []struct {
		model, key string
		usual      any
	}{
		{"granite", "embedding_scale", float32(1)},
		{"granite", "residual_scale", float32(1)},
		{"deepseek2", "expert_weights_scale", float32(1)},
		{"dots1", "expert_weights_scale", float32(0)},
		{"glm4moe", "expert_gating_func", uint32(2)},
		{"glm4moe", "expert_group_count", uint32(1)},
	} {
		if textOf(t, variant(t, c.model, map[string]any{c.key: nil})) != textOf(t, variant(t, c.model, map[string]any{c.key: c.usual})) {
			t.Errorf("%s: without %s it is not the model with %v", c.model, c.key, c.usual)
		}
	}
}

// TestLayersOfExpertsFromTheFirst: files that do not state how many layers are dense have none.
func TestLayersOfExpertsFromTheFirst(t *testing.T) {
	const key = "leading_dense_block_count"
	for _, name := range []string{"deepseek", "deepseek2", "dots1", "glm4moe"} {
		_, err := arch.Build(open(t, variant(t, name, map[string]any{key: nil})), arch.Options{})
		if err == nil || !strings.Contains(err.Error(), "blk.0.ffn_gate_exps.weight") || strings.Contains(err.Error(), key) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestPredictorsAreLeftOut: layers that predict further tokens change nothing.
func TestPredictorsAreLeftOut(t *testing.T) {
	for _, name := range []string{"bailingmoe2", "deepseek2", "glm4", "glm4moe"} {
		m := variant(t, name, map[string]any{"block_count": uint32(3)})
		for _, x := range m.Tensors {
			if rest, ok := strings.CutPrefix(x.Name, "blk.1."); ok {
				x.Name = "blk.2." + rest
				m.Tensors = append(slices.Clip(m.Tensors), x)
			}
		}
		m.Tensors = append(m.Tensors, archtest.Tensor{Name: "blk.2.nextn.enorm.weight", Shape: []int{archtest.Width}, Data: make([]float32, archtest.Width)})
		key := m.Arch() + ".nextn_predict_layers"
		with := func(n uint32) archtest.Model {
			m := m
			m.Keys = append(slices.Clip(m.Keys), archtest.Key{Name: key, Value: n})
			return m
		}
		if textOf(t, with(1)) != textOf(t, variant(t, name, nil)) {
			t.Errorf("%s: the layer changes the module", name)
		}
		if _, err := arch.Build(open(t, with(3)), arch.Options{}); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: 3 of 3 layers: error %v", name, err)
		}
	}
}

// TestLayersOfGemma4: lists have an entry for each layer, and the layers that others read are one of each kind.
func TestLayersOfGemma4(t *testing.T) {
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"attention.shared_kv_layers", uint32(1), "1 of 4: the layers before them are not one with a sliding window and one without"},
		{"attention.shared_kv_layers", uint32(4), "4 of 4"},
		{"feed_forward_length", []int32{96, 96, 192}, "a list of 3 values for 4 layers"},
		{"feed_forward_length", []int32{96, 96, 192, 0}, "0 of layer 3 is outside of 1"},
		{"attention.head_count_kv", []int32{2, 3, 2, 2}, "4 heads cannot share 3"},
		{"attention.sliding_window_pattern", []bool{true, false}, "a list of 2 values for 4 layers"},
		{"attention.value_length_swa", uint32(16), "heads of 16 elements for values and 8 for keys"},
		{"attention.key_length_swa", nil, "attention.key_length_swa"},
		{"attention.sliding_window_pattern", nil, "attention.sliding_window_pattern\": missing"},
		{"attention.head_count_kv", []int32{2, 2, 1, 1}, "1 in layer 2, which reads the keys of layer 0 with 2"},
	} {
		m := variant(t, "gemma4", map[string]any{c.key: c.value})
		if _, err := arch.Build(open(t, m), arch.Options{KV: dtype.F32}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want %q", c.key, c.value, err, c.want)
		}
	}
}

// TestNumbersOfApertus: lists have a number for each layer, and all numbers are finite.
func TestNumbersOfApertus(t *testing.T) {
	for _, value := range []any{[]float32{1}, float32(math.Inf(1)), "1", nil} {
		m := variant(t, "apertus", nil)
		m.Keys = slices.DeleteFunc(slices.Clone(m.Keys), func(k archtest.Key) bool { return k.Name == "xielu.beta" })
		if value != nil {
			m.Keys = append(m.Keys, archtest.Key{Name: "xielu.beta", Value: value})
		}
		if _, err := arch.Build(open(t, m), arch.Options{KV: dtype.F32}); err == nil || !strings.Contains(err.Error(), `key "xielu.beta"`) {
			t.Errorf("%v: error %v", value, err)
		}
	}
}

// TestTiedDeepSeek: the output matrix is that of the embedding if the file has none.
func TestTiedDeepSeek(t *testing.T) {
	m := variant(t, "deepseek2", nil)
	m.Tensors = slices.DeleteFunc(slices.Clone(m.Tensors), func(x archtest.Tensor) bool { return x.Name == "output.weight" })
	if text := textOf(t, m); strings.Contains(text, `weight "output.weight"`) {
		t.Error("there is an output matrix")
	}
}

// TestOneMatrixOrThree: queries, keys and values of a file are one matrix or three, whatever is usual; the logits are equal.
func TestOneMatrixOrThree(t *testing.T) {
	for _, model := range archtest.Models() {
		other, ok := regrouped(model)
		if !ok {
			continue
		}
		want, got := logitsOf(t, model), logitsOf(t, other)
		if d := distance(got, want); !(d < 1e-12) {
			t.Errorf("%s: distance %.3g between one matrix and three", model.Name, d)
		}
	}
}

// regrouped returns the model with one matrix in place of three, if these are what it has. Of phi3, which has one, it
// returns the model with three.
func regrouped(m archtest.Model) (archtest.Model, bool) {
	if strings.HasPrefix(m.Name, "phi3") {
		return separated(m), true
	}
	at := func(name string) int {
		return slices.IndexFunc(m.Tensors, func(t archtest.Tensor) bool { return t.Name == name })
	}
	m.Tensors = slices.Clone(m.Tensors)
	if at("blk.0.attn_q.weight") < 0 || at("blk.0.attn_k.weight") < 0 || m.Arch() == "gemma4" { // whose layers may lack one
		return m, false
	}
	for i, t := range m.Tensors {
		layer, kind, ok := strings.Cut(t.Name, "attn_q.")
		if !ok {
			continue
		}
		k, v := m.Tensors[at(layer+"attn_k."+kind)], m.Tensors[at(layer+"attn_v."+kind)]
		t.Name = layer + "attn_qkv." + kind
		t.Shape = slices.Clone(t.Shape)
		t.Shape[0] += k.Shape[0] + v.Shape[0]
		t.Data = slices.Concat(t.Data, k.Data, v.Data)
		m.Tensors[i] = t
	}
	m.Tensors = slices.DeleteFunc(m.Tensors, func(t archtest.Tensor) bool {
		return strings.Contains(t.Name, ".attn_k.") || strings.Contains(t.Name, ".attn_v.")
	})
	return m, true
}

// separated returns a model of 4 heads, which share 2 of keys and values, with three matrices in place of one.
func separated(m archtest.Model) archtest.Model {
	var list []archtest.Tensor
	for _, t := range m.Tensors {
		layer, ok := strings.CutSuffix(t.Name, "attn_qkv.weight")
		if !ok {
			list = append(list, t)
			continue
		}
		rows, rest := t.Shape[0]/8, t.Data
		for _, part := range []struct {
			name string
			rows int
		}{{"attn_q", 4 * rows}, {"attn_k", 2 * rows}, {"attn_v", 2 * rows}} {
			n := part.rows * t.Shape[1]
			list = append(list, archtest.Tensor{Name: layer + part.name + ".weight", Shape: []int{part.rows, t.Shape[1]}, Data: rest[:n]})
			rest = rest[n:]
		}
	}
	m.Tensors = list
	return m
}

// TestOneMatrixOfGateAndUp: an expert's matrices of gate and up may be one; the logits are equal.
func TestOneMatrixOfGateAndUp(t *testing.T) {
	compared := 0
	for _, model := range archtest.Models() {
		other := joinedExperts(model)
		if len(other.Tensors) == len(model.Tensors) {
			continue
		}
		if d := distance(logitsOf(t, other), logitsOf(t, model)); !(d < 1e-12) {
			t.Errorf("%s: distance %.3g between one matrix and two", model.Name, d)
		}
		compared++
	}
	if compared < 3 {
		t.Errorf("%d models have experts", compared)
	}
}

// joinedExperts returns the model with one matrix for gate and up of each expert, and one bias if there are biases.
func joinedExperts(m archtest.Model) archtest.Model {
	var list []archtest.Tensor
	for _, x := range m.Tensors {
		layer, kind, ok := strings.Cut(x.Name, "ffn_gate_exps.")
		if strings.Contains(x.Name, "ffn_up_exps.") {
			continue
		}
		if ok {
			name := layer + "ffn_up_exps." + kind
			up := m.Tensors[slices.IndexFunc(m.Tensors, func(t archtest.Tensor) bool { return t.Name == name })]
			n := len(x.Data) / x.Shape[0] // of an expert
			both := archtest.Tensor{Name: layer + "ffn_gate_up_exps." + kind, Shape: slices.Clone(x.Shape)}
			both.Shape[1] *= 2
			for e := range x.Shape[0] {
				both.Data = append(append(both.Data, x.Data[e*n:(e+1)*n]...), up.Data[e*n:(e+1)*n]...)
			}
			x = both
		}
		list = append(list, x)
	}
	m.Tensors = list
	return m
}

// logitsOf evaluates the model for the first prompt.
func logitsOf(t *testing.T, m archtest.Model) []float64 {
	t.Helper()
	mod, err := arch.Build(open(t, m), arch.Options{Context: archtest.Positions, KV: dtype.F32})
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	if err := ir.Verify(mod); err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	env, err := m.Env(mod, archtest.Prompts()[0])
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	y, err := eval.Run(t.Context(), mod, "prefill", env)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	return y[0].Flat()
}

// TestPairsOfNoSection: llama.cpp turns those by a position that is 0 in text. The eight pairs of a head have sections of
// four, two and two here, of which the second and the third take turns with the first up to pair 5.
func TestPairsOfNoSection(t *testing.T) {
	for _, tt := range []struct {
		sections []int32
		still    []int
	}{
		{[]int32{3, 3, 2, 0}, nil}, {[]int32{4, 2, 2, 0}, []int{7}}, {[]int32{2, 3, 3}, []int{6}}, {[]int32{4, 2, 0, 0}, []int{2, 5}},
	} {
		m := variant(t, "qwen3vl", map[string]any{"rope.dimension_sections": tt.sections})
		mod, err := arch.Build(open(t, m), arch.Options{KV: dtype.F32})
		if err != nil {
			t.Fatal(err)
		}
		freqs := make([]float64, 8)
		if err := dtype.Decode(dtype.F32, freqs, mod.Weight("rope.freqs").Expr.Data); err != nil {
			t.Fatal(err)
		}
		var still []int
		for i, f := range freqs {
			if f == 0 {
				still = append(still, i)
			}
		}
		if !slices.Equal(still, tt.still) {
			t.Errorf("sections %v: pairs %v do not turn, want %v", tt.sections, still, tt.still)
		}
	}
	if _, err := arch.Build(open(t, variant(t, "glm4-sections", map[string]any{"rope.dimension_sections": []int32{1, 1, -7, 0}})), arch.Options{}); err == nil || !strings.Contains(err.Error(), "a section of -7 pairs") {
		t.Errorf("glm4 with a negative section: %v", err)
	}
	for _, bad := range [][]int32{{0, 0, 0, 0}, {}, {-1, 4, 4}} {
		m := variant(t, "qwen3vl", map[string]any{"rope.dimension_sections": bad})
		if _, err := arch.Build(open(t, m), arch.Options{KV: dtype.F32}); err == nil || !strings.Contains(err.Error(), "rope.dimension_sections") {
			t.Errorf("sections %v: %v", bad, err)
		}
	}
}

// TestWhatQuantizationLeaves converts the matrices of all models. Norms, also those that are matrices with a row for each head, and
// routers and positions stay f32.
func TestWhatQuantizationLeaves(t *testing.T) {
	left := regexp.MustCompile(`(_norm|\.ffn_gate_inp|^position_embd|^per_layer_model_proj)\.weight$`)
	seen := make(map[string]bool)
	for _, m := range archtest.Models() {
		mod, err := arch.Build(open(t, m), arch.Options{Quantize: dtype.BF16})
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		for _, w := range mod.Weights {
			if part := left.FindStringSubmatch(w.Name); part != nil {
				seen[part[1]] = true
				if w.Type.DType != dtype.F32 {
					t.Errorf("%s: %s is %v", m.Name, w.Name, w.Type.DType)
				}
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("only %v were seen", seen)
	}
}

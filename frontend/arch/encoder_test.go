package arch_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// TestEmbeddingsAreThoseOfLlamaCpp evaluates the imported graph of each encoder in float64.
func TestEmbeddingsAreThoseOfLlamaCpp(t *testing.T) {
	ref := readReference(t)
	for _, model := range archtest.Encoders() {
		t.Run(model.Name, func(t *testing.T) {
			m, err := arch.Build(open(t, model), arch.Options{Context: archtest.Positions})
			if err != nil {
				t.Fatal(err)
			}
			if err := ir.Verify(m); err != nil {
				t.Fatal(err)
			}
			for i, prompt := range archtest.Prompts() {
				env, err := model.Env(m, prompt)
				if err != nil {
					t.Fatal(err)
				}
				got, err := eval.Run(t.Context(), m, "embed", env)
				if err != nil {
					t.Fatal(err)
				}
				if d := distance(pooled(m, got), ref.Logits[model.Name][i]); !(d < maxDistance) {
					t.Errorf("prompt %d: distance %.3g from the reference (%s)", i, d, ref.Source)
				} else {
					t.Logf("prompt %d: distance %.3g", i, d)
				}
			}
		})
	}
}

// pooled returns the embedding or the scores of a text from the results of embed.
func pooled(m *ir.Module, results []eval.Tensor) []float64 {
	states, width := results[0].Flat(), results[0].Shape[1]
	switch m.Encoder.Pooling {
	case ir.PoolRank:
		return results[1].Flat()
	case ir.PoolCLS:
		return states[:width]
	case ir.PoolLast:
		return states[len(states)-width:]
	}
	mean := make([]float64, width)
	for i, x := range states {
		mean[i%width] += x / float64(len(states)/width)
	}
	return mean
}

// TestEncodersRefuseWhatTheyDoNot: tokens that read only those before them, and kinds of pooling that are not known.
func TestEncodersRefuseWhatTheyDoNot(t *testing.T) {
	for key, value := range map[string]any{"attention.causal": true, "pooling_type": uint32(5)} {
		model := archtest.Encoders()[0]
		for i := range model.Keys {
			if model.Keys[i].Name == "bert."+key {
				model.Keys[i].Value = value
			}
		}
		if _, err := arch.Build(open(t, model), arch.Options{}); err == nil || !strings.Contains(err.Error(), "bert."+key) {
			t.Errorf("%s %v: error %v", key, value, err)
		}
	}
}

// TestModernBertRefuses: models that rank texts, activations of gates that are not known, and windows of one position.
func TestModernBertRefuses(t *testing.T) {
	for key, value := range map[string]any{"attention.sliding_window": uint32(1), "pooling_type": uint32(4), "hidden_activation": "relu"} {
		i := slices.IndexFunc(archtest.Encoders(), func(m archtest.Model) bool { return m.Name == "modern-bert" })
		model := archtest.Encoders()[i]
		full := "modern-bert." + key
		model.Keys = slices.DeleteFunc(model.Keys, func(k archtest.Key) bool { return k.Name == full })
		model.Keys = append(model.Keys, archtest.Key{Name: full, Value: value})
		if _, err := arch.Build(open(t, model), arch.Options{}); err == nil || !strings.Contains(err.Error(), full) {
			t.Errorf("%s %v: error %v", key, value, err)
		}
	}
}

// TestHeadsOfEncoders: heads that lack a tensor, or have another number of labels.
func TestHeadsOfEncoders(t *testing.T) {
	for _, c := range []struct {
		name, drop string
		labels     any
		want       string
	}{
		{"bert-class", "cls.output.weight", []string{"no", "yes"}, `tensor "cls.output.weight": missing, as is cls.weight: pooling_type 4 ranks texts`},
		{"bert-class", "", []string{"yes"}, `shape [2 64] does not match [1 64]`},
		{"bert-class", "", []string{}, "bert.classifier.output_labels"},
		{"bert-class", "", uint32(2), "no list of 1 to 65536 names"},
		{"bert-rank", "cls.output.weight", []string{"a", "b", "c"}, `shape [64 64] does not match [3 64]`},
		{"bert-cls", "", nil, `bert has no such tensor`},
	} {
		i := slices.IndexFunc(archtest.Encoders(), func(m archtest.Model) bool { return m.Name == c.name })
		model := archtest.Encoders()[i]
		for k := range model.Keys {
			if model.Keys[k].Name == "bert.classifier.output_labels" {
				model.Keys[k].Value = c.labels
			}
		}
		model.Tensors = slices.DeleteFunc(model.Tensors, func(x archtest.Tensor) bool { return x.Name == c.drop })
		if c.name == "bert-cls" {
			model.Tensors = append(model.Tensors, archtest.Tensor{Name: "cls.weight", Shape: []int{1, 64}, Data: make([]float32, 64)})
		}
		if _, err := arch.Build(open(t, model), arch.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s without %q, labels %v: error %v, want %q", c.name, c.drop, c.labels, err, c.want)
		}
	}
}

// TestEncodersRefuseOptionsOfDecoders names the flags that would have no effect.
func TestEncodersRefuseOptionsOfDecoders(t *testing.T) {
	for want, o := range map[string]arch.Options{
		"--kv F16: bert keeps no keys and values":  {KV: dtype.F16},
		"--all-logits: bert computes no logits":    {AllLogits: true},
		"--batch 8: bert reads a text in one step": {Batch: 8},
	} {
		_, err := arch.Build(open(t, archtest.Encoders()[0]), o)
		var option *arch.OptionError
		if !errors.As(err, &option) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

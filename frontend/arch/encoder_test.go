package arch_test

import (
	"errors"
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
				if d := distance(got[1].Flat(), ref.Logits[model.Name][i]); !(d < maxDistance) {
					t.Errorf("prompt %d: distance %.3g from the reference (%s)", i, d, ref.Source)
				} else {
					t.Logf("prompt %d: distance %.3g", i, d)
				}
			}
		})
	}
}

// TestEncodersRefuseWhatTheyDoNot: tokens that read only those before them, and kinds of pooling that are not known.
func TestEncodersRefuseWhatTheyDoNot(t *testing.T) {
	for key, value := range map[string]any{"attention.causal": true, "pooling_type": uint32(4)} {
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

// TestEncodersRefuseOptionsOfDecoders names the flags that would have no effect.
func TestEncodersRefuseOptionsOfDecoders(t *testing.T) {
	for want, o := range map[string]arch.Options{
		"--kv F16: bert keeps no keys and values":  {KV: dtype.F16},
		"--all-logits: bert computes no logits":    {AllLogits: true},
		"--batch 8: bert reads a text in one step": {Batch: 8},
		"--sequences 2: bert reads one text":       {Sequences: 2},
	} {
		_, err := arch.Build(open(t, archtest.Encoders()[0]), o)
		var option *arch.OptionError
		if !errors.As(err, &option) || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

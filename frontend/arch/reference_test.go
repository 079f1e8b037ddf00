package arch_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

var only = flag.String("model", "", "name of the only model to compare")

// reference is testdata/reference.json: the logits after each of the prompts of archtest. For models without logits
// there, readReference adds the ones that archtest computes.
type reference struct {
	Source string
	Logits map[string][][]float64
}

func readReference(t testing.TB) reference {
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	for _, m := range append(archtest.Models(), archtest.Encoders()...) {
		if r.Logits[m.Name] == nil {
			r.Logits[m.Name] = m.Results()
		}
	}
	return r
}

// TestDirectComputations: those of models that llama.cpp computes, too, have its results.
func TestDirectComputations(t *testing.T) {
	ref, compared := readReference(t), 0
	for _, m := range append(archtest.Models(), archtest.Encoders()...) {
		for i, y := range m.Results() {
			if d := distance(y, ref.Logits[m.Name][i]); !(d < maxDistance) {
				t.Errorf("%s, prompt %d: distance %.3g from the reference (%s)", m.Name, i, d, ref.Source)
			} else if d > 0 {
				compared++
			}
		}
	}
	if compared == 0 {
		t.Error("there is no such model")
	}
}

// open returns a model as its file.
func open(t testing.TB, m archtest.Model) *gguf.File {
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), m.Name+".gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// maxDistance is the largest distance allowed, the root of the sum of squares of differences, divided by that of
// the reference. llama.cpp computes in float32; the evaluation is exact in comparison.
const maxDistance = 5e-6

// TestLogitsAreThoseOfLlamaCpp evaluates the imported graph of each model of archtest in float64.
func TestLogitsAreThoseOfLlamaCpp(t *testing.T) {
	ref := readReference(t)
	for _, model := range archtest.Models() {
		t.Run(model.Name, func(t *testing.T) {
			if *only != "" && *only != model.Name {
				t.Skip()
			}
			m, err := arch.Build(open(t, model), arch.Options{Context: archtest.Positions, KV: dtype.F32})
			if err != nil {
				t.Fatal(err)
			}
			if err := ir.Verify(m); err != nil {
				t.Fatal(err)
			}
			want := ref.Logits[model.Name]
			if len(want) != len(archtest.Prompts()) {
				t.Fatalf("testdata/reference.json has %d results for the model", len(want))
			}
			for i, prompt := range archtest.Prompts() {
				env, err := model.Env(m, prompt)
				if err != nil {
					t.Fatal(err)
				}
				got, err := eval.Run(t.Context(), m, "prefill", env)
				if err != nil {
					t.Fatal(err)
				}
				if d := distance(got[0].Flat(), want[i]); !(d < maxDistance) {
					t.Errorf("prompt %d: distance %.3g from the reference (%s)", i, d, ref.Source)
				} else {
					t.Logf("prompt %d: distance %.3g", i, d)
				}
			}
		})
	}
}

func distance(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var diff, norm float64
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	return math.Sqrt(diff / norm)
}

// TestEveryArchitectureHasAReference: each architecture has at least one model in archtest.
func TestEveryArchitectureHasAReference(t *testing.T) {
	var names []string
	for _, m := range append(archtest.Models(), archtest.Encoders()...) {
		names = append(names, m.Arch())
	}
	all := strings.Join(names, " ") + " "
	for _, name := range arch.Names() {
		if !strings.Contains(all, name+" ") {
			t.Errorf("no model of archtest is of architecture %s", name)
		}
	}
}

// TestSizesOfBaichuan: files do not state whether a model rotates, but have the layers of the 7B or of the 13B.
func TestSizesOfBaichuan(t *testing.T) {
	for layers, want := range map[int]struct {
		alibi float32
		turns bool
	}{32: {0, true}, 40: {8, false}} {
		for _, model := range archtest.Deep(layers / 2) {
			if model.Name != "baichuan-7b" {
				continue
			}
			model.Keys = slices.DeleteFunc(model.Keys, func(k archtest.Key) bool { return k.Name == "baichuan.attention.max_alibi_bias" })
			m, err := arch.Build(open(t, model), arch.Options{})
			if err != nil {
				t.Fatal(err)
			}
			turns, layersWith := false, 0
			for _, n := range m.Func("decode").Nodes {
				turns = turns || n.Op == ir.OpRope
				if n.Op == ir.OpAttention && ir.ScoringOf(n).Alibi == want.alibi {
					layersWith++
				}
			}
			if turns != want.turns || layersWith != layers {
				t.Errorf("%d layers: rotations %v, %d layers with exponent %g", layers, turns, layersWith, want.alibi)
			}
		}
	}
	i := slices.IndexFunc(archtest.Models(), func(m archtest.Model) bool { return m.Name == "baichuan-7b" })
	model := archtest.Models()[i]
	model.Keys = slices.DeleteFunc(model.Keys, func(k archtest.Key) bool { return k.Name == "baichuan.attention.max_alibi_bias" })
	if _, err := arch.Build(open(t, model), arch.Options{}); err == nil || !strings.Contains(err.Error(), "2 layers: baichuan rotates with 32 layers") {
		t.Errorf("2 layers: error %v", err)
	}
}

// TestAlternatingLayersOfExaone4: the larger model rotates queries and keys, and has windows, in three of four layers.
func TestAlternatingLayersOfExaone4(t *testing.T) {
	for _, model := range archtest.Deep(32) {
		if model.Name != "exaone4" {
			continue
		}
		model.Keys = append(model.Keys, archtest.Key{Name: "exaone4.attention.sliding_window", Value: uint32(200)})
		m, err := arch.Build(open(t, model), arch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		turned, windows := 0, 0
		for _, n := range m.Func("decode").Nodes {
			if n.Op == ir.OpRope {
				turned++
			}
			if n.Op == ir.OpAttention && ir.ScoringOf(n).Window == 200 {
				windows++
			}
		}
		if turned != 2*48 || windows != 48 {
			t.Errorf("%d values are rotated and %d layers have windows, want %d and 48", turned, windows, 2*48)
		}
	}
}

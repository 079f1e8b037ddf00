package shard

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/shard"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

func importModel(t *testing.T, m archtest.Model) *ir.Module {
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), m.Name+".gguf")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := arch.Build(f, arch.Options{Context: archtest.Positions, KV: dtype.F32})
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// TestGroupsComputeWhatLlamaCppComputes spreads the models of all architectures over groups, evaluates what the devices
// compute, and compares the logits with the reference on one device.
func TestGroupsComputeWhatLlamaCppComputes(t *testing.T) {
	logits, divided := e2etest.ArchitectureReference(t), 0
	for _, model := range archtest.Models() {
		t.Run(model.Name, func(t *testing.T) {
			m := importModel(t, model)
			if given := givenStates(t, m, []float64{1, 1}); len(given) > 2 {
				divided++
			}
			for _, shares := range [][]float64{{1, 1}, {3, 0, 1}, {1, 2, 3, 4, 1, 2, 3, 4}} {
				if err := spreadComputes(t, model, m, shares, logits[model.Name]); err != nil {
					t.Errorf("shares %v: %v", shares, err)
				}
			}
		})
	}
	if t.Logf("%d of %d models are divided", divided, len(archtest.Models())); divided < 50 {
		t.Errorf("only %d models are divided", divided)
	}
}

// spreadComputes computes the logits after a prompt on a group, and after one more token.
func spreadComputes(t *testing.T, model archtest.Model, m *ir.Module, shares []float64, logits [][]float64) error {
	spread, _, err := shard.Spread(m, len(shares), givenStates(t, m, shares))
	if err != nil {
		return err
	}
	return computesLike(t, model, m, spread, logits)
}

// computesLike compares the logits of a module that is written out with llama.cpp's, and after one more token with
// those of the module on one device.
func computesLike(t *testing.T, model archtest.Model, m, spread *ir.Module, logits [][]float64) error {
	prompt := archtest.Prompts()[len(logits)-1]
	var all [][]float64
	for _, mod := range []*ir.Module{spread, m} {
		env, err := model.Env(m, prompt)
		if err != nil {
			return err
		}
		if err := addParts(mod, env); err != nil {
			return err
		}
		for _, step := range []string{"prefill", "decode"} {
			got, err := eval.Run(t.Context(), mod, step, env)
			if err != nil {
				return err
			}
			all = append(all, got[0].Flat())
			one := func(x int) eval.Tensor { return eval.Of([]float64{float64(x)}, 1) }
			n := len(prompt)
			env.Inputs["tokens"], env.Inputs["pos"], env.Inputs["slot"], env.Inputs["lengths"] = one(3), one(n), one(0), one(n+1)
		}
	}
	if d := distanceOf(all[0], logits[len(logits)-1]); !(d < 5e-6) {
		return fmt.Errorf("distance %.3g from llama.cpp", d)
	}
	if d := distanceOf(all[1], all[3]); !(d < 1e-6) {
		return fmt.Errorf("one token later: distance %.3g from one device", d)
	}
	return nil
}

// addParts adds the parts of weights to an environment that has the whole ones.
func addParts(m *ir.Module, env *eval.Env) error {
	parts := &ir.Module{}
	for _, w := range m.Weights {
		base, _, _ := strings.Cut(w.Name, "@")
		if base != w.Name && len(env.Weights[base].Shape) == w.Type.Rank() && sameShape(env.Weights[base], w.Type) {
			env.Weights[w.Name] = env.Weights[base]
		}
		if _, whole := env.Weights[w.Name]; !whole {
			part := *w
			part.Expr = fromTensor(w.Expr, base)
			parts.Weights = append(parts.Weights, &part)
		}
	}
	made, err := opcase.Weights(parts, env.Weights)
	if err != nil {
		return err
	}
	for _, w := range parts.Weights {
		var shape []int
		for _, d := range w.Type.Shape {
			n, _ := d.IsConst()
			shape = append(shape, int(n))
		}
		if env.Weights[w.Name], err = made[w.Name].Reshape(shape...); err != nil {
			return err
		}
	}
	return nil
}

// fromTensor returns an expression with a tensor in place of literals.
func fromTensor(e *ir.Expr, name string) *ir.Expr {
	e = e.Clone()
	if e.Op == ir.ExprLiteral {
		return &ir.Expr{Op: ir.ExprTensor, Tensor: name}
	}
	for i, a := range e.Args {
		e.Args[i] = fromTensor(a, name)
	}
	return e
}

// sameShape reports whether a weight of a device is all of the weight.
func sameShape(whole eval.Tensor, t ir.Type) bool {
	return slices.EqualFunc(whole.Shape, t.Shape, func(n int, d ir.Dim) bool { return d.Is(int64(n)) })
}

// TestDenseLayersHaveTwoSums spreads dense models. As in ggml, each layer adds up twice, and nothing else is moved but
// the logits.
func TestDenseLayersHaveTwoSums(t *testing.T) {
	found := 0
	for _, model := range archtest.Models() {
		if !slices.Contains([]string{"llama-linear", "qwen2", "qwen3", "mistral3", "internlm2"}, model.Name) {
			continue
		}
		m := importModel(t, model)
		_, collectives, err := shard.Spread(m, 4, givenStates(t, m, []float64{1, 1, 1, 1}))
		if err != nil {
			t.Fatal(err)
		}
		layers := len(m.States) / 2
		count := make(map[shard.CollectiveKind]int)
		for _, c := range collectives {
			if c.Func == "decode" {
				count[c.Kind]++
			}
		}
		if count[shard.AllReduce] != 2*layers || count[shard.AllGather] > 1 {
			t.Errorf("%s: %d layers have the collectives %v", model.Name, layers, count)
		}
		found++
	}
	if found != 5 {
		t.Errorf("archtest has %d of the models", found)
	}
}

// distanceOf returns the root of the sum of squares of differences, divided by that of the wanted numbers.
func distanceOf(got, want []float64) float64 {
	var diff, norm float64
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	return math.Sqrt(diff / norm)
}

// givenStates returns the states that the frontend's divisions give.
func givenStates(t *testing.T, m *ir.Module, shares []float64) map[string]ir.Sharding {
	given, err := shard.States(m, shares, nil)
	if err != nil {
		t.Fatal(err)
	}
	return given
}

// TestGroupsArePlanned plans models on simulated devices. The last pass proves the plans, and they compute what the
// models do.
func TestGroupsArePlanned(t *testing.T) {
	for _, tt := range []struct {
		model  string
		shares []float64
	}{
		{"llama-linear", []float64{1, 1}},
		{"llama-linear", []float64{3, 1, 2, 1, 1, 1, 1, 1}},
		{"mistral3", []float64{1, 2, 1}},
		{"chatglm", []float64{3, 1}},
		{"phi3", []float64{1, 1, 1}},
		{"starcoder", []float64{1, 0, 2, 1}},
		{"qwen2moe", []float64{1, 1, 1, 1}},
		{"dots1", []float64{5, 2}},
	} {
		t.Run(fmt.Sprint(tt.model, tt.shares), func(t *testing.T) {
			models := archtest.Models()
			i := slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == tt.model })
			if i < 0 {
				t.Fatal("archtest has no such model")
			}
			m := importModel(t, models[i])
			planned := m.Clone()
			o := planOptions(t, tt.shares)
			if _, err := passes.Run(t.Context(), planned, o); err != nil {
				t.Fatal(err)
			}
			if planned.Props&ir.PropChecked == 0 {
				t.Error("the plan was not checked")
			}
			prompt := archtest.Prompts()[0]
			var got [2][]float64
			for k, mod := range []*ir.Module{m, planned} {
				env, err := models[i].Env(m, prompt)
				if err != nil {
					t.Fatal(err)
				}
				if err := addParts(mod, env); err != nil {
					t.Fatal(err)
				}
				result, err := eval.Run(t.Context(), mod, "prefill", env)
				if err != nil {
					t.Fatal(err)
				}
				got[k] = result[0].Flat()
			}
			if d := distanceOf(got[1], got[0]); !(d < 1e-5) { // roundings of the kernels of products
				t.Errorf("distance %.3g from the model", d)
			}
		})
	}
}

// planOptions returns the options of a plan for a group of simulated devices.
func planOptions(t *testing.T, shares []float64) passes.RunOptions {
	names := make([]string, len(shares))
	for i := range names {
		names[i] = fmt.Sprintf("fake:%d", i)
	}
	targets, err := target.Select(strings.Join(names, ",") + ",cpu")
	if err != nil {
		t.Fatal(err)
	}
	return passes.RunOptions{Targets: targets, Options: pass.Options{Group: &pass.Group{Name: "tp", Members: names, Shares: shares}}}
}

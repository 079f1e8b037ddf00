package arch_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// optionalTensors may be absent: the graph is another one then. A file without an output matrix has that of the
// embedding.
var optionalTensors = []string{".bias", "rope_freqs.weight", "output.weight", "attn_norm_2.weight"}

// optionalTensorsOf are further ones of an architecture. Where they are of keys, layers may have none of their own.
var optionalTensorsOf = map[string][]string{
	"codeshell": {"token_embd.weight"},
	"gemma4":    {"attn_v.weight", "layer_output_scale.weight", "ffn_down_exps.scale", "2.attn_k.weight", "3.attn_k.weight", "2.attn_k_norm.weight", "3.attn_k_norm.weight"},
}

// TestEveryTensorIsNeeded drops each tensor of each model. The error names it, unless files may lack it.
func TestEveryTensorIsNeeded(t *testing.T) {
	for _, model := range archtest.Models() {
		for i, x := range model.Tensors {
			m := model
			m.Tensors = slices.Delete(slices.Clone(model.Tensors), i, i+1)
			_, err := build(t, m)
			optional := slices.Concat(optionalTensors, optionalTensorsOf[m.Arch()])
			if err == nil && !slices.ContainsFunc(optional, func(s string) bool { return strings.HasSuffix(x.Name, s) }) {
				t.Errorf("%s without %s is accepted", m.Name, x.Name)
			}
			if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("tensor %q", x.Name)) && !alternative(x.Name) {
				t.Errorf("%s without %s: %v", m.Name, x.Name, err)
			}
		}
	}
}

// alternative reports whether a file without that tensor is read as another variant, whose tensors the error names.
func alternative(name string) bool {
	for _, s := range []string{"attn_q.weight", "attn_qkv.weight", "attn_q_norm.weight", "attn_k_norm.weight", "ffn_norm.weight", "attn_norm_2.weight", "ffn_gate_inp.weight"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// TestEveryShapeIsChecked adds a row to each tensor of each model. The error names it.
func TestEveryShapeIsChecked(t *testing.T) {
	for _, model := range archtest.Models() {
		for i, x := range model.Tensors {
			m := model
			m.Tensors = slices.Clone(model.Tensors)
			shape := slices.Clone(x.Shape)
			n := len(x.Data) / shape[0]
			shape[0]++
			m.Tensors[i] = archtest.Tensor{Name: x.Name, Shape: shape, Data: append(slices.Clone(x.Data), make([]float32, n)...)}
			if _, err := build(t, m); err == nil || !strings.Contains(err.Error(), x.Name) {
				if x.Name != "token_embd.weight" {
					t.Errorf("%s with another shape of %s: error %v", m.Name, x.Name, err)
				}
			}
		}
	}
}

// TestNoNumberIsBelieved gives each key of each model other values. Build returns an error or a module that verifies.
func TestNoNumberIsBelieved(t *testing.T) {
	for _, model := range archtest.Models() {
		for i, k := range model.Keys {
			for _, value := range unlikely(k.Value) {
				m := model
				m.Keys = slices.Clone(model.Keys)
				m.Keys[i].Value = value
				mod, err := build(t, m)
				if err == nil {
					err = ir.Verify(mod)
				} else if option := new(arch.OptionError); !errors.As(err, &option) { // the user has chosen nothing
					err = nil
				}
				if err != nil {
					t.Errorf("%s with %s = %v: %v", m.Name, k.Name, value, err)
				}
			}
		}
	}
}

// unlikely returns values of the type of a value.
func unlikely(value any) []any {
	switch value.(type) {
	case uint32:
		return []any{uint32(0), uint32(1), uint32(3), uint32(5), uint32(1 << 20), uint32(math.MaxUint32), "64", float32(64)}
	case float32:
		return []any{float32(0), float32(-1), float32(1e-30), float32(1e30), float32(math.Inf(1)), float32(math.NaN()), uint32(1)}
	case bool:
		return []any{uint32(1), "true"}
	}
	return []any{"", "x", uint32(1)}
}

func build(t testing.TB, m archtest.Model) (*ir.Module, error) {
	return arch.Build(open(t, m), arch.Options{KV: dtype.F32})
}

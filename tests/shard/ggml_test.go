package shard

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// refusedByGGML has a part of the error for each model that ggml does not divide, for some models with these shares
// only. It divides all others.
var refusedByGGML = map[string]string{
	"bloom": "FLASH_ATTN_EXT): ggml computes something else than one device (numbers of heads)", // ALiBi
	"jais":  "(numbers of heads)", "mpt": "(numbers of heads)", "refact": "(numbers of heads)", "baichuan-13b": "(numbers of heads)",
	"gpt-oss [3 0 1]": "ADD_ID): ggml computes something else than one device (skipped): device 1 skips it, though it has a summand of %blk.0.ffn_down_exps.bias",
	"gpt-oss [2 1 3]": "(skipped): device 1 skips it",

	"olmo2": "%v13 (RMS_NORM): ggml refuses it (row); it reads %v9 split(1, ", "olmo3": "(row)", "olmoe": "(row)", "minimax-m2": "(row)", // norms of all heads
	"starcoder": "(FLASH_ATTN_EXT): ggml refuses it (heads)", "mqa": "(heads)", // one head of keys
	"deepseek2-whole": "(heads)", "minicpm3": "(heads)", // heads after the projections are divided, and those before are not
	"deepseek2":                  "ggml has no tensor for %v7",
	"deepseek2-long":             "ggml has no tensor for %v9",
	"codeshell-one":              "(GET_ROWS): ggml refuses it (differ); it reads %output.weight split(0, ",  // as it divides what is named so
	"apertus":                    "CONCAT): ggml refuses it (differ)",                                        // of both sides of an activation
	"bailingmoe2 [1 1] all rows": "ggml takes elements of two dimensions",                                    // of groups of experts, which the last layer alone has
	"gemma4":                     "(heads)",                                                                  // of which a window's are mirrored
	"gemma4-experts":             "(row)",                                                                    // norms of values
	"stablelm-12b [3 0 1]":       "%v19 (MUL): ggml refuses it (differ)", "stablelm-12b [2 1 3]": "(differ)", // norms are not cut where heads are
}

// TestModelsUnderGGMLsRules plans the models of all architectures under the rules of ggml, on even, uneven and missing
// shares, and without narrow, which would leave one
// row in the last layer of a prompt. What is planned computes what one device does, and what is not is refused with the reason.
func TestModelsUnderGGMLsRules(t *testing.T) {
	logits := e2etest.ArchitectureReference(t)
	for _, model := range archtest.Models() {
		t.Run(model.Name, func(t *testing.T) {
			for i, shares := range [][]float64{{1, 1}, {3, 0, 1}, {2, 1, 3}, {1, 1}} {
				m := importModel(t, model)
				spread := m.Clone()
				name, off := fmt.Sprint(model.Name, " ", shares), []string(nil)
				if i == 3 {
					name, off = name+" all rows", []string{"narrow"}
				}
				err := underGGML(t, spread, shares, off...)
				var refusal *pass.RulesError
				switch want := cmp.Or(refusedByGGML[model.Name], refusedByGGML[name]); {
				case want == "" && err != nil:
					t.Errorf("shares %v: %v", shares, err)
				case want != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), want)):
					t.Errorf("shares %v: error %v, want %q", shares, err, want)
				case err == nil:
					if err := computesLike(t, model, m, spread, logits[model.Name]); err != nil {
						t.Errorf("shares %v: %v", shares, err)
					}
				}
			}
		})
	}
}

// underGGML runs the passes that divide a module over simulated devices, but those that are off.
func underGGML(t *testing.T, m *ir.Module, shares []float64, off ...string) error {
	o := planOptions(t, shares)
	o.Options.Rules, o.To, o.Options.Disable = "ggml-2026", "spread", off
	_, err := passes.Run(t.Context(), m, o)
	return err
}

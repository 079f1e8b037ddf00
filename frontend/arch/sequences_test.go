package arch_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// TestSequencesDoNotDisturbEachOther evaluates prompts of two sequences, then a joint step of both, and compares the
// rows of logits with those of the sequences alone.
func TestSequencesDoNotDisturbEachOther(t *testing.T) {
	for _, model := range archtest.Models() {
		t.Run(model.Name, func(t *testing.T) {
			file, o := open(t, model), arch.Options{Context: archtest.Positions, KV: dtype.F32}
			single, err := arch.Build(file, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Sequences = 3
			several, err := arch.Build(file, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := ir.Verify(several); err != nil {
				t.Fatal(err)
			}
			prompts := [][]int32{archtest.Prompts()[0][:5], {17}}
			states, slots := make(map[string]eval.Tensor), []int{2, 0}
			for i, p := range prompts {
				run(t, model, several, "prefill", inputs(p, slots[i], 3), states)
			}
			next := []int32{3, 9}
			got := run(t, model, several, "decode_joint", jointInputs(prompts, next, slots, 3), states)
			for i, p := range prompts {
				p = append(slices.Clone(p), next[i])
				want := run(t, model, single, "prefill", inputs(p, 0, 1), make(map[string]eval.Tensor))
				if row := got[i*len(want):][:len(want)]; !(distance(row, want) < 1e-12) {
					t.Errorf("sequence %d: distance %.3g from that of its own", i, distance(row, want))
				}
			}
		})
	}
}

// run evaluates a function and returns the logits. It updates the states.
func run(t *testing.T, model archtest.Model, m *ir.Module, fn string, in, states map[string]eval.Tensor) []float64 {
	t.Helper()
	env, err := model.Env(m, []int32{0})
	if err != nil {
		t.Fatal(err)
	}
	env.Inputs, env.States = in, states
	y, err := eval.Run(t.Context(), m, fn, env)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(states, env.States)
	return y[0].Flat()
}

// inputs are those of a prompt in a slot.
func inputs(prompt []int32, slot, sequences int) map[string]eval.Tensor {
	n := len(prompt)
	tokens, pos, slots, lengths := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, sequences)
	for i, id := range prompt {
		tokens[i], pos[i], slots[i] = float64(id), float64(i), float64(slot)
	}
	lengths[slot] = float64(n)
	return map[string]eval.Tensor{"tokens": eval.Of(tokens, n), "pos": eval.Of(pos, n), "slot": eval.Of(slots, n), "lengths": eval.Of(lengths, sequences)}
}

// jointInputs are those of a step with a token for each prompt.
func jointInputs(prompts [][]int32, next []int32, at []int, sequences int) map[string]eval.Tensor {
	n := len(prompts)
	tokens, pos, slots, lengths := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, sequences)
	for i, p := range prompts {
		tokens[i], pos[i], slots[i] = float64(next[i]), float64(len(p)), float64(at[i])
		lengths[at[i]] = float64(len(p) + 1)
	}
	return map[string]eval.Tensor{"tokens": eval.Of(tokens, n), "pos": eval.Of(pos, n), "slot": eval.Of(slots, n), "lengths": eval.Of(lengths, sequences)}
}

// TestTooManySequencesAreRefused names the flag.
func TestTooManySequencesAreRefused(t *testing.T) {
	_, err := arch.Build(open(t, archtest.Models()[0]), arch.Options{Sequences: arch.MaxSequences + 1})
	var option *arch.OptionError
	if !errors.As(err, &option) || !strings.Contains(err.Error(), "--sequences 1025") {
		t.Errorf("error %v", err)
	}
}

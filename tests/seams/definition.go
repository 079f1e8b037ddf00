package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/runtime"
)

// How far the CPU program of a graph may be from the float64 definition of its ops. It rounds activations where the
// passes demand that.
var (
	floats = ir.Tolerance{NMSE: 1e-6, Why: "sums of up to 96 products in float32, and differences of what is nearly equal"}
	bytesA = ir.Tolerance{NMSE: 0.02, Why: "a number next to the middle between two bytes, or two of bf16, is rounded to the other one"}
)

// defined compares the CPU's results of a graph with those of ir/eval. Each call begins with empty states, as each
// run of a program does.
func (s *subject) defined(ctx context.Context, got []result) (*find, error) {
	m := s.graph.Module.Clone()
	if _, err := passes.Run(ctx, m, passes.RunOptions{Targets: processorAlone()}); err != nil {
		return nil, err
	}
	weights, err := irtest.Weights(m, s.graph.Tensors)
	if err != nil {
		return nil, err
	}
	for i, c := range s.graph.Calls {
		want, err := eval.Run(ctx, m, c.Func, &eval.Env{Weights: weights, Inputs: c.Inputs})
		if err != nil {
			return nil, err
		}
		arrays, err := readArrays(got[i].data)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w: %s", i, err, got[i].stderr)
		}
		for j, name := range m.Func(c.Func).ResultNames {
			if err := irtest.Compare(arrays[name], want[j], tolerance(m)); err != nil {
				return &find{class: "not as defined: call " + s.calls[i].name + ", result " + name, want: fmt.Sprint(want[j].Flat()), got: err.Error()}, nil
			}
		}
	}
	return nil, nil
}

// tolerance returns the tolerance for a module, which is larger if its products round their other operand.
func tolerance(m *ir.Module) ir.Tolerance {
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			for _, r := range n.Results {
				if t := r.Type.DType; t.IsActivation() || t == dtype.BF16 {
					return bytesA
				}
			}
		}
	}
	return floats
}

// readArrays parses the output of readFolder.
func readArrays(data string) (map[string]eval.Tensor, error) {
	arrays := make(map[string]eval.Tensor)
	for line := range strings.Lines(data) {
		words := strings.Fields(line)
		raw, err := hex.DecodeString(words[len(words)-1])
		if err != nil {
			return nil, err
		}
		a, err := runtime.ReadNPY(bytes.NewReader(raw), 1<<24)
		if err != nil {
			return nil, err
		}
		if arrays[strings.TrimSuffix(words[0], ".npy")], err = eval.Decode(a.Type, a.Data, a.Shape...); err != nil {
			return nil, err
		}
	}
	if len(arrays) == 0 {
		return nil, fmt.Errorf("no results")
	}
	return arrays, nil
}

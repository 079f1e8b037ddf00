package archtest

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// In returns the model with its matrices stored in a format, as llama-quantize would: norms, biases, and what chooses
// experts stay f32, as do matrices whose rows blocks do not divide.
func (m Model) In(d dtype.DType) (Model, error) {
	m.Tensors = slices.Clone(m.Tensors)
	for i, t := range m.Tensors {
		if !t.isMatrix() || t.Shape[len(t.Shape)-1]%d.BlockElems() != 0 {
			continue
		}
		data := make([]byte, d.Bytes(len(t.Data)))
		if err := dtype.Encode(d, data, t.Data); err != nil {
			return m, err
		}
		m.Tensors[i].Type, m.Tensors[i].stored = d, data
	}
	return m, nil
}

// isMatrix reports whether llama-quantize changes the format of the tensor.
func (t Tensor) isMatrix() bool {
	return len(t.Shape) > 1 && strings.HasSuffix(t.Name, ".weight") && !strings.Contains(t.Name, "norm") && !strings.Contains(t.Name, "gate_inp") && t.Name != "position_embd.weight"
}

package arch

import (
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// step holds the inputs of prefill and decode: for each token its id, its position in its sequence and the sequence's
// slot; for each sequence its number of tokens after the step.
type step struct{ tokens, pos, slot, lengths *ir.Value }

// stepInputs declares the inputs of a function that takes n tokens.
func stepInputs(f *ir.FuncBuilder, n ir.Dim) step {
	perToken := ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}}
	return step{
		tokens:  f.Param("tokens", perToken),
		pos:     f.Param("pos", perToken),
		slot:    f.Param("slot", perToken),
		lengths: f.Param("lengths", ir.Type{DType: dtype.I32, Shape: ir.Dims(1)}),
	}
}

// entry returns the roles of the inputs. logits is the index of the result that holds the logits.
func (s step) entry(name string, logits int) ir.LanguageEntry {
	return ir.LanguageEntry{Func: name, Tokens: s.tokens.Index, Pos: s.pos.Index, Slot: s.slot.Index, Lengths: s.lengths.Index, Logits: logits}
}

// splitHeads views [n, heads*size] as [n, heads, size].
func splitHeads(f *ir.FuncBuilder, x *ir.Value, heads, size int64) *ir.Value {
	return f.Reshape(x, x.Type.Shape[0], ir.Const(heads), ir.Const(size))
}

// joinHeads views [n, heads, size] as [n, heads*size].
func joinHeads(f *ir.FuncBuilder, x *ir.Value) *ir.Value {
	s := x.Type.Shape
	return f.Reshape(x, s[0], s[1].Mul(s[2]))
}

// swiGLUBlock is x + down·(silu(gate·h) * (up·h)) with h = norm(x) and a layer's ffn weights.
func swiGLUBlock(f *ir.FuncBuilder, layer int64, eps float64, x *ir.Value) *ir.Value {
	weight := func(name string) *ir.Value { return f.Weight(layerName(layer, name)) }
	h := f.RMSNorm(x, weight("ffn_norm.weight"), float32(eps))
	g := f.SiLU(f.MatMul(h, weight("ffn_gate.weight")))
	u := f.MatMul(h, weight("ffn_up.weight"))
	return f.Add(x, f.MatMul(f.Mul(g, u), weight("ffn_down.weight")))
}

// maxModuleName is the most bytes of a module's name.
const maxModuleName = 200

// moduleName returns the beginning of the model's name in the file, or else its architecture.
func moduleName(m *model) string {
	if name, err := m.file.String("general.name"); err == nil && name != "" {
		return strings.Clone(printable.Head(name, maxModuleName)) // a copy, so that the rest is not kept in memory
	}
	return m.arch
}

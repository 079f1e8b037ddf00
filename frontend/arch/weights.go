package arch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// tensor returns a tensor after checking its shape (outermost dimension first) and marks it as used. It returns nil
// after a fault.
func (m *model) tensor(name string, shape ...int64) *gguf.Tensor {
	t, ok := m.file.Tensor(name)
	if !ok {
		m.fail(m.file.TensorError(name, "missing: %s needs it with shape %v", m.arch, shape))
		return nil
	}
	m.used[name] = true
	if _, err := m.file.DType(t); err != nil {
		m.fail(err)
		return nil
	}
	if !sameShape(t.Shape, shape) {
		m.fail(m.file.TensorError(name, "shape %v does not match %v, which the hyperparameters ask for (%s): the file is damaged", t.Shape, shape, m.askedBy(name)))
		return nil
	}
	return t
}

// has reports whether the file has an optional tensor.
func (m *model) has(name string) bool {
	_, ok := m.file.Tensor(name)
	return ok
}

// mayHave allows a tensor of the layer that the graph does not read, if it has this shape.
func (g *graph) mayHave(name string, shape ...int64) {
	if full := g.name(name); g.has(full) {
		g.tensor(full, shape...)
	}
}

// shapeKeys are the keys that determine the shapes of tensors, by a part of the name. The first that matches counts.
var shapeKeys = []struct {
	part string
	keys []string
}{
	{"attn_norm", []string{"embedding_length"}},
	{"attn_", []string{"embedding_length", "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"}},
	{"ffn_norm", []string{"embedding_length"}},
	{"ffn_", []string{"embedding_length", "feed_forward_length", "expert_count", "expert_feed_forward_length", "expert_shared_feed_forward_length"}},
	{"rope_", []string{"attention.key_length", "rope.dimension_count"}},
	{"position_embd", []string{"embedding_length", "context_length"}},
	{"", []string{"embedding_length"}},
}

// askedBy names the keys of the file that determine the shape of a tensor, with their values.
func (m *model) askedBy(name string) string {
	var list []string
	for _, s := range shapeKeys {
		if !strings.Contains(name, s.part) {
			continue
		}
		for _, key := range s.keys {
			if n, ok := m.counts[m.arch+"."+key]; ok {
				list = append(list, fmt.Sprintf("%s.%s is %d", m.arch, key, n))
			}
		}
		break
	}
	return strings.Join(list, ", ")
}

func sameShape(got []int, want []int64) bool {
	return slices.EqualFunc(got, want, func(a int, b int64) bool { return int64(a) == b })
}

// leftover reports tensors that the graph does not read. Without them the results would be those of another model.
// attn_rot_embd is a table of old files that every program computes.
func (m *model) leftover() {
	for t := range m.file.Tensors() {
		if !m.used[t.Name] && !strings.HasSuffix(t.Name, ".attn_rot_embd") {
			m.fail(m.file.TensorError(t.Name, "%s has no such tensor: the file is of a variant that is not supported", m.arch))
		}
	}
}

// matrix returns the weight of a matrix, or of several with a number in front of rows and columns.
func (g *graph) matrix(name string, shape ...int64) *ir.Value {
	full := g.name(name)
	g.declareMatrix(full, shape...)
	return g.f.Weight(full)
}

// table returns the weight of a vector for each of several rows. Its format is that of the file.
func (g *graph) table(name string, shape ...int64) *ir.Value {
	full := g.name(name)
	if !g.declared[full] {
		g.declared[full] = true
		dt := dtype.F32
		if t := g.tensor(full, shape...); t != nil {
			dt, _ = g.file.DType(t)
		}
		if !dt.IsFloat() || dt == dtype.F64 {
			g.fail(g.file.TensorError(full, "biases of %v: they are f32, f16 or bf16; the file is damaged", dt))
			dt = dtype.F32
		}
		g.b.Weight(full, ir.Type{DType: dt, Shape: ir.Dims(shape...)}, ir.Tensor(SourceName, full))
	}
	return g.f.Weight(full)
}

// vector returns the weight of a vector, or of factors for each head.
func (g *graph) vector(name string, shape ...int64) *ir.Value {
	full := g.name(name)
	g.declareVector(full, shape...)
	return g.f.Weight(full)
}

// presence specifies whether a tensor must be in the file.
type presence int

const (
	absent presence = iota
	optional
	required
)

// bias returns the vector of that name and size, or nil if there is none.
func (g *graph) bias(name string, n int64, p presence) *ir.Value {
	name += ".bias"
	if p == absent || p == optional && !g.has(g.name(name)) {
		return nil
	}
	return g.vector(name, n)
}

// biased is y plus its bias, if it has one.
func (g *graph) biased(y *ir.Value, name string, n int64, p presence) *ir.Value {
	if b := g.bias(name, n, p); b != nil {
		return g.f.Add(y, b)
	}
	return y
}

// linear is the product of x and a matrix, plus a bias.
func (g *graph) linear(x *ir.Value, name string, rows, cols int64, bias presence) *ir.Value {
	return g.biased(g.f.MatMul(x, g.matrix(name+".weight", rows, cols)), name, rows, bias)
}

// declareMatrix declares the weight of a matrix, converted if the user has asked for that. After a fault it declares
// one of the right shape, so that the graph is built to its end and all faults are found.
func (m *model) declareMatrix(name string, shape ...int64) {
	if m.declared[name] {
		return
	}
	m.declared[name] = true
	dt, e := m.matrixExpr(name, shape)
	m.b.Weight(name, ir.Type{DType: dt, Shape: ir.Dims(shape...)}, e)
}

func (m *model) matrixExpr(name string, shape []int64) (dtype.DType, *ir.Expr) {
	e := ir.Tensor(SourceName, name)
	t := m.tensor(name, shape...)
	if t == nil {
		return dtype.F32, e
	}
	dt, _ := m.file.DType(t)
	if !dt.IsFloat() && !dt.IsQuantized() || dt == dtype.F64 {
		m.fail(m.file.TensorError(name, "matrices of %v are not supported: convert the model", dt))
		return dtype.F32, e
	}
	if x := dt.Expansion(); x.Valid() {
		return x, ir.Expand(e, x.String())
	}
	q := m.conversion(dt)
	if q == dtype.Invalid || staysAsItIs(name) {
		return dt, e
	}
	m.kept.Wanted++
	row := shape[len(shape)-1]
	to := fitting(q, row)
	if to != q {
		m.kept.add(name, row, to)
	}
	if to == dtype.Invalid {
		return dt, e
	}
	return to, ir.Quantize(e, to.String())
}

// inPlaceOf are the formats with blocks of 32 for rows that are no whole blocks of 256: those that llama-quantize takes
// (tensor_type_fallback in llama.cpp's llama-quant.cpp). None has fewer bits than the format that it replaces.
var inPlaceOf = map[dtype.DType]dtype.DType{
	dtype.Q2_K: dtype.Q4_0, dtype.Q3_K: dtype.Q4_0, dtype.Q4_K: dtype.Q5_0, dtype.Q5_K: dtype.Q5_1, dtype.Q6_K: dtype.Q8_0,
	dtype.IQ4_XS: dtype.IQ4_NL,
}

// InPlaceOf returns the format that matrices get in place of q if their rows are no whole blocks of it; Invalid if there is
// none.
func InPlaceOf(q dtype.DType) dtype.DType { return inPlaceOf[q] }

// fitting returns q if rows of so many elements are whole blocks of it, or else the format in its place, or Invalid if they
// are no whole blocks of that either.
func fitting(q dtype.DType, row int64) dtype.DType {
	for ; q != dtype.Invalid; q = InPlaceOf(q) {
		if row%int64(q.BlockElems()) == 0 {
			return q
		}
	}
	return dtype.Invalid
}

// conversion returns the dtype that matrices of dt are converted to, or Invalid for none.
func (m *model) conversion(dt dtype.DType) dtype.DType {
	if dt.IsFloat() {
		return m.o.Quantize
	}
	return dtype.Invalid
}

// staysAsItIs reports whether a matrix of floats is not converted: routers, whose errors choose other experts, positions,
// and the product that layers have inputs of. They are small, and llama-quantize leaves them, too
// (llama_model_quantize_internal).
func staysAsItIs(name string) bool {
	return strings.HasSuffix(name, ".ffn_gate_inp.weight") || name == positionsName || name == productName
}

// declareVector declares the weight of a vector, or of factors for each head, converted to f32 for the kernels.
func (m *model) declareVector(name string, shape ...int64) {
	if m.declared[name] {
		return
	}
	m.declared[name] = true
	m.b.Weight(name, ir.Type{DType: dtype.F32, Shape: ir.Dims(shape...)}, m.vectorExpr(name, shape...))
}

func (m *model) vectorExpr(name string, shape ...int64) *ir.Expr {
	e := ir.Tensor(SourceName, name)
	t := m.tensor(name, shape...)
	if t == nil {
		return e
	}
	switch dt, _ := m.file.DType(t); dt {
	case dtype.F32:
	case dtype.F16, dtype.BF16:
		return ir.Quantize(e, dtype.F32.String())
	default:
		m.fail(m.file.TensorError(name, "a vector of %v: norms and biases are f32, f16 or bf16; the file is damaged", dt))
	}
	return e
}

// declareLiteral declares a vector or matrix that the file does not have.
func (m *model) declareLiteral(name string, values []float64, shape ...int64) {
	if m.declared[name] {
		return
	}
	m.declared[name] = true
	data := make([]byte, 0, 4*len(values))
	for _, x := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	e := &ir.Expr{Op: ir.ExprLiteral, Data: data}
	m.b.Weight(name, ir.Type{DType: dtype.F32, Shape: ir.Dims(shape...)}, e)
}

// layerName returns the name of a layer's tensor.
func layerName(layer int64, name string) string { return fmt.Sprintf("blk.%d.%s", layer, name) }

// Package arch builds the graph of a model from the contents of its file: the architecture's name, its
// hyperparameters and its tensors. Each architecture has one file, which reads like the description of the model.
// block.go holds their common parts.
package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Options are the user's choices about the graph.
type Options struct {
	Context  int         // positions of a sequence; 0: as trained, at most DefaultContext
	Batch    int         // tokens of a prompt in one call of prefill; 0: DefaultBatch
	KV       dtype.DType // of the KV cache: F32, F16 or Q8_0; Invalid: F16
	Quantize dtype.DType // convert float matrices to this; Invalid: keep them
	SHA256   string      // of the file, in hex; empty if it is not needed
}

// Defaults of Options.
const (
	DefaultContext = 4096
	DefaultBatch   = 512
)

// SourceName is the name of the model file in weight expressions: m["output.weight"].
const SourceName = "m"

// builders is indexed by general.architecture.
var builders = map[string]func(*model) (*ir.Module, error){
	"llama": buildLlama,
}

// OptionError means that an option does not fit a valid model file.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// Names returns the architectures that Build knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(builders)) }

// Build returns the module of a model file, as imported: the functions prefill and decode, which share weights and
// the KV cache. It reports all faults that it finds.
func Build(f *gguf.File, o Options) (*ir.Module, error) {
	name, err := f.String("general.architecture")
	if err != nil {
		return nil, err
	}
	build, ok := builders[name]
	if !ok {
		return nil, f.KeyError("general.architecture", "architecture %s is not supported: ggmlc compiles %s", gguf.Quote(name), strings.Join(Names(), ", "))
	}
	m := &model{file: f, arch: name, o: o.withDefaults(), used: make(map[string]bool)}
	return build(m)
}

func (o Options) withDefaults() Options {
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.KV == dtype.Invalid {
		o.KV = dtype.F16
	}
	return o
}

// model reads hyperparameters and tensors of a file and collects all faults, so that the code of an architecture
// needs no error handling.
type model struct {
	file *gguf.File
	arch string
	o    Options
	errs gguf.Faults
	used map[string]bool // tensors that the graph reads
}

func (m *model) fail(err error) { m.errs.Add(err) }

// failOption collects a fault of an option.
func (m *model) failOption(format string, args ...any) {
	m.fail(&OptionError{fmt.Errorf(format, args...)})
}

func (m *model) err() error { return m.errs.Err(m.file.FileError) }

// key returns the full name of an architecture's key.
func (m *model) key(name string) string { return m.arch + "." + name }

// count returns an integer hyperparameter and checks that it is within [lo, hi]. It accepts a list with one entry per
// layer if all entries are equal.
func (m *model) count(name string, lo, hi int64) int64 {
	key := m.key(name)
	n, err := m.intOrEqualList(key)
	if err != nil {
		m.fail(err)
		return lo
	}
	if n < lo || n > hi {
		m.fail(m.file.KeyError(key, "%d is outside of %d to %d: the file is damaged or of a kind that is not supported", n, lo, hi))
		return lo
	}
	return n
}

func (m *model) intOrEqualList(key string) (int64, error) {
	k, ok := m.file.Key(key)
	if !ok || k.Type != gguf.Array {
		return m.file.Int(key)
	}
	if k.Count > maxLayers { // checked before the list is read
		return 0, m.file.KeyError(key, "a list of %d values, where at most %d layers are possible: the file is damaged", k.Count, maxLayers)
	}
	list, err := m.file.Ints(key)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 || slices.Min(list) != slices.Max(list) {
		return 0, m.file.KeyError(key, "a list of different values per layer is not supported for %s", m.arch)
	}
	if layers, err := m.file.Int(m.key("block_count")); err == nil && int64(len(list)) != layers {
		return 0, m.file.KeyError(key, "a list of %d values for %d layers: the file is damaged", len(list), layers)
	}
	return list[0], nil
}

// countOr is count with a default for an absent key.
func (m *model) countOr(name string, def, lo, hi int64) int64 {
	if !m.file.Has(m.key(name)) {
		return def
	}
	return m.count(name, lo, hi)
}

// positive returns a float hyperparameter, which must be finite and above zero.
func (m *model) positive(name string) float64 {
	key := m.key(name)
	x, err := m.file.Float(key)
	if err != nil {
		m.fail(err)
		return 1
	}
	if !(x > 0) || x > 1e30 {
		m.fail(m.file.KeyError(key, "%.6g is no positive finite number: the file is damaged", x))
		return 1
	}
	return x
}

// positiveOr is positive with a default for an absent key.
func (m *model) positiveOr(name string, def float64) float64 {
	if !m.file.Has(m.key(name)) {
		return def
	}
	return m.positive(name)
}

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
		m.fail(m.file.TensorError(name, "shape %v does not match %v, which the hyperparameters ask for: the file is damaged", t.Shape, shape))
		return nil
	}
	return t
}

// has reports whether the file has an optional tensor.
func (m *model) has(name string) bool {
	_, ok := m.file.Tensor(name)
	return ok
}

func sameShape(got []int, want []int64) bool {
	return slices.EqualFunc(got, want, func(a int, b int64) bool { return int64(a) == b })
}

// leftover reports tensors that the graph does not read. Without them the results would be those of another model.
func (m *model) leftover(harmless func(name string) bool) {
	for t := range m.file.Tensors() {
		if !m.used[t.Name] && !harmless(t.Name) {
			m.fail(m.file.TensorError(t.Name, "%s has no such tensor: the file is of a variant that is not supported", m.arch))
		}
	}
}

// matrix declares the weight of a matrix [rows, cols], converted if the user has asked for that.
func (m *model) matrix(b *ir.Builder, name string, rows, cols int64) {
	t := m.tensor(name, rows, cols)
	if t == nil {
		return
	}
	dt, _ := m.file.DType(t)
	if !dt.IsFloat() && !dt.IsQuantized() || dt == dtype.F64 {
		m.fail(m.file.TensorError(name, "matrices of %v are not supported: convert the model", dt))
		return
	}
	e := ir.Tensor(SourceName, name)
	if q := m.conversion(dt); q != dtype.Invalid && cols%int64(q.BlockElems()) == 0 {
		e, dt = ir.Quantize(e, q.String()), q
	}
	b.Weight(name, ir.Type{DType: dt, Shape: ir.Dims(rows, cols)}, e)
}

// conversion returns the dtype that matrices of dt are converted to, or Invalid for none. Quantizers for other
// formats leave the output matrix in q6_K, for which there are no kernels yet. It becomes q8_0, whose rounding (1/254
// of a block's largest element) is smaller than that of the quantized activations with which it is multiplied.
func (m *model) conversion(dt dtype.DType) dtype.DType {
	switch {
	case dt.IsFloat():
		return m.o.Quantize
	case dt == dtype.Q6_K:
		return dtype.Q8_0
	}
	return dtype.Invalid
}

// vector declares the weight of a vector, converted to f32 for the kernels.
func (m *model) vector(b *ir.Builder, name string, n int64) {
	t := m.tensor(name, n)
	if t == nil {
		return
	}
	dt, _ := m.file.DType(t)
	e := ir.Tensor(SourceName, name)
	switch dt {
	case dtype.F32:
	case dtype.F16, dtype.BF16:
		e = ir.Quantize(e, dtype.F32.String())
	default:
		m.fail(m.file.TensorError(name, "a vector of %v: norms are f32, f16 or bf16; the file is damaged", dt))
		return
	}
	b.Weight(name, ir.Type{DType: dtype.F32, Shape: ir.Dims(n)}, e)
}

// layerName returns the name of a layer's tensor.
func layerName(layer int64, name string) string { return fmt.Sprintf("blk.%d.%s", layer, name) }

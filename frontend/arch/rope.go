package arch

import (
	"fmt"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/spell"
)

// rope rotates pairs of elements of a head by angles that grow with the position.
type rope struct {
	pairs ir.RopeAttr
	freqs []float64 // angle of each pair for a step of one position
	scale float32   // of cosines and sines
}

// Which elements of a head are a pair.
var (
	neighbours = ir.RopeAttr{}
	halves     = ir.RopeAttr{NeoX: true}
)

// turn rotates the heads of x. A nil rope changes nothing.
func (r *rope) turn(g *graph, x *ir.Value) *ir.Value {
	if r == nil {
		return x
	}
	return g.f.Rope(x, g.tables[r], r.pairs)
}

// freqsName is the weight that holds the angles of the first rope.
const freqsName = "rope.freqs"

// ropeFreqs returns the weight of the angles of a rope, by its number among the model's.
func (g *graph) ropeFreqs(i int, r *rope) *ir.Value {
	name := freqsName
	if i > 0 {
		name += fmt.Sprint(".", i)
	}
	g.declareLiteral(name, r.freqs, int64(len(r.freqs)))
	return g.f.Weight(name)
}

// Keys of the angles.
const (
	ropeBase      = "rope.freq_base"
	localRopeBase = "rope.freq_base_swa" // in layers with a sliding window
)

// usualBase is that of files that state none.
const usualBase = 10000

// rope describes the rotation of heads of some size: of all of it, or of the part that rope.dimension_count states.
// The angle of pair i is base^(-2i/rotated), divided by the file's factors if it has any and changed by the kind of
// scaling that the file states.
func (m *model) rope(size int64, pairs ir.RopeAttr) *rope {
	return m.ropeOfBase(size, pairs, ropeBase, m.positiveOr(ropeBase, usualBase), m.ropeScaling)
}

// windowRope describes the rotation in layers with a sliding window: that of the other layers, unless the file states a
// base of their own.
func (m *model) windowRope(size int64, pairs ir.RopeAttr, others *rope) *rope {
	if !m.file.Has(m.key(localRopeBase)) {
		return others
	}
	return m.ropeOfBase(size, pairs, localRopeBase, m.positive(localRopeBase), m.ropeScaling)
}

// unscaledWindowRope is windowRope for layers whose angles are not scaled, and have the usual base if the file states none. Cosines
// and sines have the factor of the other layers.
func (m *model) unscaledWindowRope(size int64, pairs ir.RopeAttr) *rope {
	return m.ropeOfBase(size, pairs, localRopeBase, m.positiveOr(localRopeBase, usualBase), m.onlyMagnitude)
}

// onlyMagnitude is the scaling of angles that are not scaled, but whose cosines and sines are.
func (m *model) onlyMagnitude(rotated int64, base float64) ropeScaling {
	s := m.unscaled(rotated, base)
	s.magnitude = m.positiveOr(attnFactor, 1)
	return s
}

// shortWindowRope is unscaledWindowRope for layers that may rotate a part of heads of their own size: of as many elements as in the
// other layers, whose heads have another size, unless the file states it.
func (m *model) shortWindowRope(size, other int64, pairs ir.RopeAttr) *rope {
	rotated := m.countOr("rope.dimension_count_swa", m.countOr("rope.dimension_count", other, 1, maxWidth), 1, maxWidth)
	return m.ropeOfPart(rotated, size, pairs, localRopeBase, m.positiveOr(localRopeBase, usualBase), m.onlyMagnitude)
}

// ropeOfBase describes the rotation of heads of some size by angles of a base, which a key states.
func (m *model) ropeOfBase(size int64, pairs ir.RopeAttr, key string, base float64, scaling func(rotated int64, base float64) ropeScaling) *rope {
	return m.ropeOfPart(m.countOr("rope.dimension_count", size, 1, maxWidth), size, pairs, key, base, scaling)
}

// ropeOfPart is ropeOfBase for so many elements of a head.
func (m *model) ropeOfPart(rotated, size int64, pairs ir.RopeAttr, key string, base float64, scaling func(rotated int64, base float64) ropeScaling) *rope {
	if m.errs.Any() { // the size may be that of missing numbers
		scaling(2, base)
		return nil
	}
	if rotated%2 != 0 || rotated > size {
		m.fail(m.file.KeyError(m.key("rope.dimension_count"), "%d elements cannot be turned in pairs within a head of %d: the file is damaged", rotated, size))
		return nil
	}
	s := scaling(rotated, base)
	if m.errs.Any() {
		return nil
	}
	r := &rope{pairs: pairs, freqs: make([]float64, rotated/2), scale: float32(s.magnitude)}
	for i := range r.freqs {
		r.freqs[i] = math.Pow(base, -2*float64(i)/float64(rotated)) / s.factors[i] * s.stretch(i)
		if math.IsInf(float64(float32(r.freqs[i])), 0) {
			m.fail(m.file.KeyError(m.key(key), "%g gives angles that overflow: the file is damaged", base))
			return nil
		}
	}
	m.ropes = append(m.ropes, r)
	return r
}

// unscaled is the scaling of angles that are not scaled.
func (m *model) unscaled(rotated int64, _ float64) ropeScaling {
	return ropeScaling{factors: ones(rotated / 2), stretch: func(int) float64 { return 1 }, magnitude: 1}
}

// ones are the divisors of angles that are not changed.
func ones(half int64) []float64 { return slices.Repeat([]float64{1}, int(half)) }

// ropeScaling is how a model was stretched to more positions than it was first trained with.
type ropeScaling struct {
	factors   []float64           // divisor of the angle of each pair
	stretch   func(i int) float64 // factor of the angle of pair i
	magnitude float64             // factor of cosines and sines
}

// ropeScaling reads the kind of scaling and its parameters. Files that do not state a kind have linear scaling, or
// longrope if they have its tensors.
func (m *model) ropeScaling(rotated int64, base float64) ropeScaling {
	s := ropeScaling{magnitude: m.positiveOr(attnFactor, 1)}
	if !m.errs.Any() {
		s.factors = m.ropeFactors("rope_freqs.weight", rotated/2)
	}
	factor := m.stretchFactor()
	s.stretch = func(int) float64 { return 1 / factor }
	usual := "linear"
	if m.has(longFactors) || m.has(shortFactors) { // files of phi3 do not state it
		usual = "longrope"
	}
	switch kind := m.stringOr("rope.scaling.type", usual); kind {
	case "linear":
	case "none", "":
		s.stretch = func(int) float64 { return 1 }
	case "yarn":
		s.stretch = m.yarn(rotated, base, factor)
		s.magnitude *= m.yarnMagnitude(factor)
	case "longrope":
		s.factors = m.longRope(rotated / 2)
	default:
		m.fail(m.file.KeyError(m.key("rope.scaling.type"), "rope scaling %s is not supported:%s none, linear, yarn and longrope are",
			gguf.Quote(kind), spell.Hint(kind, []string{"none", "linear", "yarn", "longrope"})))
	}
	return s
}

// attnFactor is the key of a factor of cosines and sines.
const attnFactor = "rope.scaling.attn_factor"

// stretchFactor returns how many times as many positions a model was stretched to. Old files have a key of another name.
func (m *model) stretchFactor() float64 {
	return m.positiveOr("rope.scaling.factor", m.positiveOr("rope.scale_linear", 1))
}

// originalContext returns the number of positions before the model was stretched.
func (m *model) originalContext() int64 {
	return m.countOr("rope.scaling.original_context_length", m.trained, 1, math.MaxUint32)
}

// yarn returns the factors of YaRN (Peng et al. 2023, section 3.2): pairs that turn often within the original context
// keep their angles, pairs that turn less than once are stretched, and those between are mixed. The pairs between are
// counted as in llama.cpp, in whole elements of the head.
func (m *model) yarn(rotated int64, base, factor float64) func(i int) float64 {
	context := float64(m.originalContext())
	fast, slow := m.turnsOfYarn()
	pair := func(turns float64) float64 { // that turns so often
		return float64(rotated) * math.Log(context/(turns*2*math.Pi)) / (2 * math.Log(base))
	}
	first := max(0, math.Floor(pair(fast)))
	last := min(float64(rotated-1), math.Ceil(pair(slow)))
	return func(i int) float64 {
		keep := 1 - min(1, max(0, (float64(i)-first)/max(0.001, last-first)))
		return (1-keep)/factor + keep
	}
}

// turnsOfYarn returns YaRN's two numbers of turns within the original context. Pairs that turn at least fast times keep
// their angles; the angles of pairs that turn at most slow times are stretched. Files of all architectures state both
// numbers, but llama.cpp reads them for two architectures only, and uses the usual numbers for the others.
func (m *model) turnsOfYarn() (fast, slow float64) {
	fast, slow = m.positiveOr("rope.scaling.yarn_beta_fast", usualFast), m.positiveOr("rope.scaling.yarn_beta_slow", usualSlow)
	if m.arch != "grok" && m.arch != "mistral3" {
		return usualFast, usualSlow
	}
	return fast, slow
}

// Turns of YaRN's pairs within the original context.
const (
	usualFast = 32
	usualSlow = 1
)

// yarnMagnitude returns the factor of cosines and sines, which makes up for the larger entropy of long contexts. Files of
// several architectures state a multiplier of the logarithm, but llama.cpp reads it for mistral3 and deepseek2 alone (stretchScores).
func (m *model) yarnMagnitude(factor float64) float64 {
	grown := 0.1 * math.Log(max(1, factor))
	multiplier := m.atLeastZeroOr(yarnLogMultiplier, 0)
	if m.arch != "mistral3" {
		return 1 + grown
	}
	return (1 + grown) / (1 + grown*multiplier)
}

const yarnLogMultiplier = "rope.scaling.yarn_log_multiplier"

// Tensors of longRope.
const (
	shortFactors = "rope_factors_short.weight"
	longFactors  = "rope_factors_long.weight"
)

// longRope returns the divisors for the context that the user has chosen: those for short ones, or those for contexts
// longer than the original.
func (m *model) longRope(half int64) []float64 {
	if m.errs.Any() { // half may be that of missing numbers
		return ones(half)
	}
	short, long := m.tensor(shortFactors, half), m.tensor(longFactors, half)
	if short == nil || long == nil {
		return ones(half)
	}
	if m.context > m.originalContext() {
		return m.ropeFactors(longFactors, half)
	}
	return m.ropeFactors(shortFactors, half)
}

// ropeFactors returns the divisor of each angle, ones if the file has no such tensor.
func (m *model) ropeFactors(name string, half int64) []float64 {
	factors := ones(half)
	if !m.has(name) {
		return factors
	}
	t := m.tensor(name, half)
	if t == nil {
		return factors
	}
	m.fail(m.readFactors(t, factors))
	return factors
}

func (m *model) readFactors(t *gguf.Tensor, factors []float64) error {
	dt, _ := m.file.DType(t)
	if dt != dtype.F32 && dt != dtype.F16 && dt != dtype.BF16 {
		return m.file.TensorError(t.Name, "factors of %v: they are f32, f16 or bf16; the file is damaged", dt)
	}
	buf := make([]byte, t.Size)
	if err := m.file.ReadTensor(t, 0, buf); err != nil {
		return err
	}
	if err := dtype.Decode(dt, factors, buf); err != nil {
		return m.file.TensorError(t.Name, "%v", err)
	}
	for _, x := range factors {
		if !(x > 0) || math.IsInf(x, 0) {
			return m.file.TensorError(t.Name, "holds %v: factors are positive finite numbers; the file is damaged", x)
		}
	}
	return nil
}

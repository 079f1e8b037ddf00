package arch

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// model reads hyperparameters and tensors of a file and collects all faults, so that the code of an architecture
// needs no error handling.
type model struct {
	file  *gguf.File
	arch  string
	o     Options
	given Options // as the user gave them, without defaults
	errs  gguf.Faults
	seen  map[string]bool // texts of errs
	read  map[string]bool // keys that the description reads
	used  map[string]bool // tensors that the graph reads
	kept  Kept            // matrices that the user's format does not fit

	counts map[string]int64 // integers that the file states, by key

	layers, embd, vocab int64
	trained, context    int64  // positions
	batch               int64  // tokens of a step
	limit               string // key that has limited the context, see limitContext
	ropes               []*rope
	perHead             int64 // heads with matrices of their own; 0: none
	growth              growth

	b        *ir.Builder
	declared map[string]bool // weights and states
}

// Limits far above those of real models. Beyond them a file is damaged, and sizes computed from it could overflow.
const (
	maxLayers  = 512
	maxWidth   = 1 << 20
	maxHeads   = 1 << 12
	maxExperts = 1 << 12
	maxVocab   = 1 << 24
	maxContext = 1 << 24
)

// newModel reads what all architectures have.
func newModel(f *gguf.File, arch string, o Options) *model {
	m := &model{file: f, arch: arch, o: o, seen: make(map[string]bool), read: make(map[string]bool), used: make(map[string]bool), counts: make(map[string]int64), declared: make(map[string]bool)}
	m.layers = m.count("block_count", 1, maxLayers)
	m.embd = m.count("embedding_length", 1, maxWidth)
	m.vocab = m.vocabSize()
	m.trained = m.count("context_length", 1, math.MaxUint32)
	m.context = m.chooseContext()
	m.batch = m.chooseBatch()
	m.limitToWindow()
	m.checkSequences()
	return m
}

// maxSeen is the number of faults whose texts are kept, more than are reported.
const maxSeen = 1000

// fail collects a fault, once: several parts may read a key.
func (m *model) fail(err error) {
	if err == nil || m.seen[err.Error()] {
		return
	}
	if len(m.seen) < maxSeen { // a damaged file may have millions of tensors
		m.seen[err.Error()] = true
	}
	m.errs.Add(err)
}

// failOption collects a fault of an option.
func (m *model) failOption(format string, args ...any) {
	m.fail(&OptionError{fmt.Errorf(format, args...)})
}

func (m *model) err() error { return m.errs.Err(m.file.FileError) }

// key returns the full name of an architecture's key, and notes that the description reads it.
func (m *model) key(name string) string {
	key := m.arch + "." + name
	m.read[key] = true
	return key
}

// ignore notes keys that change nothing in this file.
func (m *model) ignore(names ...string) {
	for _, name := range names {
		m.key(name)
	}
}

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
	m.counts[key] = n
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

// atLeastZero returns a float hyperparameter, which must be finite and not below zero.
func (m *model) atLeastZero(name string) float64 {
	key := m.key(name)
	x, err := m.file.Float(key)
	if err != nil {
		m.fail(err)
		return 0
	}
	if !(x >= 0) || x > 1e30 {
		m.fail(m.file.KeyError(key, "%.6g is no finite number from 0 on: the file is damaged", x))
		return 0
	}
	return x
}

// atLeastZeroOr is atLeastZero with a default for an absent key.
func (m *model) atLeastZeroOr(name string, def float64) float64 {
	if !m.file.Has(m.key(name)) {
		return def
	}
	return m.atLeastZero(name)
}

// flag returns a bool.
func (m *model) flag(name string) bool {
	b, err := m.file.Bool(m.key(name))
	m.fail(err)
	return b
}

// denied reports whether the file states that something is not so.
func (m *model) denied(name string) bool { return m.file.Has(m.key(name)) && !m.flag(name) }

// stated reports whether the file states that something is so.
func (m *model) stated(name string) bool { return m.file.Has(m.key(name)) && m.flag(name) }

// stringOr returns a text, or a default for an absent key.
func (m *model) stringOr(name, def string) string {
	key := m.key(name)
	if !m.file.Has(key) {
		return def
	}
	s, err := m.file.String(key)
	m.fail(err)
	return s
}

// VocabSize returns the number of rows of a file's token embedding.
func VocabSize(f *gguf.File) (int64, error) {
	t, ok := f.Tensor(embdName)
	if !ok || len(t.Shape) != 2 || t.Shape[0] > maxVocab {
		return 0, f.TensorError(embdName, "missing, or no matrix for a vocabulary: the tokens have no embedding")
	}
	return int64(t.Shape[0]), nil
}

// embdName returns the name of the token embedding, which is that of the output matrix in files of CodeShell without one of
// its own, as for llama.cpp.
func (m *model) embdName() string {
	if m.arch == "codeshell" && !m.has(embdName) {
		return outputName + ".weight"
	}
	return embdName
}

// vocabSize returns the number of rows of the embedding, which must be that of the vocabulary.
func (m *model) vocabSize() int64 {
	name := m.embdName()
	t, ok := m.file.Tensor(name)
	if !ok || len(t.Shape) != 2 {
		m.fail(m.file.TensorError(name, "missing, or no matrix: %s cannot be built without its token embedding", m.arch))
		return 1
	}
	rows := int64(t.Shape[0])
	if rows > maxVocab {
		m.fail(m.file.TensorError(name, "%d rows are more than any vocabulary has: the file is damaged", rows))
	}
	if n := m.countOr("vocab_size", rows, 1, maxVocab); n != rows {
		m.fail(m.file.KeyError(m.key("vocab_size"), "%d tokens, but %s has %d rows: the file is damaged", n, name, rows))
	}
	return rows
}

// chooseContext returns the number of positions of a sequence: the user's choice, or else the trained length but at
// most DefaultContext.
func (m *model) chooseContext() int64 {
	switch n := int64(m.o.Context); {
	case n > maxContext:
		m.failOption("--ctx %d is more than the %d positions that a cache may have: ask for fewer", n, maxContext)
	case n > 0:
		return n
	}
	return min(m.trained, DefaultContext)
}

// checkSequences reports more sequences than a cache may have.
func (m *model) checkSequences() {
	if m.o.Sequences > MaxSequences {
		m.failOption("--sequences %d is more than the %d that a cache may have: ask for fewer", m.o.Sequences, MaxSequences)
		m.o.Sequences = 1
	}
}

// limitContext makes the context at most n positions, for a reason that a key states, unless the user has chosen more.
func (m *model) limitContext(n int64, reason, key string) {
	switch {
	case n >= m.context || m.errs.Any():
	case m.o.Context > 0:
		m.failOption("--ctx %d is more than the %d positions %s (%s): ask for fewer", m.context, n, reason, m.key(key))
	default:
		m.context, m.batch = n, min(n, m.batch)
		m.limit = m.key(key)
	}
}

// chooseBatch returns the number of prompt tokens in one step: the user's choice or the default, but no more than a
// sequence has positions.
func (m *model) chooseBatch() int64 {
	n := int64(m.o.Batch)
	if n > maxContext {
		m.failOption("--batch %d is more than the %d positions that a sequence may have: ask for fewer", n, maxContext)
	}
	return min(n, m.context)
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

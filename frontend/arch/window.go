package arch

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

// Sliding windows. In layers that have one, a token reads the positions of the window, which ends with its own. Their
// caches are rings: position p is in row p modulo the number of rows, and a step overwrites only positions before the
// windows of its tokens. Runtimes know which positions are there (runtime.Ring). docs/explanation/windows.md has the
// reasons.

// ringRows is what the rows of a ring are a multiple of: kernels read as many at once (kernels/cpu/tile.ChunkLen).
const ringRows = 128

// cache is the extent of the caches of a layer.
type cache struct {
	rows int64
	ring int64 // positions of a sequence, if there are fewer rows than that; otherwise 0
}

// cache returns the extent of the caches of a layer with a window; without one, window is 0.
func (m *model) cache(window int64) cache {
	if window == 0 || m.o.WholeCache {
		return cache{rows: m.context}
	}
	step := max(m.batch, int64(m.o.Sequences)) // the most tokens, of which the first reads a whole window
	rows := (window + step - 1 + ringRows - 1) / ringRows * ringRows
	if rows >= m.context {
		return cache{rows: m.context}
	}
	return cache{rows, m.context}
}

// windowed are the architectures whose descriptions have windows in some layers, or that read all positions in spite of
// the key, as llama.cpp does.
var windowed = []string{"cohere2", "exaone4", "gemma-embedding", "gemma2", "gemma3", "gemma4", "gpt-oss", "modern-bert", "olmo2", "phi3"}

// windowOr returns the number of positions of the sliding window, or a default if the file does not state it; 0: there
// is none.
func (m *model) windowOr(def int64) int64 {
	return m.countOr("attention.sliding_window", def, 0, math.MaxInt32)
}

// windowPattern is the key that states which layers have the window.
const windowPattern = "attention.sliding_window_pattern"

// windowedLayers returns whether each layer has the sliding window. The file states it for each layer, or as a period,
// whose last layer has none; a period of 0 is that of no such layer. The period of an architecture is the default.
func (m *model) windowedLayers(period int64) func(layer int64) bool {
	k, ok := m.file.Key(m.key(windowPattern))
	if ok && k.Type == gguf.Array {
		list := m.windowList(windowPattern)
		return func(layer int64) bool { return layer < int64(len(list)) && list[layer] }
	}
	if ok {
		period = m.count(windowPattern, 0, maxLayers)
	}
	return func(layer int64) bool { return period == 0 || layer%period < period-1 }
}

// layersAfterWhole is windowedLayers where the first layer of a period has no window.
func (m *model) layersAfterWhole(period int64) func(layer int64) bool {
	k, ok := m.file.Key(m.key(windowPattern))
	if ok && k.Type == gguf.Array {
		return m.windowedLayers(period)
	}
	if ok {
		period = m.count(windowPattern, 0, maxLayers)
	}
	return func(layer int64) bool { return period == 0 || layer%period != 0 }
}

// windowList returns the list of windowPattern: one bool, 0 or 1 for each layer.
func (m *model) windowList(name string) []bool {
	key := m.key(name)
	if !m.file.Has(key) {
		m.fail(m.file.KeyError(key, "missing: %s needs a list of the layers with a sliding window", m.arch))
		return nil
	}
	return listOfLayers(m, key, m.boolsOrInts)
}

// listOfLayers reads the list of a key, which has a value for each layer.
func listOfLayers[T any](m *model, key string, read func(key string) ([]T, error)) []T {
	if k, _ := m.file.Key(key); k.Count > maxLayers { // checked before the list is read
		m.fail(m.file.KeyError(key, "a list of %d values, where at most %d layers are possible: the file is damaged", k.Count, maxLayers))
		return nil
	}
	list, err := read(key)
	if err == nil && int64(len(list)) != m.layers && !m.errs.Any() {
		err = m.file.KeyError(key, "a list of %d values for %d layers: the file is damaged", len(list), m.layers)
	}
	m.fail(err)
	return list
}

// boolsOrInts returns a list of bools, which files may have as integers.
func (m *model) boolsOrInts(key string) ([]bool, error) {
	if k, ok := m.file.Key(key); ok && k.Elem == gguf.Bool {
		return m.file.Bools(key)
	}
	ints, err := m.file.Ints(key)
	if err != nil {
		return nil, err
	}
	list := make([]bool, len(ints))
	for i, n := range ints {
		if n != 0 && n != 1 {
			return nil, m.file.KeyError(key, "%d for layer %d: it is 1 for a layer with a sliding window and otherwise 0; the file is damaged", n, i)
		}
		list[i] = n == 1
	}
	return list, nil
}

// window returns the number of positions of the sliding window, which the file has to state.
func (m *model) window() int64 { return m.count("attention.sliding_window", 1, math.MaxInt32) }

// halfWindow returns half of the positions of a sliding window around a token.
func (m *model) halfWindow() int64 {
	n := m.window()
	if n < 2 && !m.errs.Any() {
		m.fail(m.file.KeyError(m.key("attention.sliding_window"), "%d: tokens of %s read at least those beside them; the file is damaged", n, m.arch))
	}
	return n / 2
}

// limitToWindow limits the context of other architectures to a window that the file states, within which they read all
// positions before a token as without one.
func (m *model) limitToWindow() {
	if slices.Contains(windowed, m.arch) {
		return
	}
	if n := m.windowOr(0); n > 0 {
		m.key(windowPattern) // which changes nothing within the window
		m.limitContext(n, "of the model's sliding window, which "+m.arch+" is not known to have", "attention.sliding_window")
	}
}

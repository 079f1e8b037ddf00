package arch

import (
	"math"
	"slices"
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
var windowed = []string{"cohere2", "exaone4", "gemma2", "gemma3", "gpt-oss", "olmo2", "phi3"}

// windowOr returns the number of positions of the sliding window, or a default if the file does not state it; 0: there
// is none.
func (m *model) windowOr(def int64) int64 {
	return m.countOr("attention.sliding_window", def, 0, math.MaxInt32)
}

// window returns the number of positions of the sliding window, which the file has to state.
func (m *model) window() int64 { return m.count("attention.sliding_window", 1, math.MaxInt32) }

// limitToWindow limits the context of other architectures to a window that the file states, within which they read all
// positions before a token as without one.
func (m *model) limitToWindow() {
	if slices.Contains(windowed, m.arch) {
		return
	}
	if n := m.windowOr(0); n > 0 {
		m.limitContext(n, "of the model's sliding window, which "+m.arch+" is not known to have", "attention.sliding_window")
	}
}

package accuracy

import (
	"math"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// totals collects squared deviations by format and KV cache.
type totals struct {
	mu   sync.Mutex
	sums map[cell]sum
}

type cell struct {
	format string
	kv     dtype.DType
}

type sum struct {
	squares, tolerance float64
	rows               int
}

func (s sum) rms() float64 { return math.Sqrt(s.squares / float64(s.rows)) }

func (t *totals) add(r *random, squares float64, rows int) {
	if r.quantize != dtype.Invalid && r.quantized() < len(r.rows()) || r.fewLogits() {
		return // some matrices are computed as they are stored, or the range is another
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sums == nil {
		t.sums = make(map[cell]sum)
	}
	c := cell{r.format.name, r.kv}
	s := t.sums[c]
	t.sums[c] = sum{s.squares + squares, r.tolerance(), s.rows + rows}
}

// check compares each format with what it is allowed, over all its models and all kinds of
// KV cache, and prints the table.
func (t *totals) check(tb testing.TB) {
	for _, f := range formats {
		var all sum
		for _, kv := range kvs {
			s, ok := t.sums[cell{f.name, kv}]
			if !ok {
				continue
			}
			tb.Logf("%-12s kv %-5v rms %.7f of the range (%d rows)", f.name, kv, s.rms(), s.rows)
			all = sum{all.squares + s.squares, max(all.tolerance, s.tolerance), all.rows + s.rows}
		}
		if all.rows > 0 && !testing.Short() && !(all.rms() <= all.tolerance) {
			tb.Errorf("%s: %.6f of the range away from exact arithmetic (rms of %d rows); %.6f is allowed", f.name, all.rms(), all.rows, all.tolerance)
		}
	}
}

package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// TestPackChunksFillsNoChunkBeyondTheLimit packs random buffers where the largest allocation is small: no buffer
// straddles two chunks, none overlaps another one, and no chunk is larger than allowed.
func TestPackChunksFillsNoChunkBeyondTheLimit(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	several := 0
	for range 200 {
		const align, limit = 64, 64 * 10
		var p mem.Problem
		for i := range 1 + rng.IntN(30) {
			b := mem.Buffer{ID: fmt.Sprint(i), Lower: rng.Int64N(20), Size: align * (1 + rng.Int64N(10)), Align: align}
			b.Upper = b.Lower + 1 + rng.Int64N(10)
			p.Buffers = append(p.Buffers, b)
		}
		got, stats, err := packChunks(&pass.Context{Ctx: t.Context(), Options: &pass.Options{}}, p, limit, 1000)
		if err != nil {
			t.Fatal(err)
		}
		checkChunks(t, p, got, limit)
		if got.height < stats.Bound {
			t.Errorf("chunks of %d bytes in all, and the bound is %d", got.height, stats.Bound)
		}
		if len(got.chunks) > 1 {
			several++
		}
	}
	if several == 0 {
		t.Error("everything fitted into one chunk: nothing was tested")
	}
}

func checkChunks(t *testing.T, p mem.Problem, got packing, limit int64) {
	t.Helper()
	for i, size := range got.chunks {
		if size <= 0 || size > limit {
			t.Errorf("chunk %d has %d bytes, allowed are %d", i, size, limit)
		}
	}
	for i, b := range p.Buffers {
		chunk, from := got.at(i)
		if end := from + b.Size; from < 0 || from%b.Align != 0 || end > got.chunks[chunk] {
			t.Errorf("buffer %s is at [%d,%d) of chunk %d of %d bytes", b.ID, from, end, chunk, got.chunks[chunk])
		}
		for j, c := range p.Buffers[:i] {
			other, at := got.at(j)
			if together := b.Lower < c.Upper && c.Lower < b.Upper && chunk == other; together && from < at+c.Size && at < from+b.Size {
				t.Errorf("buffers %s and %s overlap in chunk %d", b.ID, c.ID, chunk)
			}
		}
	}
}

// TestPackChunksNamesBuffersBeyondTheLimit demands an error for every buffer that no allocation can hold.
func TestPackChunksNamesBuffersBeyondTheLimit(t *testing.T) {
	p := mem.Problem{Buffers: []mem.Buffer{{ID: "a", Upper: 1, Size: 100}, {ID: "b", Upper: 1, Size: 64}, {ID: "c", Upper: 1, Size: 65}}}
	_, _, err := packChunks(&pass.Context{Ctx: t.Context(), Options: &pass.Options{}}, p, 64, 0)
	for _, name := range []string{`"a" needs 100`, `"c" needs 65`} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %s", err, name)
		}
	}
	if err != nil && strings.Contains(err.Error(), `"b"`) {
		t.Errorf("error %v: b fits", err)
	}
}

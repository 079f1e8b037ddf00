package mem

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestChunksAreTheFirstWithRoom compares with the definition: largest first, the lowest free offset of the first
// chunk that has room, by trying all offsets.
func TestChunksAreTheFirstWithRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	several := 0
	for i := range 300 {
		const limit = 21
		p := randomProblem(rng, 1+rng.IntN(40), 12, limit+1, i%3 == 0)
		if i%4 == 0 {
			tear(rng, p)
		}
		chunk, offsets, sizes := Chunks(p, limit)
		var want []int64
		for _, i := range order(len(p.Buffers), func(i, j int) int { return int(p.Buffers[j].Size - p.Buffers[i].Size) }) {
			b := &p.Buffers[i]
			c, off := lowestInChunks(p, i, chunk, offsets, limit)
			if chunk[i] != c || offsets[i] != off {
				t.Fatalf("%+v of %+v is at %d of chunk %d, want %d of %d", *b, p, offsets[i], chunk[i], off, c)
			}
			for c >= len(want) {
				want = append(want, 0)
			}
			want[c] = max(want[c], off+b.Size)
		}
		if fmt.Sprint(sizes) != fmt.Sprint(want) {
			t.Errorf("chunks of %d, want %d", sizes, want)
		}
		if len(sizes) > 2 {
			several++
		}
	}
	if several == 0 {
		t.Error("everything fitted into two chunks: little was tested")
	}
}

// lowestInChunks returns the chunk and offset that buffer i has to have, after those placed before it.
func lowestInChunks(p Problem, i int, chunk []int, offsets []int64, limit int64) (int, int64) {
	b := &p.Buffers[i]
	for c := 0; ; c++ {
	next:
		for off := int64(0); off+b.Size <= limit; off += b.align() {
			for j := range p.Buffers {
				d := &p.Buffers[j]
				before := d.Size > b.Size || d.Size == b.Size && j < i
				if before && chunk[j] == c && d.meets(b) && off < offsets[j]+d.Size && offsets[j] < off+b.Size {
					continue next
				}
			}
			return c, off
		}
	}
}

// TestChunksOfManyBuffersEndInTime packs so many buffers that comparing all pairs would take minutes.
func TestChunksOfManyBuffersEndInTime(t *testing.T) {
	p := chain(100_000)
	_, _, sizes := Chunks(p, 1<<16)
	if len(sizes) < 2 || sizes[0] > 1<<16 {
		t.Errorf("chunks of %d", sizes)
	}
}

func BenchmarkChunks(b *testing.B) {
	for _, n := range []int64{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := chain(n)
			for b.Loop() {
				Chunks(p, 1<<16)
			}
		})
	}
}

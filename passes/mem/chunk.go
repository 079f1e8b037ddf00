package mem

import "cmp"

// Chunks packs the buffers of p, none of which is fixed or larger than limit, into several ranges of addresses of at
// most limit each: the largest ones first, each at the lowest free offset of the first chunk that has room. It returns
// the chunk of each buffer, its offset there, and the sizes of the chunks.
//
// Buffers of 6, 5, 3 and 2 that all live at once need two chunks of 9: 6 at 0 of chunk 0; 5 at 0 of chunk 1, as chunk 0
// has 3 left; 3 at 6 of chunk 0; 2 at 5 of chunk 1.
//
// Internally chunk c is the addresses from c*limit on, so that the buffers of all chunks are in one list of placed
// ones. Addresses do not overflow: gaps between placed buffers are smaller than a buffer that was placed elsewhere, so
// every chunk but the last one is filled to a third at some time, and [Problem.Check] bounds the sum of sizes by a
// quarter of the largest integer.
func Chunks(p Problem, limit int64) (chunk []int, offsets, sizes []int64) {
	k := newPacker(p)
	chunk, offsets = make([]int, len(p.Buffers)), make([]int64, len(p.Buffers))
	bySize := func(i, j int) int { return cmp.Compare(p.Buffers[j].Size, p.Buffers[i].Size) }
	for _, i := range order(len(p.Buffers), bySize) {
		at := k.firstFit(i, limit)
		k.put(i, at)
		c := int(at / limit)
		for c >= len(sizes) {
			sizes = append(sizes, 0)
		}
		chunk[i], offsets[i] = c, at%limit
		sizes[c] = max(sizes[c], offsets[i]+p.Buffers[i].Size)
	}
	return chunk, offsets, sizes
}

// firstFit returns the lowest free address of buffer i that is within one chunk.
func (k *packer) firstFit(i int, limit int64) int64 {
	b := &k.p.Buffers[i]
	if b.Size == 0 {
		return 0
	}
	var at int64
	for _, t := range k.takenFor(i) {
		if at+b.Size <= t.lo {
			break
		}
		at = max(at, inChunk(t.hi, b, limit))
	}
	return at
}

// inChunk returns the lowest address, from at on, at which b is within one chunk.
func inChunk(at int64, b *Buffer, limit int64) int64 {
	first := at - at%limit
	if offset := alignUp(at-first, b.align()); offset+b.Size <= limit {
		return first + offset
	}
	return first + limit
}

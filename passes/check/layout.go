package check

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check/cover"
)

// layout divides the chunks that a trace uses into cells: the bytes between two neighbouring borders. The borders are
// the ends of all objects, so that each object is a whole number of cells.
//
// Objects a = [0,256), b = [0,512) and c = [384,512) of one chunk give it the borders 0, 256, 384 and 512: a is cell 0,
// b is cells 0 to 2, c is cell 2. There are at most twice as many cells as objects, however large chunks are.
type layout struct {
	index  map[chunkKey]int // of a chunk in the list
	chunks []chunk
}

// chunk is the borders of a chunk.
type chunk struct {
	key     chunkKey
	borders []int64 // in order
}

// chunkKey names a chunk of an arena. Inputs and outputs have an instance for each call that is under way.
type chunkKey struct{ arena, chunk, instance int }

// cells is cells [lo,hi) of a chunk.
type cells struct{ chunk, lo, hi int }

// meets reports whether two ranges share bytes.
func (a cells) meets(b cells) bool { return a.chunk == b.chunk && a.lo < b.hi && b.lo < a.hi }

// compareCells orders ranges by chunk and beginning.
func compareCells(a, b cells) int {
	return cmp.Or(cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi))
}

// layOut divides the chunks that the objects use in a number of calls.
func layOut(t *trace, calls int) *layout {
	l := &layout{index: make(map[chunkKey]int)}
	for _, o := range t.objects {
		for call := range min(calls, o.period()) {
			l.border(o.key(call), o.offset(call), o.offset(call)+o.place.Bytes)
		}
	}
	for i := range l.chunks {
		b := &l.chunks[i].borders
		slices.Sort(*b)
		*b = slices.Compact(*b)
	}
	return l
}

// border adds borders to a chunk.
func (l *layout) border(key chunkKey, borders ...int64) {
	i, known := l.index[key]
	if !known {
		i = len(l.chunks)
		l.index[key] = i
		l.chunks = append(l.chunks, chunk{key: key})
	}
	l.chunks[i].borders = append(l.chunks[i].borders, borders...)
}

// move gives the objects of a trace the addresses that they have in a call.
func (l *layout) move(t *trace, call int) {
	for _, o := range t.objects {
		o.place.Offset = o.offset(call)
		i := l.index[o.key(call)]
		lo, _ := slices.BinarySearch(l.chunks[i].borders, o.place.Offset)
		hi, _ := slices.BinarySearch(l.chunks[i].borders, o.place.Offset+o.place.Bytes)
		o.cells = cells{i, lo, hi}
	}
}

// place returns the bytes of cells.
func (l *layout) place(at cells) ir.Place {
	c := &l.chunks[at.chunk]
	lo, hi := c.borders[at.lo], c.borders[at.hi]
	return ir.Place{Arena: c.key.arena, Chunk: c.key.chunk, Offset: lo, Bytes: hi - lo}
}

// newCovers returns a cover of the cells of each chunk.
func newCovers[T comparable](l *layout) []*cover.Cover[T] {
	list := make([]*cover.Cover[T], len(l.chunks))
	for i := range list {
		list[i] = cover.New[T](len(l.chunks[i].borders) - 1)
	}
	return list
}

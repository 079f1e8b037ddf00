package check

import "slices"

// cover says for every byte of a chunk which number it carries; 0 at first. It is a tree
// over the cells between the borders of all ranges that are ever asked for, whose inner
// nodes hold a number where all below carry it: assigning a range, and reading one that
// carries one number, take time logarithmic in the cells.
type cover struct {
	borders []int64
	cells   int
	tree    []int32 // mixed, or what all cells below carry
}

const mixed = -1

// cells is a range of bytes in cells of a chunk.
type cells struct{ chunk, lo, hi int32 }

// meet reports whether two ranges share bytes.
func (a cells) meet(b cells) bool { return a.chunk == b.chunk && a.lo < b.hi && b.lo < a.hi }

func newCover(borders []int64) *cover {
	n := max(len(borders)-1, 1)
	return &cover{borders: borders, cells: n, tree: make([]int32, 4*n)}
}

// assign makes cells [lo,hi) carry id.
func (c *cover) assign(lo, hi int32, id int32) {
	if lo < hi {
		c.assignBelow(1, 0, c.cells, int(lo), int(hi), id)
	}
}

// assignBelow assigns to cells [lo,hi) of those of a node, [from,to). It goes down as long as they
// lie on one side, and up again to the node.
func (c *cover) assignBelow(node, from, to, lo, hi int, id int32) {
	at := node
	for lo > from || hi < to {
		if own := c.tree[at]; own == id {
			break
		} else if own != mixed {
			c.tree[2*at], c.tree[2*at+1] = own, own
		}
		mid := (from + to) / 2
		if lo < mid && mid < hi {
			c.assignBelow(2*at, from, mid, lo, mid, id)
			c.assignBelow(2*at+1, mid, to, mid, hi, id)
			c.join(at)
			break
		}
		if hi <= mid {
			at, to = 2*at, mid
		} else {
			at, from = 2*at+1, mid
		}
	}
	if lo <= from && to <= hi {
		c.tree[at] = id
	}
	for at != node {
		at /= 2
		c.join(at)
	}
}

// join makes a node carry what both of its children do.
func (c *cover) join(at int) {
	if l := c.tree[2*at]; l == c.tree[2*at+1] {
		c.tree[at] = l
	} else {
		c.tree[at] = mixed
	}
}

// visit calls yield for pieces of cells [lo,hi), in order, with what each carries, until
// yield returns false. Neighbouring pieces may carry the same.
func (c *cover) visit(lo, hi int32, yield func(id, lo, hi int32) bool) {
	if lo < hi {
		c.visitBelow(1, 0, c.cells, int(lo), int(hi), yield)
	}
}

func (c *cover) visitBelow(at, from, to, lo, hi int, yield func(id, lo, hi int32) bool) bool {
	for c.tree[at] == mixed {
		mid := (from + to) / 2
		if hi <= mid {
			at, to = 2*at, mid
			continue
		}
		if lo < mid && !c.visitBelow(2*at, from, mid, lo, hi, yield) {
			return false
		}
		at, from = 2*at+1, mid
	}
	return yield(c.tree[at], int32(max(from, lo)), int32(min(to, hi)))
}

// bytes returns the range of bytes of cells [lo,hi).
func (c *cover) bytes(lo, hi int32) (from, to int64) { return c.borders[lo], c.borders[hi] }

// layout is the chunks that some calls use, and their borders.
type layout struct {
	index   map[chunkKey]int32
	keys    []chunkKey
	borders [][]int64
	last    int32 // the chunk that was asked for last
}

// chunkKey names a chunk of an arena, and which instance of it.
type chunkKey struct{ arena, chunk, instance int }

// layOut finds the chunks of all objects in so many calls, and gives each object the cells
// that it has in the first.
func layOut(t *trace, calls int) *layout {
	l := &layout{index: make(map[chunkKey]int32)}
	l.reserve(t)
	for i := range t.objects {
		o := &t.objects[i]
		for call := range min(calls, o.period()) {
			l.add(o.key(call), o.offset(call), o.place.Bytes)
		}
	}
	for k, b := range l.borders {
		slices.Sort(b)
		l.borders[k] = slices.Compact(b)
	}
	for i := range t.objects {
		l.move(t, int32(i), 0)
	}
	return l
}

// reserve makes room for the borders of objects in the first call: most have none in others.
func (l *layout) reserve(t *trace) {
	var counts []int
	for i := range t.objects {
		k := l.chunk(t.objects[i].key(0))
		if int(k) == len(counts) {
			counts = append(counts, 0)
		}
		counts[k] += 2
	}
	for k, n := range counts {
		l.borders[k] = make([]int64, 0, n)
	}
}

// chunk returns the number of a chunk, which many ask for in turn.
func (l *layout) chunk(key chunkKey) int32 {
	if int(l.last) < len(l.keys) && l.keys[l.last] == key {
		return l.last
	}
	k, known := l.index[key]
	if !known {
		k = int32(len(l.keys))
		l.index[key] = k
		l.keys, l.borders = append(l.keys, key), append(l.borders, nil)
	}
	l.last = k
	return k
}

// add makes the ends of a range borders.
func (l *layout) add(key chunkKey, offset, bytes int64) {
	k := l.chunk(key)
	l.borders[k] = append(l.borders[k], offset, offset+bytes)
}

// move puts an object where a call has it.
func (l *layout) move(t *trace, id int32, call int) {
	o := &t.objects[id]
	o.place.Offset = o.offset(call)
	k := l.chunk(o.key(call))
	lo, _ := slices.BinarySearch(l.borders[k], o.place.Offset)
	t.spots[id].at = cells{k, int32(lo), int32(end(l.borders[k], lo, o.place.Offset+o.place.Bytes))}
}

// end returns where x is in sorted, at from or behind it: most ranges hold few borders.
func end(sorted []int64, from int, x int64) int {
	near := min(from+8, len(sorted))
	for i := from; i < near; i++ {
		if sorted[i] >= x {
			return i
		}
	}
	at, _ := slices.BinarySearch(sorted[near:], x)
	return near + at
}

// covers returns one for each chunk.
func (l *layout) covers() []*cover {
	cs := make([]*cover, len(l.borders))
	for k, b := range l.borders {
		cs[k] = newCover(b)
	}
	return cs
}

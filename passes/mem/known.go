package mem

import "slices"

// known is what is known of the offsets of all blocks: the lowest and the highest possible offset of each, and which
// block is below which. The sequence search adds decisions; propagate draws the conclusions:
//
//   - If b is below c, then low[c] ≥ low[b] + size[b] and high[b] ≤ high[c] - size[b].
//   - Of two blocks that meet, one is below the other. With low[b]=0, high[b]=1, low[c]=0, high[c]=2 and sizes of 3, b
//     cannot be above c, as c ends at 3 at least: so b is below c.
//   - The blocks of a section fit when stacked upwards in the order of their lowest offsets, and downwards from the
//     capacity in the order of their highest ends. With low 0, 2 and 2, sizes 2, 3 and 3 and a capacity of 7, the stack
//     ends at 8: there is no packing.
type known struct {
	in       *instance
	capacity int64
	stacks   bool    // sections are stacked (see Stack)
	low      []int64 // by block
	high     []int64 // by block
	below    []bool  // [b*len(blocks)+c]: b is below c

	byLow, byTop [][]int32 // by section: its blocks, as fits sorted them last

	trail   []change
	changed worklist // blocks whose bounds have changed
	dirty   worklist // sections of such blocks
	work    int64    // pairs of blocks that were looked at: time is about proportional
}

// change is what undo takes back: a bound of a block was old, or a pair was not known.
type change struct {
	kind         changeKind
	block, other int32
	old          int64
}

type changeKind uint8

const (
	lowChange changeKind = iota
	highChange
	pairChange
)

// newKnown returns what is known without any decision.
func newKnown(in *instance, capacity int64, stacks bool) *known {
	n, sections := len(in.blocks), len(in.members)
	k := &known{
		in: in, capacity: capacity, stacks: stacks, low: make([]int64, n), high: make([]int64, n), below: make([]bool, n*n),
		byLow: cloneLists(in.members), byTop: cloneLists(in.members), changed: newWorklist(n), dirty: newWorklist(sections),
	}
	for i, b := range in.blocks {
		k.high[i] = alignDown(capacity-b.size, b.align)
		if b.fixed {
			k.low[i], k.high[i] = b.offset, min(b.offset, k.high[i])
		}
	}
	return k
}

// start makes propagate look at all blocks. It returns false if one of them does not fit at all.
func (k *known) start() bool {
	for b := range k.in.blocks {
		if k.low[b] > k.high[b] {
			return false
		}
		k.changed.add(int32(b))
	}
	return true
}

func (k *known) isBelow(b, c int32) bool { return *k.pair(b, c) }

func (k *known) pair(b, c int32) *bool { return &k.below[int(b)*len(k.in.blocks)+int(c)] }

// raise makes v the lowest offset of b. It returns false if no offset is left.
func (k *known) raise(b int32, v int64) bool {
	v = alignUp(v, k.in.blocks[b].align)
	if v <= k.low[b] {
		return true
	}
	k.trail = append(k.trail, change{kind: lowChange, block: b, old: k.low[b]})
	k.low[b] = v
	k.changed.add(b)
	return v <= k.high[b]
}

// lower makes v the highest offset of b. It returns false if no offset is left.
func (k *known) lower(b int32, v int64) bool {
	v = alignDown(v, k.in.blocks[b].align)
	if v >= k.high[b] {
		return true
	}
	k.trail = append(k.trail, change{kind: highChange, block: b, old: k.high[b]})
	k.high[b] = v
	k.changed.add(b)
	return v >= k.low[b]
}

// stack puts b below c. It returns false if the opposite is known, or no offset is left.
func (k *known) stack(b, c int32) bool {
	switch {
	case k.isBelow(b, c):
		return true
	case k.isBelow(c, b):
		return false
	}
	*k.pair(b, c) = true
	k.trail = append(k.trail, change{kind: pairChange, block: b, other: c})
	return k.respect(b, c)
}

// respect narrows the bounds of b and c, where b is below c.
func (k *known) respect(b, c int32) bool {
	size := k.in.blocks[b].size
	return k.raise(c, k.low[b]+size) && k.lower(b, k.high[c]-size)
}

// propagate draws all conclusions from changed bounds, pairs before sections as they cost less. It returns false where
// the packing has become impossible, with the section in which that shows, or -1.
func (k *known) propagate() (ok bool, section int32) {
	for {
		if b, some := k.changed.next(); some {
			for _, t := range k.in.blocks[b].live {
				k.dirty.add(t)
			}
			if !k.pairs(b) {
				return false, -1
			}
			continue
		}
		t, some := k.dirty.next()
		if !some {
			return true, -1
		}
		if k.stacks && !k.fits(t) {
			return false, t
		}
	}
}

// pairs looks at b and each block that it meets. Where only one of the two orders is left, it is known.
func (k *known) pairs(b int32) bool {
	k.work += int64(len(k.in.meets[b]))
	for _, c := range k.in.meets[b] {
		ok := true
		switch {
		case k.isBelow(b, c):
			ok = k.respect(b, c)
		case k.isBelow(c, b):
			ok = k.respect(c, b)
		case k.low[b]+k.in.blocks[b].size > k.high[c]:
			ok = k.stack(c, b)
		case k.low[c]+k.in.blocks[c].size > k.high[b]:
			ok = k.stack(b, c)
		}
		if !ok {
			return false
		}
	}
	return true
}

// fits reports whether the blocks of a section fit when stacked upwards by their lowest offsets, and downwards by their
// highest ends.
func (k *known) fits(t int32) bool {
	up := k.byLow[t]
	insertionSort(up, func(b int32) int64 { return k.low[b] })
	var end int64
	for _, b := range up {
		end = max(end, k.low[b]) + k.in.blocks[b].size
	}
	if end > k.capacity {
		return false
	}

	down := k.byTop[t]
	insertionSort(down, func(b int32) int64 { return -k.high[b] - k.in.blocks[b].size })
	begin := k.capacity
	for _, b := range down {
		begin = min(begin-k.in.blocks[b].size, k.high[b])
	}
	return begin >= 0
}

// mark returns a point that undo returns to.
func (k *known) mark() int { return len(k.trail) }

// undo takes back all changes after mark, and drops conclusions that were not drawn.
func (k *known) undo(mark int) {
	k.changed.clear()
	k.dirty.clear()
	for _, c := range slices.Backward(k.trail[mark:]) {
		switch c.kind {
		case lowChange:
			k.low[c.block] = c.old
		case highChange:
			k.high[c.block] = c.old
		case pairChange:
			*k.pair(c.block, c.other) = false
		}
	}
	k.trail = k.trail[:mark]
}

// worklist is a list of numbers to work on, each at most once, the last one first.
type worklist struct {
	list []int32
	in   []bool // by number: it is in the list
}

func newWorklist(n int) worklist { return worklist{in: make([]bool, n)} }

func (w *worklist) add(x int32) {
	if !w.in[x] {
		w.in[x] = true
		w.list = append(w.list, x)
	}
}

// next removes the last number.
func (w *worklist) next() (x int32, some bool) {
	last := len(w.list) - 1
	if last < 0 {
		return 0, false
	}
	x, w.list = w.list[last], w.list[:last]
	w.in[x] = false
	return x, true
}

func (w *worklist) clear() {
	for _, x := range w.list {
		w.in[x] = false
	}
	w.list = w.list[:0]
}

// alignDown rounds x down to a multiple of align.
func alignDown(x, align int64) int64 {
	if x < 0 {
		return -alignUp(-x, align)
	}
	return x / align * align
}

package mem

import (
	"cmp"
	"slices"
)

// byteRange is the bytes [lo,hi).
type byteRange struct{ lo, hi int64 }

// placed finds the placed buffers that live at the same time as another one.
//
// Time is divided into windows in which about as many buffers begin to live. A window lists the placed buffers that
// live in it. So a buffer that lives in windows 3 and 4 is compared only with those of two lists. A buffer that lives
// in most windows would be in most lists; buffers with long lives are in one list of their own instead. All lists are
// ordered by offset.
//
//	window      0        1        2        3        4
//	short    a a b b  b b c c  c . d d  d d e e  e e . .
//	long     x x x x  x x x x  x x x x  x x . .  . . . .
//
// For a new buffer that lives from the end of window 2 to the beginning of window 3, the lists of windows 2 (c, d) and
// 3 (d, e) and the long list (x) are looked at. d, which is in both lists, counts in the first of them.
type placed struct {
	p       Problem
	lives   []life    // by buffer
	isLong  []bool    // by buffer
	width   int32     // starts in a window
	windows [][]lease // those with short lives
	long    []lease   // those with long lives
	gaps    bool      // some life has gaps

	found, union, spare []byteRange // scratch of taken
}

// life is a buffer's life counted in the starts of all buffers, in their order: the starts from … to-1 are in it. Two
// lives meet in time if and only if they meet here, because where the later one begins there is a start.
type life struct{ from, to int32 }

func (l life) meets(m life) bool { return l.from < m.to && m.from < l.to }

// lease is the bytes of a placed buffer, and when it lives.
type lease struct {
	byteRange
	life
	first  int32 // window of the life
	buffer int32
}

const (
	// A window has windowStarts starts, or one in windowPart of all if these are more.
	windowStarts = 64
	windowPart   = 1024

	// A life is long if one in longPart of all starts is in it.
	longPart = 32
)

// newPlaced returns the placed buffers of a problem: none.
func newPlaced(p Problem) *placed {
	n := len(p.Buffers)
	x := &placed{p: p, lives: make([]life, n), isLong: make([]bool, n), width: int32(max(windowStarts, n/windowPart))}
	x.windows = make([][]lease, n/int(x.width)+1)
	starts := make([]int64, n)
	for i := range p.Buffers {
		starts[i] = p.Buffers[i].Lower
	}
	slices.Sort(starts)
	for i := range p.Buffers {
		from, _ := slices.BinarySearch(starts, p.Buffers[i].Lower)
		to, _ := slices.BinarySearch(starts, p.Buffers[i].Upper)
		x.lives[i], x.isLong[i] = life{int32(from), int32(to)}, to-from >= n/longPart
		x.gaps = x.gaps || len(p.Buffers[i].Gaps) > 0
	}
	return x
}

// span returns the first and the last window of a life.
func (x *placed) span(l life) (first, last int32) { return l.from / x.width, (l.to - 1) / x.width }

// add places buffer i.
func (x *placed) add(i int, offset int64) {
	first, last := x.span(x.lives[i])
	l := lease{byteRange{offset, offset + x.p.Buffers[i].Size}, x.lives[i], first, int32(i)}
	if x.isLong[i] {
		x.long = insert(x.long, l)
		return
	}
	for w := first; w <= last; w++ {
		x.windows[w] = insert(x.windows[w], l)
	}
}

// insert inserts l into a list in order of the offsets.
func insert(list []lease, l lease) []lease {
	at, _ := slices.BinarySearchFunc(list, l.lo, func(l lease, lo int64) int { return cmp.Compare(l.lo, lo) })
	return slices.Insert(list, at, l)
}

// taken returns the bytes of the placed buffers that live at the same time as buffer i, in order; what touches or
// overlaps is one range. They are valid until the next call. It also returns how many placed buffers were looked at:
// all with long lives, and the found ones of the others.
func (x *placed) taken(i int) (_ []byteRange, looks int) {
	x.union = x.union[:0]
	first, last := x.span(x.lives[i])
	for w := first; w <= last; w++ {
		x.found = x.found[:0]
		for k := range x.windows[w] {
			l := &x.windows[w][k]
			if w == max(first, l.first) && x.meets(i, l) { // w is the first window of both
				x.found = append(x.found, l.byteRange)
			}
		}
		looks += len(x.found)
		x.addFound()
	}
	x.found = x.found[:0]
	for k := range x.long {
		if l := &x.long[k]; x.meets(i, l) {
			x.found = append(x.found, l.byteRange)
		}
	}
	x.addFound()
	return x.union, looks + len(x.long)
}

// addFound adds what was found to the union.
func (x *placed) addFound() {
	a, b, out := x.union, x.found, x.spare[:0]
	for len(a)+len(b) > 0 {
		from := &a
		if len(a) == 0 || len(b) > 0 && b[0].lo < a[0].lo {
			from = &b
		}
		r := (*from)[0]
		*from = (*from)[1:]
		if last := len(out) - 1; last >= 0 && r.lo <= out[last].hi {
			out[last].hi = max(out[last].hi, r.hi)
		} else {
			out = append(out, r)
		}
	}
	x.union, x.spare = out, x.union
}

// meets reports whether buffer i is live at some instant of a lease.
func (x *placed) meets(i int, l *lease) bool {
	return x.lives[i].meets(l.life) && (!x.gaps || x.p.Buffers[i].meets(&x.p.Buffers[l.buffer]))
}

package mem

import (
	"cmp"
	"slices"
)

// lease is what a placed buffer has, and when. Windows keep very many of them.
type lease struct {
	byteRange
	life
	first  int32 // window of the life
	buffer int32
}

// life is when a buffer is live, counted in the starts of all buffers in their order: those from the
// one up to the other, not included, are within it. Lives meet in time where they do so here, as where
// they begin to there is a start.
type life struct{ from, to int32 }

// meets reports whether two lives, taken without gaps, have an instant in common.
func (l life) meets(m life) bool { return l.from < m.to && m.from < l.to }

// spell is the windows from the first to the last one, both included, that a life has a part in.
type spell struct{ first, last int32 }

// window is a part of time with the placed buffers that have a part in it, by address.
type window struct {
	short []lease
	begun int     // so many of short begin their spells here
	long  []lease // see leases.longIn
	known int     // so many long ones were placed when long was made
}

// leases are the placed buffers. Time is cut into windows in each of which about as many
// buffers start: most buffers live in one or two, which know them in order of their addresses, so
// that nothing has to be sorted for a buffer that is to be placed. Those that live long are in a
// list of their own instead; a window finds them there once for all buffers that ask for them.
type leases struct {
	p       Problem
	gaps    bool   // some life has one
	lives   []life // by buffer
	width   int32  // so many starts have a window
	isLong  []bool // by buffer
	windows []window
	long    []lease // by address

	// used has the bytes that short leases take at some time of a window, or of several: it is
	// a tree, the children of node i are 2i and 2i+1, those of the windows come last.
	used []ranges

	found, merged []byteRange // scratch of findShort
	runs          []int       // likewise: where runs of found end
}

// A window is that of so many starts, or of one in so many of all.
const (
	windowStarts = 64
	windowPart   = 1024
)

// longPart is the part of all buffers, one in so many, that have to start within a life for it to
// be long.
const longPart = 32

// newLeases returns the leases of a problem of which nothing is placed.
func newLeases(p Problem) *leases {
	n := len(p.Buffers)
	x := &leases{p: p, lives: make([]life, n), width: int32(max(windowStarts, n/windowPart)), isLong: make([]bool, n)}
	starts := make([]int64, n)
	for i := range p.Buffers {
		starts[i] = p.Buffers[i].Lower
	}
	slices.Sort(starts)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		from, _ := slices.BinarySearch(starts, b.Lower)
		to, _ := slices.BinarySearch(starts, b.Upper)
		x.lives[i] = life{int32(from), int32(to)}
		x.isLong[i] = to-from >= n/longPart
		x.gaps = x.gaps || len(b.Gaps) > 0
	}
	x.windows = make([]window, n/int(x.width)+1)
	x.makeRoom()
	x.used = make([]ranges, 2*len(x.windows))
	x.reset()
	return x
}

// spell returns that of buffer i.
func (x *leases) spell(i int) spell {
	l := x.lives[i]
	return spell{l.from / x.width, (l.to - 1) / x.width}
}

// makeRoom gives the windows lists that hold all that will be placed in them.
func (x *leases) makeRoom() {
	sizes, sum := make([]int, len(x.windows)), 0
	for i := range x.lives {
		if !x.isLong[i] {
			s := x.spell(i)
			for at := s.first; at <= s.last; at++ {
				sizes[at]++
			}
			sum += int(s.last - s.first + 1)
		}
	}
	room := make([]lease, sum)
	for at := range x.windows {
		x.windows[at].short, room = room[:0:sizes[at]], room[sizes[at]:]
	}
}

// reset takes all buffers out.
func (x *leases) reset() {
	x.long = x.long[:0]
	for i := range x.windows {
		w := &x.windows[i]
		w.short, w.begun, w.known = w.short[:0], 0, -1
	}
	for i := range x.used {
		x.used[i] = x.used[i][:0]
	}
}

// add says that buffer i is placed at an offset.
func (x *leases) add(i int, offset int64) {
	s := x.spell(i)
	l := lease{byteRange{offset, offset + x.p.Buffers[i].Size}, x.lives[i], s.first, int32(i)}
	if x.isLong[i] {
		x.long = insertLease(x.long, l)
		return
	}
	x.windows[s.first].begun++
	for at := s.first; at <= s.last; at++ {
		w := &x.windows[at]
		w.short = insertLease(w.short, l)
		x.use(int(at), l.byteRange)
	}
}

// use adds bytes to those that are used in a window. What knows them already needs no telling, nor
// do those above it.
func (x *leases) use(at int, b byteRange) {
	for node := len(x.windows) + at; node > 0; node /= 2 {
		with, more := x.used[node].with(b)
		if !more {
			return
		}
		x.used[node] = with
	}
}

// insertLease inserts l into a list that is ordered by address.
func insertLease(list []lease, l lease) []lease {
	at, _ := slices.BinarySearchFunc(list, l.lo, func(l lease, lo int64) int { return cmp.Compare(l.lo, lo) })
	return slices.Insert(list, at, l)
}

// meets reports whether buffer i is live at some instant of a lease.
func (x *leases) meets(i int, l *lease) bool {
	return l.life.meets(x.lives[i]) && (!x.gaps || x.p.Buffers[i].meets(&x.p.Buffers[l.buffer]))
}

// taken appends the bytes of the placed buffers that live at the same time as buffer i to list, in
// order of their addresses, and returns how many buffers these are, all that live long counted.
func (x *leases) taken(i int, list []byteRange) (_ []byteRange, looks int) {
	s := x.spell(i)
	looks = x.findShort(i, s) + len(x.long)
	short, long := x.found, x.long
	if s.first == s.last {
		long = x.longIn(s.first)
	}
	for k := range long {
		l := &long[k]
		if !x.meets(i, l) {
			continue
		}
		for len(short) > 0 && short[0].lo < l.lo {
			list = append(list, short[0])
			short = short[1:]
		}
		list = append(list, l.byteRange)
	}
	return append(list, short...), looks
}

// findShort finds the bytes of those that do not live long and meet buffer i, of that spell, in order,
// and returns how many these are. Two that meet share the window in which the later one starts: there
// they are counted.
func (x *leases) findShort(i int, s spell) (count int) {
	x.found, x.runs = x.found[:0], x.runs[:0]
	x.findIn(i, s.first, s.first)
	if s.first < s.last {
		x.findIn(i, s.last, s.first)
	}
	if x.gaps {
		for at := s.first + 1; at < s.last; at++ {
			x.findIn(i, at, s.first)
		}
	}
	count = len(x.found)
	if !x.gaps {
		count += x.findBetween(s)
	}
	for len(x.runs) > 1 {
		x.mergeRuns()
	}
	return count
}

// findBetween finds those of the windows between the first and the last one of a spell: without
// gaps, who is there lives at the same time. It returns how many start there.
func (x *leases) findBetween(s spell) (count int) {
	for at := s.first + 1; at < s.last; at++ {
		count += x.windows[at].begun
	}
	n := len(x.windows)
	for from, to := n+int(s.first)+1, n+int(s.last); from < to; from, to = from/2, to/2 {
		if from&1 == 1 {
			x.addRun(x.used[from])
			from++
		}
		if to&1 == 1 {
			to--
			x.addRun(x.used[to])
		}
	}
	return count
}

// addRun adds bytes to those that were found.
func (x *leases) addRun(r ranges) {
	x.found = append(x.found, r...)
	x.runs = append(x.runs, len(x.found))
}

// findIn finds those of a window of buffer i, which has a first one, that meet it.
func (x *leases) findIn(i int, at, first int32) {
	live, short := x.lives[i], x.windows[at].short
	for k := range short {
		l := &short[k]
		if l.life.meets(live) && (at == first || at == l.first) && (!x.gaps || x.p.Buffers[i].meets(&x.p.Buffers[l.buffer])) {
			x.found = append(x.found, l.byteRange)
		}
	}
	x.runs = append(x.runs, len(x.found))
}

// mergeRuns makes one run of every two.
func (x *leases) mergeRuns() {
	out, runs, from := x.merged[:0], x.runs[:0], 0
	for k := 0; k < len(x.runs); k += 2 {
		mid, to := x.runs[k], x.runs[min(k+1, len(x.runs)-1)]
		out = mergeRanges(out, x.found[from:mid], x.found[mid:to])
		runs, from = append(runs, to), to
	}
	x.found, x.merged, x.runs = out, x.found, runs
}

// longIn returns what is to be known of those that live long in a window: neighbours that live
// throughout are one.
func (x *leases) longIn(at int32) []lease {
	w := &x.windows[at]
	if w.known == len(x.long) {
		return w.long
	}
	w.known, w.long = len(x.long), w.long[:0]
	for k := range x.long {
		l := &x.long[k]
		if at < l.first || x.last(l) < at {
			continue
		}
		if last := len(w.long) - 1; last >= 0 && !x.gaps && w.long[last].hi == l.lo && x.fills(&w.long[last], at) && x.fills(l, at) {
			w.long[last].hi = l.hi
			continue
		}
		w.long = append(w.long, *l)
	}
	return w.long
}

// fills reports whether a lease is for all of a window: whoever lives in that alone meets it.
func (x *leases) fills(l *lease, at int32) bool { return l.first < at && at < x.last(l) }

// last returns the last window of a lease.
func (x *leases) last(l *lease) int32 { return (l.to - 1) / x.width }

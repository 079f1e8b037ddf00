package passes

// lists are lists of numbers, one after the other in one array: slices of their own would be
// very many small ones.
type lists struct {
	all    []int32
	starts []int32 // where each list begins, and the end of the last one
}

// newLists returns no lists yet, with room for so many of so many numbers in all.
func newLists(count, numbers int) lists {
	return lists{all: make([]int32, 0, numbers), starts: append(make([]int32, 0, count+1), 0)}
}

// of returns list i.
func (l *lists) of(i int) []int32 { return l.all[l.starts[i]:l.starts[i+1]] }

// open returns the list that is being made: what was added behind the last one that is done.
func (l *lists) open() []int32 { return l.all[l.starts[len(l.starts)-1]:] }

// add appends to the list that is being made.
func (l *lists) add(x int) { l.all = append(l.all, int32(x)) }

// done ends the list that is being made; the next one begins.
func (l *lists) done() { l.starts = append(l.starts, int32(len(l.all))) }

// entry is a number in a list.
type entry struct{ list, number int32 }

// listsOf returns count lists of the entries, each in the order of these.
func listsOf(count int, entries []entry) lists {
	l := lists{all: make([]int32, len(entries)), starts: make([]int32, count+1)}
	for _, e := range entries {
		l.starts[e.list+1]++
	}
	for i := range count {
		l.starts[i+1] += l.starts[i]
	}
	next := append([]int32(nil), l.starts...)
	for _, e := range entries {
		l.all[next[e.list]] = e.number
		next[e.list]++
	}
	return l
}

// holders returns for each of count numbers which lists hold it, in order.
func (l *lists) holders(count int) lists {
	entries := make([]entry, 0, len(l.all))
	for i := range len(l.starts) - 1 {
		for _, x := range l.of(i) {
			entries = append(entries, entry{x, int32(i)})
		}
	}
	return listsOf(count, entries)
}

package passes

import "slices"

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
	for i := range entries {
		l.starts[entries[i].list]++
	}
	l.makeRoom()
	for i := len(entries) - 1; i >= 0; i-- {
		l.putFirst(entries[i].list, entries[i].number)
	}
	return l
}

// holders returns for each of count numbers which lists hold it, in order.
func (l *lists) holders(count int) lists {
	h := lists{all: make([]int32, len(l.all)), starts: make([]int32, count+1)}
	for _, x := range l.all {
		h.starts[x]++
	}
	h.makeRoom()
	for i := len(l.starts) - 2; i >= 0; i-- {
		for _, x := range slices.Backward(l.of(i)) {
			h.putFirst(x, int32(i))
		}
	}
	return h
}

// makeRoom turns the lengths of lists, where their starts will be, into their ends: each starts there
// until it is filled.
func (l *lists) makeRoom() {
	end := int32(0)
	for i, many := range l.starts {
		end += many
		l.starts[i] = end
	}
}

// putFirst puts x before what a list has, which is filled from its end.
func (l *lists) putFirst(list, x int32) {
	l.starts[list]--
	l.all[l.starts[list]] = x
}
